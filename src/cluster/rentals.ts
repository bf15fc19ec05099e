import { type Micros, readable } from '../kernel/duration.ts'
import { Layers } from '../kernel/layers.ts'
import { purpose } from '../kernel/random.ts'
import { type Generation, Table } from '../kernel/table.ts'
import type { Tape } from '../kernel/tape.ts'
import { draw } from '../store/profile-figures.ts'
import { CONTAINER_STATES, type GpuType, HOSTED_STATES } from '../store/records.ts'
import type { EventName } from './events.ts'
import { badImage } from './hub.ts'
import { bitCount, hasImage } from './nodes.ts'
import { countsAgainstLimit, type RentalKind, RentalRow, type RentalState, tenantOf } from './rental-row.ts'
import type { World } from './world.ts'

const ID = purpose('rental.id')
const IMAGE_PULL = purpose('rental.imagePull')
const BOOT = purpose('rental.boot')

const PREFIX: Readonly<Record<RentalKind, string>> = { hosted: 'inst_', container: 'container_' }

/** What is recorded when a rental gets a state: made once, because a text made anew is hashed anew. */
const BECAME: Readonly<Record<RentalKind, Readonly<Partial<Record<RentalState, string>>>>> = {
  hosted: Object.fromEntries(HOSTED_STATES.map(state => [state, `hosted.${state}`])),
  container: Object.fromEntries(CONTAINER_STATES.map(state => [state, `container.${state}`])),
}

/** What is asked for, checked. */
export interface RentalSpec {
  readonly kind: RentalKind
  readonly name: string
  readonly gpu: GpuType
  readonly numGpus: number
  readonly image?: string
  readonly storageGb?: number
}

/** What a fixture knows of a rental and a request does not. */
export interface GivenRental {
  readonly id: string
  readonly state: RentalState
  readonly createdAt: Micros
  readonly failReason: string
}

/**
 * Hosted instances and containers: tenants of the fleet beside the instances of deployments. They look for GPUs in the
 * same rounds, start, are billed while they run, and end with what carries them.
 */
export class Rentals {
  readonly #world: World
  readonly #table: Table<RentalRow>
  readonly #byId: Layers<number>

  constructor(world: World, from?: { table: Table<RentalRow>; rentals: Rentals }) {
    this.#world = world
    this.#table = from?.table ?? new Table(world.generation)
    this.#byId = from ? from.rentals.#byId.fork() : new Layers()
  }

