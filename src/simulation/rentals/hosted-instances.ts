import type { HostedState } from '../../data/records/enums.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { SimulationContext } from '../context.ts'
import { Rental } from './rental.ts'
import type { Rentals } from './rentals.ts'

/** A hosted instance as the API asks for it, checked. */
export interface HostedSpec {
  readonly name: string
  readonly gpu: GpuType
  readonly num_gpus: number
  readonly storage_gb: number
}

/** A hosted instance on the wire. */
export interface HostedRecord {
  instance_id: string
  name: string
  state: HostedState
  fail_reason: string
  gpu: GpuType
  num_gpus: number
  storage_gb: number
  expanding_to_gb: number | null
  created_at: number
  updated_at: number
}

/** A hosted instance of the account. */
export class HostedInstance extends Rental<HostedState> {
  get instance_id(): string {
    return this.row.id
  }
  get gpu(): GpuType {
    return this.row.gpu
  }
  get num_gpus(): number {
    return this.row.numGpus
  }
  get storage_gb(): number {
    return this.row.storageGb
  }
  /** Whether an expansion is under way. */
  get expanding(): boolean {
    return this.row.expansionTargetGb > 0
  }
  /** Whether it stops only to be deleted. */
  get deleting(): boolean {
    return this.state === 'stopping' && this.row.stateAfterShutdown === 'deleted'
  }

  /** The wire's record. */
  toRecord(): HostedRecord {
    const { id, name, failReason, gpu, numGpus, storageGb, expansionTargetGb, plan, updatedAt } = this.row
    const { clock } = this.context
    return {
      instance_id: id,
      name,
      state: this.state,
      fail_reason: failReason,
      gpu,
      num_gpus: numGpus,
      storage_gb: storageGb,
      expanding_to_gb: expansionTargetGb === 0 ? null : expansionTargetGb,
      created_at: clock.unix(plan.createdAt),
      updated_at: clock.unix(updatedAt),
    }
  }

  expand(sizeGb: number): void {
    this.rentals.expand(this.ordinal, sizeGb)
  }
  start(): void {
    this.rentals.start(this.ordinal)
  }
  stop(): void {
    this.rentals.stop(this.ordinal)
  }
}

/** The parts below that it uses. */
export interface HostedInstancesParts {
  readonly rentals: Rentals
}

/** The hosted instances of the account: rented machines with storage of their own, which outlasts a stop. */
export class HostedInstances {
  readonly #context: SimulationContext
  readonly #parts: HostedInstancesParts

  constructor(context: SimulationContext, parts: HostedInstancesParts) {
    this.#context = context
    this.#parts = parts
  }

  /** The hosted instance with this id, a deleted one too. */
  get(instanceId: string): HostedInstance | undefined {
    const { rentals } = this.#parts
    const ordinal = rentals.ordinalOf(instanceId)
    if (ordinal === undefined || rentals.read(ordinal).kind !== 'hosted') return undefined
    return new HostedInstance(this.#context, this.#parts.rentals, ordinal)
  }

  /** All but the deleted, by creation, then id. */
  list(): HostedInstance[] {
    const ordinals = this.#parts.rentals.list('hosted', state => state !== 'deleted')
    return ordinals.map(ordinal => new HostedInstance(this.#context, this.#parts.rentals, ordinal))
  }

  create({ name, gpu, num_gpus, storage_gb }: HostedSpec): HostedInstance {
    const { rentals } = this.#parts
    const ordinal = rentals.create({ kind: 'hosted', name, gpu, numGpus: num_gpus, storageGb: storage_gb })
    return new HostedInstance(this.#context, this.#parts.rentals, ordinal)
  }
}
