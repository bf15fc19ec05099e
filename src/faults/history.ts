import type { Micros } from '../kernel/duration.ts'
import type { FaultyWorld } from './kind.ts'

/** How many moments are kept at most; beyond, stale reads show what is a little less stale. */
const MOST_POINTS = 256

/** A world as it was at a moment; nobody moves it on. */
export interface Past {
  readonly at: Micros
  readonly world: FaultyWorld
}

/**
 * What a world was, for stale reads: a fork of it as it left each moment in which a request or a command touched it.
 * Between two of those it went its way by itself, so the fork before, run on, is what was.
 */
export class History {
  readonly #world: FaultyWorld
  #points: readonly Past[]
  /** How far back anybody looks. */
  #reach: Micros

  /** Keeps what will be from now on; of what was before there is `past` to be had, for a world that goes on from it. */
  constructor(world: FaultyWorld, reach: Micros, past: readonly Past[] = []) {
    this.#world = world
    this.#reach = reach
    this.#points = past.length > 0 ? past : [{ at: world.clock.now, world: world.fork() }]
    world.beforeMove = () => this.#keep()
  }

  get past(): readonly Past[] {
    return this.#points
  }

  /** Looks back this far, too. */
  widen(reach: Micros): void {
    this.#reach = Math.max(this.#reach, reach)
  }

  /** The world as it was at a moment; as it was at first, for a moment before that. */
  at(moment: Micros): FaultyWorld {
    const point = this.#points.findLast(({ at }) => at <= moment)
    const past = (point ?? this.#points[0]!).world.fork()
    past.answerLinesAs(this.#world)
    if (moment > past.clock.now) past.runTo(moment)
    return past
  }

  /** Ends it. */
  close(): void {
    this.#world.beforeMove = undefined
  }

  #keep(): void {
    const { now } = this.#world.clock
    const kept = this.#points.filter(({ at }) => at !== now || at === this.#points[0]!.at)
    // The newest that lies as far back as anybody looks, and what came after it.
    const oldest = kept.findLastIndex(({ at }) => at <= now - this.#reach)
    const points = [...kept.slice(Math.max(0, oldest)), { at: now, world: this.#world.fork() }]
    this.#points = points.slice(-MOST_POINTS)
  }
}
