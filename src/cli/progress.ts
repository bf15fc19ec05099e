/** Progress of a long command on stderr: a bar on a terminal, a line every few seconds elsewhere. */
import { formatDuration, type Micros } from '../kernel/duration.ts'
import { monotonicMs } from '../lib/real-time.ts'

/** Shorter commands show no progress. */
const PROGRESS_DELAY_MS = 2000
const BAR_INTERVAL_MS = 100
const LINE_INTERVAL_MS = 5000
const BAR_WIDTH = 30

export class Progress {
  readonly #total: Micros
  readonly #write: (text: string) => void
  readonly #isTerminal: boolean
  readonly #startedMs = monotonicMs()
  #lastWrittenMs = Number.NEGATIVE_INFINITY

  /** @param total simulated time to go */
  constructor(total: Micros, output: { error(text: string): void; readonly isTerminal?: boolean | undefined }) {
    this.#total = total
    this.#write = text => output.error(text)
    this.#isTerminal = output.isTerminal === true
  }

  /** Writes the progress, if the last text is old enough. */
  update(done: Micros): void {
    const now = monotonicMs()
    const elapsedMs = now - this.#startedMs
    if (
      elapsedMs < PROGRESS_DELAY_MS ||
      now - this.#lastWrittenMs < (this.#isTerminal ? BAR_INTERVAL_MS : LINE_INTERVAL_MS)
    )
      return
    this.#lastWrittenMs = now
    const share = done / this.#total
    const left = share > 0 ? `, about ${Math.round(((elapsedMs / share) * (1 - share)) / 1000)} s left` : ''
    const text = `${done === 0 ? '0s' : formatDuration(done)} of ${formatDuration(this.#total)}${left}`
    if (this.#isTerminal) {
      const full = Math.floor(share * BAR_WIDTH)
      this.#write(`\r[${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}] ${text}\u001b[K`)
    } else this.#write(`Simulated ${text}\n`)
  }

  /** Removes the bar. */
  end(): void {
    if (this.#isTerminal && this.#lastWrittenMs >= 0) this.#write('\r\u001b[K')
  }
}
