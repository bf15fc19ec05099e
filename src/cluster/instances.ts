import type { Micros } from '../kernel/duration.ts'
import { purpose } from '../kernel/random.ts'
import { type Generation, Row, Table } from '../kernel/table.ts'
import type { DeploymentRow } from './deployments.ts'
import type { EventName } from './events.ts'
import { memoryShortage } from './hub.ts'
import { bitCount } from './nodes.ts'
import type { World } from './world.ts'

/** The life of an instance, in order. */
export const INSTANCE_STATES = ['pending', 'placed', 'pulling', 'loading', 'warming', 'ready', 'draining'] as const
/** `gone` has no row: an instance that is gone has left its table. */
export type InstanceState = (typeof INSTANCE_STATES)[number]

const IMAGE_PULL = purpose('instance.imagePull')
const DOWNLOAD = purpose('instance.download')
const WARM_UP = purpose('instance.warmUp')

/** One running copy of a deployment on GPUs of one node. */
export class InstanceRow extends Row {
  readonly deployment: number
  /** Which instance of its deployment this is, from 0: the index of its draws. */
  readonly nth: number
  state: InstanceState = 'pending'
  since: Micros
  node = -1
  /** GPUs it holds on its node, as bits. */
  gpus = 0
  /** The next event of its life. */
  next = 0
  /** When it counts as lost for not becoming ready. */
  overdue = 0

  constructor(generation: Generation, id: string, deployment: number, nth: number, since: Micros) {
    super(generation, id)
    this.deployment = deployment
    this.nth = nth
    this.since = since
  }

  copy(generation: Generation): InstanceRow {
    const copy = new InstanceRow(generation, this.id, this.deployment, this.nth, this.since)
    copy.state = this.state
    copy.node = this.node
    copy.gpus = this.gpus
    copy.next = this.next
    copy.overdue = this.overdue
    return copy.takeHash(this)
  }
}

/** The instances of all deployments: pending → placed → pulling → loading → warming → ready → draining → gone. */
export class Instances {
  readonly #world: World
  readonly #table: Table<InstanceRow>

  constructor(world: World, table?: Table<InstanceRow>) {
    this.#world = world
    this.#table = table ?? new Table(world.generation)
  }

