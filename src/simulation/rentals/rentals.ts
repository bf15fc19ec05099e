import { draw } from '../../data/profiles/distribution.ts'
import { CONTAINER_STATES, HOSTED_STATES } from '../../data/records/enums.ts'
import { purpose } from '../../kernel/random.ts'
import type { SimulationContext } from '../context.ts'
import { assertHandled, type EventOf } from '../events.ts'
import { imageRefusal } from '../fleet/known-repositories.ts'
import { bitCount } from '../fleet/node-row.ts'
import type { GpuRequest, TenantKind } from '../fleet/tenants.ts'
import type { JournalKindName } from '../journal-kinds.ts'
import { IndexedPart } from '../part.ts'
import type { Loss } from '../recording/instance-timeline.ts'
import { createRow, formatShortage, hasFreeMachine } from './rental-creation.ts'
import { RentalResources, type RentalsParts } from './rental-resources.ts'
import {
  countsAgainstQuota,
  type FixtureRental,
  type RentalKind,
  RentalRow,
  type RentalSpec,
  type RentalState,
} from './rental-row.ts'

/** The journal kind of each state. Precomputed, because the engine hashes every new string again. */
const STATE_KINDS: Readonly<Record<RentalKind, Readonly<Partial<Record<RentalState, JournalKindName>>>>> = {
  hosted: Object.fromEntries(HOSTED_STATES.map(state => [state, `hosted.${state}`])),
  container: Object.fromEntries(CONTAINER_STATES.map(state => [state, `container.${state}`])),
}

/** Moves a rental to a state and records the change. */
function enterState(context: SimulationContext, row: RentalRow, state: RentalState, reason?: string): void {
  const { clock } = context
  row.state = state
  row.since = clock.now
  row.updatedAt = clock.now
  if (row.endedAt < 0 && (state === 'stopped' || state === 'failed' || state === 'deleted')) row.endedAt = clock.now
  context.record(row, STATE_KINDS[row.kind][state]!, reason === undefined ? undefined : { reason })
  context.markVisibleChange()
}

/** Records a change of a rental that keeps its state. */
function recordChange(
  context: SimulationContext,
  row: RentalRow,
  kind: JournalKindName,
  fields?: Record<string, string | number>,
): void {
  row.updatedAt = context.clock.now
  context.record(row, kind, fields)
  context.markVisibleChange()
}

const EXPANSION = purpose('rental.expansion')

/**
 * The rentals: hosted instances and containers. Containers are tenants of the fleet, like the instances of deployments.
 * Hosted instances have machines of their own. The same placement rounds serve all. A rental is billed while it runs,
 * and it is lost with its machine, its node or its GPUs.
 */
export class Rentals extends IndexedPart<RentalRow, RentalsParts> implements TenantKind {
  protected readonly table = this.tableOf(RentalRow)
  readonly #resources = new RentalResources(this.context, this.parts)

  gpuRequestOf(ordinal: number): GpuRequest {
    const { gpu, numGpus } = this.table.read(ordinal)
    return { gpu, gpus: numGpus }
  }

  imageOf(ordinal: number): string {
    return this.table.read(ordinal).plan.image
  }

  weightsOf(): undefined {
    return undefined
  }

  /** Returns the ordinals of the rentals of a kind in the given states, in the order of their creation. */
  list(kind: RentalKind, includesState: (state: RentalState) => boolean): number[] {
    const rentals: { ordinal: number; row: Readonly<RentalRow> }[] = []
    for (const [ordinal, row] of this.table.entries()) {
      if (row.kind === kind && includesState(row.state)) rentals.push({ ordinal, row })
    }
    rentals.sort((a, b) => a.row.plan.createdAt - b.row.plan.createdAt)
    return rentals.map(({ ordinal }) => ordinal)
  }

  /** Creates a rental, which waits for its machine or GPUs. The API has validated `spec`. */
  create(spec: RentalSpec): number {
    const ordinal = this.#create(spec)
    this.#resources.requestPlace(ordinal, this.table.writable(ordinal))
    return ordinal
  }

  /**
   * Adds a rental of a fixture with the resources of its state. Returns false if no node has enough free GPUs for a
   * container. A hosted instance gets its machine even if the capacity of its plan is less.
   */
  addFromFixture(spec: RentalSpec, fixture: FixtureRental): boolean {
    const ordinal = this.#create(spec, fixture)
    const { state } = fixture
    if (!countsAgainstQuota(state)) return true
    if (state === 'creating') {
      this.#resources.requestPlace(ordinal, this.table.writable(ordinal))
      return true
    }
    const row = this.table.writable(ordinal)
    if (spec.kind === 'hosted') this.#resources.takeMachine(row)
    else {
      const node = this.parts.nodes.chooseNode(spec.gpu, spec.numGpus, '')
      if (node < 0) return false
      this.parts.gpuQuotas.acquire(spec.gpu, spec.numGpus)
      this.#resources.takeGpus(ordinal, row, node)
    }
    if (state === 'starting') this.#resources.startUp(ordinal, row)
    else {
      row.hasBooted = true
      this.#resources.updateMeter(row)
      row.billedSince = fixture.createdAt
      if (state !== 'running') this.#scheduleShutdown(ordinal, row)
    }
    return true
  }

