import { type Played, play } from './play.ts'
import type { SometimesName } from './sometimes.ts'
import { randomWorld } from './world.ts'

/** What became of a random world. */
export interface Verdict {
  readonly seed: number
  readonly entries: number
  readonly met: Readonly<Record<SometimesName, number>> | undefined
  /** What is wrong with it. */
  readonly problem: string | undefined
}

/**
 * Plays a world twice: with every law held after every event, and without, and put back from a snapshot half-way, which
 * must come out the same (I19).
 */
export async function verdictOf(seed: number): Promise<Verdict> {
  const world = randomWorld(seed)
  let first: Played
  try {
    first = await play(world, { check: true })
    const second = await play(world, { check: false, putBack: true })
    const differs = (['digest', 'entries', 'balance'] as const).find(what => first[what] !== second[what])
    const problem =
      differs === undefined
        ? undefined
        : `Failed to keep invariant I19: the ${differs} is ${first[differs]} the first time and ${second[differs]} the second.`
    return { seed, entries: first.entries, met: first.met, problem }
  } catch (error) {
    const problem =
      error instanceof Error ? (error.name === 'InvariantError' ? error.message : (error.stack ?? '')) : error
    return { seed, entries: 0, met: undefined, problem: String(problem) }
  }
}