  fork(world: World, theirs: Generation): Instances {
    return new Instances(world, this.#table.fork(theirs, world.generation))
  }

  get count(): number {
    return this.#table.count
  }

  read(ordinal: number): Readonly<InstanceRow> {
    return this.#table.read(ordinal)
  }

  entries(): Generator<[number, Readonly<InstanceRow>]> {
    return this.#table.entries()
  }

  /** Asks for an instance: it is pending now and looks for a node after `delay`. */
  ask(deployment: number, delay: Micros): void {
    const world = this.#world
    const row = world.deployments.own(deployment)
    const nth = row.nextInstance++
    const instance = new InstanceRow(this.#table.generation, `${row.id}-${nth}`, deployment, nth, world.clock.now)
    const ordinal = this.#table.add(instance)
    row.instances = [...row.instances, ordinal]
    world.deployments.moved(deployment, undefined, 'pending')
    world.limits.hold(row.gpu, row.numGpus)
    world.happened(instance, 'instance.pending', { deployment: row.id })
    instance.next = world.plan(delay, 'instance.placementDue', ordinal, this.#table.use(ordinal))
  }

  on(event: EventName, ordinal: number, use: number): void {
    if (this.#table.use(ordinal) !== use) throw new Error(`Failed to fire ${event}: its instance has gone.`)
    const instance = this.#table.own(ordinal)
    if (event === 'instance.overdue') instance.overdue = 0
    else instance.next = 0
    switch (event) {
      case 'instance.placementDue':
        this.#world.placement.enqueue(ordinal, use)
        return
      case 'instance.containerStarted':
        this.#pull(ordinal, instance)
        break
      case 'instance.imagePulled':
        this.#download(ordinal, instance)
        break
      case 'instance.weightsRefused':
        this.#refuse(ordinal, instance)
        return
      case 'instance.weightsPulled':
        this.#load(ordinal, instance)
        break
      case 'instance.outOfMemory':
        this.#outOfMemory(instance)
        return
      case 'instance.loaded':
        this.#warm(ordinal, instance)
        break
      case 'instance.warmed':
        this.#ready(instance)
        break
      case 'instance.overdue':
        this.lose([ordinal], 'it was not ready in time')
        return
      case 'instance.drained':
        this.#leave(ordinal)
        return
    }
    this.#world.deployments.refresh(instance.deployment)
  }

  /** Tries to give a waiting instance its GPUs; false when no single node has them. */
  place(ordinal: number): boolean {
    const world = this.#world
    const deployment = this.#deploymentOf(ordinal)
    const node = world.nodes.bestFit(deployment.gpu, deployment.numGpus, deployment.weights.repo)
    if (node < 0) return false
    const instance = this.#table.own(ordinal)
    instance.node = node
    instance.gpus = world.nodes.take(node, deployment.numGpus, ordinal)
    this.#enter(instance, 'placed', { node: world.nodes.read(node).id, gpus: bitCount(instance.gpus) })
    this.#plan(ordinal, instance, world.timings.containerStart, 'instance.containerStarted')
    world.deployments.refresh(instance.deployment)
    return true
  }

  /** Instances die with what carried them; their deployment asks for others. */
  lose(ordinals: readonly number[], reason: string): void {
    const world = this.#world
    // Whoever is lost in one blow is lost before anybody asks for another: replacements must not count as losses.
    const lost = ordinals.map(ordinal => ({ ordinal, row: this.#table.read(ordinal) }))
    for (const { ordinal, row } of lost) {
      world.happened(this.#table.own(ordinal), 'instance.lost', { reason, state: row.state })
      this.#remove(ordinal)
    }
    for (const deployment of new Set(lost.map(({ row }) => row.deployment))) {
      const wasStarting = lost.some(({ row }) => row.deployment === deployment && row.state !== 'draining')
      if (wasStarting) world.deployments.lostInstance(deployment, reason)
      else world.deployments.refresh(deployment)
    }
    world.placement.wake()
  }

  /** Tells an instance to leave: a ready one drains first. */
  release(ordinal: number): void {
    const instance = this.#table.own(ordinal)
    if (instance.state === 'draining') return
    if (instance.state !== 'ready') {
      this.#leave(ordinal)
      return
    }
    this.#enter(instance, 'draining')
    this.#plan(ordinal, instance, this.#world.timings.drain, 'instance.drained')
  }

  /** Builds an instance of a fixture in a later state than pending; false when no node has room. */
  settle(ordinal: number, state: InstanceState): boolean {
    const world = this.#world
    const instance = this.#table.own(ordinal)
    world.cancel(instance.next)
    instance.next = 0
    if (state === 'pending') {
      instance.next = world.plan(
        world.timings.placementDelay,
        'instance.placementDue',
        ordinal,
        this.#table.use(ordinal),
      )
      return true
    }
    if (!this.place(ordinal)) return false
    world.cancel(instance.next)
    instance.next = 0
    if (state === 'placed' || state === 'pulling') this.#pull(ordinal, instance)
    else if (state === 'loading' || state === 'warming') this.#load(ordinal, instance)
    else this.#ready(instance)
    return true
  }

  #deploymentOf(ordinal: number): Readonly<DeploymentRow> {
    return this.#world.deployments.read(this.#table.read(ordinal).deployment)
  }

  #enter(instance: InstanceRow, state: InstanceState, fields?: Record<string, string | number>): void {
    this.#world.deployments.moved(instance.deployment, instance.state, state)
    instance.state = state
    instance.since = this.#world.clock.now
    this.#world.happened(instance, `instance.${state}`, fields)
  }

  #plan(ordinal: number, instance: InstanceRow, delay: Micros, event: EventName): void {
    instance.next = this.#world.plan(delay, event, ordinal, this.#table.use(ordinal))
  }

  #pull(ordinal: number, instance: InstanceRow): void {
    const { chance, timings, nodes } = this.#world
    const cached = nodes.read(instance.node).imageCached
    this.#enter(instance, 'pulling', { image: cached ? 'cached' : 'fetched' })
    const { median, sigma, cap } = timings.imagePull
    const { key } = this.#deploymentOf(ordinal)
    const pull = cached ? 0 : Math.min(cap, chance.lognormal(median, sigma, key, IMAGE_PULL, instance.nth))
    this.#plan(ordinal, instance, pull, 'instance.imagePulled')
  }

  #download(ordinal: number, instance: InstanceRow): void {
    const world = this.#world
    const deployment = this.#deploymentOf(ordinal)
    world.nodes.cacheImage(instance.node)
    if (world.deployments.refusal(deployment) !== undefined) {
      this.#plan(ordinal, instance, world.timings.hubRefusal, 'instance.weightsRefused')
      return
    }
    const cached = world.nodes.read(instance.node).weightsCached.includes(deployment.weights.repo)
    const { median, sigma, cap } = world.timings.downloadRate
    const rate = Math.min(cap, world.chance.lognormal(median, sigma, deployment.key, DOWNLOAD, instance.nth))
    const duration = cached ? 0 : (deployment.size.bytes / rate) * 1e6
    world.happened(instance, 'instance.imagePulled', { weights: cached ? 'cached' : 'fetched' })
    this.#plan(ordinal, instance, duration, 'instance.weightsPulled')
  }

  #refuse(ordinal: number, instance: InstanceRow): void {
    const reason = this.#world.deployments.refusal(this.#deploymentOf(ordinal))
    // The repository may have opened while the answer was under way; then the download begins after all.
    if (reason === undefined) this.#download(ordinal, instance)
    else this.#world.deployments.fail(instance.deployment, reason)
  }

  #load(ordinal: number, instance: InstanceRow): void {
    const { timings, nodes } = this.#world
    const deployment = this.#deploymentOf(ordinal)
    nodes.cacheWeights(instance.node, deployment.weights.repo)
    this.#enter(instance, 'loading')
    instance.overdue = this.#world.plan(timings.readyWithin, 'instance.overdue', ordinal, this.#table.use(ordinal))
    const duration = timings.loadFixed + (deployment.size.bytes / timings.loadRate) * 1e6
    const short = memoryShortage(deployment.size, deployment.gpu, deployment.numGpus, deployment.maxBatchSize)
    this.#plan(ordinal, instance, duration, short === undefined ? 'instance.loaded' : 'instance.outOfMemory')
  }

  #outOfMemory(instance: InstanceRow): void {
    const { size, gpu, numGpus, maxBatchSize } = this.#world.deployments.read(instance.deployment)
    const reason = memoryShortage(size, gpu, numGpus, maxBatchSize) ?? 'CUDA out of memory'
    this.#world.deployments.fail(instance.deployment, reason)
  }

