import { MINUTE, type Micros, SECOND } from '../../kernel/duration.ts'
import type { Environment } from '../fleet/environment.ts'
import { imageRefusal, repositoryExists } from '../fleet/known-repositories.ts'
import { hubRefusal } from '../fleet/weights.ts'
import { Part } from '../part.ts'
import { type DeploymentRow, isTerminal } from './deployment-row.ts'
import { engineArgsProblem } from './engine-args.ts'
import type { InstanceState } from './instance-row.ts'
import type { InstanceFailures } from './instance-speed.ts'
import { ENGINE_CRASH } from './instance-startup.ts'
import type { Instances } from './instances.ts'

/** The states of an instance in which its engine runs. */
const HAS_ENGINE: ReadonlySet<InstanceState> = new Set(['loading', 'warming', 'ready'])

/** The parts below that it uses. */
export interface DeploymentFailuresParts {
  readonly environment: Environment
  readonly instances: Instances
}

/** The longest wait before a retry, as of Kubernetes' exponential back-off. */
const MAX_RETRY_DELAY = 5 * MINUTE

/** Returns the wait before a retry. After the last wait of the profile, it doubles with each retry up to five minutes. */
function retryDelay(previousRetries: number, waits: readonly Micros[]): Micros {
  const last = waits.at(-1) ?? 0
  const further = previousRetries - waits.length + 1
  if (further <= 0) return waits[previousRetries]!
  return Math.max(last, Math.min(MAX_RETRY_DELAY, Math.max(last, SECOND) * 2 ** further))
}

/** The deployments, as their failures see them. */
interface FailingDeployments {
  read(ordinal: number): Readonly<DeploymentRow>
  writable(ordinal: number): DeploymentRow
  updateStatus(ordinal: number): void
  fail(ordinal: number, reason: string): void
  readonly scaling: { replenish(ordinal: number, delay: Micros): void }
}

/** The failures of deployments: lost instances, crash loops, rejected arguments, refused images and weights. */
export class DeploymentFailures
  extends Part<DeploymentFailuresParts, unknown, FailingDeployments>
  implements InstanceFailures
{
  /** Requests a replacement of a lost instance after a delay. Fails the deployment after the last retry. */
  onInstanceLost(ordinal: number, reason: string): void {
    const { retryAfter } = this.context.profile.timings
    const row = this.owner.writable(ordinal)
    if (isTerminal(row.status)) {
      this.owner.updateStatus(ordinal)
      return
    }
    if (row.lostStarts >= retryAfter.length && row.ready === 0) {
      this.owner.fail(ordinal, `the last of ${row.lostStarts + 1} starts was lost: ${reason}`)
      return
    }
    this.owner.scaling.replenish(ordinal, this.#scheduledRetryDelay(row) ?? retryDelay(row.lostStarts++, retryAfter))
    this.owner.updateStatus(ordinal)
  }

  /** Returns the time until the next scheduled start of a deployment; undefined if none is scheduled. */
  #scheduledRetryDelay({ instances: ordinals }: Readonly<DeploymentRow>): Micros | undefined {
    const { agenda, clock } = this.context
    for (const ordinal of ordinals) {
      const { state, next } = this.parts.instances.read(ordinal)
      if (state === 'pending' && next !== 0) return agenda.timeOf(next) - clock.now
    }
    return undefined
  }

  /**
   * Requests a replacement of an instance whose engine exited after `readyTime` microseconds of serving.
   * The delay grows with each crash. Fails the deployment after the last one.
   */
  onInstanceCrashed(ordinal: number, reason: string, readyTime: Micros): void {
    const { crashLoopBackOff, crashLoopForgotten } = this.context.profile.timings
    const row = this.owner.writable(ordinal)
    if (isTerminal(row.status)) {
      this.owner.updateStatus(ordinal)
      return
    }
    row.crashes = readyTime > crashLoopForgotten ? 1 : row.crashes + 1
    if (row.crashes > crashLoopBackOff.length && row.ready === 0) {
      this.owner.fail(ordinal, `crash loop: ${row.crashes} exits in a row, the last: ${reason}`)
      return
    }
    this.owner.scaling.replenish(ordinal, crashLoopBackOff[Math.min(row.crashes, crashLoopBackOff.length) - 1] ?? 0)
    this.owner.updateStatus(ordinal)
  }

  /**
   * Crashes the engine of the oldest instance that has one, and the next engines until `times` crashes happened.
   * Returns false if no instance has an engine.
   */
  crashEngine(ordinal: number, times: number): boolean {
    const { instances } = this.parts
    const engines = this.owner
      .read(ordinal)
      .instances.filter(instance => HAS_ENGINE.has(instances.read(instance).state))
      .sort(
        (a, b) =>
          Number(instances.read(b).state === 'ready') - Number(instances.read(a).state === 'ready') ||
          instances.read(a).index - instances.read(b).index,
      )
    const [oldest] = engines
    if (oldest === undefined) return false
    const row = this.owner.writable(ordinal)
    row.remainingCrashes = times - 1
    this.context.recordCommand(row, 'deployment.crashed', { times })
    instances.crash(oldest, ENGINE_CRASH)
    return true
  }

  /** Returns the reason for which the engine rejects its arguments; undefined if it accepts them. */
  engineArgsProblem({ plan }: Readonly<DeploymentRow>): string | undefined {
    if (plan.extraArgs.length === 0 || plan.containerImage !== '') return undefined
    return this.context.profile.policies.unknownEngineArgs === 'crash' ? engineArgsProblem(plan.extraArgs) : undefined
  }

  /** Returns the reason for which the image or the weights are refused now; undefined if they are accepted. */
  pullRefusal(row: Readonly<DeploymentRow>): string | undefined {
    const { weights, plan } = row
    const image = imageRefusal(this.context, plan.containerImage)
    if (image !== undefined || weights.source === 'catalog') return image
    const { store } = this.context
    const exists = weights.source === 'fixture' || repositoryExists(this.context, weights.repo)
    const override = this.parts.environment.repositoryState(weights.repo)
    return hubRefusal(store.hub.get(weights.repo), exists, weights, override)?.reason
  }
}
