/** Which single faults were tried, and what came of them. */

import type { Point } from '../plan/space.ts'

/** `notReached`: not run, or its fault met no request and no moment. */
export type PointOutcome = 'found' | 'surfaced' | 'survived' | 'notReached'

/** How many points of an operation and a class had each outcome. */
export interface MatrixCell extends Readonly<Record<PointOutcome, number>> {
  /** The operation; for a command to the world, the kind of its moment. */
  readonly operation: string
  readonly class: string
}

/** A point that was not tried. */
export interface UnreachedPoint extends Pick<Point, 'operation' | 'class' | 'place'> {
  /** `notRun`: the exploration ended before it. `notFired`: it was run and changed nothing. */
  readonly reason: 'notRun' | 'notFired'
}

/** Counts the outcomes of points. */
export class Coverage {
  readonly #outcomes: Map<Point, PointOutcome>
  readonly #run = new Set<Point>()

  constructor(points: readonly Point[]) {
    this.#outcomes = new Map(points.map(point => [point, 'notReached']))
  }

  /** The number of points. */
  get size(): number {
    return this.#outcomes.size
  }

  note(point: Point, outcome: PointOutcome): void {
    this.#run.add(point)
    this.#outcomes.set(point, outcome)
  }

  /** Returns a cell for each operation and class, in the order of the points. */
  matrix(): MatrixCell[] {
    const cells = new Map<string, { -readonly [Field in keyof MatrixCell]: MatrixCell[Field] }>()
    for (const [{ operation, class: name }, outcome] of this.#outcomes) {
      const key = `${operation} ${name}`
      const cell = cells.get(key) ?? { operation, class: name, found: 0, surfaced: 0, survived: 0, notReached: 0 }
      cell[outcome]++
      cells.set(key, cell)
    }
    return [...cells.values()]
  }

  unreached(): UnreachedPoint[] {
    const points = [...this.#outcomes].filter(([, outcome]) => outcome === 'notReached').map(([point]) => point)
    return points.map(point => {
      const { operation, class: name, place } = point
      return { operation, class: name, place, reason: this.#run.has(point) ? 'notFired' : 'notRun' }
    })
  }
}
