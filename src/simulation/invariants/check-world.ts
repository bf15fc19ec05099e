import type { World } from '../world.ts'
import { InvariantChecker } from './checker.ts'
import type { Violation } from './invariant.ts'

export type { Violation } from './invariant.ts'

/**
 * Counts a world anew and returns every law that does not hold: an empty list for a sound world.
 *
 * It sees what is; laws of what may become of it (I6, I8, I15, …) need a world that is watched: `world.check()`.
 *
 * @example expect(violations(sim.world)).toEqual([])
 */
export function findViolations(world: World): Violation[] {
  return new InvariantChecker(world).checkWorld()
}
