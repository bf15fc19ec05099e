import type { Micros } from '../../kernel/duration.ts'
import type { BatchStatus } from '../../store/records.ts'
import type { BatchRow } from '../batch-row.ts'
import { linesOf } from '../files.ts'
import type { World } from '../world.ts'
import type { Broken } from './law.ts'

const EDGES: Readonly<Record<BatchStatus, readonly BatchStatus[]>> = {
  validating: ['failed', 'in_progress', 'cancelling', 'expired'],
  in_progress: ['finalizing', 'cancelling', 'expired'],
  finalizing: ['completed'],
  cancelling: ['cancelled'],
  completed: [],
  failed: [],
  expired: [],
  cancelled: [],
}
const OVER: ReadonlySet<BatchStatus> = new Set(['completed', 'failed', 'expired', 'cancelled'] satisfies BatchStatus[])
/** The order in which the moments of a batch may come. */
const MOMENTS = ['in_progress', 'finalizing', 'cancelling', 'completed', 'failed', 'expired', 'cancelled'] as const

/** What a batch was when it was looked at last. */
interface Seen {
  readonly status: BatchStatus
  readonly at: BatchRow['at']
  readonly done: number
  readonly failed: number
  readonly charged: number
  /** Micro-cents that the lines that are over can have cost at most, at the prices of their time. */
  readonly worth: number
}

/** I7 and I13: the lines of batches, each run once, told once, charged once. */
export class BatchLaws {
  readonly #world: World
  readonly #seen: (Seen | undefined)[] = []

  constructor(world: World) {
    this.#world = world
  }

  wrote(row: Readonly<BatchRow>, ordinal: number, broken: Broken): void {
    const before = this.#seen[ordinal]
    this.#checkTimes(row, before, broken)
    const worth = this.#worth(row, before)
    this.#checkLines(row, before, worth, broken)
    if (OVER.has(row.status) && row.status !== before?.status && row.filesWritten) this.#checkFiles(row, broken)
    const { status, at, done, charged } = row
    const failed = failedOf(row)
    this.#seen[ordinal] = { status, at, done, failed, charged, worth }
  }

  #checkTimes(row: Readonly<BatchRow>, before: Seen | undefined, broken: Broken): void {
    const { clock, profile } = this.#world
    const { id, at, createdAt, status } = row
    let last: Micros = createdAt
    for (const moment of MOMENTS) {
      const time = at[moment]
      if (time === undefined) continue
      if (time < last || time > clock.now) {
        broken('I7', `batch ${id} has ${moment}_at ${time} after ${last}; it is ${clock.now}`, id)
      }
      last = time
    }
    if (before === undefined) return
    for (const moment of MOMENTS) {
      if (before.at[moment] !== undefined && at[moment] !== before.at[moment]) {
        broken('I7', `${moment}_at of batch ${id} changed from ${before.at[moment]} to ${at[moment]}`, id)
      }
    }
    if (status !== before.status && !EDGES[before.status].includes(status)) {
      broken('I7', `batch ${id} went from ${before.status} to ${status}`, id)
    }
    const window = profile.timings.batchWindow
    if (status === 'in_progress' && clock.now > createdAt + window && before.done < row.done) {
      broken('I7', `batch ${id} went on after its expires_at`, id)
    }
  }

  #checkLines(row: Readonly<BatchRow>, before: Seen | undefined, worth: number, broken: Broken): void {
    const { id, work, done, status } = row
    const failed = failedOf(row)
    const total = work?.lines.length ?? 0
    if (done < 0 || failed < 0 || failed > done || done > total) {
      broken('I13', `batch ${id} has ${total} lines, ${done} of them over and ${failed} failed`, id)
    }
    if ((status === 'completed' || status === 'finalizing') && done !== total) {
      broken('I13', `batch ${id} is ${status} and ${total - done} of its ${total} lines are not over`, id)
    }
    if (before === undefined) return
    if (done < before.done || failed < before.failed) {
      broken('I13', `batch ${id} had ${before.done} lines over, and now ${done}`, id)
    }
    if (row.charged < before.charged) broken('I13', `batch ${id} had lines charged and now has not`, id)
    if (row.charged > before.charged) {
      if (done === before.done) broken('I13', `batch ${id} was charged for lines that were charged before`, id)
      // The floor of the whole may lie above the sum of what was cut off on the way, never by more than one.
      if (row.charged > worth + 1) {
        broken('I13', `batch ${id} was charged ${row.charged} micro-cents for lines worth ${worth}`, id)
      }
    }
  }

  #worth(row: Readonly<BatchRow>, before: Seen | undefined): number {
    // What was charged before anybody looked is taken as it is.
    if (before === undefined || row.work === undefined) return row.charged
    if (row.done <= before.done) return before.worth
    const { store, deployments, profile } = this.#world
    const { model, promptBefore, answerBefore } = row.work
    const named = deployments.live(model) ?? deployments.live(`${store.account.display_name}/${model}`)
    const base = named?.type === 'lora' ? deployments.read(named.ordinal).plan.baseModel : undefined
    const priced = store.hardware.get(base ?? model)?.hardware.find(one => one.type === 'serverless')
    if (priced?.type !== 'serverless') return before.worth
    const { cents_per_million_input_tokens: input, cents_per_million_output_tokens: output } = priced.pricing
    const factor = base === undefined ? 1 : profile.prices.adapterFactor
    const prompt = promptBefore[row.done]! - promptBefore[before.done]!
    const answer = answerBefore[row.done]! - answerBefore[before.done]!
    return before.worth + (prompt * input + answer * output) * factor * profile.prices.batchShare
  }

  /** Every request stands in exactly one of the two files, once. */
  #checkFiles(row: Readonly<BatchRow>, broken: Broken): void {
    const { files } = this.#world
    const { id, work, done } = row
    const failed = failedOf(row)
    const output = files.get(`${id}_output`)
    const error = files.get(`${id}_error`)
    // Files of a fixture's batch are its own affair, and an old one may have expired.
    if (!work || !output || !error) return
    const times = new Map(work.lines.map(line => [line.customId, 0]))
    let told = 0
    for (const file of [output, error]) {
      let lines = 0
      for (const line of linesOf(file.chunks())) {
        lines++
        const { custom_id } = JSON.parse(line) as { custom_id: string }
        times.set(custom_id, (times.get(custom_id) ?? 0) + 1)
      }
      told += lines
      if (file === output && lines !== done - failed) {
        broken('I13', `batch ${id} has ${lines} lines in its output, ${done - failed} are completed`, id)
      }
    }
    if (told !== work.lines.length) {
      broken('I13', `batch ${id} has ${told} lines in its two files, it had ${work.lines.length}`, id)
    }
    for (const [customId, count] of times) {
      if (count !== 1) {
        broken('I13', `line ${customId} of batch ${id} stands ${count} times in its two files`, id)
        return
      }
    }
  }
}

function failedOf({ work, done }: Readonly<BatchRow>): number {
  return work?.failedBefore[done] ?? 0
}
