import { draw } from '../../data/profiles/distribution.ts'
import { CONTAINER_STATES, HOSTED_STATES } from '../../data/records/enums.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { EntryHandle } from '../../kernel/agenda.ts'
import type { Archive } from '../../kernel/archive.ts'
import { formatDuration, type Micros } from '../../kernel/duration.ts'
import { LayeredMap } from '../../kernel/layered-map.ts'
import { purpose } from '../../kernel/random.ts'
import { Table } from '../../kernel/table.ts'
import type { GpuQuotas } from '../account/gpu-quotas.ts'
import type { Ledger } from '../account/ledger.ts'
import type { SimulationContext } from '../context.ts'
import type { EventName } from '../event-names.ts'
import type { Downloads } from '../fleet/downloads.ts'
import type { Nodes } from '../fleet/nodes.ts'
import { bitCount, hasImage } from '../fleet/nodes.ts'
import type { Placement } from '../fleet/placement.ts'
import { type GpuRequest, type TenantKind, toTenantId } from '../fleet/tenants.ts'
import { invalidImageReason } from '../fleet/weights.ts'
import type { UsageHistory } from '../recording/history.ts'
import type { Loss } from '../recording/instance-timeline.ts'
import { countsAgainstQuota, type RentalKind, RentalRow, type RentalState } from './rental-row.ts'

const ID = purpose('rental.id')
const IMAGE_PULL = purpose('rental.imagePull')
const BOOT = purpose('rental.boot')

const ID_PREFIXES: Readonly<Record<RentalKind, string>> = { hosted: 'inst_', container: 'container_' }

