import { purpose } from '../kernel/random.ts'
import { draw } from '../store/profile-figures.ts'
import { AdapterSlots } from './adapter-slots.ts'
import {
  type AdapterSpec,
  type DeployedWeights,
  type DeploymentRow,
  type GivenIdentity,
  isOver,
  NONE,
} from './deployment-row.ts'
import type { EventName } from './events.ts'
import type { World } from './world.ts'

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
export class Adapters {
  readonly #world: World
  /** Which of them are loaded on which instance. */
  readonly slots: AdapterSlots

  constructor(world: World) {
    this.#world = world
    this.slots = new AdapterSlots(world)
  }

  /** Puts an adapter in without setting anything in motion. */
  add(spec: AdapterSpec, given: GivenIdentity = {}): number {
    const world = this.#world
    const named = world.deployments.live(spec.base_model)
    // References to the catalog have rows too; what they name is served on shared capacity.
    const base = named?.type === 'llm' ? named : undefined
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
        extraArgs: NONE,
        base: base?.ordinal ?? -1,
        baseModel: spec.base_model,
        modelhubUrl: spec.modelhub_url,
      },
      given,
    )
    if (base) {
      const row = world.deployments.own(base.ordinal)
      row.adapters = [...row.adapters, ordinal]
    }
    const row = world.deployments.own(ordinal)
    row.minInstances = baseRow?.minInstances ?? 0
    row.maxInstances = baseRow?.maxInstances ?? 0
    row.isPrivate = spec.private
    row.description = spec.description
    world.happened(row, 'adapter.created', { base: spec.base_model })
    return ordinal
  }

  /** Starts an adapter, as far as its base lets it. */
  begin(ordinal: number): void {
    const world = this.#world
    const row = world.deployments.own(ordinal)
    row.endedWithBase = false
    const base = this.#baseOf(row)
    if (base?.status === 'stopped') {
      row.endedWithBase = true
      world.deployments.setStatus(ordinal, 'stopped')
      return
    }
    if (base?.status === 'failed' || base?.status === 'deleted') {
      world.deployments.setStatus(ordinal, 'failed', this.#lostBase(row, base.status))
      return
    }
    world.deployments.setStatus(ordinal, 'initializing')
    // A base of the catalog is served on shared capacity and is always there.
    if (base === undefined || base.status === 'running') this.#fetch(ordinal)
  }

  on(event: EventName, ordinal: number, arg: number): void {
    const world = this.#world
    if (event === 'adapter.loadedOnInstance') {
      this.slots.loaded(ordinal, arg)
      return
    }
    const row = world.deployments.own(ordinal)
    row.next = 0
    if (event === 'adapter.downloading') {
      const { adapterDownload } = world.profile.timings
      const duration = draw(adapterDownload, world.chance, row.key, DOWNLOAD, row.nextInstance++)
      world.deployments.setStatus(ordinal, 'downloading')
      row.next = world.plan(duration, 'adapter.downloaded', ordinal)
    } else if (event === 'adapter.downloaded') {
      world.deployments.setStatus(ordinal, 'deploying')
      // Shared capacity has no slots; an instance of the account's own does.
      if (row.plan.base >= 0) this.slots.serve(row.plan.base)
      else row.next = world.plan(world.profile.timings.adapterLoad, 'adapter.loaded', ordinal)
    } else {
      row.wasReady = true
      world.deployments.setStatus(ordinal, 'running')
    }
  }

  /** Adapters follow their base: they stop, fail and come back with it. */
  baseChanged(base: number): void {
    const { deployments } = this.#world
    const { status, adapters } = deployments.read(base)
    for (const ordinal of adapters) {
      const row = deployments.read(ordinal)
      const live = !isOver(row.status)
      if (status === 'stopped') {
        if (!live) continue
        deployments.stop(ordinal)
        deployments.own(ordinal).endedWithBase = true
      } else if (status === 'failed' || status === 'deleted') {
        if (row.status === 'failed') continue
        // One that was stopped by hand fails too, and does not come back by itself.
        const returns = live || row.endedWithBase
        deployments.fail(ordinal, this.#lostBase(row, status))
        if (!live) deployments.setStatus(ordinal, 'failed', this.#lostBase(row, status))
        deployments.own(ordinal).endedWithBase = returns
      } else if (status === 'running' && row.status === 'initializing' && row.next === 0) this.#fetch(ordinal)
      else if (!live && row.endedWithBase) this.begin(ordinal)
    }
  }

  /** Says something else of an adapter: who may see it, and what it is. */
  describe(ordinal: number, isPrivate: boolean, description: string): void {
    const world = this.#world
    const seen = world.deployments.read(ordinal)
    if (seen.isPrivate === isPrivate && seen.description === description) return
    const row = world.deployments.own(ordinal)
    row.isPrivate = isPrivate
    row.description = description
    row.updatedAt = world.clock.now
    world.happened(row, 'adapter.described', { private: isPrivate })
    world.deployments.changed(ordinal)
  }

  /** Why an adapter can not be started by itself. */
  blockedBy(ordinal: number): string | undefined {
    const row = this.#world.deployments.read(ordinal)
    const base = this.#baseOf(row)
    return base && isOver(base.status) ? `its base ${row.plan.baseModel} is ${base.status}` : undefined
  }

  #fetch(ordinal: number): void {
    const row = this.#world.deployments.own(ordinal)
    row.next = this.#world.plan(this.#world.profile.timings.placementDelay, 'adapter.downloading', ordinal)
  }

  #baseOf(row: Readonly<DeploymentRow>): Readonly<DeploymentRow> | undefined {
    return row.plan.base >= 0 ? this.#world.deployments.read(row.plan.base) : undefined
  }

  #lostBase(row: Readonly<DeploymentRow>, status: 'failed' | 'deleted'): string {
    return `base ${row.plan.baseModel} ${status === 'failed' ? 'failed' : 'was deleted'}`
  }
}
