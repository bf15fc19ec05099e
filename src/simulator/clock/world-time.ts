/**
 * The time of one world: the present time by the mode of its clock, the sleepers, and moves without waiting for
 * clients.
 */

import { MAX_WORLD_AGE } from '../../kernel/clock.ts'
import type { Micros } from '../../kernel/duration.ts'
import { WorldReplaced } from '../../kernel/loop.ts'
import type { World } from '../../simulation/world.ts'
import { FakeTimers, TIMER_NAMES, warn } from './fake-timers.ts'
import { ClockHolds } from './holds.ts'
import type { ClockHost } from './host.ts'
import type { MovingClients } from './moves/moves.ts'
import { Quiescence } from './quiescence.ts'
import type { ClockDrive } from './settings.ts'
import { Sleepers } from './sleepers.ts'

export class WorldTime implements MovingClients {
  readonly host: ClockHost
  readonly drivesTimers: boolean
  readonly timers = new FakeTimers()
  readonly quiescence: Quiescence
  readonly holds = new ClockHolds()
  readonly sleepers = new Sleepers()
  drive: ClockDrive = { mode: 'manual' }
  /** How the previous world was replaced. */
  replacement: 'reset' | 'restored' | 'disposed' = 'reset'
  /** The timers of the process when none was fake. As long as they are the same, a request need not look again. */
  #realTimers: readonly unknown[] = []
  /** Times of the followed clock and of the world at the last move. */
  #followBase = { world: 0, now: 0 }
  #hasWarnedNothingToFollow = false
  #isFiring = false

  constructor(host: ClockHost, drivesTimers: boolean) {
    this.host = host
    this.drivesTimers = drivesTimers
    this.quiescence = new Quiescence(host, this.timers)
  }

  get world(): World {
    return this.host.world
  }

  /** Microseconds since the epoch of the world. */
  get elapsed(): Micros {
    return this.host.world.clock.now
  }

  get nextWake(): Micros {
    return this.sleepers.next
  }

  /** Returns the present time by the mode. For a manual clock that is the time of the world. */
  get due(): Micros {
    return Math.max(this.elapsed, Math.min(MAX_WORLD_AGE, this.#driveTarget()))
  }

  #driveTarget(): Micros {
    const { drive } = this
    if (this.holds.isHeld) {
      if (drive.mode !== 'manual') this.holds.warnIfLong()
      return this.elapsed
    }
    if (drive.mode === 'scaled') return drive.pacer.target
    if (drive.mode === 'follow' && drive.now !== undefined) {
      const now = drive.now()
      // A clock that is broken for a moment must not end the time of the world for good.
      if (!Number.isFinite(now)) return this.elapsed
      return this.#followBase.world + Math.floor((now - this.#followBase.now) * 1000)
    }
    if (this.detectTimers()) {
      this.quiescence.watch()
      return this.timers.targetTime
    }
    if (drive.mode === 'follow' && !this.#hasWarnedNothingToFollow) {
      this.#hasWarnedNothingToFollow = true
      warn(
        'The clock follows fake timers, but no fake timers are installed, so time does not move. ' +
          "Install them (vi.useFakeTimers()), or give a clock: { mode: 'follow', now: () => … }.",
      )
    }
    return this.elapsed
  }

  /** Whether this clock drives fake timers that are installed now. */
  detectTimers(): boolean {
    const areReal = TIMER_NAMES.every((name, at) => globalThis[name] === this.#realTimers[at])
    if (!this.drivesTimers || areReal) return false
    const areFake = this.timers.detect(this.elapsed)
    this.#realTimers = areFake ? [] : TIMER_NAMES.map(name => globalThis[name])
    return areFake
  }

  /** Makes the mode go on from the present time of the world, after a manual move. */
  rebase(): void {
    const { drive } = this
    if (drive.mode === 'scaled') drive.pacer.rebase(this.elapsed)
    if (drive.mode === 'follow' && drive.now !== undefined) {
      const now = drive.now()
      if (Number.isFinite(now)) this.#followBase = { world: this.elapsed, now }
    }
    // Both clocks count from one base as long as they are in step, so that rounding never adds up.
    if (this.detectTimers() && Math.abs(this.elapsed - this.timers.targetTime) >= 1000) {
      this.timers.rebase(this.elapsed)
    }
  }

  /** Fires everything up to `target` and wakes every sleeper up to it. */
  fire(target: Micros): void {
    const { world } = this
    if (target > world.clock.now || world.agenda.nextTime <= target) {
      this.#isFiring = true
      try {
        world.runTo(Math.max(target, world.clock.now))
      } finally {
        this.#isFiring = false
      }
    }
    this.wakeSleepers()
  }

  wakeSleepers(): void {
    this.sleepers.wake(() => this.elapsed)
  }

  /** Moves the world to the present time of its mode, unless an event of it calls this. */
  catchUp(): void {
    const { due } = this
    if (due > this.elapsed && !this.#isFiring) this.fire(due)
  }

  /** Rejects a move in a world that was replaced. */
  assertSameWorld(world: World): void {
    if (world === this.host.world) return
    throw new WorldReplaced(
      `Failed to move time: the simulator was ${this.replacement} during the move. Await a move before you reset or restore.`,
    )
  }
}
