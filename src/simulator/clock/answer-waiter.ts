/** The default waiter for responses of models. */

import type { Micros } from '../../kernel/duration.ts'
import type { CancelSignal } from '../../lib/cancellation.ts'
import { monotonicMs } from '../../lib/real-time.ts'
import type { HoldingWaiter } from '../../service/http/incoming-request.ts'
import { toPathAndQuery } from '../../service/http/request-context.ts'
import type { AnswerPart } from '../../service/results.ts'
import type { InferenceHandle } from '../../simulation/inference/request-row.ts'
import type { RequestWait } from './host.ts'
import type { SimulatorClock } from './simulator-clock.ts'

/** Whether a response of a model takes simulated time. */
export type InferencePace = 'clock' | 'instant'

/** A request as messages about pending requests name it. */
export interface PendingRequestInfo {
  /** Method and path. */
  readonly name: string
  readonly operation: string | undefined
  /** Address of the control plane of its world; undefined in process. */
  readonly controlUrl: string | undefined
}

/** Waits for responses of models on the clock of the simulator. */
export class ClockResponseWaiter implements HoldingWaiter {
  readonly #clock: SimulatorClock
  readonly #pace: InferencePace | undefined
  readonly #describeRequest: () => PendingRequestInfo
  #wait: RequestWait | undefined
  /** When an instance begins the request, as last forecast. Undefined: no event brings it, or no forecast was made. */
  #startTime: Micros | undefined

  /** @param pace Default: `clock` on a scaled clock, `instant` on any other. */
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

  async wait(delay: Micros, signal: CancelSignal, part: AnswerPart, call: InferenceHandle): Promise<void> {
    const clock = this.#clock
    // A polling client moves an on-poll clock by each request. This request is not repeated, so its wait moves the clock.
    const movesClock = clock.mode === 'on-poll' && !clock.isMoving && clock.pausedBy.length === 0
    const isScheduled = delay < Number.POSITIVE_INFINITY
    if (movesClock && isScheduled && (part !== 'turn' || (await this.#comesToStart(call)))) {
      await clock.advanceToInSlices(clock.elapsed + delay)
    } else await this.hold(delay, signal, part, call)
  }

  /** Returns whether an event brings the start of a queued request. Otherwise a move for it would have no end. */
  async #comesToStart(call: InferenceHandle): Promise<boolean> {
    if (this.#startTime === undefined || this.#startTime <= this.#clock.elapsed) {
      this.#startTime = await this.#clock.findStartTime(call)
    }
    return this.#startTime !== undefined
  }

  /** Waits as a pending request until time is moved. */
  hold(
    delay: Micros,
    signal: CancelSignal,
    part: AnswerPart,
    call: InferenceHandle,
    skipNotice = false,
  ): Promise<void> {
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

/** Returns method and path of a request. */
export function describeRequest({ method, url }: Request): string {
  return `${method} ${toPathAndQuery(url).split('?', 1)[0]}`
}
