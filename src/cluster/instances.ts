import type { EntryHandle } from '../kernel/agenda.ts'
import type { Micros } from '../kernel/duration.ts'
import { purpose } from '../kernel/random.ts'
import { type Generation, Row, Table } from '../kernel/table.ts'
import type { Tape } from '../kernel/tape.ts'
import { draw } from '../store/profile-figures.ts'
import type { DeploymentRow } from './deployment-row.ts'
import type { EventName } from './events.ts'
import { badImage, memoryShortage } from './hub.ts'
import { Life } from './life.ts'
import { bitCount, hasImage, hasWeights } from './nodes.ts'
import type { World } from './world.ts'

/** The life of an instance, in order. */
export const INSTANCE_STATES = ['pending', 'placed', 'pulling', 'loading', 'warming', 'ready', 'draining'] as const
/** `gone` has no row: an instance that is gone has left its table. */
export type InstanceState = (typeof INSTANCE_STATES)[number]

/** What is recorded when an instance enters a state: made once, because a text made anew is hashed anew. */
const ENTERED = Object.fromEntries(INSTANCE_STATES.map(state => [state, `instance.${state}`])) as Readonly<
  Record<InstanceState, string>
>

const IMAGE_PULL = purpose('instance.imagePull')
const DOWNLOAD = purpose('instance.download')
const WARM_UP = purpose('instance.warmUp')

/** Why an engine exits that was told to. */
export const ENGINE_CRASH = 'engine exited with code 1'

