/** Detects when every client waits for time, so that time may move. */
import { eventLoopTurn, monotonicMs } from '../../lib/real-time.ts'
import type { FakeTimers } from './fake-timers.ts'
import { InFlightMonitor } from './fetch-tracker.ts'
import type { ClockHost } from './host.ts'

/** Turns of the event loop without activity after which a client counts as waiting. */
const QUIET_TURNS = 3
/** The same when calls may be in flight that began before tracking. */
const UNOBSERVED_TURNS = 100
/** Real milliseconds without activity after which a request in flight counts as stuck. */
const STUCK_MS = 2000

export class Quiescence {
  readonly #host: Pick<ClockHost, 'inFlight'>
  readonly #realTime: () => number
  readonly #timers: FakeTimers
  readonly #monitor = new InFlightMonitor()
  #requiredTurns = QUIET_TURNS
  /** Held answers: their clients wait for time, and are idle. */
  #parked = 0
  /** Held answers whose request is in flight until they end. */
  #parkedInFlight = 0

  /** @param realTime returns milliseconds of a real clock */
  constructor(host: Pick<ClockHost, 'inFlight'>, timers: FakeTimers, realTime: () => number = monotonicMs) {
    this.#host = host
    this.#timers = timers
    this.#realTime = realTime
  }

  /** Tracks calls of the global `fetch` from now on. Calls that began before get more time. */
  watch(): void {
    if (this.#monitor.attach()) this.#requiredTurns = UNOBSERVED_TURNS
  }

  unwatch(): void {
    this.#monitor.detach()
  }

  /** Registers a held answer. Returns a function that ends it. */
  park(isInFlight: boolean): () => void {
    this.#parked++
    if (isInFlight) this.#parkedInFlight++
    return () => {
      this.#parked--
      if (isInFlight) this.#parkedInFlight--
    }
  }

  /** Whether every request is answered, or waits for time. */
  get isEveryRequestServed(): boolean {
    return this.#host.inFlight.count <= this.#parkedInFlight
  }

  /**
   * Resolves when no client was active for some turns of the event loop.
   *
   * Rejects when a request is in flight without activity for two seconds. While code is loaded, no client is to blame.
   */
  async whenIdle(): Promise<void> {
    const requiredTurns = this.#requiredTurns
    this.#requiredTurns = QUIET_TURNS
    let idleTurns = 0
    let lastActivity = this.#activitySignature()
    let activeAt = this.#realTime()
    while (idleTurns < requiredTurns) {
      await eventLoopTurn()
      const activity = this.#activitySignature()
      const isIdle = this.#isIdle
      idleTurns = activity === lastActivity && isIdle ? idleTurns + 1 : 0
      if (activity !== lastActivity || this.#host.inFlight.isLoading) activeAt = this.#realTime()
      // Not at once: the process may have had no processor time for a while.
      else if (!isIdle && this.#realTime() - activeAt > STUCK_MS) {
        throw new Error(
          `Failed to move time: ${this.#namesInFlight.join(', ')} has been in flight for ${STUCK_MS / 1000} s without activity. ` +
            'End its body, or await its answer before you move time. An address that no handler answers is a real one, and takes real time.',
        )
      }
      lastActivity = activity
    }
  }

  get #isIdle(): boolean {
    return this.isEveryRequestServed && this.#monitor.inFlight.length <= this.#parked
  }

  get #namesInFlight(): readonly string[] {
    const calls = this.#monitor.inFlight
    const entered = this.isEveryRequestServed ? [] : this.#host.inFlight.names
    return calls.length > this.#parked ? [...entered, ...calls] : entered
  }

  /** Returns a text that changes whenever a client sends a request, reads a body or sets a timer. */
  #activitySignature(): string {
    return `${this.#host.inFlight.activity} ${this.#monitor.activity} ${this.#timers.pendingCount}`
  }
}
