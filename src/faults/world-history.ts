import type { Micros } from '../kernel/duration.ts'
import type { FaultWorld } from './kinds/kind.ts'

/** How many moments are kept at most; beyond, stale reads show what is a little less stale. */
const MAX_PAST_WORLDS = 256

/** A world as it was at a moment; nobody moves it on. */
export interface PastWorld {
  readonly at: Micros
  readonly world: FaultWorld
}

/**
 * What a world was, for stale reads: a fork of it as it left each moment in which a request or a command touched it.
 * Between two of those it went its way by itself, so the fork before, run on, is what was.
 */
export class WorldHistory {
  readonly #world: FaultWorld
  #pastWorlds: readonly PastWorld[]
  /** How far back anybody looks. */
  #lookback: Micros

  /** Keeps what will be from now on; of what was before there is `past` to be had, for a world that goes on from it. */
  constructor(world: FaultWorld, lookback: Micros, pastWorlds: readonly PastWorld[] = []) {
    this.#world = world
    this.#lookback = lookback
    this.#pastWorlds = pastWorlds.length > 0 ? pastWorlds : [{ at: world.clock.now, world: world.fork() }]
    world.onBeforeMove = () => this.#saveFork()
  }

  get pastWorlds(): readonly PastWorld[] {
    return this.#pastWorlds
  }

  /** Looks back this far, too. */
  extend(lookback: Micros): void {
    this.#lookback = Math.max(this.#lookback, lookback)
  }

  /** The world as it was at a moment; as it was at first, for a moment before that. */
  at(time: Micros): FaultWorld {
    const nearestFork = this.#pastWorlds.findLast(({ at }) => at <= time)
    const world = (nearestFork ?? this.#pastWorlds[0]!).world.fork()
    world.inheritLineAnswerer(this.#world)
    if (time > world.clock.now) world.runTo(time)
    return world
  }

  /** Ends it. */
  close(): void {
    this.#world.onBeforeMove = undefined
  }

  #saveFork(): void {
    const { now } = this.#world.clock
    const distinct = this.#pastWorlds.filter(({ at }) => at !== now || at === this.#pastWorlds[0]!.at)
    // The newest that lies as far back as anybody looks, and what came after it.
    const oldest = distinct.findLastIndex(({ at }) => at <= now - this.#lookback)
    const pastWorlds = [...distinct.slice(Math.max(0, oldest)), { at: now, world: this.#world.fork() }]
    this.#pastWorlds = pastWorlds.slice(-MAX_PAST_WORLDS)
  }
}
