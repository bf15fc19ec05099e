import { BATCH_LIFECYCLE, type BatchStatus } from '../../data/records/enums.ts'
import type { Micros } from '../../kernel/duration.ts'
import { type TokenPrice, tokenPriceOf } from '../account/request-cost.ts'
import type { BatchRow } from '../batches/batch-row.ts'
import { decodeLines } from '../batches/files.ts'
import { findModelTarget } from '../deployments/model-lookup.ts'
import { type ReportViolation, WorldInvariants } from './invariant.ts'

/** The order in which the moments of a batch may come. */
const TIMESTAMPS = ['in_progress', 'finalizing', 'cancelling', 'completed', 'failed', 'expired', 'cancelled'] as const

/** What a batch was when it was looked at last. */
interface CheckedBatch {
  readonly status: BatchStatus
  readonly at: BatchRow['statusTimes']
  readonly done: number
  readonly failed: number
  readonly charged: number
  /** Micro-cents that the lines that are over can have cost at most, at the prices of their time. */
  readonly maxCost: number
  readonly price: TokenPrice | undefined
}

/** I7 and I13: the lines of batches, each run once, reported once and charged once. */
export class BatchInvariants extends WorldInvariants {
  readonly #checked: (CheckedBatch | undefined)[] = []

  onWrite(row: Readonly<BatchRow>, ordinal: number, report: ReportViolation): void {
    const before = this.#checked[ordinal]
    this.#checkTimes(row, before, report)
    const maxCost = this.#maxCost(row, before)
    this.#checkLines(row, before, maxCost, report)
    if (BATCH_LIFECYCLE.terminal.has(row.status) && row.status !== before?.status && row.filesWritten)
      this.#checkFiles(row, report)
    const { status, statusTimes, doneLines, chargedMicrocents } = row
    const failed = failedLines(row)
    const counts = { done: doneLines, failed, charged: chargedMicrocents, maxCost }
    this.#checked[ordinal] = { status, at: statusTimes, ...counts, price: this.#priceOf(row) }
  }

  #checkTimes(row: Readonly<BatchRow>, before: CheckedBatch | undefined, report: ReportViolation): void {
    const { clock, profile } = this.world
    const { id, statusTimes, createdAt, status } = row
    let last: Micros = createdAt
    for (const timestamp of TIMESTAMPS) {
      const time = statusTimes[timestamp]
      if (time === undefined) continue
      if (time < last || time > clock.now) {
        report('I7', `batch ${id} has ${timestamp}_at ${time} after ${last}; it is ${clock.now}`, id)
      }
      last = time
    }
    if (before === undefined) return
    for (const moment of TIMESTAMPS) {
      if (before.at[moment] !== undefined && statusTimes[moment] !== before.at[moment]) {
        report('I7', `${moment}_at of batch ${id} changed from ${before.at[moment]} to ${statusTimes[moment]}`, id)
      }
    }
    if (status !== before.status && !BATCH_LIFECYCLE.next(before.status).includes(status)) {
      report('I7', `batch ${id} went from ${before.status} to ${status}`, id)
    }
    const window = profile.timings.batchWindow
    if (status === 'in_progress' && clock.now > createdAt + window && before.done < row.doneLines) {
      report('I7', `batch ${id} went on after its expires_at`, id)
    }
  }

  #checkLines(
    row: Readonly<BatchRow>,
    before: CheckedBatch | undefined,
    maxCost: number,
    report: ReportViolation,
  ): void {
    const { id, work, doneLines, status } = row
    const failed = failedLines(row)
    const total = work?.lines.length ?? 0
    if (doneLines < 0 || failed < 0 || failed > doneLines || doneLines > total) {
      report('I13', `batch ${id} has ${total} lines, ${doneLines} of them over and ${failed} failed`, id)
    }
    if ((status === 'completed' || status === 'finalizing') && doneLines !== total) {
      report('I13', `batch ${id} is ${status} and ${total - doneLines} of its ${total} lines are not over`, id)
    }
    if (before === undefined) return
    if (doneLines < before.done || failed < before.failed) {
      report('I13', `batch ${id} had ${before.done} lines over, and now ${doneLines}`, id)
    }
    if (row.chargedMicrocents < before.charged) report('I13', `batch ${id} had lines charged and now has not`, id)
    if (row.chargedMicrocents > before.charged) {
      if (doneLines === before.done) report('I13', `batch ${id} was charged for lines that were charged before`, id)
      // The floor of the whole may lie above the sum of what was cut off on the way, never by more than one.
      if (row.chargedMicrocents > maxCost + 1) {
        report('I13', `batch ${id} was charged ${row.chargedMicrocents} micro-cents for lines worth ${maxCost}`, id)
      }
    }
  }

  #maxCost(row: Readonly<BatchRow>, before: CheckedBatch | undefined): number {
    // A charge from before the first check is taken as correct.
    if (before === undefined || row.work === undefined) return row.chargedMicrocents
    if (row.doneLines <= before.done) return before.maxCost
    const price = this.#priceOf(row)
    if (price === undefined) return before.maxCost
    const { promptBefore, answerBefore } = row.work
    const prompt = promptBefore[row.doneLines]! - promptBefore[before.done]!
    const answer = answerBefore[row.doneLines]! - answerBefore[before.done]!
    // A change of the price counts the lines first, at the old price.
    const { input, output } = before.price ?? price
    return before.maxCost + prompt * Math.max(input, price.input) + answer * Math.max(output, price.output)
  }

  /** Returns the price in force of the tokens of a batch; undefined if it has none. */
  #priceOf({ work }: Readonly<BatchRow>): TokenPrice | undefined {
    const { store, profile } = this.world
    const target = work && findModelTarget(this.world, work.model, true)
    if (target?.kind !== 'catalog') return undefined
    return tokenPriceOf(store, target.model, target.priceShare * profile.prices.batchShare)
  }

  /** Every request is in exactly one of the two files, once. */
  #checkFiles(row: Readonly<BatchRow>, report: ReportViolation): void {
    const { files } = this.world
    const { id, work, doneLines, outputFileId, errorFileId } = row
    const failed = failedLines(row)
    const output = files.get(outputFileId)
    const error = files.get(errorFileId)
    // Files of a fixture's batch are its own affair, and an old one may have expired.
    if (!work || !output || !error) return
    const occurrences = new Map(work.lines.customIds.map(customId => [customId, 0]))
    let lineCount = 0
    for (const file of [output, error]) {
      let lines = 0
      for (const line of decodeLines(file.chunks())) {
        lines++
        const { custom_id } = JSON.parse(line) as { custom_id: string }
        occurrences.set(custom_id, (occurrences.get(custom_id) ?? 0) + 1)
      }
      lineCount += lines
      if (file === output && lines !== doneLines - failed) {
        report('I13', `batch ${id} has ${lines} lines in its output, ${doneLines - failed} are completed`, id)
      }
    }
    if (lineCount !== work.lines.length) {
      report('I13', `batch ${id} has ${lineCount} lines in its two files, it had ${work.lines.length}`, id)
    }
    for (const [customId, count] of occurrences) {
      if (count !== 1) {
        report('I13', `line ${customId} of batch ${id} appears ${count} times in its two files`, id)
        return
      }
    }
  }
}

function failedLines({ work, doneLines }: Readonly<BatchRow>): number {
  return work?.failedBefore[doneLines] ?? 0
}
