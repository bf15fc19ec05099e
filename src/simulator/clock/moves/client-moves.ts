/**
 * Performs moves on a world whose clients run in this process: each move waits for them, and drives their fake timers.
 */

import type { Micros } from '../../../kernel/duration.ts'
import type { WorldTime } from '../world-time.ts'
import { assertFewSilentEvents } from './arguments.ts'
import type { MovingClients } from './moves.ts'
import type { MoveDriver } from './runner.ts'

export class ClientMoves implements MoveDriver {
  readonly clients: MovingClients
  readonly drivesTimers: boolean
  readonly #time: WorldTime

  constructor(time: WorldTime) {
    this.#time = time
    this.clients = time
    this.drivesTimers = time.drivesTimers
  }

  /** Runs a manual move. Afterwards the mode of the clock goes on from the present time of the world. */
  async run<T>(move: () => Promise<T>): Promise<T> {
    try {
      return await move()
    } finally {
      this.#time.rebase()
    }
  }

  /** Resolves when every client waits for time. */
  async whenIdle(): Promise<true> {
    const { host, timers, quiescence, drivesTimers } = this.#time
    await host.prepare()
    await host.whenWebhooksSettled()
    this.#time.catchUp()
    if (drivesTimers) {
      timers.assertDrivable()
      if (this.#time.detectTimers()) quiescence.watch()
    }
    await quiescence.whenIdle()
    return true
  }

  async runTo(target: Micros): Promise<boolean> {
    if (await this.#stepTimers(target)) return false
    await this.#fire(target)
    return true
  }

  async runToNext(visible: boolean, limit: Micros): Promise<boolean> {
    const time = this.#time
    const { host, world } = time
    const position = () => (visible ? world.visibleChanges : world.journal.last)
    const start = position()
    // Some events of the simulation change nothing and leave no entry. A user does not count them.
    for (let events = 1; position() === start; events++) {
      assertFewSilentEvents(events, visible)
      if (await this.#stepTimers(Math.min(world.agenda.nextTime, limit))) break
      if (world.needsTokenizer) await host.prepare()
      time.assertSameWorld(world)
      if (world.next(limit)) continue
      if (limit < Number.POSITIVE_INFINITY) await this.#fire(limit)
      time.rebase()
      return false
    }
    time.rebase()
    return true
  }

  async #fire(target: Micros): Promise<void> {
    if (this.#time.world.needsTokenizer) await this.#time.host.prepare()
    this.#time.fire(target)
  }

  /**
   * Moves the fake timers of the test runner up to `limit`. True: one of them was due before and has fired, its client
   * is idle again, and the world is at its time. False: the world may go to `limit`.
   */
  async #stepTimers(limit: Micros): Promise<boolean> {
    const time = this.#time
    const { timers } = time
    if (!time.detectTimers()) return false
    if (limit === Number.POSITIVE_INFINITY && timers.pendingCount === 0) return false
    // The world moves first, so that the callback of the timer reads it at its own time.
    const { nextDue } = timers
    if (nextDue !== undefined && nextDue <= limit && nextDue > time.elapsed) {
      await time.host.prepare()
      time.world.runTo(nextDue)
    }
    if (timers.step(limit) === 'idle') return false
    await this.#fire(Math.max(time.elapsed, timers.targetTime))
    await this.whenIdle()
    return true
  }
}
