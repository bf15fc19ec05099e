/** When clients have nothing left to do but wait, so that time may be moved under them. */
import { eventLoopTurn, monotonicMs } from '../lib/real-time.ts'
import type { FakeTimers } from './fake-timers.ts'
import { InFlightMonitor } from './fetch-tracker.ts'
import type { ClockHost } from './host.ts'

/** Turns of the event loop without a sign of the client after which it counts as waiting. */
const QUIET_TURNS = 3
/** The same where calls may be under way that began before anybody looked. */
const UNOBSERVED_TURNS = 100
/** Real time without a sign of life after which a request in flight is taken for stuck. */
const STUCK_MS = 2000

export class Quiescence {
  readonly #host: ClockHost
  readonly #timers: FakeTimers
  readonly #monitor = new InFlightMonitor()
  #requiredTurns = QUIET_TURNS
  /** Answers that are held back: their clients wait for time, and are quiet. */
  #parked = 0
  /** Those of them whose request is in flight until they end. */
  #parkedInFlight = 0

  constructor(host: ClockHost, timers: FakeTimers) {
    this.#host = host
    this.#timers = timers
  }

  /** Sees calls of the global `fetch` from now on; what began before is given more time. */
  watch(): void {
    if (this.#monitor.attach()) this.#requiredTurns = UNOBSERVED_TURNS
  }

  unwatch(): void {
    this.#monitor.detach()
  }

  /** An answer is held back; what is returned lets it go. */
  park(isInFlight: boolean): () => void {
    this.#parked++
    if (isInFlight) this.#parkedInFlight++
    return () => {
      this.#parked--
      if (isInFlight) this.#parkedInFlight--
    }
  }

  /** Whether every request that entered is answered, or waits for time. */
  get isEveryRequestServed(): boolean {
    return this.#host.inFlight.length <= this.#parkedInFlight
  }

  /**
   * Resolves when no client has given a sign of life for some turns of the event loop.
   *
   * Rejects when something is in flight and gives none for two seconds.
   */
  async whenIdle(): Promise<void> {
    const requiredTurns = this.#requiredTurns
    this.#requiredTurns = QUIET_TURNS
    let idleTurns = 0
    let lastActivity = this.#activitySignature()
    let activeAt = monotonicMs()
    while (idleTurns < requiredTurns) {
      await eventLoopTurn()
      const activity = this.#activitySignature()
      const inFlight = this.#inFlight()
      idleTurns = activity === lastActivity && inFlight.length === 0 ? idleTurns + 1 : 0
      if (activity !== lastActivity) activeAt = monotonicMs()
      // A process that got no time for a while is not a client that hangs.
      else if (inFlight.length > 0 && monotonicMs() - activeAt > STUCK_MS) {
        throw new Error(
          `Failed to move time: ${inFlight.join(', ')} has been in flight for ${STUCK_MS / 1000} s without a sign of life. ` +
            'End its body, or await its answer before you move time. An address that no handler answers is a real one, and takes real time.',
        )
      }
      lastActivity = activity
    }
  }

  #inFlight(): readonly string[] {
    const calls = this.#monitor.inFlight
    const entered = this.isEveryRequestServed ? [] : this.#host.inFlight
    return calls.length > this.#parked ? [...entered, ...calls] : entered
  }

  /** Changes whenever a client does something: asks, reads, sets a timer. */
  #activitySignature(): string {
    return `${this.#host.activity} ${this.#monitor.activity} ${this.#timers.pendingCount}`
  }
}
