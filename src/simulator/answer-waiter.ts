/** How the client of a simulator waits for answers of models, where it has no way of its own: on the clock of its world. */

import type { SimulatorClock } from '../clock/simulator-clock.ts'
import type { RequestWait } from '../clock/pending-requests.ts'
import type { Micros } from '../kernel/duration.ts'
import { monotonicMs } from '../lib/real-time.ts'
import type { AnswerPart, ResponseWaiter } from '../service/endpoint.ts'
import type { InferenceHandle } from '../simulation/inference/request-row.ts'

/** Whether an answer of a model takes its time. */
export type InferencePace = 'clock' | 'instant'

/** What a wait tells of the request that waits. */
export interface PendingRequestInfo {
  /** Method and path. */
  readonly name: string
  readonly operation: string | undefined
  /** Address of the control plane of its world, where it has one. */
  readonly controlUrl: string | undefined
}

export class ClockResponseWaiter implements ResponseWaiter {
  readonly #clock: SimulatorClock
  readonly #pace: InferencePace | undefined
  readonly #describeRequest: () => PendingRequestInfo
  #wait: RequestWait | undefined

  /** @param pace as the clock moves unless given */
  constructor(clock: SimulatorClock, pace: InferencePace | undefined, describeRequest: () => PendingRequestInfo) {
    this.#clock = clock
    this.#pace = pace
    this.#describeRequest = describeRequest
  }

  get isInstant(): boolean {
    return this.#pace === undefined ? this.#clock.speed === undefined : this.#pace === 'instant'
  }

  now(): Micros {
    this.#clock.catchUp()
    return this.#clock.elapsed
  }

  async wait(delay: Micros, signal: AbortSignal, part: AnswerPart, call: InferenceHandle): Promise<void> {
    const clock = this.#clock
    // Who polls waits by asking, and this one asks but once.
    const movesClock = clock.mode === 'on-poll' && !clock.isMoving && clock.pausedBy.length === 0
    if (movesClock && delay < Number.POSITIVE_INFINITY) await clock.advanceToInSlices(clock.elapsed + delay)
    else await this.hold(delay, signal, part, call)
  }

  /**
   * Waits, and is seen to wait, until somebody has moved time.
   *
   * @param skipNotice nobody has to be told: who asks moves time
   */
  hold(delay: Micros, signal: AbortSignal, part: AnswerPart, call: InferenceHandle, skipNotice = false): Promise<void> {
    return this.#clock.hold(delay, {
      signal,
      isInFlight: part !== 'body',
      request: this.#waitFor(part, call, skipNotice),
    })
  }

  #waitFor(part: AnswerPart, call: InferenceHandle, skipNotice: boolean): RequestWait {
    if (this.#wait?.part === part) return this.#wait
    const { name, operation, controlUrl } = this.#describeRequest()
    const start = { since: this.#clock.elapsed, sinceMs: monotonicMs() }
    this.#wait = { request: name, operation, call, part, controlUrl, isReported: skipNotice, ...start }
    return this.#wait
  }
}
