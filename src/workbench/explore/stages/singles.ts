/** Every single fault of the base run. */

import type { Point, Space } from '../plan/space.ts'
import { type Learned, UNSETTLED } from '../run/runner.ts'
import { passes } from './card.ts'
import type { Coverage } from './coverage.ts'
import type { Exploration, Explored } from './exploration.ts'
import { surfaceOf } from './findings.ts'

/** A single fault that acted, and what came of it. */
export interface Single extends Explored {
  readonly point: Point
}

/** Runs without a loss that are enough to trust that a number differs by a loss alone. */
const ENOUGH_RUNS = 5
/** The share of faults after which a client ends as usual, if giving up after another one is a hole. */
const EVEN = 0.9
const ENOUGH_FAULTS = 10
/** Methods whose requests have one effect, however often they are sent. */
const SAFE_TO_REPEAT: ReadonlySet<string> = new Set(['GET', 'PUT', 'DELETE'])
const GIVEN_UP: ReadonlySet<unknown> = new Set(['gaveUp', 'raw'])

/** Returns the points of a space in the order in which they are run. */
export function pointsOf({ kinds }: Pick<Space, 'kinds'>): Point[] {
  return kinds.flatMap(({ places }) => places.flatMap(({ points }) => points))
}

/**
 * Runs each point alone, and calls `onFired` for those that acted, except faults that may surface. Together the runs show
 * more of the client than each one, so some are judged again at the end.
 */
export async function runSingles(
  exploration: Exploration,
  points: readonly Point[],
  coverage: Coverage,
  onFired: (single: Single) => void,
): Promise<void> {
  const singles: Single[] = []
  exploration.points = points.length
  const originOf = (point: Point) => {
    const { item, maySurface } = point
    return { stage: 'singles', plan: [item], maySurface, point } as const
  }
  await exploration.runEach(points.map(originOf), ({ point, maySurface }, { result, isBroken }) => {
    const hasFired = result.fired.has(0)
    const isFound = result.broken.some(violation => surfaceOf(violation, maySurface) === undefined)
    if (isBroken) coverage.note(point, isFound ? 'found' : 'surfaced')
    else coverage.note(point, hasFired ? 'survived' : 'notReached')
    if (!hasFired) return
    if (result.telling !== undefined) exploration.card.add(result.telling, point)
    if (maySurface === undefined) singles.push({ point, result, isBroken })
  })
  const again = exploration.learned === undefined ? [] : learn(exploration.learned, singles)
  const settled = new Map<Point, Single>()
  await exploration.runEach(
    again.map(({ point }) => originOf(point)),
    ({ point }, { result, isBroken }) => {
      const before = again.find(single => single.point === point)!
      if (before.result.telling !== undefined) exploration.card.removeTelling(before.result.telling)
      if (result.telling !== undefined) exploration.card.addTelling(result.telling)
      if (isBroken) coverage.note(point, 'found')
      settled.set(point, { point, result, isBroken })
    },
  )
  for (const single of singles) onFired(settled.get(single.point) ?? single)
}

/**
 * Returns the operations at which the client gives up, if it ends as usual after nine of ten failures of one request. If
 * the operation is safe to repeat, those at other operations count alone. How long a client waits for an outage or for a
 * late answer is its own choice.
 */
function unevenOperations(singles: readonly Single[]): string[] {
  const failures = singles.filter(({ point }) => isFailure(point))
  const hasGivenUp = ({ result }: Single) => GIVEN_UP.has(result.telling?.grade)
  const isEven = (ones: readonly Single[]) =>
    ones.length >= ENOUGH_FAULTS && ones.filter(hasGivenUp).length <= (1 - EVEN) * ones.length
  // Such a client does not survive faults, as its card says.
  if (failures.filter(hasGivenUp).length > failures.length / 2) return []
  const holes = failures.filter(hasGivenUp).filter(({ point: { operation }, result }) => {
    const isSafe = result.requests.some(({ fault, method }) => fault !== undefined && SAFE_TO_REPEAT.has(method))
    return isEven(isSafe ? failures.filter(({ point }) => point.operation !== operation) : failures)
  })
  return holes.map(({ point }) => point.operation)
}

function isFailure(point: Point): boolean {
  return passes(point) && point.kind === 'request' && point.looksLike === 'transient'
}

/** Adds what single faults showed. Returns those that are to be judged again. */
function learn(learned: Learned, singles: readonly Single[]): Single[] {
  const whole = singles.filter(
    ({ result }) => (result.telling?.noise.length ?? 0) > 0 || result.telling?.grade === 'usual',
  )
  for (const { result } of whole) for (const key of result.telling?.noise ?? []) learned.noise.add(key)
  for (const operation of unevenOperations(singles)) learned.uneven.add(operation)
  learned.isSettled = whole.length >= ENOUGH_RUNS
  return singles.filter(({ result, point }) => {
    const { trusted = [], grade } = result.telling ?? {}
    const isHole = GIVEN_UP.has(grade) && isFailure(point) && learned.uneven.has(point.operation)
    const isUnsaid =
      trusted.length > 0 && trusted.every(key => (key === UNSETTLED ? learned.isSettled : learned.noise.has(key)))
    return isHole || isUnsaid
  })
}
