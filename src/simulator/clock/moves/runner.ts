/** Runs the moves of one world in their turn, and collects the errors that user code throws meanwhile. */

import { type FakeClock, findFakeClock } from '../fake-timers.ts'
import type { WorldTime } from '../world-time.ts'
import { type Move, type MovingClients, performMove, type StepDriver } from './moves.ts'
import { MoveQueue } from './queue.ts'
import { type BoundedMoveResult, type MoveResult, moveResultSince, startMove } from './result.ts'

/** Performs whole moves on a world. */
export interface MoveDriver extends StepDriver {
  readonly clients: MovingClients
  /** Whether a move drives the fake timers of a test runner. */
  readonly drivesTimers: boolean
  /** Prepares the world, runs a move, and cleans up after it. `client`: the client of a server that waits for its end. */
  run<T>(move: () => Promise<T>, client?: AbortSignal): Promise<T>
}

export class MoveRunner {
  readonly queue = new MoveQueue()
  readonly #time: WorldTime
  /** The first error that `fail` received during the current manual move. Undefined: no manual move is in progress. */
  #errors: unknown[] | undefined

  constructor(time: WorldTime) {
    this.#time = time
  }

  /** Runs a manual move in its turn. Rejects with the first error that `fail` received meanwhile. */
  run<T = MoveResult>(
    driver: MoveDriver,
    plan: (clients: MovingClients) => Move,
    finish: (outcome: BoundedMoveResult) => T = ({ result }) => result as T,
    client?: AbortSignal,
  ): Promise<T> {
    const timers = driver.drivesTimers ? findFakeClock() : undefined
    return this.enqueue(async () => {
      const errors: unknown[] = []
      const outerErrors = this.#errors
      this.#errors = errors
      try {
        const outcome = await driver.run(() => this.#perform(driver, plan, timers), client)
        if (errors.length > 0) throw errors[0]
        return finish(outcome)
      } catch (error) {
        throw errors.length > 0 ? errors[0] : error
      } finally {
        this.#errors = outerErrors
      }
    })
  }

  /** Runs a move of any kind in its turn. Rejects if the world was replaced before. */
  enqueue<T>(move: () => Promise<T>): Promise<T> {
    const { world } = this.#time
    return this.queue.enqueue(async () => {
      this.#time.assertSameWorld(world)
      return move()
    })
  }

  /**
   * Rejects the current manual move with an error when the move is complete. The first error counts. If no manual move
   * is in progress, the error is an uncaught exception, or ignored if `isReported`.
   */
  fail(error: unknown, isReported = false): void {
    if (this.#errors?.length === 0) this.#errors.push(error)
    if (this.#errors !== undefined || isReported) return
    queueMicrotask(() => {
      throw error
    })
  }

  /** @param timers the fake timers at the request. Other ones belong to a later test. */
  async #perform(
    driver: MoveDriver,
    plan: (clients: MovingClients) => Move,
    timers: FakeClock | undefined,
  ): Promise<BoundedMoveResult> {
    const start = startMove(this.#time.world)
    const assertSame = () => {
      this.#time.assertSameWorld(start.world)
      if (timers === undefined || timers.isReplaceable || timers === (findFakeClock() ?? timers)) return
      throw new Error(
        'Failed to move time: other fake timers were installed during the move. Await a move before its test ends.',
      )
    }
    const reached = await performMove(plan(driver.clients), driver, assertSame)
    assertSame()
    return { reached, result: moveResultSince(start) }
  }
}
