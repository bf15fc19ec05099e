import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Micros } from '../../kernel/duration.ts'
import { type Generation, Row } from '../../kernel/row.ts'
import type { Table } from '../../kernel/table.ts'
import { type Accrual, NO_ACCRUAL } from './accrual.ts'
import type { Microcents } from './money.ts'
import type { PricingType } from './request-cost.ts'

/** The rule of automatic top-ups. */
export interface TopupRule {
  /** Cents per top-up. */
  readonly amount: number
  /** The balance in cents below which a top-up begins. */
  readonly threshold: number
  readonly enabled: boolean
}

/** The tokens of a charge, and the API token whose requests they served. */
export interface ChargedTokens {
  readonly tokens: number
  readonly token_id: string
}

/** The units of a charge, and the API token whose request they served. */
export interface ChargedUnits {
  readonly pricing_type: PricingType
  /** Units of the pricing type, to a millionth. */
  readonly units: number
  readonly token_id: string
}

/** A posting or, with `open`, an accrued amount that is not posted yet. */
export interface LedgerEntry extends Partial<ChargedTokens>, Partial<ChargedUnits> {
  /** Microseconds since the epoch of the world. */
  readonly time: Micros
  /** `units`: a request that is charged by another pricing type than tokens. */
  readonly kind: 'funds' | 'topup' | 'rent' | 'tokens' | 'units' | 'adjustment'
  /** Id of the billed subject; the id of the account for funds. */
  readonly subject: string
  /** Positive is money in, negative money out. */
  readonly microcents: Microcents
  readonly open?: true
}

/** The sums of the ledger, and the postings that must add up to them. */
export interface LedgerTotals {
  /** Funds at the epoch, plus all later payments. */
  readonly funds: Microcents
  /** The cost of all tokens and units. */
  readonly tokens: Microcents
  readonly postings: { readonly length: number; at(position: number): LedgerEntry }
}

/** The GPU time and cost of one meter between two times. */
export interface MeteredUsage {
  readonly id: string
  readonly kind: MeterRow['kind']
  /** `other` for a hosted instance. */
  readonly gpu: GpuType
  readonly microcents: Microcents
  /** Billed GPU-microseconds. For a hosted instance: billed microseconds of its machine. */
  readonly gpuMicros: number
}

/** Why an account is suspended. */
export type SuspensionReason = 'balance' | 'payment-method' | 'overdue-invoices' | 'limit-reached' | 'admin' | 'bad-cc'

/** Acts on what happens to the account. The world implements it, so the order of its actions is written in one place. */
export interface AccountObserver {
  /** The account is no longer suspended; `wasCutOff` if the grace period was over before. */
  onSuspensionEnded(wasCutOff: boolean): void
  /** The grace period is over: what runs stops. Called before the account counts as cut off. */
  onGraceEnded(reason: string): void
  /** The account is cut off. */
  onCutOff(): void
  /** The quota of a GPU type rose, or GPUs of it were given back while a deployment waited for them. */
  onQuotaAvailable(gpu: GpuType): void
}

/** Counts the GPU time of one thing that is billed. For a hosted instance, it counts the time of its machine. */
export class MeterRow extends Row {
  /** `deployment`, `hosted` or `container`; the kind of a record of an own endpoint. */
  declare readonly kind: string
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
