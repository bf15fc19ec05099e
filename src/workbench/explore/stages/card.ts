/** The card of an exploration: how the client ended under how many faults, and what was judged in how many runs. */

import { groupBy } from '../../../lib/lists.ts'
import { GRADES, type Grade } from '../../../simulator/judge/observation.ts'
import { RULES, type RuleName } from '../../../simulator/judge/rules/index.ts'
import type { InvariantSettings } from '../invariants.ts'
import type { Point } from '../plan/space.ts'
import type { RunTelling } from '../run/runner.ts'

/** How many runs ended in which way. */
export type Grades = Readonly<Record<Grade, number>>

export interface Card {
  /** Runs with one temporary fault: an error, a broken, lost, late or stale answer, an outage of a minute. */
  readonly passing: Grades
  /** Runs with one fault of another kind, and with crashes. */
  readonly others: Grades
  /** Runs with several faults. */
  readonly several: Grades
  /** Each invariant: in how many runs it was judged, or why in none. */
  readonly invariants: readonly {
    readonly name: string
    readonly runs: number
    readonly notJudged: string | undefined
  }[]
  /** The operations whose temporary faults ended the client with an error, or let it not end, with up to three classes. */
  readonly ended: readonly { readonly place: string; readonly runs: number; readonly faults: readonly string[] }[]
  /** The places of the result that said of losses, each with the number of runs. */
  readonly said: readonly { readonly place: string; readonly runs: number }[]
  /** The places that may have said of losses: only the user knows. */
  readonly unclear: readonly { readonly place: string; readonly runs: number }[]
}

type Counts = Record<Grade, number>

const noGrades = (): Counts => Object.fromEntries(GRADES.map(grade => [grade, 0])) as Counts

/** Collects the runs of an exploration. */
export class CardWriter {
  readonly #passing = noGrades()
  readonly #others = noGrades()
  readonly #several = noGrades()
  readonly #judged = new Map<string, number>()
  readonly #ended: Point[] = []
  readonly #said = new Map<string, number>()
  readonly #unclear = new Map<string, number>()

  /** @param point the single fault of the run; undefined for several faults */
  add({ grade, judged, said, unclear }: RunTelling, point?: Point): void {
    const grades = point === undefined ? this.#several : passes(point) ? this.#passing : this.#others
    grades[grade]++
    if (grades === this.#passing && grade !== 'usual' && grade !== 'said') this.#ended.push(point!)
    for (const name of judged) increment(this.#judged, name)
    this.addTelling({ said, unclear })
  }

  addTelling({ said, unclear }: Pick<RunTelling, 'said' | 'unclear'>): void {
    if (said !== undefined) increment(this.#said, said)
    if (unclear !== undefined) increment(this.#unclear, unclear)
  }

  /** Removes a run from the places that said: it is judged again. */
  removeTelling({ said, unclear }: Pick<RunTelling, 'said' | 'unclear'>): void {
    if (said !== undefined) this.#said.set(said, this.#said.get(said)! - 1)
    if (unclear !== undefined) this.#unclear.set(unclear, this.#unclear.get(unclear)! - 1)
  }

  toCard(settings: InvariantSettings): Card {
    // The reasons of the rules are about runs with faults.
    const isUntried = [this.#passing, this.#others, this.#several].every(grades => countGrades(grades, ...GRADES) === 0)
    const invariants = (Object.keys(RULES) as RuleName[]).map(name => {
      const runs = this.#judged.get(name) ?? 0
      const rule: { readonly otherwise?: string } = isUntried ? {} : RULES[name]
      const { otherwise = 'no fault acted' } = rule
      return { name, runs, notJudged: settings[name] === false ? 'off' : runs > 0 ? undefined : otherwise }
    })
    const ofOperation = groupBy(this.#ended, ({ operation }) => operation)
    const ended = Array.from(ofOperation, ([place, points]) => {
      const faults = [...new Set(points.map(point => point.class))].slice(0, 3)
      return { place, runs: points.length, faults }
    })
    return {
      ...{ passing: this.#passing, others: this.#others, several: this.#several, invariants },
      ...{ ended: ended.sort(byRuns), said: toPlaces(this.#said), unclear: toPlaces(this.#unclear) },
    }
  }
}

/** Tells whether a single fault passes. */
export function passes({ kind, maySurface, item }: Point): boolean {
  if ('passes' in item) return item.passes === true
  return (kind === 'request' || kind === 'outage') && maySurface === undefined
}

/** Returns the number of runs of some grades. */
export function countGrades(grades: Grades, ...wanted: readonly Grade[]): number {
  return wanted.reduce((sum, grade) => sum + grades[grade], 0)
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function toPlaces(counts: ReadonlyMap<string, number>): { readonly place: string; readonly runs: number }[] {
  return [...counts].flatMap(([place, runs]) => (runs > 0 ? [{ place, runs }] : [])).sort(byRuns)
}

const byRuns = (a: { readonly runs: number }, b: { readonly runs: number }) => b.runs - a.runs