/** What is recorded when a rental gets a state: made once, because a text made anew is hashed anew. */
const STATE_KINDS: Readonly<Record<RentalKind, Readonly<Partial<Record<RentalState, string>>>>> = {
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
export interface FixtureRental {
  readonly id: string
  readonly state: RentalState
  readonly createdAt: Micros
  readonly failReason: string
}

/** The parts below that it uses. */
export interface RentalsParts {
  readonly nodes: Nodes
  readonly placement: Placement
  readonly downloads: Downloads
  readonly ledger: Ledger
  readonly gpuQuotas: GpuQuotas
  readonly history: UsageHistory
}

/**
 * Hosted instances and containers: tenants of the fleet beside the instances of deployments. They look for GPUs in the
 * same rounds, start, are billed while they run, and end with what carries them.
 */
export class Rentals implements TenantKind {
  readonly #context: SimulationContext
  readonly #parts: RentalsParts
  readonly #table: Table<RentalRow>
  readonly #byId: LayeredMap<number>

  constructor(context: SimulationContext, parts: RentalsParts, origin?: Rentals) {
    this.#context = context
    this.#parts = parts
    this.#table = origin
      ? origin.#table.fork(origin.#context.generation, context.generation)
      : new Table(context.generation)
    this.#byId = origin ? origin.#byId.fork() : new LayeredMap()
  }

  archive(archive: Archive): void {
    this.#table.archive(archive)
    this.#byId.archive(archive)
  }

  get count(): number {
    return this.#table.count
  }

  read(ordinal: number): Readonly<RentalRow> {
    return this.#table.read(ordinal)
  }

  writable(ordinal: number): RentalRow {
    return this.#table.writable(ordinal)
  }

  gpuRequestOf(ordinal: number): GpuRequest {
    const { gpu, numGpus } = this.#table.read(ordinal)
    return { gpu, gpus: numGpus }
  }

  imageOf(ordinal: number): string {
    return this.#table.read(ordinal).plan.image
  }

  weightsOf(): undefined {
    return undefined
  }

  scheduleDownloadEnd(ordinal: number, delay: Micros, isTimeout: boolean): EntryHandle {
    return this.#context.schedule(delay, isTimeout ? 'rental.pullTimedOut' : 'rental.imagePulled', ordinal)
  }

  entries(): Generator<[number, Readonly<RentalRow>]> {
    return this.#table.entries()
  }

  ordinalOf(id: string): number | undefined {
    return this.#byId.get(id)
  }

  /** Those of a kind whose state is asked for, by creation, then id. */
  list(kind: RentalKind, includesState: (state: RentalState) => boolean): number[] {
    const rentals: { ordinal: number; row: Readonly<RentalRow> }[] = []
    for (const [ordinal, row] of this.#table.entries()) {
      if (row.kind === kind && includesState(row.state)) rentals.push({ ordinal, row })
    }
    rentals.sort((a, b) => a.row.plan.createdAt - b.row.plan.createdAt || (a.row.id < b.row.id ? -1 : 1))
    return rentals.map(({ ordinal }) => ordinal)
  }

  /** Rents one, which looks for its GPUs at once. Nothing is checked here: the API has. */
  create(spec: RentalSpec): number {
    const ordinal = this.#addRow(spec)
    this.#requestGpus(ordinal)
    return ordinal
  }

  /** Puts a rental of a fixture in, with what makes its state true; false when it needs GPUs and no node has them. */
  addFromFixture(spec: RentalSpec, fixture: FixtureRental): boolean {
    const ordinal = this.#addRow(spec, fixture)
    const { state } = fixture
    if (!countsAgainstQuota(state)) return true
    if (state === 'creating') {
      this.#requestGpus(ordinal)
      return true
    }
    const node = this.#parts.nodes.chooseNode(spec.gpu, spec.numGpus, '')
    if (node < 0) return false
    this.#parts.gpuQuotas.acquire(spec.gpu, spec.numGpus)
    const row = this.#table.writable(ordinal)
    this.#takeGpus(ordinal, row, node)
    if (state === 'starting') this.#startUp(ordinal, row)
    else {
      row.hasBooted = true
      this.#updateMeter(row)
      if (state !== 'running') this.#scheduleShutdown(ordinal, row)
    }
    return true
  }

  rename(ordinal: number, name: string): void {
    const row = this.#table.writable(ordinal)
    row.name = name
    this.#recordChange(row, 'renamed', { name })
  }

  expand(ordinal: number, sizeGb: number): void {
    const row = this.#table.writable(ordinal)
    row.expansionTargetGb = sizeGb
    row.expansionEvent = this.#context.schedule(
      this.#context.profile.timings.storageExpansion,
      'rental.expanded',
      ordinal,
    )
    this.#recordChange(row, 'expanding', { storage_gb: sizeGb })
  }

  /** Starts one that is stopped: it looks for GPUs anew, and finds its storage as it was. */
  start(ordinal: number): void {
    const row = this.#table.writable(ordinal)
    row.failReason = ''
    row.stoppedForFunds = false
    this.#setState(row, 'starting')
    this.#requestGpus(ordinal)
  }

  stop(ordinal: number): void {
    this.#shutDown(ordinal, 'stopped')
  }

  delete(ordinal: number): void {
    const row = this.#table.writable(ordinal)
    if (row.state === 'stopping') {
      row.stateAfterShutdown = 'deleted'
      this.#recordChange(row, 'deleting')
    } else if (countsAgainstQuota(row.state)) this.#shutDown(ordinal, 'deleted')
    else this.#end(ordinal, 'deleted')
  }

  /** Tries to give one that waits its GPUs; false when no single node has them. */
  place(ordinal: number): boolean {
    const { nodes } = this.#parts
    const { gpu, numGpus } = this.#table.read(ordinal)
    const node = nodes.chooseNode(gpu, numGpus, '')
    if (node < 0) return false
    const row = this.#table.writable(ordinal)
    this.#takeGpus(ordinal, row, node)
    this.#context.record(row, `${row.kind}.placed`, { node: nodes.read(node).id, gpus: bitCount(row.gpus) })
    if (row.state !== 'starting') this.#setState(row, 'starting')
    this.#startUp(ordinal, row)
    return true
  }

  /** What carried these has gone. */
  lose(ordinals: readonly number[], { reason }: Loss): void {
    const { profile } = this.#context
    const { ledger } = this.#parts
    // On a suspended account nothing starts.
    const mayRestart = profile.policies.hostedHostLost === 'restarted' && ledger.suspensionReason === undefined
    for (const ordinal of ordinals) {
      const row = this.#table.writable(ordinal)
      if (row.state === 'stopping' || row.state === 'shutting_down') this.#onShutDown(ordinal, row)
      else if (row.kind === 'hosted' && mayRestart) this.#restart(ordinal, reason)
      else this.#end(ordinal, 'failed', reason)
    }
  }

  /** The grace is over: hosted instances stop, and containers, which can not, are shut down for good. */
  stopForFunds(reason: string): void {
    for (const [ordinal, current] of [...this.#table.entries()]) {
      const { state } = current
      if (!countsAgainstQuota(state) || state === 'stopping' || state === 'shutting_down') continue
      const row = this.#table.writable(ordinal)
      row.stoppedForFunds = true
      this.#shutDown(ordinal, row.kind === 'hosted' ? 'stopped' : 'deleted', reason)
    }
  }

  /** Funds are back: what was stopped for lack of them starts, where the provider's policy says so. */
  onFundsReturned(): void {
    for (const ordinal of this.list('hosted', state => state === 'stopped')) this.#restartAfterFunds(ordinal)
  }

  onEvent(event: EventName, ordinal: number): void {
    const row = this.#table.writable(ordinal)
    if (event === 'rental.expanded') {
      this.#onExpanded(row)
      return
    }
    row.next = 0
    switch (event) {
      case 'rental.gaveUp':
        this.#giveUp(ordinal, row)
        break
      case 'rental.imageRefused':
        this.#end(ordinal, 'failed', invalidImageReason(row.plan.image))
        break
      case 'rental.pullTimedOut':
        this.#end(ordinal, 'failed', 'the image registry did not answer')
        break
      case 'rental.imagePulled':
        this.#onImagePulled(ordinal, row)
        break
      case 'rental.booted':
        row.hasBooted = true
        this.#setState(row, 'running')
        this.#updateMeter(row)
        break
      case 'rental.shutDown':
        this.#onShutDown(ordinal, row)
        break
    }
  }

  #addRow(spec: RentalSpec, fixture?: FixtureRental): number {
    const { kind, name, gpu, numGpus, image = '', storageGb = 0 } = spec
    const key = this.#context.newKey(kind, name)
    const id = fixture?.id ?? `${ID_PREFIXES[kind]}${this.#context.chance.letters(24, key, ID)}`
    const createdAt = fixture?.createdAt ?? this.#context.clock.now
    const row = new RentalRow(
      this.#table.generation,
      id,
      { kind, key, gpu, numGpus, image, createdAt },
      { name, state: fixture?.state ?? 'creating', since: createdAt, storageGb },
    )
    row.failReason = fixture?.failReason ?? ''
    const ordinal = this.#table.add(row)
    this.#byId.set(id, ordinal)
    row.meter = this.#parts.ledger.openMeter(id, kind, gpu, numGpus)
    this.#context.record(row, `${kind}.created`, { name, gpu, num_gpus: numGpus })
    this.#context.markVisibleChange()
    return ordinal
  }

  /** It looks for GPUs, and gives up after a while. */
  #requestGpus(ordinal: number): void {
    const row = this.#table.writable(ordinal)
    this.#parts.gpuQuotas.acquire(row.gpu, row.numGpus)
    this.#waitForGpus(ordinal, row)
  }

  #waitForGpus(ordinal: number, row: RentalRow): void {
    row.starts++
    row.since = this.#context.clock.now
    row.next = this.#context.schedule(this.#context.profile.timings.rentalCapacityWait, 'rental.gaveUp', ordinal)
    this.#parts.placement.enqueue(toTenantId(ordinal))
  }

  /** Takes its GPUs on a node that has them. */
  #takeGpus(ordinal: number, row: RentalRow, node: number): void {
    this.#context.cancel(row.next)
    row.next = 0
    row.node = node
    row.gpus = this.#parts.nodes.allocate(node, row.numGpus, toTenantId(ordinal))
    row.heldSince = this.#context.clock.now
    this.#updateMeter(row)
  }

  /** It has its GPUs: a container pulls its image, a hosted instance boots from its storage. */
  #startUp(ordinal: number, row: RentalRow): void {
    const { image, key } = row.plan
    const { timings } = this.#context.profile
    if (row.kind === 'hosted') this.#boot(ordinal, row)
    else if (invalidImageReason(image) !== undefined)
      row.next = this.#context.schedule(timings.hubRefusal, 'rental.imageRefused', ordinal)
    else if (hasImage(this.#parts.nodes.read(row.node), image))
      row.next = this.#context.schedule(0, 'rental.imagePulled', ordinal)
    else {
      const duration = draw(timings.imagePull, this.#context.chance, key, IMAGE_PULL, row.starts)
      const rate = duration > 0 ? (timings.imageBytes / duration) * 1e6 : Number.MAX_VALUE
      this.#parts.downloads.start(toTenantId(ordinal), timings.imageBytes, rate)
    }
  }

  #onImagePulled(ordinal: number, row: RentalRow): void {
    const isFetched = row.ownRate > 0
    if (isFetched) this.#parts.downloads.end(row)
    this.#parts.nodes.cacheImage(row.node, row.plan.image)
    this.#context.record(row, 'container.imagePulled', { image: isFetched ? 'fetched' : 'cached' })
    this.#boot(ordinal, row)
  }

  #boot(ordinal: number, row: RentalRow): void {
    const { profile, chance } = this.#context
    const { hostedBoot, containerBoot } = profile.timings
    const duration = draw(row.kind === 'hosted' ? hostedBoot : containerBoot, chance, row.plan.key, BOOT, row.starts)
    row.next = this.#context.schedule(duration, 'rental.booted', ordinal)
  }

  /** No GPUs came: a new one has failed, one that was stopped is so again and keeps what it stored. */
  #giveUp(ordinal: number, row: Readonly<RentalRow>): void {
    const waited = formatDuration(this.#context.profile.timings.rentalCapacityWait)
    const reason = `no node had ${row.numGpus} free ${row.gpu} for ${waited}`
    this.#end(ordinal, row.state === 'creating' ? 'failed' : 'stopped', reason)
  }

  /** Its machine is gone and the provider starts it on another. */
  #restart(ordinal: number, reason: string): void {
    const row = this.#table.writable(ordinal)
    this.#releaseGpus(ordinal, row)
    this.#context.record(row, 'hosted.lost', { reason })
    if (row.state !== 'starting') this.#setState(row, 'starting')
    this.#waitForGpus(ordinal, row)
    this.#parts.placement.scheduleRound()
  }

  /** Starts again what lacked funds and no longer does, as far as the GPU limit allows. */
  #restartAfterFunds(ordinal: number): void {
    const { ledger, gpuQuotas } = this.#parts
    const { profile } = this.#context
    const row = this.#table.read(ordinal)
    if (row.state !== 'stopped' || !row.stoppedForFunds || !ledger.canSpend()) return
    if (profile.policies.balanceReturns !== 'restart') return
    if (gpuQuotas.hasRoom(row.gpu, row.numGpus)) this.start(ordinal)
  }

  /** One that runs shuts down first, and is billed until its GPUs are given back; any other is over at once. */
  #shutDown(ordinal: number, endsAs: 'stopped' | 'deleted', reason?: string): void {
    const row = this.#table.writable(ordinal)
    if (!row.hasBooted) {
      this.#end(ordinal, endsAs, reason)
      return
    }
    row.stateAfterShutdown = endsAs
    if (reason !== undefined) row.failReason = reason
    this.#setState(row, row.kind === 'hosted' ? 'stopping' : 'shutting_down', reason)
    this.#scheduleShutdown(ordinal, row)
  }

  #scheduleShutdown(ordinal: number, row: RentalRow): void {
    row.next = this.#context.schedule(this.#context.profile.timings.rentalShutdown, 'rental.shutDown', ordinal)
  }

  /** Its shutdown is over, or cut short. Funds may have come back meanwhile. */
  #onShutDown(ordinal: number, row: Readonly<RentalRow>): void {
    this.#end(ordinal, row.stateAfterShutdown)
    this.#restartAfterFunds(ordinal)
  }

  #onExpanded(row: RentalRow): void {
    row.storageGb = row.expansionTargetGb
    row.expansionTargetGb = 0
    row.expansionEvent = 0
    this.#recordChange(row, 'expanded', { storage_gb: row.storageGb })
  }

  /** It holds nothing any more, and is what it is for good or until it is started. */
  #end(ordinal: number, state: 'stopped' | 'failed' | 'deleted', reason?: string): void {
    const row = this.#table.writable(ordinal)
    const hadGpus = countsAgainstQuota(row.state)
    if (hadGpus) this.#releaseGpus(ordinal, row)
    if (reason !== undefined) row.failReason = reason
    if (state === 'deleted') {
      this.#context.cancel(row.expansionEvent)
      row.expansionEvent = 0
      row.expansionTargetGb = 0
    }
    this.#setState(row, state, reason)
    if (!hadGpus) return
    this.#parts.gpuQuotas.release(row.gpu, row.numGpus)
    this.#parts.placement.scheduleRound()
  }

  /** Gives its GPUs back, or its place among those that wait. */
  #releaseGpus(ordinal: number, row: RentalRow): void {
    this.#context.cancel(row.next)
    row.next = 0
    if (row.ownRate > 0) this.#parts.downloads.end(row)
    if (row.node < 0) this.#parts.placement.dequeue(toTenantId(ordinal))
    else {
      this.#parts.nodes.release(row.node, row.gpus, toTenantId(ordinal))
      this.#parts.history.onRentalReleased(row)
    }
    row.node = -1
    row.gpus = 0
    row.heldSince = -1
    row.hasBooted = false
    this.#updateMeter(row)
  }

  /** Tells the ledger whether it is billable: from running to given back, or from placed where the profile says so. */
  #updateMeter(row: Readonly<RentalRow>): void {
    const billsFromPlacement = this.#context.profile.policies.billFrom === 'placed'
    this.#parts.ledger.setUnits(row.meter, row.node >= 0 && (billsFromPlacement || row.hasBooted) ? 1 : 0)
  }

  #setState(row: RentalRow, state: RentalState, reason?: string): void {
    const { clock } = this.#context
    row.state = state
    row.since = clock.now
    row.updatedAt = clock.now
    this.#context.record(row, STATE_KINDS[row.kind][state]!, reason === undefined ? undefined : { reason })
    this.#context.markVisibleChange()
  }

  #recordChange(row: RentalRow, verb: string, fields?: Record<string, string | number>): void {
    row.updatedAt = this.#context.clock.now
    this.#context.record(row, `${row.kind}.${verb}`, fields)
    this.#context.markVisibleChange()
  }
}
