import type { Micros } from '../kernel/duration.ts'
import { LIMITS } from '../lib/limits.ts'
import type { World } from './world.ts'

/** A world as it was at a time. Its time does not move. */
export interface PastWorld {
  readonly at: Micros
  readonly world: World
}

/**
 * The past of a world, for stale reads: a fork for each time at which a request or a command changed the world. Between
 * two forks only events changed it, so a run of the earlier fork gives the world at any time.
 */
export class WorldForks {
  readonly #world: World
  #pastWorlds: readonly PastWorld[]
  /** The longest lag of a stale read. */
  #lookback: Micros

  /** @param pastWorlds the past of a world that was restored */
  constructor(world: World, lookback: Micros, pastWorlds: readonly PastWorld[] = []) {
    this.#world = world
    this.#lookback = lookback
    this.#pastWorlds = pastWorlds.length > 0 ? pastWorlds : [{ at: world.clock.now, world: world.fork() }]
    world.onBeforeMove = () => this.#saveFork()
  }

  get pastWorlds(): readonly PastWorld[] {
    return this.#pastWorlds
  }

  /** Extends the lag to at least this one. */
  extend(lookback: Micros): void {
    this.#lookback = Math.max(this.#lookback, lookback)
  }

  /** Returns a fork of the world at a time, or of the oldest past world for an earlier time. */
  at(time: Micros): World {
    const nearestFork = this.#pastWorlds.findLast(({ at }) => at <= time)
    const world = (nearestFork ?? this.#pastWorlds[0]!).world.fork()
    // A restored world has none.
    world.batches.lineAnswerer ??= this.#world.batches.lineAnswerer?.fork()
    if (time > world.clock.now) world.runTo(time)
    return world
  }

  /** Stops the recording. */
  close(): void {
    this.#world.onBeforeMove = undefined
  }

  #saveFork(): void {
    const { now } = this.#world.clock
    const distinct = this.#pastWorlds.filter(({ at }) => at !== now || at === this.#pastWorlds[0]!.at)
    // The newest past world at the longest lag, and all later ones.
    const oldest = distinct.findLastIndex(({ at }) => at <= now - this.#lookback)
    const pastWorlds = [...distinct.slice(Math.max(0, oldest)), { at: now, world: this.#world.fork() }]
    this.#pastWorlds = pastWorlds.slice(-LIMITS.pastWorlds)
  }
}
