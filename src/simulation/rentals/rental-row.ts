import type { ContainerState, HostedState } from '../../data/records/enums.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { EntityKey } from '../../kernel/random.ts'
import { type Generation, Row } from '../../kernel/table.ts'
import { CONTAINER_LIFECYCLE, HOSTED_LIFECYCLE } from './rental-lifecycles.ts'

/** What is rented: a machine with storage of its own that can be stopped, or a container that lives once. */
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

/** Tells whether a rental in this state has GPUs, or waits for some: then they count against the account's quota. */
export function countsAgainstQuota(state: RentalState): boolean {
  return !TERMINAL_STATES.has(state)
}

/** What a rental is made of and never changes. */
export interface RentalPlan {
  readonly kind: RentalKind
  readonly key: EntityKey
  readonly gpu: GpuType
  readonly numGpus: number
  /** The image of a container; '' for a hosted instance, which runs the provider's own on its storage. */
  readonly image: string
  readonly createdAt: Micros
}

/** A rented machine or container: a tenant of the fleet that serves nobody but its user. */
export class RentalRow extends Row {
  readonly plan: RentalPlan
  name: string
  state: RentalState
  /** Why it failed, or why its last start or its whole life came to an end that nobody asked for. */
  failReason = ''
  /** When it got its state, and when anything of it changed that a client can see. */
  since: Micros
  updatedAt: Micros
  storageGb: number
  /** Storage it will have when the expansion under way is done; 0 when none is. */
  expansionTargetGb = 0
  expansionEvent = 0
  node = -1
  /** GPUs it holds on its node, as bits. */
  gpus = 0
  /** The next event of its life. */
  next = 0
  /** Starts so far: the index of its draws. */
  starts = 0
  /** Whether this start has come to its end: from here on it is billed, until its GPUs are given back. */
  hasBooted = false
  /** What it is once its shutdown is over. */
  stateAfterShutdown: 'stopped' | 'deleted'
  stoppedForFunds = false
  /** The pull of its image: bytes that are left, the rate it could have, the rate it has, and since when. */
  bytesLeft = 0
  ownRate = 0
  rate = 0
  rateSince: Micros = 0
  meter = -1
  /** Since when it holds its GPUs, and the chronicle's newest line of how long it held some; -1 for none. */
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
