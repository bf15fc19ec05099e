import type { ContainerState } from '../../data/records/enums.ts'
import { formatGpuConfig, type GpuType } from '../../data/records/gpu-config.ts'
import type { SimulationContext } from '../context.ts'
import { Rental } from './rental.ts'
import { countsAgainstQuota } from './rental-row.ts'
import type { Rentals } from './rentals.ts'

/** A valid request for a container. */
export interface ContainerSpec {
  readonly name: string
  readonly gpu: GpuType
  readonly num_gpus: number
  readonly container_image: string
}

/** A container as the API sends it. */
export interface ContainerRecord {
  container_id: string
  name: string
  state: ContainerState
  fail_reason: string
  gpu_config: string
  container_image: string
  created_at: number
  updated_at: number
}

/** `active` containers have GPUs or wait for them. `inactive` containers have ended. */
export type ContainerActivity = 'active' | 'inactive'

/** A container of the account. */
export class Container extends Rental<ContainerState> {
  get container_id(): string {
    return this.row.id
  }

  /** Returns the record that the API sends. */
  toRecord(): ContainerRecord {
    const { id, name, failReason, gpu, numGpus, plan, updatedAt } = this.row
    const { clock } = this.context
    return {
      container_id: id,
      name,
      state: this.state,
      fail_reason: failReason,
      gpu_config: formatGpuConfig(gpu, numGpus),
      container_image: plan.image,
      created_at: clock.unix(plan.createdAt),
      updated_at: clock.unix(updatedAt),
    }
  }
}

/** The lower parts that containers use. */
export interface ContainersParts {
  readonly rentals: Rentals
}

/** The containers of the account. Each runs an image on GPUs of one node, once, until it is deleted or its node is lost. */
export class Containers {
  readonly #context: SimulationContext
  readonly #parts: ContainersParts

  constructor(context: SimulationContext, parts: ContainersParts) {
    this.#context = context
    this.#parts = parts
  }

  /** Returns the container with this id, even if it is deleted. */
  get(containerId: string): Container | undefined {
    const { rentals } = this.#parts
    const ordinal = rentals.ordinalOf(containerId)
    if (ordinal === undefined || rentals.read(ordinal).kind !== 'container') return undefined
    return new Container(this.#context, this.#parts.rentals, ordinal)
  }

  /** Returns the active or inactive containers, by creation time, then id. Default: all except deleted ones. */
  list(activity?: ContainerActivity): Container[] {
    const ordinals = this.#parts.rentals.list('container', state =>
      activity === undefined ? state !== 'deleted' : !countsAgainstQuota(state) === (activity === 'inactive'),
    )
    return ordinals.map(ordinal => new Container(this.#context, this.#parts.rentals, ordinal))
  }

  create({ name, gpu, num_gpus, container_image }: ContainerSpec): Container {
    const { rentals } = this.#parts
    const ordinal = rentals.create({ kind: 'container', name, gpu, numGpus: num_gpus, image: container_image })
    return new Container(this.#context, this.#parts.rentals, ordinal)
  }
}
