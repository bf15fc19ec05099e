/** When clients have nothing left to do but wait, so that time may be moved under them. */
import { monotonicMs } from '../kernel/pacer.ts'
import type { ClockHost } from './host.ts'
import { FlightWatch } from './in-flight.ts'
import type { FakeTimers } from './lockstep.ts'
import { turn } from './turns.ts'

/** Turns of the event loop without a sign of the client after which it counts as waiting. */
const QUIET_TURNS = 3
/** The same where calls may be under way that began before anybody looked. */
const UNSEEN_TURNS = 100
/** Real time without a sign of life after which a request in flight is taken for stuck. */
const STUCK_MS = 2000

export class Quiet {
  readonly #host: ClockHost
  readonly #timers: FakeTimers
  readonly #flights = new FlightWatch()
  #turns = QUIET_TURNS
  /** Answers that are held back: their clients wait for time, and are quiet. */
  #parked = 0
  /** Those of them whose request is in flight until they end. */
  #parkedInside = 0

  constructor(host: ClockHost, timers: FakeTimers) {
    this.#host = host
    this.#timers = timers
  }

  /** Sees calls of the global `fetch` from now on; what began before is given more time. */
  watch(): void {
    if (this.#flights.attach()) this.#turns = UNSEEN_TURNS
  }

  unwatch(): void {
    this.#flights.detach()
  }

  /** An answer is held back; what is returned lets it go. */
  park(isInside: boolean): () => void {
    this.#parked++
    if (isInside) this.#parkedInside++
    return () => {
      this.#parked--
      if (isInside) this.#parkedInside--
    }
  }

  /** Whether every request that entered is answered, or waits for time. */
  get isEveryoneServed(): boolean {
    return this.#host.inFlight.length <= this.#parkedInside
  }

  /**
   * Resolves when no client has given a sign of life for some turns of the event loop.
   *
   * Rejects when something is in flight and gives none for two seconds.
   */
  async settled(): Promise<void> {
    const turns = this.#turns
    this.#turns = QUIET_TURNS
    let calm = 0
    let seen = this.#signsOfLife()
    let since = monotonicMs()
    while (calm < turns) {
      await turn()
      const signs = this.#signsOfLife()
      const inFlight = this.#inFlight()
      calm = signs === seen && inFlight.length === 0 ? calm + 1 : 0
      if (signs !== seen) since = monotonicMs()
      // A process that got no time for a while is not a client that hangs.
      else if (inFlight.length > 0 && monotonicMs() - since > STUCK_MS) {
        throw new Error(
          `Failed to move time: ${inFlight.join(', ')} has been in flight for ${STUCK_MS / 1000} s without a sign of life. ` +
            'End its body, or await its answer before you move time. An address that no handler answers is a real one, and takes real time.',
        )
      }
      seen = signs
    }
  }

  #inFlight(): readonly string[] {
    const calls = this.#flights.inFlight
    const entered = this.isEveryoneServed ? [] : this.#host.inFlight
    return calls.length > this.#parked ? [...entered, ...calls] : entered
  }

  /** Changes whenever a client does something: asks, reads, sets a timer. */
  #signsOfLife(): string {
    return `${this.#host.activity} ${this.#flights.activity} ${this.#timers.waiting}`
  }
}
