import type { BatchStatus } from '../../data/records/enums.ts'
import type { SimulationContext } from '../context.ts'
import { toBatchRecord } from './batch-record.ts'
import type { BatchRecord } from './batch-row.ts'
import type { BatchTable } from './batch-table.ts'

/** A batch for reading and cancelling. */
export interface Batch {
  readonly id: string
  readonly status: BatchStatus
  toRecord(): BatchRecord
  toJson(): string
  /** Requests an early end. Returns false if the status is terminal. */
  cancel(): boolean
  /** Ends its completion window. Returns false if its lines are done, or were stopped. */
  expire(): boolean
}

/** Ends the batch with an ordinal, as `cancel` and `expire` of its handle do. */
export interface BatchEnds {
  cancel(ordinal: number): boolean
  expire(ordinal: number): boolean
}

/** Returns a handle of the batch with an ordinal. `cancel` and `expire` end it early. */
export function createBatchHandle(
  context: SimulationContext,
  table: BatchTable,
  ordinal: number,
  ends: BatchEnds,
): Batch {
  const { rows } = table
  const toRecord = () => toBatchRecord(context, rows.read(ordinal))
  return {
    get id() {
      return rows.read(ordinal).id
    },
    get status() {
      return rows.read(ordinal).status
    },
    toRecord,
    toJson: () => {
      // While lines run, the counts change between events.
      if (rows.read(ordinal).rate.tokensPerSecond > 0) return JSON.stringify(toRecord())
      return table.jsonOf(ordinal, () => JSON.stringify(toRecord()))
    },
    cancel: () => ends.cancel(ordinal),
    expire: () => ends.expire(ordinal),
  }
}