  #warm(ordinal: number, instance: InstanceRow): void {
    const { chance, timings } = this.#world
    const { size, key } = this.#deploymentOf(ordinal)
    this.#enter(instance, 'warming')
    const { median, perGigabyte, sigma } = timings.warmUp
    const middle = median + (size.bytes / 1e9) * perGigabyte
    this.#plan(ordinal, instance, chance.lognormal(middle, sigma, key, WARM_UP, instance.nth), 'instance.warmed')
  }

  #ready(instance: InstanceRow): void {
    this.#world.cancel(instance.overdue)
    instance.overdue = 0
    this.#enter(instance, 'ready')
    this.#world.deployments.instanceReady(instance.deployment)
  }

  /** Its time is over: it leaves and whoever waits may have its GPUs. */
  #leave(ordinal: number): void {
    const instance = this.#table.own(ordinal)
    this.#world.happened(instance, 'instance.gone')
    this.#remove(ordinal)
    this.#world.deployments.refresh(instance.deployment)
    this.#world.placement.wake()
  }

  #remove(ordinal: number): void {
    const world = this.#world
    const instance = this.#table.own(ordinal)
    world.cancel(instance.next)
    world.cancel(instance.overdue)
    if (instance.node >= 0) world.nodes.release(instance.node, instance.gpus, ordinal)
    else world.placement.leave(ordinal)
    const deployment = world.deployments.own(instance.deployment)
    deployment.instances = deployment.instances.filter(other => other !== ordinal)
    world.deployments.moved(instance.deployment, instance.state, undefined)
    world.limits.release(deployment.gpu, deployment.numGpus)
    this.#table.remove(ordinal)
    if (instance.state === 'ready' || instance.state === 'draining') world.deployments.meter(instance.deployment)
  }
}
