import type { World } from '../world.ts'
import { InvariantChecker } from './checker.ts'
import type { Violation } from './invariant.ts'

export type { Violation } from './invariant.ts'

/**
 * Recounts a world and returns its violations: an empty list for a correct world.
 *
 * It checks a state. Invariants of changes (I6, I8, I15, …) need a world with a checker: `world.check()`.
 *
 * @example expect(violations(sim.world)).toEqual([])
 */
export function findViolations(world: World): Violation[] {
  return new InvariantChecker(world).checkWorld()
}
