import type { BatchStatus } from '../../data/records/enums.ts'
import type { SimulationContext } from '../context.ts'
import { type BatchRow, type BatchTable, doneLinesAt, progressOf, type TimestampedStatus } from './batch-row.ts'

/** A batch as the API sends it. */
export type BatchRecord = ReturnType<typeof toBatchRecord>

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
  /** Fails it, without output. Returns false if the status is terminal. */
  fail(): boolean
  /** Keeps it from progress until it expires. Returns false if its lines are done, or were stopped. */
  stall(): boolean
}

/** The batches, with the actions of a handle by ordinal. */
type ActingBatches = BatchTable & Readonly<Record<'cancel' | 'expire' | 'fail' | 'stall', (ordinal: number) => boolean>>

/** Returns a handle of the batch with an ordinal. */
export function createBatchHandle(context: SimulationContext, table: ActingBatches, ordinal: number): Batch {
  const toRecord = () => toBatchRecord(context, table.read(ordinal))
  return {
    get id() {
      return table.read(ordinal).id
    },
    get status() {
      return table.read(ordinal).status
    },
    toRecord,
    toJson: () => {
      // While lines run, the counts change between events.
      if (table.read(ordinal).rate.tokensPerSecond > 0) return JSON.stringify(toRecord())
      return table.jsonOf(ordinal, () => JSON.stringify(toRecord()))
    },
    cancel: () => table.cancel(ordinal),
    expire: () => table.expire(ordinal),
    fail: () => table.fail(ordinal),
    stall: () => table.stall(ordinal),
  }
}

/** Returns a batch as the API sends it. */
function toBatchRecord({ clock, profile }: SimulationContext, row: Readonly<BatchRow>) {
  const { work } = row
  const doneLines =
    work && row.status === 'in_progress' ? doneLinesAt(work, progressOf(row, clock.now).doneTokens) : row.doneLines
  const unixTimeOf = (status: TimestampedStatus) =>
    row.statusTimes[status] === undefined ? null : clock.unix(row.statusTimes[status])
  // A command can end the window before its time.
  const { expired = Number.POSITIVE_INFINITY } = row.statusTimes
  return {
    id: row.id,
    object: 'batch' as const,
    endpoint: row.spec.endpoint,
    input_file_id: row.spec.input_file_id,
    completion_window: row.spec.completion_window,
    status: row.status,
    created_at: clock.unix(row.createdAt),
    expires_at: clock.unix(Math.min(expired, row.createdAt + profile.timings.batchWindow)),
    errors: row.errors ? { object: 'list' as const, data: [...row.errors] } : null,
    output_file_id: row.filesWritten ? row.outputFileId : null,
    error_file_id: row.filesWritten ? row.errorFileId : null,
    in_progress_at: unixTimeOf('in_progress'),
    completed_at: unixTimeOf('completed'),
    failed_at: unixTimeOf('failed'),
    finalizing_at: unixTimeOf('finalizing'),
    expired_at: unixTimeOf('expired'),
    cancelled_at: unixTimeOf('cancelled'),
    cancelling_at: unixTimeOf('cancelling'),
    request_counts: work
      ? {
          total: work.lines.length,
          completed: doneLines - work.failedBefore[doneLines]!,
          failed: work.failedBefore[doneLines]!,
        }
      : null,
    metadata: row.spec.metadata,
  }
}
