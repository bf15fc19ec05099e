import type { BatchStatus } from '../../data/records/enums.ts'
import type { SimulationContext } from '../context.ts'
import { type BatchRow, type BatchTable, doneLinesAt, progressOf, type TimestampedStatus } from './batch-row.ts'

/** A batch as the API sends it. */
export type BatchRecord = ReturnType<typeof toBatchRecord>

/** A batch for reading and cancelling. */
export interface Batch {
  readonly ordinal: number
  readonly id: string
  readonly status: BatchStatus
  toRecord(): BatchRecord
  /** Requests an early end. Returns false if the status is terminal. */
  cancel(): boolean
}

type CancellingBatches = BatchTable & { cancel(ordinal: number): boolean }

/** Returns a handle of the batch with an ordinal. */
export function createBatchHandle(context: SimulationContext, table: CancellingBatches, ordinal: number): Batch {
  return {
    ordinal,
    get id() {
      return table.read(ordinal).id
    },
    get status() {
      return table.read(ordinal).status
    },
    toRecord: () => toBatchRecord(context, table.read(ordinal)),
    cancel: () => table.cancel(ordinal),
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
