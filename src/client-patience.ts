/** How the client of a simulator waits for answers of models, where it has no way of its own: on the clock of its world. */
import type { AnswerPart, Patience } from './api/endpoint.ts'
import type { SimulatorClock } from './clock/simulator-clock.ts'
import type { Wait } from './clock/waits.ts'
import type { InferenceCall } from './cluster/inference-row.ts'
import type { Micros } from './kernel/duration.ts'
import { monotonicMs } from './kernel/pacer.ts'

/** Whether an answer of a model takes its time. */
export type InferencePace = 'clock' | 'instant'

/** What a wait tells of the request that waits. */
export interface AskedRequest {
  /** Method and path. */
  readonly name: string
  readonly operation: string | undefined
  /** Address of the control plane of its world, where it has one. */
  readonly control: string | undefined
}

export class ClientPatience implements Patience {
  readonly #clock: SimulatorClock
  readonly #pace: InferencePace | undefined
  readonly #asked: () => AskedRequest
  #wait: Wait | undefined

  /** @param pace as the clock moves unless given */
  constructor(clock: SimulatorClock, pace: InferencePace | undefined, asked: () => AskedRequest) {
    this.#clock = clock
    this.#pace = pace
    this.#asked = asked
  }

  get isInstant(): boolean {
    return this.#pace === undefined ? this.#clock.speed === undefined : this.#pace === 'instant'
  }

  now(): Micros {
    this.#clock.catchUp()
    return this.#clock.elapsed
  }

  async wait(delay: Micros, signal: AbortSignal, part: AnswerPart, call: InferenceCall): Promise<void> {
    const clock = this.#clock
    // Who polls waits by asking, and this one asks but once.
    const asksOnce = clock.mode === 'on-poll' && !clock.isMoving && clock.pausedBy.length === 0
    if (asksOnce && delay < Number.POSITIVE_INFINITY) await clock.advanceToInSlices(clock.elapsed + delay)
    else await this.hold(delay, signal, part, call)
  }

  /**
   * Waits, and is seen to wait, until somebody has moved time.
   *
   * @param isKnown nobody has to be told: who asks moves time
   */
  hold(delay: Micros, signal: AbortSignal, part: AnswerPart, call: InferenceCall, isKnown = false): Promise<void> {
    return this.#clock.hold(delay, { signal, isInside: part !== 'body', wait: this.#waiting(part, call, isKnown) })
  }

  #waiting(part: AnswerPart, call: InferenceCall, isKnown: boolean): Wait {
    if (this.#wait?.part === part) return this.#wait
    const { name, operation, control } = this.#asked()
    const began = { since: this.#clock.elapsed, sinceMs: monotonicMs() }
    this.#wait = { request: name, operation, call, part, control, isTold: isKnown, ...began }
    return this.#wait
  }
}
