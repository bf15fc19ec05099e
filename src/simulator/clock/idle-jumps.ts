/** The mode `idle`: whenever no request has come for a while, time jumps to the next piece of work. */

import type { Micros } from '../../kernel/duration.ts'
import { clearRealTimeout, setRealTimeout } from '../../lib/real-time.ts'
import { EVENTS, HOUSEKEEPING_EVENTS } from '../../simulation/events.ts'
import { warn } from './fake-timers.ts'
import type { Move } from './moves/moves.ts'
import type { WorldTime } from './world-time.ts'

export class IdleJumps {
  readonly #time: WorldTime
  /** Runs a move in its turn, in time slices. */
  readonly #run: (move: () => Move) => Promise<unknown>
  #timer: unknown

  constructor(time: WorldTime, run: (move: () => Move) => Promise<unknown>) {
    this.#time = time
    this.#run = run
  }

  /** Schedules a jump if the mode is `idle`, the clock is not held, and no jump is scheduled yet. */
  schedule(): void {
    const { drive, holds, host, quiescence, sleepers } = this.#time
    if (drive.mode !== 'idle' || this.#timer !== undefined || holds.isHeld) return
    const { activity } = host.inFlight
    this.#timer = setRealTimeout(
      () => {
        this.#timer = undefined
        if (this.#time.drive.mode !== 'idle') return
        const isQuiet = host.inFlight.activity === activity && quiescence.isEveryRequestServed
        if (!isQuiet) this.schedule()
        else if (Number.isFinite(this.#nextWorkTime())) {
          this.#run(() => this.#jumpToWork()).then(
            () => this.schedule(),
            error => warn(`The idle clock stopped: ${error instanceof Error ? error.message : String(error)}`),
          )
        }
      },
      drive.after,
      // The process stays alive for a jump that a client waits for.
      Number.isFinite(sleepers.next) ? 'held' : undefined,
    )
  }

  cancel(): void {
    if (this.#timer !== undefined) clearRealTimeout(this.#timer)
    this.#timer = undefined
  }

  #nextWorkTime(): Micros {
    const work = this.#time.world.agenda.nextTimeMatching(kind => !HOUSEKEEPING_EVENTS.has(EVENTS[kind]!.name))
    return Math.min(work, this.#time.sleepers.next)
  }

  /** Jumps from work to work until a client could see something new, a client wakes, or no work is left. */
  *#jumpToWork(): Move {
    const { world, holds, sleepers } = this.#time
    const changesBefore = world.visibleChanges
    for (;;) {
      const target = this.#nextWorkTime()
      if (!Number.isFinite(target) || world.visibleChanges !== changesBefore) return true
      // The clock was held or set to another mode meanwhile.
      if (holds.isHeld || this.#time.drive.mode !== 'idle') return true
      const wake = sleepers.next
      yield { kind: 'to', target }
      if (wake <= target) return true
    }
  }
}
