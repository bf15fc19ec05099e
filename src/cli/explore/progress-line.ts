/** One line on stderr that says how far an exploration is. */

import { monotonicMs } from '../../lib/real-time.ts'
import { plural } from '../../lib/text/format-count.ts'
import type { ExploreProgress } from '../../workbench/explore/stages/exploration.ts'
import { percent } from './report.ts'

const TERMINAL_INTERVAL_MS = 100
/** A log gets a line now and then. */
const LOG_INTERVAL_MS = 5000

export class ProgressLine {
  readonly #write: (text: string) => void
  readonly #isTerminal: boolean
  #writtenMs = monotonicMs()
  #isShown = false

  constructor(write: (text: string) => void, isTerminal: boolean) {
    this.#write = write
    this.#isTerminal = isTerminal
  }

  update({ flow, stage, runs, findings, chanceOfNew }: ExploreProgress): void {
    const now = monotonicMs()
    if (now - this.#writtenMs < (this.#isTerminal ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS)) return
    this.#writtenMs = now
    this.#isShown = true
    const text = `${flow}: ${stage}, ${plural(runs, 'run')}, ${plural(findings, 'finding')}, chance of something new ${percent(chanceOfNew)}`
    this.#write(this.#isTerminal ? `\r${text}\u001b[K` : `${text}\n`)
  }

  /** Removes the line from a terminal. */
  end(): void {
    if (this.#isShown && this.#isTerminal) this.#write('\r\u001b[K')
    this.#isShown = false
  }
}