  fork(world: World, theirs: Generation): Rentals {
    return new Rentals(world, { table: this.#table.fork(theirs, world.generation), rentals: this })
  }

  keep(tape: Tape): void {
    this.#table.keep(tape)
    this.#byId.keep(tape)
  }

  get count(): number {
    return this.#table.count
  }

  read(ordinal: number): Readonly<RentalRow> {
    return this.#table.read(ordinal)
  }

  own(ordinal: number): RentalRow {
    return this.#table.own(ordinal)
  }

  entries(): Generator<[number, Readonly<RentalRow>]> {
    return this.#table.entries()
  }

  ordinalOf(id: string): number | undefined {
    return this.#byId.get(id)
  }

  /** Those of a kind whose state is asked for, by creation, then id. */
  list(kind: RentalKind, isWanted: (state: RentalState) => boolean): number[] {
    const found: { ordinal: number; row: Readonly<RentalRow> }[] = []
    for (const [ordinal, row] of this.#table.entries()) {
      if (row.kind === kind && isWanted(row.state)) found.push({ ordinal, row })
    }
    found.sort((a, b) => a.row.plan.createdAt - b.row.plan.createdAt || (a.row.id < b.row.id ? -1 : 1))
    return found.map(({ ordinal }) => ordinal)
  }

  /** Rents one, which looks for its GPUs at once. Nothing is checked here: the API has. */
  create(spec: RentalSpec): number {
    const ordinal = this.#insert(spec)
    this.#ask(ordinal)
    return ordinal
  }

  /** Puts a rental of a fixture in, with what makes its state true; false when it needs GPUs and no node has them. */
  settle(spec: RentalSpec, given: GivenRental): boolean {
    const ordinal = this.#insert(spec, given)
    const { state } = given
    if (!countsAgainstLimit(state)) return true
    if (state === 'creating') {
      this.#ask(ordinal)
      return true
    }
    const world = this.#world
    const node = world.nodes.choose(spec.gpu, spec.numGpus, '')
    if (node < 0) return false
    world.limits.hold(spec.gpu, spec.numGpus)
    const row = this.#table.own(ordinal)
    this.#take(ordinal, row, node)
    if (state === 'starting') this.#begin(ordinal, row)
    else {
      row.ran = true
      this.#meter(row)
      if (state !== 'running') this.#planShutdown(ordinal, row)
    }
    return true
  }

  rename(ordinal: number, name: string): void {
    const row = this.#table.own(ordinal)
    row.name = name
    this.#changed(row, 'renamed', { name })
  }

  expand(ordinal: number, sizeGb: number): void {
    const row = this.#table.own(ordinal)
    row.expandingTo = sizeGb
    row.expansion = this.#world.plan(this.#world.profile.timings.storageExpansion, 'rental.expanded', ordinal)
    this.#changed(row, 'expanding', { storage_gb: sizeGb })
  }

  /** Starts one that is stopped: it looks for GPUs anew, and finds its storage as it was. */
  start(ordinal: number): void {
    const row = this.#table.own(ordinal)
    row.failReason = ''
    row.stoppedForFunds = false
    this.#enter(row, 'starting')
    this.#ask(ordinal)
  }

  stop(ordinal: number): void {
    this.#shutDown(ordinal, 'stopped')
  }

  delete(ordinal: number): void {
    const row = this.#table.own(ordinal)
    if (row.state === 'stopping') {
      row.endsAs = 'deleted'
      this.#changed(row, 'deleting')
    } else if (countsAgainstLimit(row.state)) this.#shutDown(ordinal, 'deleted')
    else this.#end(ordinal, 'deleted')
  }

  /** Tries to give one that waits its GPUs; false when no single node has them. */
  place(ordinal: number): boolean {
    const { nodes } = this.#world
    const { gpu, numGpus } = this.#table.read(ordinal)
    const node = nodes.choose(gpu, numGpus, '')
    if (node < 0) return false
    const row = this.#table.own(ordinal)
    this.#take(ordinal, row, node)
    this.#world.happened(row, `${row.kind}.placed`, { node: nodes.read(node).id, gpus: bitCount(row.gpus) })
    if (row.state !== 'starting') this.#enter(row, 'starting')
    this.#begin(ordinal, row)
    return true
  }

  /** What carried these has gone. */
  lose(ordinals: readonly number[], reason: string): void {
    const { profile, ledger } = this.#world
    // On a suspended account nothing starts.
    const mayRestart = profile.policies.hostedHostLost === 'restarted' && ledger.suspended === undefined
    for (const ordinal of ordinals) {
      const row = this.#table.own(ordinal)
      if (row.state === 'stopping' || row.state === 'shutting_down') this.#isDown(ordinal, row)
      else if (row.kind === 'hosted' && mayRestart) this.#restart(ordinal, reason)
      else this.#end(ordinal, 'failed', reason)
    }
  }

  /** The grace is over: hosted instances stop, and containers, which can not, are shut down for good. */
  stopForFunds(reason: string): void {
    for (const [ordinal, seen] of [...this.#table.entries()]) {
      const { state } = seen
      if (!countsAgainstLimit(state) || state === 'stopping' || state === 'shutting_down') continue
      const row = this.#table.own(ordinal)
      row.stoppedForFunds = true
      this.#shutDown(ordinal, row.kind === 'hosted' ? 'stopped' : 'deleted', reason)
    }
  }

  /** Funds are back: what was stopped for lack of them starts, where the provider's policy says so. */
  fundsReturned(): void {
    for (const ordinal of this.list('hosted', state => state === 'stopped')) this.#startAgain(ordinal)
  }

  on(event: EventName, ordinal: number): void {
    const row = this.#table.own(ordinal)
    if (event === 'rental.expanded') {
      this.#expanded(row)
      return
    }
    row.next = 0
    switch (event) {
      case 'rental.gaveUp':
        this.#giveUp(ordinal, row)
        break
      case 'rental.imageRefused':
        this.#end(ordinal, 'failed', badImage(row.plan.image))
        break
      case 'rental.pullTimedOut':
        this.#end(ordinal, 'failed', 'the image registry did not answer')
        break
      case 'rental.imagePulled':
        this.#pulled(ordinal, row)
        break
      case 'rental.booted':
        row.ran = true
        this.#enter(row, 'running')
        this.#meter(row)
        break
      case 'rental.shutDown':
        this.#isDown(ordinal, row)
        break
    }
  }

  #insert(spec: RentalSpec, given?: GivenRental): number {
    const world = this.#world
    const { kind, name, gpu, numGpus, image = '', storageGb = 0 } = spec
    const key = world.newKey(kind, name)
    const id = given?.id ?? `${PREFIX[kind]}${world.chance.letters(24, key, ID)}`
    const createdAt = given?.createdAt ?? world.clock.now
    const row = new RentalRow(
      this.#table.generation,
      id,
      { kind, key, gpu, numGpus, image, createdAt },
      { name, state: given?.state ?? 'creating', since: createdAt, storageGb },
    )
    row.failReason = given?.failReason ?? ''
    const ordinal = this.#table.add(row)
    this.#byId.set(id, ordinal)
    row.meter = world.ledger.openMeter(id, kind, gpu, numGpus)
    world.happened(row, `${kind}.created`, { name, gpu, num_gpus: numGpus })
    world.seen()
    return ordinal
  }

  /** It looks for GPUs, and gives up after a while. */
  #ask(ordinal: number): void {
    const world = this.#world
    const row = this.#table.own(ordinal)
    world.limits.hold(row.gpu, row.numGpus)
    this.#wait(ordinal, row)
  }

  #wait(ordinal: number, row: RentalRow): void {
    const world = this.#world
    row.starts++
    row.since = world.clock.now
    row.next = world.plan(world.profile.timings.rentalCapacityWait, 'rental.gaveUp', ordinal)
    world.placement.enqueue(tenantOf(ordinal))
  }

