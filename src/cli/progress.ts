/** The progress of a long command on stderr: a bar on a terminal, a line every few seconds elsewhere. */
import { monotonicMs } from '../lib/real-time.ts'
import type { CommandIo } from './command.ts'

/** Shorter commands show no progress. */
const DELAY_MS = 2000
const BAR_INTERVAL_MS = 100
const LINE_INTERVAL_MS = 5000
const BAR_WIDTH = 30
/** Real milliseconds in which the speed of the work is measured. */
const RECENT_MS = 30_000

type ProgressOutput = Pick<CommandIo, 'error' | 'isTerminal'>

export class Progress {
  readonly #output: ProgressOutput
  readonly #startedMs = monotonicMs()
  #lastWrittenMs = Number.NEGATIVE_INFINITY
  #isShown = false
  readonly #said = new Set<string>()
  /** How much was done at which moment, oldest first. */
  readonly #marks = [{ ms: this.#startedMs, done: 0 }]

  constructor(output: ProgressOutput) {
    this.#output = output
  }

  /**
   * Writes the progress, if the last text is old enough.
   *
   * @param text what is done, as in `3 of 8 played`
   * @param done what is done, in any unit
   * @param total what is done and what is left; undefined if it is unknown
   */
  update(text: string, done = 0, total?: number): void {
    const now = monotonicMs()
    const elapsedMs = now - this.#startedMs
    const leftMs = this.#leftMs(now, done, total)
    const interval = this.#output.isTerminal ? BAR_INTERVAL_MS : LINE_INTERVAL_MS
    if (elapsedMs < DELAY_MS || now - this.#lastWrittenMs < interval) return
    this.#lastWrittenMs = now
    this.#isShown = true
    const left = leftMs === undefined ? '' : `, about ${Math.round(leftMs / 1000)} s left`
    const full = Math.floor((done / (total ?? done)) * BAR_WIDTH)
    const bar = total === undefined ? '' : `[${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}] `
    this.#output.error(this.#output.isTerminal ? `\r${bar}${text}${left}\u001b[K` : `${text}${left}\n`)
  }

  /** Returns how long the rest takes at the speed of the last half minute; undefined if that is unknown. */
  #leftMs(now: number, done: number, total: number | undefined): number | undefined {
    const marks = this.#marks
    if (now - marks.at(-1)!.ms >= 1000) marks.push({ ms: now, done })
    while (marks.length > 2 && marks[1]!.ms < now - RECENT_MS) marks.shift()
    const [first] = marks
    return total === undefined || done <= first!.done
      ? undefined
      : ((total - done) * (now - first!.ms)) / (done - first!.done)
  }

  /** Writes the first text of a key, above the bar. The text of a short command is in its result only. */
  say(text: string, key = text): void {
    if (this.#said.has(key) || monotonicMs() - this.#startedMs < DELAY_MS) return
    this.#said.add(key)
    this.clear()
    this.#output.error(`${text}\n`)
  }

  /** Removes the bar. A later update shows it again. */
  clear(): void {
    if (this.#isShown && this.#output.isTerminal) this.#output.error('\r\u001b[K')
    this.#isShown = false
  }
}

/** Returns the progress of a command whose stderr is compared by pipes; undefined outside of a terminal. */
export function progressOnTerminal(output: ProgressOutput): Progress | undefined {
  return output.isTerminal ? new Progress(output) : undefined
}
