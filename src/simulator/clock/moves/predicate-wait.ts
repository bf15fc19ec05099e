/** Evaluates the predicate of a move. If the predicate waits for time, it moves time. */

import type { Micros } from '../../../kernel/duration.ts'
import type { WorldTime } from '../world-time.ts'
import type { Move, Predicate } from './moves.ts'
import type { MoveQueue } from './queue.ts'

export class PredicateWait {
  readonly #time: Pick<WorldTime, 'nextWake' | 'sleepers'>
  readonly #queue: MoveQueue
  #onWaitBegan = () => {}

  constructor(time: Pick<WorldTime, 'nextWake' | 'sleepers'>, queue: MoveQueue) {
    this.#time = time
    this.#queue = queue
  }

  /** Reports that a client waits for time: it sleeps, or its answer is held. A predicate may await that. */
  onWaitBegan(): void {
    this.#onWaitBegan()
  }

  /**
   * Evaluates a predicate. If the predicate awaits a sleep or a held answer, time moves to its end, up to `limit`. If
   * it awaits a move of time, that move runs at once: in its turn it would wait for the move that evaluates the
   * predicate.
   */
  *evaluate(predicate: Predicate, limit: Micros): Move {
    let hasWait = false
    let isDone = false
    let endWait = (_: boolean) => {}
    const outerListener = this.#onWaitBegan
    this.#onWaitBegan = () => {
      hasWait = true
      endWait(true)
    }
    const requests = this.#queue.observe(() => endWait(true))
    try {
      const outcome = Promise.resolve(predicate()).finally(() => {
        isDone = true
      })
      while (!isDone) {
        if (!hasWait && !requests.hasNext) {
          const needsTime = new Promise<boolean>(resolve => {
            endWait = resolve
          })
          yield { kind: 'await', promise: Promise.race([outcome, needsTime]) }
          if (isDone) break
        }
        yield { kind: 'idle' }
        if (isDone) break
        if (requests.hasNext) {
          yield { kind: 'await', promise: requests.runNext() }
          continue
        }
        const wake = this.#time.nextWake
        // The wait was given up, as that for an answer that came at once: the predicate awaits something else.
        hasWait = !this.#time.sleepers.isEmpty
        if (!hasWait) continue
        if (wake > limit) {
          // The wait ends too late, so the end of the predicate has no reader.
          outcome.catch(() => {})
          return false
        }
        yield { kind: 'to', target: wake }
        yield { kind: 'idle' }
      }
      return yield { kind: 'await', promise: outcome }
    } finally {
      this.#onWaitBegan = outerListener
      requests.stop()
    }
  }
}
