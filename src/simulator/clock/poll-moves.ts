/** The moves of an on-poll clock: after a poll, and for a request that is not repeated. */

import type { Micros } from '../../kernel/duration.ts'
import type { InferenceHandle } from '../../simulation/inference/request-row.ts'
import { forecastRequests } from '../../simulation/reporting/forecast.ts'
import { eventsToNextChange, inProgress, type PolledResource } from '../../simulation/reporting/progress.ts'
import type { MoveRunner } from './moves/runner.ts'
import type { WorldTime } from './world-time.ts'

export class PollMoves {
  readonly #time: WorldTime
  readonly #moves: MoveRunner
  /** The visible changes of the world when the pending requests were last woken. */
  #changesAtWake = 0

  constructor(time: WorldTime, moves: MoveRunner) {
    this.#time = time
    this.#moves = moves
  }

  /** Moves time to the next change of status of a resource in progress, or by the step of the mode. */
  async onPolled(polled: PolledResource): Promise<void> {
    const { drive, holds, host } = this.#time
    if (drive.mode !== 'on-poll' || holds.isHeld) return
    await this.#moves.enqueue(async () => {
      await host.prepare()
      const { world } = host
      if (drive.step !== undefined) {
        if (inProgress(world, polled).size > 0) this.#time.fire(this.#time.elapsed + drive.step)
        return
      }
      for (let events = eventsToNextChange(world, polled); events > 0; events--) world.next()
      this.#time.wakeSleepers()
    })
  }

  /** Wakes the pending requests if the world has changed since: a command may have brought an instance nearer. */
  onAnswered(): void {
    const { drive, holds, world, sleepers } = this.#time
    if (drive.mode !== 'on-poll' || holds.isHeld || world.visibleChanges === this.#changesAtWake) return
    this.#changesAtWake = world.visibleChanges
    sleepers.wakePollers()
  }

  /** Returns when an instance begins a queued request. Undefined: no event within two days brings one. */
  async findStartTime(call: InferenceHandle): Promise<Micros | undefined> {
    await this.#time.host.prepare()
    return call.state === 'queued' ? forecastRequests(this.#time.world, [call])[0]!.until : this.#time.elapsed
  }
}
