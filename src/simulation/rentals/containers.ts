import type { ContainerState } from '../../data/records/enums.ts'
import { formatGpuConfig } from '../../data/records/gpu-config.ts'
import type { Ledger } from '../account/ledger.ts'
import type { SimulationContext } from '../context.ts'
import { Part } from '../part.ts'
import { Rental } from './rental.ts'
import { type ContainerRentalSpec, countsAgainstQuota } from './rental-row.ts'
import type { Rentals } from './rentals.ts'

/** `active` containers have GPUs or wait for them. `inactive` containers have ended. */
export type ContainerActivity = 'active' | 'inactive'

/** A container of the account. */
export class Container extends Rental<ContainerState> {
  readonly #ledger: Ledger

  constructor(context: SimulationContext, { rentals, ledger }: ContainersParts, ordinal: number) {
    super(context, rentals, ordinal)
    this.#ledger = ledger
  }

  /** Returns the record that the API sends. */
  toRecord() {
    const { id, name, failReason, gpu, numGpus, plan } = this.row
    return {
      id,
      name,
      state: this.state,
      ...this.times(),
      ip: this.address(),
      gpu_config: formatGpuConfig(gpu, numGpus),
      price_per_hour: (this.#ledger.meters.priceCentsPerHour(gpu) * numGpus) / 100,
      container_image: plan.image,
      fail_reason: failReason === '' ? null : failReason,
    }
  }
}

/** The lower parts that containers use. */
export interface ContainersParts {
  readonly rentals: Rentals
  readonly ledger: Ledger
}

/** The containers of the account. Each runs an image on GPUs of one node, once, until it is deleted or its node is lost. */
export class Containers extends Part<ContainersParts> {
  /** Returns the container with this id, even if it is deleted. */
  get(containerId: string): Container | undefined {
    const { rentals } = this.parts
    const ordinal = rentals.ordinalOf(containerId)
    if (ordinal === undefined || rentals.read(ordinal).kind !== 'container') return undefined
    return new Container(this.context, this.parts, ordinal)
  }

  /** Returns the active or inactive containers, by creation time, then id. */
  list(activity: ContainerActivity): Container[] {
    const ordinals = this.parts.rentals.list(
      'container',
      state => countsAgainstQuota(state) === (activity === 'active'),
    )
    return ordinals.map(ordinal => new Container(this.context, this.parts, ordinal))
  }

  /** The number of active containers. */
  get activeCount(): number {
    let active = 0
    for (const [, { kind, state }] of this.parts.rentals.entries()) {
      if (kind === 'container' && countsAgainstQuota(state)) active++
    }
    return active
  }

  create(spec: Omit<ContainerRentalSpec, 'kind'>): Container {
    return new Container(this.context, this.parts, this.parts.rentals.create({ kind: 'container', ...spec }))
  }
}
