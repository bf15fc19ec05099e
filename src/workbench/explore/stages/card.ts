/** The card of an exploration: how the client ended under how many faults, and what was judged in how many runs. */

import { GRADES, type Grade } from '../../../simulator/judge/observation.ts'
import { RULES, type RuleName } from '../../../simulator/judge/rules/index.ts'
import type { InvariantSettings } from '../invariants.ts'
import type { Plan, PlanItem } from '../plan/plan.ts'
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
  readonly ended: readonly FaultedPlace[]
  /** The errors of the client's own code, each with the faults after which it came. */
  readonly crashes: readonly { readonly error: string; readonly runs: number; readonly faults: readonly string[] }[]
  /** The kinds of things that a command left running in this number of runs, and whose ids it only printed. */
  readonly printedOnly: readonly FaultedPlace[]
  /** The places of the result that said of losses, each with the number of runs. */
  readonly said: readonly { readonly place: string; readonly runs: number }[]
  /** The operations without whose answers the client returned as usual, and of which its result shows nothing. */
  readonly unseen: readonly FaultedPlace[]
  /** The places that may have said of losses: only the user knows. */
  readonly unclear: readonly { readonly place: string; readonly runs: number }[]
}

interface FaultedPlace {
  readonly place: string
  readonly runs: number
  readonly faults: readonly string[]
}

type Counts = Record<Grade, number>

const noGrades = (): Counts => Object.fromEntries(GRADES.map(grade => [grade, 0])) as Counts

/** Collects the runs of an exploration. */
export class CardWriter {
  readonly #passing = noGrades()
  readonly #others = noGrades()
  readonly #several = noGrades()
  readonly #judged = new Map<string, number>()
  /** The faults of runs, by operation and by error. */
  readonly #ended = new Map<string, string[]>()
  readonly #crashes = new Map<string, string[]>()
  readonly #printedOnly = new Map<string, string[]>()
  readonly #unseen = new Map<string, string[]>()
  readonly #said = new Map<string, number>()
  readonly #unclear = new Map<string, number>()

  /** @param of the single fault of the run, or its plan with several faults */
  add({ grade, crash, printedOnly = [], unseen = [], judged, said, unclear }: RunTelling, of: Point | Plan): void {
    const point = 'item' in of ? of : undefined
    const fault = 'item' in of ? `${of.operation} ${of.class}` : of.map(nameItem).join(' + ')
    if (crash !== undefined) append(this.#crashes, crash, fault)
    for (const kind of printedOnly) append(this.#printedOnly, kind, fault)
    for (const operation of unseen) append(this.#unseen, operation, point?.class ?? fault)
    const grades = point === undefined ? this.#several : passes(point) ? this.#passing : this.#others
    grades[grade]++
    if (point !== undefined && grades === this.#passing && grade !== 'usual' && grade !== 'said')
      append(this.#ended, point.operation, point.class)
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
    const crashes = toFaults(this.#crashes).map(({ name, ...of }) => ({ error: name, ...of }))
    return {
      ...{ passing: this.#passing, others: this.#others, several: this.#several, invariants },
      ...{ ended: toFaultedPlaces(this.#ended), crashes, printedOnly: toFaultedPlaces(this.#printedOnly) },
      ...{ unseen: toFaultedPlaces(this.#unseen), said: toPlaces(this.#said), unclear: toPlaces(this.#unclear) },
    }
  }
}

/** Tells whether a single fault passes. */
export function passes({ kind, maySurface, item }: Point): boolean {
  if ('passes' in item) return item.passes === true
  return (kind === 'request' || kind === 'outage') && maySurface === undefined
}

/** Names one of several faults, as in `getBatch status`. */
function nameItem(item: PlanItem): string {
  if ('crash' in item) return 'crash'
  return 'command' in item ? item.command.verb : `${[item.fault.on].flat().join(' or ')} ${item.fault.fault.kind}`
}

/** Returns the number of runs of some grades. */
export function countGrades(grades: Grades, ...wanted: readonly Grade[]): number {
  return wanted.reduce((sum, grade) => sum + grades[grade], 0)
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function append(faults: Map<string, string[]>, name: string, fault: string): void {
  faults.set(name, [...(faults.get(name) ?? []), fault])
}

function toFaults(faults: ReadonlyMap<string, readonly string[]>) {
  return Array.from(faults, ([name, all]) => ({ name, runs: all.length, faults: [...new Set(all)] })).sort(byRuns)
}

function toFaultedPlaces(faults: ReadonlyMap<string, readonly string[]>): FaultedPlace[] {
  return toFaults(faults).map(({ name, ...of }) => ({ place: name, ...of, faults: of.faults.slice(0, 3) }))
}

function toPlaces(counts: ReadonlyMap<string, number>): { readonly place: string; readonly runs: number }[] {
  return [...counts].flatMap(([place, runs]) => (runs > 0 ? [{ place, runs }] : [])).sort(byRuns)
}

const byRuns = (a: { readonly runs: number }, b: { readonly runs: number }) => b.runs - a.runs