  rename(ordinal: number, name: string): void {
    const row = this.table.writable(ordinal)
    row.name = name
    recordChange(this.context, row, `${row.kind}.renamed`, { name })
  }

  expand(ordinal: number, sizeGb: number): void {
    const row = this.table.writable(ordinal)
    row.expansionTargetGb = sizeGb
    const { profile, chance } = this.context
    // A rental only grows, so its size names the expansion.
    const duration = draw(profile.timings.storageExpansion, chance, row.plan.key, EXPANSION, sizeGb)
    row.expansionEvent = this.context.schedule(duration, 'rental.expanded', ordinal)
    recordChange(this.context, row, 'hosted.expanding', { storage_gb: sizeGb })
  }

  /** Starts a stopped hosted instance. It waits for a machine again and keeps its storage. */
  start(ordinal: number): void {
    const row = this.table.writable(ordinal)
    row.failReason = ''
    row.endedAt = -1
    row.stoppedForFunds = false
    enterState(this.context, row, 'starting')
    this.#resources.requestPlace(ordinal, this.table.writable(ordinal))
  }

  stop(ordinal: number): void {
    this.#shutDown(ordinal, 'stopped')
  }

  delete(ordinal: number): void {
    const row = this.table.writable(ordinal)
    if (row.state === 'stopping') {
      row.stateAfterShutdown = 'deleted'
      recordChange(this.context, row, 'hosted.deleting')
    } else if (countsAgainstQuota(row.state)) this.#shutDown(ordinal, 'deleted')
    else this.#end(ordinal, 'deleted')
  }

  /** Places a waiting rental. Returns false if no node has enough free GPUs, or no machine of the plan is free. */
  place(ordinal: number): boolean {
    const { nodes } = this.parts
    const { gpu, numGpus, plan } = this.table.read(ordinal)
    const node = plan.machine === undefined ? nodes.chooseNode(gpu, numGpus, '') : -1
    if (plan.machine === undefined ? node < 0 : !hasFreeMachine(this.context.store, this.table.entries(), plan.machine))
      return false
    const row = this.table.writable(ordinal)
    if (plan.machine === undefined) {
      this.#resources.takeGpus(ordinal, row, node)
      this.context.record(row, 'container.placed', { node: nodes.read(node).id, gpus: bitCount(row.gpus) })
    } else {
      this.#resources.takeMachine(row)
      this.context.record(row, 'hosted.placed', { region: plan.machine.region })
    }
    if (row.state !== 'starting') enterState(this.context, row, 'starting')
    this.#resources.startUp(ordinal, row)
    return true
  }

  /** The machine of a hosted instance crashes. Returns false if the instance has no machine now. */
  crashMachine(ordinal: number): boolean {
    if (!this.table.read(ordinal).hasMachine) return false
    this.context.recordCommand(this.table.writable(ordinal), 'hosted.crashed')
    this.lose([ordinal], { cause: 'other', reason: 'its machine crashed' })
    return true
  }

  /** Ends or restarts rentals whose machine, node or GPUs are lost. */
  lose(ordinals: readonly number[], { reason }: Loss): void {
    const { profile } = this.context
    const { ledger } = this.parts
    // On a suspended account, no rental starts.
    const mayRestart = profile.policies.hostedHostLost === 'restarted' && ledger.suspensionReason === undefined
    for (const ordinal of ordinals) {
      const row = this.table.writable(ordinal)
      if (row.state === 'stopping' || row.state === 'shutting_down') this.#onShutDown(ordinal, row)
      else if (row.kind === 'hosted' && mayRestart) this.#restart(ordinal, reason)
      else this.#end(ordinal, 'failed', reason)
    }
  }

  /** Stops hosted instances and deletes containers at the end of the grace period. */
  stopForFunds(reason: string): void {
    for (const [ordinal, current] of [...this.table.entries()]) {
      const { state } = current
      if (!countsAgainstQuota(state) || state === 'stopping' || state === 'shutting_down') continue
      const row = this.table.writable(ordinal)
      row.stoppedForFunds = true
      this.#shutDown(ordinal, row.kind === 'hosted' ? 'stopped' : 'deleted', reason)
    }
  }