/** A LoRA adapter in a slot of an instance. */
export interface ResidentAdapter {
  /** Ordinal of the adapter. */
  readonly adapter: number
  readonly usedAt: Micros
  /** Batches and requests that use it now: while there are any it keeps its slot. */
  readonly users: number
  /** The end of its load, while that is under way; 0 once it answers. */
  readonly loading: EntryHandle
}

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
  /** Its download: bytes that are left, the rate it could have, the rate it has, and since when. 0 when there is none. */
  bytesLeft = 0
  ownRate = 0
  rate = 0
  rateSince: Micros = 0
  /** Adapters in its slots. Replaced, never edited. */
  adapters: readonly ResidentAdapter[] = []
  /** When it entered what: for reports. */
  readonly life: Life

  constructor(
    generation: Generation,
    id: string,
    deployment: number,
    nth: number,
    since: Micros,
    life = new Life(since),
  ) {
    super(generation, id)
    this.deployment = deployment
    this.nth = nth
    this.since = since
    this.life = life
  }

  copy(generation: Generation): InstanceRow {
    const copy = new InstanceRow(generation, this.id, this.deployment, this.nth, this.since, this.life.copy())
    copy.state = this.state
    copy.node = this.node
    copy.gpus = this.gpus
    copy.next = this.next
    copy.overdue = this.overdue
    copy.bytesLeft = this.bytesLeft
    copy.ownRate = this.ownRate
    copy.rate = this.rate
    copy.rateSince = this.rateSince
    copy.adapters = this.adapters
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

  keep(tape: Tape): void {
    this.#table.keep(tape)
  }

  get count(): number {
    return this.#table.count
  }

  read(ordinal: number): Readonly<InstanceRow> {
    return this.#table.read(ordinal)
  }

  own(ordinal: number): InstanceRow {
    return this.#table.own(ordinal)
  }

  /** The repository whose weights an instance reads. */
  weightsOf(ordinal: number): string {
    return this.#deploymentOf(ordinal).weights.repo
  }

  /** The image that an instance runs; '' is the provider's own serving image. */
  imageOf(ordinal: number): string {
    return this.#deploymentOf(ordinal).plan.containerImage
  }

  /** Plans the next event of an instance; it happens only while the instance is there. */
  plan(ordinal: number, delay: Micros, event: EventName): number {
    return this.#world.plan(delay, event, ordinal, this.#table.use(ordinal))
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
    instance.next = this.plan(ordinal, delay, 'instance.placementDue')
  }

  on(event: EventName, ordinal: number, use: number): void {
    if (this.#table.use(ordinal) !== use) throw new Error(`Failed to fire ${event}: its instance has gone.`)
    const instance = this.#table.own(ordinal)
    if (event === 'instance.overdue') instance.overdue = 0
    else instance.next = 0
    switch (event) {
      case 'instance.placementDue':
        this.#world.placement.enqueue(ordinal)
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
      case 'instance.imageTimedOut':
        this.lose([ordinal], 'the image registry did not answer')
        return
      case 'instance.downloadTimedOut':
        this.lose([ordinal], 'the hub did not answer')
        return
      case 'instance.weightsPulled':
        this.#world.downloads.end(instance)
        this.#load(ordinal, instance)
        break
      case 'instance.outOfMemory':
        this.#outOfMemory(instance)
        return
      case 'instance.engineExited':
        this.crash(ordinal, this.#exitOf(instance))
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
    const node = world.nodes.choose(deployment.gpu, deployment.numGpus, deployment.weights.repo)
    if (node < 0) return false
    const instance = this.#table.own(ordinal)
    instance.node = node
    instance.gpus = world.nodes.take(node, deployment.numGpus, ordinal)
    if (world.profile.policies.billFrom === 'placed') world.deployments.meter(instance.deployment)
    this.#enter(instance, 'placed', { node: world.nodes.read(node).id, gpus: bitCount(instance.gpus) })
    instance.next = this.plan(ordinal, world.profile.timings.containerStart, 'instance.containerStarted')
    world.deployments.refresh(instance.deployment)
    return true
  }

  /** Instances die with what carried them; their deployment asks for others. */
  lose(ordinals: readonly number[], reason: string): void {
    this.#die(ordinals, 'instance.lost', reason)
  }

  /** The engine of an instance exits; its deployment starts another, later each time it happens again. */
  crash(ordinal: number, reason: string): void {
    this.#die([ordinal], 'instance.crashed', reason)
  }

  #die(ordinals: readonly number[], kind: 'instance.lost' | 'instance.crashed', reason: string): void {
    const world = this.#world
    // Whoever is lost in one blow is lost before anybody asks for another: replacements must not count as losses.
    const lost = ordinals.map(ordinal => ({ ordinal, row: this.#table.read(ordinal) }))
    for (const { ordinal, row } of lost) {
      world.happened(this.#table.own(ordinal), kind, { reason, state: row.state })
      if (row.state === 'ready') world.batches.instanceLost(row.deployment)
      this.#remove(ordinal, reason)
    }
    for (const deployment of new Set(lost.map(({ row }) => row.deployment))) {
      const wanted = lost.find(({ row }) => row.deployment === deployment && row.state !== 'draining')
      if (wanted === undefined) world.deployments.refresh(deployment)
      else if (kind === 'instance.lost') world.deployments.lostInstance(deployment, reason)
      else {
        const { state, since } = wanted.row
        world.deployments.crashedInstance(deployment, reason, state === 'ready' ? world.clock.now - since : 0)
      }
      world.adapters.slots.serve(deployment)
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
    this.#world.adapters.slots.stopLoading(instance)
    this.#world.adapters.slots.serve(instance.deployment)
    instance.next = this.plan(ordinal, this.#world.profile.timings.drain, 'instance.drained')
  }

  /** Builds an instance of a fixture in a later state than pending; false when no node has room. */
  settle(ordinal: number, state: InstanceState): boolean {
    const world = this.#world
    const instance = this.#table.own(ordinal)
    world.cancel(instance.next)
    instance.next = 0
    if (state === 'pending') {
      instance.next = world.plan(
        world.profile.timings.placementDelay,
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
    const { deployments, clock } = this.#world
    const served = instance.state === 'ready'
    deployments.moved(instance.deployment, instance.state, state)
    instance.state = state
    instance.since = clock.now
    instance.life.enter(state, clock.now)
    this.#world.happened(instance, ENTERED[state], fields)
    if (served || state === 'ready') deployments.capacityChanged(instance.deployment)
  }

  #pull(ordinal: number, instance: InstanceRow): void {
    const { chance, profile, nodes, conditions } = this.#world
    const { containerImage } = this.#deploymentOf(ordinal).plan
    const cached = hasImage(nodes.read(instance.node), containerImage)
    this.#enter(instance, 'pulling', { image: cached ? 'cached' : 'fetched' })
    if (badImage(containerImage) !== undefined) {
      instance.next = this.plan(ordinal, profile.timings.hubRefusal, 'instance.weightsRefused')
      return
    }
    if (!cached && conditions.registryDown) {
      instance.next = this.plan(ordinal, profile.timings.hubTimeout, 'instance.imageTimedOut')
      return
    }
    const { key } = this.#deploymentOf(ordinal)
    const pull = cached ? 0 : draw(profile.timings.imagePull, chance, key, IMAGE_PULL, instance.nth)
    instance.next = this.plan(ordinal, pull, 'instance.imagePulled')
  }

  #download(ordinal: number, instance: InstanceRow): void {
    const world = this.#world
    const { timings } = world.profile
    const deployment = this.#deploymentOf(ordinal)
    world.nodes.cacheImage(instance.node, deployment.plan.containerImage)
    instance.life.pulled = world.clock.now
    const node = world.nodes.read(instance.node)
    const cached = hasWeights(node, deployment.weights.repo)
    if (world.deployments.refusal(deployment) !== undefined) {
      instance.next = this.plan(ordinal, timings.hubRefusal, 'instance.weightsRefused')
      return
    }
    if (!cached && node.diskFull) {
      this.lose([ordinal], `no space left on ${node.id}`)
      return
    }
    world.happened(instance, 'instance.imagePulled', { weights: cached ? 'cached' : 'fetched' })
    if (cached) instance.next = this.plan(ordinal, 0, 'instance.weightsPulled')
    else {
      const rate = draw(timings.downloadRate, world.chance, deployment.key, DOWNLOAD, instance.nth)
      world.downloads.begin(ordinal, deployment.weights.bytes, rate)
    }
  }

  #refuse(ordinal: number, instance: InstanceRow): void {
    const reason = this.#world.deployments.refusal(this.#deploymentOf(ordinal))
    // The repository may have opened while the answer was under way; then the download begins after all.
    if (reason === undefined) this.#download(ordinal, instance)
    else this.#fail(instance, 'instance.refused', reason)
  }

  #load(ordinal: number, instance: InstanceRow): void {
    const { nodes } = this.#world
    const { timings } = this.#world.profile
    const deployment = this.#deploymentOf(ordinal)
    nodes.cacheWeights(instance.node, deployment.weights.repo, deployment.weights.bytes)
    this.#enter(instance, 'loading')
    instance.overdue = this.plan(ordinal, timings.readyWithin, 'instance.overdue')
    if (deployment.crashesToCome > 0 || this.#world.deployments.badArguments(deployment) !== undefined) {
      instance.next = this.plan(ordinal, timings.crashAfter, 'instance.engineExited')
      return
    }
    const duration = timings.loadFixed + (deployment.weights.bytes / timings.loadRate) * 1e6
    const short = memoryShortage(deployment.weights, deployment.gpu, deployment.numGpus, deployment.maxBatchSize)
    instance.next = this.plan(ordinal, duration, short === undefined ? 'instance.loaded' : 'instance.outOfMemory')
  }

  #exitOf(instance: Readonly<InstanceRow>): string {
    const { deployments } = this.#world
    const bad = deployments.badArguments(deployments.read(instance.deployment))
    if (bad !== undefined) return `engine exited with code 2: ${bad}`
    deployments.own(instance.deployment).crashesToCome--
    return ENGINE_CRASH
  }

  #outOfMemory(instance: InstanceRow): void {
    const { weights, gpu, numGpus, maxBatchSize } = this.#world.deployments.read(instance.deployment)
    const reason = memoryShortage(weights, gpu, numGpus, maxBatchSize) ?? 'CUDA out of memory'
    this.#fail(instance, 'instance.outOfMemory', reason)
  }

  /** What ends the whole deployment shows in the log of the instance that met it. */
  #fail({ deployment, nth }: Readonly<InstanceRow>, kind: string, reason: string): void {
    this.#world.logs.tell(deployment, nth, kind, { reason })
    this.#world.deployments.fail(deployment, reason)
  }

  #warm(ordinal: number, instance: InstanceRow): void {
    const { chance } = this.#world
    const { timings } = this.#world.profile
    const { weights, key } = this.#deploymentOf(ordinal)
    this.#enter(instance, 'warming')
    const { median, perGigabyte, sigma } = timings.warmUp
    const middle = median + (weights.bytes / 1e9) * perGigabyte
    instance.next = this.plan(ordinal, chance.lognormal(middle, sigma, key, WARM_UP, instance.nth), 'instance.warmed')
  }

  #ready(instance: InstanceRow): void {
    this.#world.cancel(instance.overdue)
    instance.overdue = 0
    this.#enter(instance, 'ready')
    this.#world.deployments.instanceReady(instance.deployment)
    this.#world.adapters.slots.serve(instance.deployment)
  }

  /** Its time is over: it leaves and whoever waits may have its GPUs. */
  #leave(ordinal: number): void {
    const instance = this.#table.own(ordinal)
    this.#world.happened(instance, 'instance.gone')
    this.#remove(ordinal)
    this.#world.deployments.refresh(instance.deployment)
    this.#world.placement.wake()
  }

  #remove(ordinal: number, lostTo?: string): void {
    const world = this.#world
    const instance = this.#table.own(ordinal)
    world.cancel(instance.next)
    world.cancel(instance.overdue)
    world.adapters.slots.stopLoading(instance)
    if (instance.ownRate > 0) world.downloads.end(instance)
    if (instance.node >= 0) world.nodes.release(instance.node, instance.gpus, ordinal)
    else world.placement.leave(ordinal)
    const deployment = world.deployments.own(instance.deployment)
    deployment.instances = deployment.instances.filter(other => other !== ordinal)
    world.chronicle.lifeEnded(deployment, instance.life, lostTo)
    world.deployments.moved(instance.deployment, instance.state, undefined)
    world.limits.release(deployment.gpu, deployment.numGpus)
    world.inference.instanceGone(ordinal, lostTo ?? 'its instance was stopped')
    this.#table.remove(ordinal)
    world.deployments.meter(instance.deployment)
    if (instance.state === 'ready') world.deployments.capacityChanged(instance.deployment)
  }
}
