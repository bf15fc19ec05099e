import {
  CONTAINER_LIFECYCLE,
  type ContainerState,
  HOSTED_LIFECYCLE,
  type HostedState,
} from '../../data/records/enums.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { EntityKey } from '../../kernel/random.ts'
import { type Generation, Row } from '../../kernel/row.ts'

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

/** Tells whether a rental in this state has its machine or GPUs, or waits for them. Its GPUs count against the quota. */
export function countsAgainstQuota(state: RentalState): boolean {
  return !TERMINAL_STATES.has(state)
}

/** The machine of a hosted instance, which has no GPU and is not a node of the fleet. */
export interface Machine {
  readonly planId: string
  readonly region: string
  readonly centsPerHour: number
  readonly agentType: string
  /** The version that its creation asked for. Null: none. */
  readonly version: string | null
  /** Unix seconds. Null: there is no backup. */
  readonly lastBackup: number | null
}

/** A valid request for a rental: a machine with storage, or GPUs with an image. */
export type RentalSpec = { readonly name: string } & (
  | { readonly kind: 'hosted'; readonly machine: Machine; readonly storageGb: number }
  | ({ readonly kind: 'container' } & Pick<RentalPlan, 'gpu' | 'numGpus' | 'image'>)
)

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
  /** The GPUs of a container. A hosted instance has 0 of the type `other`. */
  readonly gpu: GpuType
  readonly numGpus: number
  /** The image of a container. A hosted instance has '': it runs the provider's image from its storage. */
  readonly image: string
  /** The machine of a hosted instance. A container has none. */
  readonly machine: Machine | undefined
  readonly createdAt: Micros
}

/** A rented machine or container. A container is a tenant of the fleet that only its user works with. */
export class RentalRow extends Row {
  declare readonly plan: RentalPlan
  declare name: string
  declare state: RentalState
  /** Why it failed, or why its last start or the rental itself ended without a request of the user. */
  failReason = this.reference('')
  /** When it entered its state, and when a visible field last changed. */
  declare since: Micros
  declare updatedAt: Micros
  /** When it stopped, failed or was deleted, whichever came first since its last start. -1: it has not ended. */
  endedAt: Micros = this.number(-1)
  declare storageGb: number
  /** Its storage after the current expansion, in GB. 0: no expansion. */
  expansionTargetGb = this.number(0)
  expansionEvent = this.number(0)
  /** Whether it is a hosted instance that has its machine. */
  hasMachine = this.boolean(false)
  /** The node of a container. -1: none. */
  node = this.int32(-1)
  /** The GPUs that it holds on its node, as bits. */
  gpus = this.int32(0)
  /** Its next event. */
  next = this.number(0)
  /** The number of its starts: the index of its random draws. */
  starts = this.int32(0)
  /** Whether its current start is complete. From then on it is billed until it releases its GPUs. */
  hasBooted = this.boolean(false)
  /** Whether it is billed now, and since when it is or was billed last. -1: it never was. */
  isBilled = this.boolean(false)
  billedSince: Micros = this.number(-1)
  /** Its state after its shutdown. */
  declare stateAfterShutdown: 'stopped' | 'deleted'
  stoppedForFunds = this.boolean(false)
  /** Whether its image comes from the registry. False: its node has the image already. */
  pullsImage = this.boolean(false)
  meter = this.int32(-1)
  /** Since when it holds its GPUs, and its newest line in the usage history. -1: none. */
  heldSince: Micros = this.number(-1)
  lastHeldLine = this.int32(-1)

  constructor(
    generation: Generation,
    id: string,
    initial: Pick<RentalRow, 'plan' | 'name' | 'state' | 'since' | 'updatedAt' | 'storageGb' | 'stateAfterShutdown'>,
  ) {
    super(generation, id)
    this.plan = this.reference(initial.plan)
    this.name = this.reference(initial.name)
    this.state = this.reference(initial.state)
    this.since = this.number(initial.since)
    this.updatedAt = this.number(initial.updatedAt)
    this.storageGb = this.number(initial.storageGb)
    this.stateAfterShutdown = this.reference(initial.stateAfterShutdown)
  }

  get kind(): RentalKind {
    return this.plan.kind
  }
  /** Whether it has what it runs on: a machine, or GPUs of a node. */
  get isPlaced(): boolean {
    return this.hasMachine || this.node >= 0
  }
  get gpu(): GpuType {
    return this.plan.gpu
  }
  get numGpus(): number {
    return this.plan.numGpus
  }
}
