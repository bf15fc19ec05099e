import { draw } from '../../data/profiles/figures.ts'
import { purpose } from '../../kernel/random.ts'
import type { EventName } from '../events.ts'
import type { World } from '../world.ts'
import { AdapterSlots } from './adapter-slots.ts'
import {
  type AdapterSpec,
  type DeployedWeights,
  type DeploymentRow,
  EMPTY_LIST,
  type FixtureIdentity,
  isTerminal,
} from './deployment-row.ts'

const DOWNLOAD = purpose('adapter.download')

/** Of an adapter whose base is a model of the catalog. */
const NO_WEIGHTS: DeployedWeights = {
  source: 'catalog',
  repo: '',
  revision: '',
  token: '',
  bytes: 0,
  parametersB: 0,
  context: 0,
}

/**
 * LoRA adapters: rows of the deployment table whose GPU time is their base's. The base is the account's newest live
 * deployment of that name, else the catalog's model on shared capacity.
 */
export class LoraAdapters {
  readonly #world: World
  /** Which of them are loaded on which instance. */
  readonly slots: AdapterSlots

  constructor(world: World) {
    this.#world = world
    this.slots = new AdapterSlots(world)
  }

  /** Puts an adapter in without setting anything in motion. */
  add(spec: AdapterSpec, identity: FixtureIdentity = {}): number {
    const world = this.#world
    const namedDeployment = world.deployments.findLive(spec.base_model)
    // References to the catalog have rows too; what they name is served on shared capacity.
    const base = namedDeployment?.type === 'llm' ? namedDeployment : undefined
    const baseRow = base === undefined ? undefined : world.deployments.read(base.ordinal)
    const ordinal = world.deployments.insert(
      {
        modelName: spec.model_name,
        task: baseRow?.plan.task ?? 'text-generation',
        type: 'lora',
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
      const row = world.deployments.writable(base.ordinal)
      row.adapters = [...row.adapters, ordinal]
    }
    const row = world.deployments.writable(ordinal)
    row.minInstances = baseRow?.minInstances ?? 0
    row.maxInstances = baseRow?.maxInstances ?? 0
    row.isPrivate = spec.private
    row.description = spec.description
    world.record(row, 'adapter.created', { base: spec.base_model })
    return ordinal
  }

  /** Starts an adapter, as far as its base lets it. */
  start(ordinal: number): void {
    const world = this.#world
    const row = world.deployments.writable(ordinal)
    row.restartsWithBase = false
    const base = this.#baseOf(row)
    if (base?.status === 'stopped') {
      row.restartsWithBase = true
      world.deployments.setStatus(ordinal, 'stopped')
      return
    }
    if (base?.status === 'failed' || base?.status === 'deleted') {
      world.deployments.setStatus(ordinal, 'failed', this.#baseLossReason(row, base.status))
      return
    }
    world.deployments.setStatus(ordinal, 'initializing')
    // A base of the catalog is served on shared capacity and is always there.
    if (base === undefined || base.status === 'running') this.#scheduleDownload(ordinal)
  }

  onEvent(event: EventName, ordinal: number, arg: number): void {
    const world = this.#world
    if (event === 'adapter.loadedOnInstance') {
      this.slots.onLoaded(ordinal, arg)
      return
    }
    const row = world.deployments.writable(ordinal)
    row.next = 0
    if (event === 'adapter.downloading') {
      const { adapterDownload } = world.profile.timings
      const duration = draw(adapterDownload, world.chance, row.key, DOWNLOAD, row.nextInstanceIndex++)
      world.deployments.setStatus(ordinal, 'downloading')
      row.next = world.schedule(duration, 'adapter.downloaded', ordinal)
    } else if (event === 'adapter.downloaded') {
      world.deployments.setStatus(ordinal, 'deploying')
      // Shared capacity has no slots; an instance of the account's own does.
      if (row.plan.base >= 0) this.slots.assignSlots(row.plan.base)
      else row.next = world.schedule(world.profile.timings.adapterLoad, 'adapter.loaded', ordinal)
    } else {
      row.wasReady = true
      world.deployments.setStatus(ordinal, 'running')
    }
  }

  /** Adapters follow their base: they stop, fail and come back with it. */
  onBaseChanged(base: number): void {
    const { deployments } = this.#world
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
    const world = this.#world
    const currentRow = world.deployments.read(ordinal)
    if (currentRow.isPrivate === isPrivate && currentRow.description === description) return
    const row = world.deployments.writable(ordinal)
    row.isPrivate = isPrivate
    row.description = description
    row.updatedAt = world.clock.now
    world.record(row, 'adapter.described', { private: isPrivate })
    world.deployments.onVisibleChange(ordinal)
  }

  /** Why an adapter can not be started by itself. */
  blockedReason(ordinal: number): string | undefined {
    const row = this.#world.deployments.read(ordinal)
    const base = this.#baseOf(row)
    return base && isTerminal(base.status) ? `its base ${row.plan.baseModel} is ${base.status}` : undefined
  }

  #scheduleDownload(ordinal: number): void {
    const row = this.#world.deployments.writable(ordinal)
    row.next = this.#world.schedule(this.#world.profile.timings.placementDelay, 'adapter.downloading', ordinal)
  }

  #baseOf(row: Readonly<DeploymentRow>): Readonly<DeploymentRow> | undefined {
    return row.plan.base >= 0 ? this.#world.deployments.read(row.plan.base) : undefined
  }

  #baseLossReason(row: Readonly<DeploymentRow>, status: 'failed' | 'deleted'): string {
    return `base ${row.plan.baseModel} ${status === 'failed' ? 'failed' : 'was deleted'}`
  }
}