  /** Starts the rentals that were stopped for missing funds, if the provider's policy says so. */
  onFundsReturned(): void {
    for (const ordinal of this.list('hosted', state => state === 'stopped')) this.#restartAfterFunds(ordinal)
  }

  onEvent(event: EventOf<'rentals'>, ordinal: number): void {
    const row = this.table.writable(ordinal)
    if (event === 'rental.expanded') {
      this.#onExpanded(row)
      return
    }
    row.next = 0
    switch (event) {
      case 'rental.placementDue':
        this.#resources.joinQueue(ordinal, row)
        break
      case 'rental.gaveUp':
        // A restarted rental keeps its storage.
        this.#end(ordinal, row.state === 'creating' ? 'failed' : 'stopped', formatShortage(this.context, row))
        break
      case 'rental.imageRefused':
        this.#end(ordinal, 'failed', imageRefusal(this.context, row.plan.image))
        break
      case 'rental.pullTimedOut':
        this.#end(ordinal, 'failed', 'the image registry did not answer')
        break
      case 'rental.imagePulled':
        this.#resources.onImagePulled(ordinal, row)
        break
      case 'rental.booted':
        row.hasBooted = true
        enterState(this.context, row, 'running')
        this.#resources.updateMeter(row)
        break
      case 'rental.shutDown':
        this.#onShutDown(ordinal, row)
        break
      default:
        assertHandled(event)
    }
  }

  #create(spec: RentalSpec, fixture?: FixtureRental): number {
    const row = createRow(this.context, this.table.generation, spec, fixture)
    const ordinal = this.addRow(row)
    this.#resources.openMeter(row)
    this.context.markVisibleChange()
    return ordinal
  }

  /** Restarts a hosted instance on another machine after the loss of its machine. */
  #restart(ordinal: number, reason: string): void {
    const row = this.table.writable(ordinal)
    this.#resources.release(ordinal, row)
    this.context.record(row, 'hosted.lost', { reason })
    if (row.state !== 'starting') enterState(this.context, row, 'starting')
    this.#resources.waitForPlace(ordinal, row)
    this.parts.placement.scheduleRound()
  }

  /** Restarts a hosted instance that was stopped for missing funds. */
  #restartAfterFunds(ordinal: number): void {
    const { ledger } = this.parts
    const { profile } = this.context
    const row = this.table.read(ordinal)
    if (row.state !== 'stopped' || !row.stoppedForFunds || !ledger.canSpend()) return
    if (profile.policies.balanceReturns === 'restart') this.start(ordinal)
  }

  /** Shuts a running rental down, which is billed until it releases its GPUs. Any other rental ends at once. */
  #shutDown(ordinal: number, endsAs: 'stopped' | 'deleted', reason?: string): void {
    const row = this.table.writable(ordinal)
    if (!row.hasBooted) {
      this.#end(ordinal, endsAs, reason)
      return
    }
    row.stateAfterShutdown = endsAs
    if (reason !== undefined) row.failReason = reason
    enterState(this.context, row, row.kind === 'hosted' ? 'stopping' : 'shutting_down', reason)
    this.#scheduleShutdown(ordinal, row)
  }

  #scheduleShutdown(ordinal: number, row: RentalRow): void {
    row.next = this.context.schedule(this.context.profile.timings.rentalShutdown, 'rental.shutDown', ordinal)
  }

  /** Ends a shutdown that is complete or was interrupted. Funds may have returned since it began. */
  #onShutDown(ordinal: number, row: Readonly<RentalRow>): void {
    this.#end(ordinal, row.stateAfterShutdown)
    this.#restartAfterFunds(ordinal)
  }

  #onExpanded(row: RentalRow): void {
    row.storageGb = row.expansionTargetGb
    row.expansionTargetGb = 0
    row.expansionEvent = 0
    recordChange(this.context, row, 'hosted.expanded', { storage_gb: row.storageGb })
  }

  /** Releases all resources of a rental and moves it to a final or restartable state. */
  #end(ordinal: number, state: 'stopped' | 'failed' | 'deleted', reason?: string): void {
    const row = this.table.writable(ordinal)
    const wasLive = countsAgainstQuota(row.state)
    if (wasLive) this.#resources.release(ordinal, row)
    if (reason !== undefined) row.failReason = reason
    if (state === 'deleted') {
      this.context.cancel(row.expansionEvent)
      row.expansionEvent = 0
      row.expansionTargetGb = 0
    }
    enterState(this.context, row, state, reason)
    if (!wasLive) return
    this.parts.gpuQuotas.release(row.gpu, row.numGpus)
    this.parts.placement.scheduleRound()
  }
}
