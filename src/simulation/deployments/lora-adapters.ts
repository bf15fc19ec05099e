import { draw } from '../../data/profiles/distribution.ts'
import { purpose } from '../../kernel/random.ts'
import type { SimulationContext } from '../context.ts'
import { assertHandled, type EventOf } from '../events.ts'
import type { Environment } from '../fleet/environment.ts'
import { repositoryExists } from '../fleet/known-repositories.ts'
import { hubRefusal } from '../fleet/weights.ts'
import { Part } from '../part.ts'
import { AdapterSlots, type AdapterSlotsParts } from './adapter-slots.ts'
import type { Deployment } from './deployment.ts'
import {
  type AdapterSpec,
  type DeployedWeights,
  type DeploymentRow,
  EMPTY_LIST,
  type FixtureIdentity,
  isTerminal,
} from './deployment-row.ts'
import type { AdapterFollower } from './instance-speed.ts'

const ADDRESS = /^https?:\/\/[^/\s?#]+\/([^\s?#]+?)\/?$/

/** Returns the reason for which the source of an adapter cannot be loaded; undefined if it can. */
function sourceRefusal(
  context: SimulationContext,
  environment: Environment,
  { plan, weights }: Readonly<DeploymentRow>,
): string | undefined {
  // An adapter of a fixture may have no source.
  if (plan.modelhubUrl === '') return undefined
  const path = ADDRESS.exec(plan.modelhubUrl)?.[1]
  if (path === undefined) return `adapter source ${JSON.stringify(plan.modelhubUrl)} is not an address`
  const repo = path.split('/').slice(0, 2).join('/')
  const listed = context.store.hub.get(repo)
  // An address without an owner names no repository of the fixture, so nothing is known about it.
  const exists = !repo.includes('/') || repositoryExists(context, repo)
  const reference = { repo, revision: 'main', token: '' }
  const refusal = hubRefusal(listed, exists, reference, environment.repositoryState(repo))
  if (refusal !== undefined) return refusal.reason
  if (listed === undefined) return undefined
  if (listed.adapter_of === undefined) return `hub repository ${repo} is not an adapter`
  return listed.adapter_of === weights.repo || listed.adapter_of === plan.baseModel
    ? undefined
    : `adapter ${repo} was trained for ${listed.adapter_of}, not for ${plan.baseModel}`
}

const DOWNLOAD = purpose('adapter.download')
const PLACEMENT = purpose('adapter.placement')

/** Of an adapter whose base is a model of the catalog. */
const NO_WEIGHTS: DeployedWeights = {
  source: 'catalog',
  repo: '',
  revision: '',
  token: '',
  bytes: 0,
  parametersB: 0,
  context: 0,
  figures: undefined,
}

/** The parts below that it uses. */
export interface LoraAdaptersParts extends AdapterSlotsParts {
  readonly environment: Environment
}

/**
 * LoRA adapters: rows of the deployment table whose GPU time is their base's. The base is the account's newest live
 * deployment of that name, else the catalog's model on shared capacity.
 */
export class LoraAdapters extends Part<LoraAdaptersParts> implements AdapterFollower {
  /** Which of them are loaded on which instance. */
  readonly slots = new AdapterSlots(this.context, this.parts)

  /** Creates an adapter and starts it. */
  create(spec: AdapterSpec): Deployment {
    const ordinal = this.add(spec)
    this.start(ordinal)
    return this.parts.deployments.handle(ordinal)
  }

  /** Puts an adapter in without setting anything in motion. */
  add(spec: AdapterSpec, identity: FixtureIdentity = {}): number {
    const namedDeployment = this.parts.deployments.findLive(spec.base_model)
    // References to the catalog have rows too; what they name is served on shared capacity.
    const base = namedDeployment?.row.plan.type === 'llm' ? namedDeployment : undefined
    const baseRow = base === undefined ? undefined : this.parts.deployments.read(base.ordinal)
    const ordinal = this.parts.deployments.insert(
      {
        modelName: spec.model_name,
        task: baseRow?.plan.task ?? 'text-generation',
        type: 'lora',
        hasInstances: false,
        gpu: baseRow?.gpu ?? 'other',
        numGpus: baseRow?.numGpus ?? 0,
        maxBatchSize: baseRow?.maxBatchSize ?? 0,
        weights: baseRow?.weights ?? NO_WEIGHTS,
        containerImage: '',
        extraArgs: EMPTY_LIST,
        base: base?.ordinal ?? -1,
        baseModel: spec.base_model,
        modelhubUrl: spec.modelhub_url,
      },
      identity,
    )
    if (base) {
      const row = this.parts.deployments.writable(base.ordinal)
      row.adapters = [...row.adapters, ordinal]
    }
    const row = this.parts.deployments.writable(ordinal)
    row.minInstances = baseRow?.minInstances ?? 0
    row.maxInstances = baseRow?.maxInstances ?? 0
    row.isPrivate = spec.private
    row.description = spec.description
    this.context.record(row, 'adapter.created', { base: spec.base_model })
    return ordinal
  }

  /** Starts an adapter, as far as its base lets it. */
  start(ordinal: number): void {
    const row = this.parts.deployments.writable(ordinal)
    row.restartsWithBase = false
    row.lostStarts = 0
    const base = this.#baseOf(row)
    if (base?.status === 'stopped') {
      row.restartsWithBase = true
      this.parts.deployments.setStatus(ordinal, 'stopped')
      return
    }
    if (base?.status === 'failed' || base?.status === 'deleted') {
      this.parts.deployments.setStatus(ordinal, 'failed', this.#baseLossReason(row, base.status))
      return
    }
    this.parts.deployments.setStatus(ordinal, 'initializing')
    // A base of the catalog is served on shared capacity and is always there.
    if (base === undefined || base.status === 'running') this.#scheduleDownload(ordinal)
  }

  onEvent(event: EventOf<'loraAdapters'>, subject: number, adapter: number): void {
    switch (event) {
      case 'adapter.downloading':
        this.#onDownloadDue(subject)
        break
      case 'adapter.downloaded':
        this.#onDownloaded(subject)
        break
      case 'adapter.loaded':
        this.#onLoaded(subject)
        break
      case 'adapter.loadedOnInstance':
        this.slots.onLoaded(subject, adapter)
        break
      default:
        assertHandled(event)
    }
  }

  /** Its download begins. */
  #onDownloadDue(ordinal: number): void {
    const { chance, profile } = this.context
    const row = this.parts.deployments.writable(ordinal)
    row.next = 0
    const { timings } = profile
    const duration = draw(timings.adapterDownload, chance, row.key, DOWNLOAD, row.nextInstanceIndex++)
    this.parts.deployments.setStatus(ordinal, 'downloading')
    const isStalled = this.parts.environment.state.hubDown
    const isRefused = sourceRefusal(this.context, this.parts.environment, row) !== undefined
    const delay = isStalled ? timings.hubTimeout : isRefused ? timings.hubRefusal : duration
    row.next = this.context.schedule(delay, 'adapter.downloaded', ordinal)
  }

  #onDownloaded(ordinal: number): void {
    const row = this.parts.deployments.writable(ordinal)
    row.next = 0
    const { deployments, environment } = this.parts
    const { retryAfter } = this.context.profile.timings
    if (environment.state.hubDown) {
      if (row.lostStarts >= retryAfter.length) {
        deployments.fail(ordinal, `the last of ${row.lostStarts + 1} downloads was lost: the hub did not answer`)
        return
      }
      row.next = this.context.schedule(retryAfter[row.lostStarts++]!, 'adapter.downloading', ordinal)
      return
    }
    const refusal = sourceRefusal(this.context, environment, row)
    if (refusal !== undefined) {
      deployments.fail(ordinal, refusal)
      return
    }
    row.lostStarts = 0
    this.parts.deployments.setStatus(ordinal, 'deploying')
    // Shared capacity has no slots; an instance of the account does.
    if (row.plan.base >= 0) this.slots.assignSlots(row.plan.base)
    else row.next = this.context.schedule(this.context.profile.timings.adapterLoad, 'adapter.loaded', ordinal)
  }

  /** It is loaded on shared capacity. */
  #onLoaded(ordinal: number): void {
    const row = this.parts.deployments.writable(ordinal)
    row.next = 0
    row.wasReady = true
    this.parts.deployments.setStatus(ordinal, 'running')
  }

  /** Adapters follow their base: they stop, fail and come back with it. */
  onBaseChanged(base: number): void {
    const { deployments } = this.parts
    const { status, adapters } = deployments.read(base)
    for (const ordinal of adapters) {
      const row = deployments.read(ordinal)
      const isLive = !isTerminal(row.status)
      if (status === 'stopped') {
        if (!isLive) continue
        deployments.stop(ordinal)
        deployments.writable(ordinal).restartsWithBase = true
      } else if (status === 'failed' || status === 'deleted') {
        if (row.status === 'failed') continue
        // One that was stopped by hand fails too, and does not come back by itself.
        const restarts = isLive || row.restartsWithBase
        deployments.fail(ordinal, this.#baseLossReason(row, status))
        if (!isLive) deployments.setStatus(ordinal, 'failed', this.#baseLossReason(row, status))
        deployments.writable(ordinal).restartsWithBase = restarts
      } else if (status === 'running' && row.status === 'initializing' && row.next === 0)
        this.#scheduleDownload(ordinal)
      else if (!isLive && row.restartsWithBase) this.start(ordinal)
    }
  }

  /** Says something else of an adapter: who may see it, and what it is. */
  update(ordinal: number, isPrivate: boolean, description: string): void {
    const currentRow = this.parts.deployments.read(ordinal)
    if (currentRow.isPrivate === isPrivate && currentRow.description === description) return
    const row = this.parts.deployments.writable(ordinal)
    row.isPrivate = isPrivate
    row.description = description
    row.updatedAt = this.context.clock.now
    this.context.record(row, 'adapter.described', { private: isPrivate })
    this.parts.deployments.onVisibleChange(ordinal)
  }

  /** Why an adapter cannot be started by itself. */
  blockedReason(ordinal: number): string | undefined {
    const row = this.parts.deployments.read(ordinal)
    const base = this.#baseOf(row)
    return base && isTerminal(base.status) ? `its base ${row.plan.baseModel} is ${base.status}` : undefined
  }

  #scheduleDownload(ordinal: number): void {
    const row = this.parts.deployments.writable(ordinal)
    const { chance, profile } = this.context
    const delay = draw(profile.timings.placementDelay, chance, row.key, PLACEMENT, row.nextInstanceIndex)
    row.next = this.context.schedule(delay, 'adapter.downloading', ordinal)
  }

  #baseOf(row: Readonly<DeploymentRow>): Readonly<DeploymentRow> | undefined {
    return row.plan.base >= 0 ? this.parts.deployments.read(row.plan.base) : undefined
  }

  #baseLossReason(row: Readonly<DeploymentRow>, status: 'failed' | 'deleted'): string {
    return `base ${row.plan.baseModel} ${status === 'failed' ? 'failed' : 'was deleted'}`
  }
}