  /** Takes its GPUs on a node that has them. */
  #take(ordinal: number, row: RentalRow, node: number): void {
    const world = this.#world
    world.cancel(row.next)
    row.next = 0
    row.node = node
    row.gpus = world.nodes.take(node, row.numGpus, tenantOf(ordinal))
    row.heldSince = world.clock.now
    this.#meter(row)
  }

  /** It has its GPUs: a container pulls its image, a hosted instance boots from its storage. */
  #begin(ordinal: number, row: RentalRow): void {
    const world = this.#world
    const { image, key } = row.plan
    const { timings } = world.profile
    if (row.kind === 'hosted') this.#boot(ordinal, row)
    else if (badImage(image) !== undefined) row.next = world.plan(timings.hubRefusal, 'rental.imageRefused', ordinal)
    else if (hasImage(world.nodes.read(row.node), image)) row.next = world.plan(0, 'rental.imagePulled', ordinal)
    else {
      const takes = draw(timings.imagePull, world.chance, key, IMAGE_PULL, row.starts)
      const rate = takes > 0 ? (timings.imageBytes / takes) * 1e6 : Number.MAX_VALUE
      world.downloads.begin(tenantOf(ordinal), timings.imageBytes, rate)
    }
  }

  #pulled(ordinal: number, row: RentalRow): void {
    const world = this.#world
    const fetched = row.ownRate > 0
    if (fetched) world.downloads.end(row)
    world.nodes.cacheImage(row.node, row.plan.image)
    world.happened(row, 'container.imagePulled', { image: fetched ? 'fetched' : 'cached' })
    this.#boot(ordinal, row)
  }

  #boot(ordinal: number, row: RentalRow): void {
    const { profile, chance } = this.#world
    const { hostedBoot, containerBoot } = profile.timings
    const takes = draw(row.kind === 'hosted' ? hostedBoot : containerBoot, chance, row.plan.key, BOOT, row.starts)
    row.next = this.#world.plan(takes, 'rental.booted', ordinal)
  }

  /** No GPUs came: a new one has failed, one that was stopped is so again and keeps what it stored. */
  #giveUp(ordinal: number, row: Readonly<RentalRow>): void {
    const waited = readable(this.#world.profile.timings.rentalCapacityWait)
    const reason = `no node had ${row.numGpus} free ${row.gpu} for ${waited}`
    this.#end(ordinal, row.state === 'creating' ? 'failed' : 'stopped', reason)
  }

  /** Its machine is gone and the provider starts it on another. */
  #restart(ordinal: number, reason: string): void {
    const row = this.#table.own(ordinal)
    this.#leave(ordinal, row)
    this.#world.happened(row, 'hosted.lost', { reason })
    if (row.state !== 'starting') this.#enter(row, 'starting')
    this.#wait(ordinal, row)
    this.#world.placement.wake()
  }

  /** Starts again what lacked funds and no longer does, as far as the GPU limit allows. */
  #startAgain(ordinal: number): void {
    const { ledger, limits, profile } = this.#world
    const row = this.#table.read(ordinal)
    if (row.state !== 'stopped' || !row.stoppedForFunds || !ledger.canSpend()) return
    if (profile.policies.balanceReturns !== 'restart') return
    if (limits.hasRoom(row.gpu, row.numGpus)) this.start(ordinal)
  }

  /** One that runs shuts down first, and is billed until its GPUs are given back; any other is over at once. */
  #shutDown(ordinal: number, endsAs: 'stopped' | 'deleted', reason?: string): void {
    const row = this.#table.own(ordinal)
    if (!row.ran) {
      this.#end(ordinal, endsAs, reason)
      return
    }
    row.endsAs = endsAs
    if (reason !== undefined) row.failReason = reason
    this.#enter(row, row.kind === 'hosted' ? 'stopping' : 'shutting_down', reason)
    this.#planShutdown(ordinal, row)
  }

  #planShutdown(ordinal: number, row: RentalRow): void {
    row.next = this.#world.plan(this.#world.profile.timings.rentalShutdown, 'rental.shutDown', ordinal)
  }

  /** Its shutdown is over, or cut short. Funds may have come back meanwhile. */
  #isDown(ordinal: number, row: Readonly<RentalRow>): void {
    this.#end(ordinal, row.endsAs)
    this.#startAgain(ordinal)
  }

  #expanded(row: RentalRow): void {
    row.storageGb = row.expandingTo
    row.expandingTo = 0
    row.expansion = 0
    this.#changed(row, 'expanded', { storage_gb: row.storageGb })
  }

  /** It holds nothing any more, and is what it is for good or until it is started. */
  #end(ordinal: number, state: 'stopped' | 'failed' | 'deleted', reason?: string): void {
    const world = this.#world
    const row = this.#table.own(ordinal)
    const counted = countsAgainstLimit(row.state)
    if (counted) this.#leave(ordinal, row)
    if (reason !== undefined) row.failReason = reason
    if (state === 'deleted') {
      world.cancel(row.expansion)
      row.expansion = 0
      row.expandingTo = 0
    }
    this.#enter(row, state, reason)
    if (!counted) return
    world.limits.release(row.gpu, row.numGpus)
    world.placement.wake()
  }

  /** Gives its GPUs back, or its place among those that wait. */
  #leave(ordinal: number, row: RentalRow): void {
    const world = this.#world
    world.cancel(row.next)
    row.next = 0
    if (row.ownRate > 0) world.downloads.end(row)
    if (row.node < 0) world.placement.leave(tenantOf(ordinal))
    else {
      world.nodes.release(row.node, row.gpus, tenantOf(ordinal))
      world.chronicle.rentalHeld(row)
    }
    row.node = -1
    row.gpus = 0
    row.heldSince = -1
    row.ran = false
    this.#meter(row)
  }

  /** Tells the ledger whether it is billable: from running to given back, or from placed where the profile says so. */
  #meter(row: Readonly<RentalRow>): void {
    const placed = this.#world.profile.policies.billFrom === 'placed'
    this.#world.ledger.setUnits(row.meter, row.node >= 0 && (placed || row.ran) ? 1 : 0)
  }

  #enter(row: RentalRow, state: RentalState, reason?: string): void {
    const { clock } = this.#world
    row.state = state
    row.since = clock.now
    row.updatedAt = clock.now
    this.#world.happened(row, BECAME[row.kind][state]!, reason === undefined ? undefined : { reason })
    this.#world.seen()
  }

  #changed(row: RentalRow, what: string, fields?: Record<string, string | number>): void {
    row.updatedAt = this.#world.clock.now
    this.#world.happened(row, `${row.kind}.${what}`, fields)
    this.#world.seen()
  }
}
