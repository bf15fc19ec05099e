/** What the ledger keeps of each thing that is billed, and of the account. */

import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Micros } from '../../kernel/duration.ts'
import { type Generation, Row } from '../../kernel/row.ts'
import type { Table } from '../../kernel/table.ts'
import { type Accrual, NO_ACCRUAL } from './accrual.ts'
import type { Microcents } from './money.ts'

/** Counts the GPU time of one thing that is billed. For a hosted instance, it counts the time of its machine. */
export class MeterRow extends Row {
  declare readonly kind: 'deployment' | 'hosted' | 'container'
  declare readonly gpu: GpuType
  declare readonly gpusPerUnit: number
  /** Micro-cents per hour of one unit, if it has a price of its own. -1: the price of its GPUs. */
  declare readonly ownPrice: Microcents
  units = this.int32(0)
  since: Micros = this.number(0)
  /** Σ GPU-time × price up to `since`. */
  accrued = this.owned<Accrual>(NO_ACCRUAL)
  posted: Microcents = this.number(0)
  /** Its newest stretch that is over; -1 for none. */
  newestInterval = this.int32(-1)

  constructor(
    generation: Generation,
    id: string,
    initial: Pick<MeterRow, 'kind' | 'gpu' | 'gpusPerUnit' | 'ownPrice'>,
  ) {
    super(generation, id)
    this.kind = this.reference(initial.kind)
    this.gpu = this.reference(initial.gpu)
    this.gpusPerUnit = this.int32(initial.gpusPerUnit)
    this.ownPrice = this.number(initial.ownPrice)
  }
}

/** The account itself, as a thing that events happen to. */
export class AccountRow extends Row {}

/** The table of the ledger with the row of the account. */
export interface AccountTable {
  readonly accounts: Table<AccountRow>
}
