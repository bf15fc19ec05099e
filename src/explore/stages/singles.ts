/** Every single fault of the base run. */

import { enumerate } from '../plan/choices.ts'
import { type Point, pickPoint, type Space } from '../plan/space.ts'
import type { RunResult } from '../run/run-result.ts'
import type { Coverage } from './coverage.ts'
import type { Exploration } from './exploration.ts'

/** A single fault that acted, and that the client survived. */
export interface SurvivedSingle {
  readonly point: Point
  readonly result: RunResult
}

/** Returns the points of a space in the order in which they are run: that of all choices. */
export function pointsOf(space: Pick<Space, 'kinds'>): Point[] {
  if (space.kinds.length === 0) return []
  return [...enumerate(choices => pickPoint(choices, space))].map(({ result }) => result)
}

/** Runs each point alone, and calls `onSurvived` for those that the client survived. */
export async function runSingles(
  exploration: Exploration,
  points: readonly Point[],
  coverage: Coverage,
  onSurvived: (single: SurvivedSingle) => void,
): Promise<void> {
  for (const point of points) {
    const { maySurface } = point
    const explored = await exploration.run({ stage: 'singles', plan: [point.item], maySurface })
    if (explored === undefined) return
    const { result, isBroken } = explored
    const hasFired = result.fired.has(0)
    if (isBroken) coverage.note(point, maySurface === undefined ? 'found' : 'surfaced')
    else coverage.note(point, hasFired ? 'survived' : 'notReached')
    if (!isBroken && hasFired && maySurface === undefined) onSurvived({ point, result })
  }
}
