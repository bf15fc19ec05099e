/** Every single fault of the base run. */

import { enumerate } from '../plan/choices.ts'
import { type Point, pickPoint, type Space } from '../plan/space.ts'
import type { RunResult } from '../run/run-result.ts'
import type { Coverage } from './coverage.ts'
import type { Exploration } from './exploration.ts'

/** A single fault that acted, and what came of it. */
export interface Single {
  readonly point: Point
  readonly result: RunResult
  /** Whether it broke something that the base run did not break. */
  readonly isBroken: boolean
}

/** Returns the points of a space in the order in which they are run: that of all choices. */
export function pointsOf(space: Pick<Space, 'kinds'>): Point[] {
  if (space.kinds.length === 0) return []
  return [...enumerate(choices => pickPoint(choices, space))].map(({ result }) => result)
}

/** Runs each point alone, and calls `onFired` for those that acted, except faults that may surface. */
export async function runSingles(
  exploration: Exploration,
  points: readonly Point[],
  coverage: Coverage,
  onFired: (single: Single) => void,
): Promise<void> {
  const origins = points.map(point => {
    const { item, maySurface } = point
    return { stage: 'singles', plan: [item], maySurface, point } as const
  })
  await exploration.runEach(origins, ({ point, maySurface }, { result, isBroken }) => {
    const hasFired = result.fired.has(0)
    if (isBroken) coverage.note(point, maySurface === undefined ? 'found' : 'surfaced')
    else coverage.note(point, hasFired ? 'survived' : 'notReached')
    if (hasFired && maySurface === undefined) onFired({ point, result, isBroken })
  })
}
