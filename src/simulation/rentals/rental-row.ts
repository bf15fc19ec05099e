import type { ContainerState, HostedState } from '../../data/records/enums.ts'
import { CONTAINER_LIFECYCLE, HOSTED_LIFECYCLE } from '../../data/records/enums.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { EntityKey } from '../../kernel/random.ts'
import { type Generation, Row } from '../../kernel/table.ts'

/** The kinds of rentals: a machine with its own storage that can be stopped, and a container that runs once. */
export type RentalKind = 'hosted' | 'container'
export type RentalState = HostedState | ContainerState

/** The lifecycle of each kind. */
export const RENTAL_LIFECYCLES = { hosted: HOSTED_LIFECYCLE, container: CONTAINER_LIFECYCLE } as const satisfies Record<
  RentalKind,
  unknown
>

const TERMINAL_STATES: ReadonlySet<RentalState> = new Set([
  ...HOSTED_LIFECYCLE.terminal,
  ...CONTAINER_LIFECYCLE.terminal,
])

/** Tells whether a rental in this state has GPUs or waits for them. These GPUs count against the account's quota. */
export function countsAgainstQuota(state: RentalState): boolean {
  return !TERMINAL_STATES.has(state)
}

/** A valid request for a rental. */
export interface RentalSpec {
  readonly kind: RentalKind
  readonly name: string
  readonly gpu: GpuType
  readonly numGpus: number
  readonly image?: string
  readonly storageGb?: number
}

/** The fields that a fixture gives a rental in addition to a request. */
export interface FixtureRental {
  readonly id: string
  readonly state: RentalState
  readonly createdAt: Micros
  readonly failReason: string
}

/** The fields of a rental that never change. */
export interface RentalPlan {
  readonly kind: RentalKind
  readonly key: EntityKey
  readonly gpu: GpuType
  readonly numGpus: number
  /** The image of a container. A hosted instance has '': it runs the provider's image from its storage. */
  readonly image: string
  readonly createdAt: Micros
}

/** A rented machine or container: a tenant of the fleet that only its user works with. */
export class RentalRow extends Row {
  readonly plan: RentalPlan
  name: string
  state: RentalState
  /** Why it failed, or why its last start or the rental itself ended without a request of the user. */
  failReason = ''
  /** When it entered its state, and when a visible field last changed. */
  since: Micros
  updatedAt: Micros
  storageGb: number
  /** Its storage after the current expansion, in GB. 0: no expansion. */
  expansionTargetGb = 0
  expansionEvent = 0
  node = -1
  /** The GPUs that it holds on its node, as bits. */
  gpus = 0
  /** Its next event. */
  next = 0
  /** The number of its starts: the index of its random draws. */
  starts = 0
  /** Whether its current start is complete. From then on it is billed until it releases its GPUs. */
  hasBooted = false
  /** Its state after its shutdown. */
  stateAfterShutdown: 'stopped' | 'deleted'
  stoppedForFunds = false
  /** The pull of its image: remaining bytes, the rate without contention, the actual rate, and the time of that rate. */
  bytesLeft = 0
  ownRate = 0
  rate = 0
  rateSince: Micros = 0
  meter = -1
  /** Since when it holds its GPUs, and its newest line in the usage history. -1: none. */
  heldSince: Micros = -1
  lastHeldLine = -1

  constructor(
    generation: Generation,
    id: string,
    plan: RentalPlan,
    initial: { readonly name: string; readonly state: RentalState; readonly since: Micros; readonly storageGb: number },
  ) {
    super(generation, id)
    this.plan = plan
    this.name = initial.name
    this.state = initial.state
    this.since = initial.since
    this.updatedAt = initial.since
    this.storageGb = initial.storageGb
    this.stateAfterShutdown = plan.kind === 'hosted' ? 'stopped' : 'deleted'
  }

  get kind(): RentalKind {
    return this.plan.kind
  }
  get gpu(): GpuType {
    return this.plan.gpu
  }
  get numGpus(): number {
    return this.plan.numGpus
  }

  copy(generation: Generation): RentalRow {
    const copy = new RentalRow(generation, this.id, this.plan, this)
    copy.failReason = this.failReason
    copy.updatedAt = this.updatedAt
    copy.expansionTargetGb = this.expansionTargetGb
    copy.expansionEvent = this.expansionEvent
    copy.node = this.node
    copy.gpus = this.gpus
    copy.next = this.next
    copy.starts = this.starts
    copy.hasBooted = this.hasBooted
    copy.stateAfterShutdown = this.stateAfterShutdown
    copy.stoppedForFunds = this.stoppedForFunds
    copy.bytesLeft = this.bytesLeft
    copy.ownRate = this.ownRate
    copy.rate = this.rate
    copy.rateSince = this.rateSince
    copy.meter = this.meter
    copy.heldSince = this.heldSince
    copy.lastHeldLine = this.lastHeldLine
    return copy.takeHash(this)
  }
}
