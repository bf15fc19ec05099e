/** What the ledger keeps of each thing that is billed, and of the account. */

import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Micros } from '../../kernel/duration.ts'
import { type Generation, Row } from '../../kernel/table.ts'
import { Accrual } from './accrual.ts'
import type { Microcents } from './money.ts'

/** Counts the GPU time of one thing that is billed. */
export class MeterRow extends Row {
  readonly kind: 'deployment' | 'hosted' | 'container'
  readonly gpu: GpuType
  readonly gpusPerUnit: number
  units = 0
  since: Micros = 0
  /** Σ GPU-time × price up to `since`. */
  accrued = new Accrual()
  posted: Microcents = 0
  /** Its newest stretch that is over; -1 for none. */
  newestInterval = -1

  constructor(generation: Generation, id: string, kind: MeterRow['kind'], gpu: GpuType, gpusPerUnit: number) {
    super(generation, id)
    this.kind = kind
    this.gpu = gpu
    this.gpusPerUnit = gpusPerUnit
  }

  copy(generation: Generation): MeterRow {
    const copy = new MeterRow(generation, this.id, this.kind, this.gpu, this.gpusPerUnit)
    copy.units = this.units
    copy.since = this.since
    copy.accrued = this.accrued.copy()
    copy.posted = this.posted
    copy.newestInterval = this.newestInterval
    return copy.takeHash(this)
  }
}

/** The account itself, as a thing that events happen to. */
export class AccountRow extends Row {
  copy(generation: Generation): AccountRow {
    return new AccountRow(generation, this.id).takeHash(this)
  }
}
