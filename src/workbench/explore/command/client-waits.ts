/**
 * Moves the time of a world for a client in another process. Its waits are real, and too short to be those of the world.
 */

import { type Micros, SECOND } from '../../../kernel/duration.ts'
import { monotonicMs } from '../../../lib/real-time.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { RecordedRequest } from '../run/request-recorder.ts'

/** How long a client waits at least before it repeats a request, or tries again after a failure. */
const ASSUMED_WAIT = 10 * SECOND
/** How long a client waits for an answer that never comes. */
const ASSUMED_TIMEOUT = 30 * SECOND

export class ClientWaits {
  readonly #sim: Simulator
  #open = 0
  #last: RecordedRequest | undefined
  /** When the last open request ended, in real milliseconds and in the time of the world. */
  #quietSince: { readonly ms: number; readonly elapsed: Micros } | undefined
  #movesTime = false

  constructor(sim: Simulator) {
    this.#sim = sim
  }

  /** Whether the client moves the time itself, through the control plane. Its waits are then exact. */
  get movesTime(): boolean {
    return this.#movesTime
  }

  /**
   * Moves time by the wait of the client before a request: what it slept in real time, or what such a client waits in
   * production. Whole seconds count, so that the speed of the machine changes nothing.
   */
  async beforeRequest(method: string, path: string): Promise<void> {
    const { clock } = this.#sim
    const quiet = this.#open === 0 ? this.#quietSince : undefined
    this.#open++
    if (quiet === undefined) return
    const moved = clock.elapsed - quiet.elapsed
    if (moved > 0) this.#movesTime = true
    const slept = Math.floor((monotonicMs() - quiet.ms) / 1000) * SECOND
    const wait = Math.max(slept, this.#movesTime ? 0 : this.#assumedWait(method, path))
    // No client can move time while it waits for an answer.
    const assumed = this.#last?.outcome === 'unanswered' ? ASSUMED_TIMEOUT : 0
    const rest = assumed + Math.max(0, wait - moved)
    if (rest > 0) await clock.advanceInSlices(rest / 1000)
  }

  afterRequest(request: RecordedRequest): void {
    this.#open--
    this.#last = request
    if (this.#open === 0) this.#quietSince = { ms: monotonicMs(), elapsed: this.#sim.clock.elapsed }
  }

  /** The process has ended: its open requests are over. */
  onExit(): void {
    this.#open = 0
    this.#quietSince = undefined
    this.#last = undefined
  }

  #assumedWait(method: string, path: string): Micros {
    const last = this.#last
    if (last === undefined) return 0
    const { outcome, status, readError, retryAfter } = last
    const isFailure = outcome !== 'answered' || readError !== undefined || status === 429 || status >= 500
    if (isFailure) return Math.max(retryAfter ?? 0, ASSUMED_WAIT)
    return last.method === method && last.path === path ? ASSUMED_WAIT : 0
  }
}
