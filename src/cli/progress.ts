/** How far a long command is, on stderr: a bar on a terminal, a line now and then elsewhere. */
import { type Micros, readable } from '../kernel/duration.ts'
import { monotonicMs } from '../kernel/pacer.ts'

/** What is over sooner needs no progress. */
const QUIET_MS = 2000
/** How often it is told. */
const BAR_MS = 100
const LINE_MS = 5000
const BAR_WIDTH = 30

export class Progress {
  readonly #total: Micros
  readonly #write: (text: string) => void
  readonly #isTerminal: boolean
  readonly #began = monotonicMs()
  #told = Number.NEGATIVE_INFINITY

  /** @param total simulated time that lies ahead */
  constructor(total: Micros, door: { error(text: string): void; readonly isTerminal?: boolean | undefined }) {
    this.#total = total
    this.#write = text => door.error(text)
    this.#isTerminal = door.isTerminal === true
  }

  /** Tells how much of it is done, when it is time to. */
  reached(done: Micros): void {
    const now = monotonicMs()
    const since = now - this.#began
    if (since < QUIET_MS || now - this.#told < (this.#isTerminal ? BAR_MS : LINE_MS)) return
    this.#told = now
    const share = done / this.#total
    const left = share > 0 ? `, about ${Math.round(((since / share) * (1 - share)) / 1000)} s left` : ''
    const text = `${done === 0 ? '0s' : readable(done)} of ${readable(this.#total)}${left}`
    if (this.#isTerminal) {
      const full = Math.floor(share * BAR_WIDTH)
      this.#write(`\r[${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}] ${text}\u001b[K`)
    } else this.#write(`Simulated ${text}\n`)
  }

  /** Takes the bar away: what follows begins on a line of its own. */
  end(): void {
    if (this.#isTerminal && this.#told >= 0) this.#write('\r\u001b[K')
  }
}
