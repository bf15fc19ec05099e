import type { GpuType } from '../../data/records/gpu-config.ts'
import type { SimulationContext } from '../context.ts'
import type { Autoscaler } from '../deployments/autoscaler.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import type { Deployments } from '../deployments/deployments.ts'
import { speedOfInstance } from '../deployments/instance-speed.ts'
import type { Instances } from '../deployments/instances.ts'
import type { ModelTarget } from '../deployments/model-lookup.ts'
import { cacheTokens } from '../fleet/weights.ts'
import { NO_ENGINE_REQUESTS, withEndedRequests } from '../load/engine-requests.ts'
import { countCachedBlocks, withEndedPrompt, withPrompt } from '../load/prefix-cache.ts'
import { estimateServing, type InstanceSpeed, instanceSpeed } from '../load/throughput.ts'
import { finishReasonOf, progressOfEnded } from './engine-progress.ts'
import { timeAlone } from './media-work.ts'
import type { RequestCounts } from './request-counts.ts'
import type { EndedState, InferenceRow } from './request-row.ts'

/** The hardware of an instance, which its speed follows from. */
export interface ServingHardware {
  readonly gpu: GpuType
  readonly gpus: number
  readonly parametersB: number
  readonly maxBatchSize: number
}

/** The lower parts that serving uses. */
export interface RequestServingParts {
  readonly deployments: Deployments
  readonly instances: Instances
  readonly autoscaler: Autoscaler
}

/** The instances as single requests use them: free capacity and delays. It has no state of its own. */
export class RequestServing {
  readonly #context: SimulationContext
  readonly #parts: RequestServingParts
  readonly #counts: RequestCounts

  constructor(context: SimulationContext, parts: RequestServingParts, counts: RequestCounts) {
    this.#context = context
    this.#parts = parts
    this.#counts = counts
  }

  /** Returns the number of requests that an instance of a deployment can run at once. */
  maxConcurrencyOf(row: Readonly<DeploymentRow>): number {
    const speed = speedOfInstance(row)
    return Math.max(1, Math.floor(speed.requestsPerSecond * speed.requestTime))
  }

  /**
   * Returns the ready instance with free capacity that runs the fewest requests; -1 if all instances are full.
   *
   * @param adapter the adapter that must be loaded on the instance; -1: no adapter
   */
  leastBusyInstance(row: Readonly<DeploymentRow>, adapter: number): number {
    const { instances } = this.#parts
    let best = -1
    let fewest = this.maxConcurrencyOf(row)
    for (const ordinal of row.instances) {
      const instance = instances.read(ordinal)
      if (instance.state !== 'ready') continue
      if (adapter >= 0 && !instance.adapters.some(each => each.adapter === adapter && each.loadEvent === 0)) continue
      const running = this.#counts.onInstance(ordinal)
      if (running < fewest) {
        best = ordinal
        fewest = running
      }
    }
    return best
  }

  /** Returns the seconds to the first token, and between two tokens. Media work comes in equal pieces instead of tokens. */
  paceOf(
    { plan: { deployment, promptTokens, longestAnswer, work }, instance, cachedTokens }: Readonly<InferenceRow>,
    hardware: ServingHardware,
  ): { readonly firstTokenTime: number; readonly tokenTime: number } {
    const outputTokens = Math.max(1, longestAnswer)
    if (work !== undefined) {
      const pieceTime = this.#workTime(deployment, instance, timeAlone(work, hardware)) / outputTokens
      return { firstTokenTime: pieceTime, tokenTime: pieceTime }
    }
    const { gpu, gpus, parametersB, maxBatchSize } = hardware
    const readTokens = promptTokens - cachedTokens
    const speed = instanceSpeed({ gpu, gpus, parametersB, maxBatchSize, promptTokens: readTokens, outputTokens })
    if (instance < 0) return speed
    return { firstTokenTime: this.firstTokenDelay(deployment, instance, speed), tokenTime: speed.tokenTime }
  }

