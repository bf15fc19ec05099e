import type { HostedState } from '../../data/records/enums.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { SimulationContext } from '../context.ts'
import { Rental } from './rental.ts'
import type { Rentals } from './rentals.ts'

/** A valid request for a hosted instance. */
export interface HostedSpec {
  readonly name: string
  readonly gpu: GpuType
  readonly num_gpus: number
  readonly storage_gb: number
}

/** A hosted instance as the API sends it. */
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
  /** Whether its storage is being expanded. */
  get expanding(): boolean {
    return this.row.expansionTargetGb > 0
  }

  /** Returns the record that the API sends. */
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

/** The lower parts that hosted instances use. */
export interface HostedInstancesParts {
  readonly rentals: Rentals
}

/** The hosted instances of the account: rented machines whose storage persists across stops. */
export class HostedInstances {
  readonly #context: SimulationContext
  readonly #parts: HostedInstancesParts

  constructor(context: SimulationContext, parts: HostedInstancesParts) {
    this.#context = context
    this.#parts = parts
  }

  /** Returns the hosted instance with this id, even if it is deleted. */
  get(instanceId: string): HostedInstance | undefined {
    const { rentals } = this.#parts
    const ordinal = rentals.ordinalOf(instanceId)
    if (ordinal === undefined || rentals.read(ordinal).kind !== 'hosted') return undefined
    return new HostedInstance(this.#context, this.#parts.rentals, ordinal)
  }

  /** Returns all hosted instances except deleted ones, by creation time, then id. */
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
