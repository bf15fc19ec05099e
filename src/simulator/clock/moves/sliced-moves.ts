/** Performs moves for a server: in time slices, so that other worlds and the health endpoint go on in between. */

import type { Micros } from '../../../kernel/duration.ts'
import { inSlices, Slices } from '../../../lib/slices.ts'
import type { World } from '../../../simulation/world.ts'
import type { WorldTime } from '../world-time.ts'
import { assertFewSilentEvents } from './arguments.ts'
import { type MovingClients, NO_LIMIT } from './moves.ts'
import type { MoveDriver } from './runner.ts'

export class SlicedMoves implements MoveDriver {
  readonly clients: MovingClients
  readonly drivesTimers = false
  readonly #time: WorldTime
  /** Resolves when the move in progress has ended. Undefined: no move is in progress. */
  currentMove: Promise<void> | undefined
  #isInterrupted = false
  /** Aborted when the client of the move in progress has left. */
  #client: AbortSignal | undefined
  #slices = new Slices()

  constructor(time: WorldTime) {
    this.#time = time
    this.clients = {
      get elapsed() {
        return time.elapsed
      },
      // The clients of a server wait for the end of the move.
      nextWake: NO_LIMIT,
    }
  }

  /** Ends moves early, at their present time. */
  interrupt(): void {
    this.#isInterrupted = true
  }

  isStopped(): boolean {
    return this.#isInterrupted || this.#client?.aborted === true
  }

  /** Runs a move. It ends early, at its present time, when `client` leaves. Every other request to this world waits for it. */
  async run<T>(move: () => Promise<T>, client?: AbortSignal): Promise<T> {
    await this.#time.host.prepare()
    await this.#time.host.whenWebhooksSettled()
    let release = () => {}
    this.currentMove = new Promise(resolve => {
      release = resolve
    })
    this.#slices = new Slices()
    try {
      this.#client = client
      this.#time.catchUp()
      return await move()
    } finally {
      this.#client = undefined
      this.#time.rebase()
      this.currentMove = undefined
      release()
    }
  }

  whenIdle(): boolean {
    return true
  }

  async runTo(target: Micros): Promise<boolean> {
    const { world } = this.#time
    for (;;) {
      const longWork = this.#doLongWork(world, target)
      if (longWork) await longWork
      if (!world.next(target)) break
      const turn = this.#slices.turnIfDue()
      if (turn) await turn
      this.#time.assertSameWorld(world)
      if (this.isStopped()) return false
    }
    this.#time.fire(target)
    return true
  }

  async runToNext(visible: boolean, limit: Micros): Promise<boolean> {
    const { world } = this.#time
    const position = () => (visible ? world.visibleChanges : world.journal.last)
    const start = position()
    for (let events = 1; position() === start; events++) {
      assertFewSilentEvents(events, visible)
      const longWork = this.#doLongWork(world, limit)
      if (longWork) await longWork
      if (!world.next(limit)) {
        if (limit < NO_LIMIT) this.#time.fire(limit)
        return false
      }
      const turn = this.#slices.turnIfDue()
      if (turn) await turn
      this.#time.assertSameWorld(world)
      if (this.isStopped()) return false
    }
    this.#time.wakeSleepers()
    return true
  }

  /** Does the long work of the next event in slices, before it fires. Undefined: it has none. */
  #doLongWork(world: World, limit: Micros): Promise<void> | undefined {
    const work = world.prepareNext(limit)
    return work && inSlices(work, this.#slices).then(() => this.#time.assertSameWorld(world))
  }
}