  /**
   * Returns the seconds of media work. Each request that runs on the instance already adds a share of the time alone, and
   * the backlog of offered load comes first. Shared capacity (-1) is never busy.
   */
  #workTime(deployment: number, instance: number, alone: number): number {
    if (instance < 0) return alone
    const { workSharing } = this.#context.profile.timings
    const delay = this.#queueDelay(this.#parts.deployments.read(deployment))
    return delay + alone * (1 + workSharing * this.#counts.onInstance(instance))
  }

  /** Returns the seconds that the backlog of offered load takes. */
  #queueDelay(row: Readonly<DeploymentRow>): number {
    if (!row.load || row.effectiveInstances === 0) return 0
    const { backlog } = this.#parts.autoscaler.wholeRequests(row)
    return backlog / (row.effectiveInstances * row.load.speed.requestsPerSecond)
  }

  /** Returns the seconds to the first token. They grow with the backlog of offered load and with utilisation. */
  firstTokenDelay(deployment: number, instance: number, { firstTokenTime }: InstanceSpeed): number {
    const { deployments, autoscaler } = this.#parts
    const { clock } = this.#context
    const row = deployments.read(deployment)
    const ownUtilisation = this.#counts.onInstance(instance) / this.maxConcurrencyOf(row)
    if (!row.load || row.effectiveInstances === 0) return firstTokenTime * (1 + Math.min(1, ownUtilisation))
    const { backlog } = autoscaler.wholeRequests(row)
    const { utilisation } = estimateServing(
      row.load.curve.rateAt(clock.now),
      row.load.speed,
      row.effectiveInstances,
      backlog,
    )
    return this.#queueDelay(row) + firstTokenTime * (1 + Math.min(1, ownUtilisation + utilisation))
  }

  /** Returns the leading blocks of a prompt that its engine has in the prefix cache. Shared capacity has none. */
  cachedBlocksOf({ plan: { promptBlocks }, instance }: Readonly<InferenceRow>): number {
    if (instance < 0 || promptBlocks === undefined) return 0
    return countCachedBlocks(this.#parts.instances.read(instance).prefixCache, promptBlocks, this.#context.clock.now)
  }

  /** Adds the prompt of a request that has started to the prefix cache of its engine. */
  rememberPrompt({ plan, instance, firstTokenAt: readAt, cachedBlocks }: Readonly<InferenceRow>): void {
    const { promptBlocks, promptTokens: tokens, sequence } = plan
    if (instance < 0 || promptBlocks === undefined) return
    const { weights, gpu, numGpus } = this.#parts.deployments.read(plan.deployment)
    const row = this.#parts.instances.writable(instance)
    const prompt = { sequence, hashes: promptBlocks.hashes, tokens, readAt }
    const capacity = cacheTokens(weights, gpu, numGpus)
    row.prefixCache = withPrompt(row.prefixCache, prompt, cachedBlocks, capacity, this.#context.clock.now)
  }

  /** Adds a request that ends now to the totals of its engine. A request on shared capacity has no engine. */
  countOnEngine(row: Readonly<InferenceRow>, state: EndedState, answeredTokens: number): void {
    if (row.instance < 0) return
    const instance = this.#parts.instances.writable(row.instance)
    const { now } = this.#context.clock
    const progress = progressOfEnded(row, state, answeredTokens, now)
    const ended = { ...progress, reason: finishReasonOf(row, state) }
    instance.requests = withEndedRequests(instance.requests ?? NO_ENGINE_REQUESTS, [ended])
    if (row.plan.promptBlocks === undefined) return
    const isRead = state === 'served' || now >= row.firstTokenAt
    instance.prefixCache = withEndedPrompt(instance.prefixCache, row.plan.sequence, isRead, now)
  }

  /** Returns the hardware of shared capacity: one H100 up to 20B parameters, four up to 100B, eight beyond (A). */
  sharedHardware(target: ModelTarget): ServingHardware {
    const name = target.kind === 'catalog' ? target.model : ''
    const parametersB = this.#context.store.models.get(name)?.parameters_b ?? 8
    const gpus = parametersB <= 20 ? 1 : parametersB <= 100 ? 4 : 8
    return { gpu: 'H100-80GB', gpus, parametersB, maxBatchSize: 96 }
  }
}
