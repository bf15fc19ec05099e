/** Pairs of faults, reduced to those that can differ from the singles. */

import { coordinatesOf } from '../plan/coordinates.ts'
import type { PlanItem } from '../plan/plan.ts'
import { type Point, type SpaceOptions, spaceOf } from '../plan/space.ts'
import type { RunResult } from '../run/runner.ts'
import type { Exploration } from './exploration.ts'
import { pointsOf, type Single } from './singles.ts'

/** Returns the position of the first request that differs or was sent at another time, from 1; undefined for none. */
function findChange({ requests: before }: RunResult, { requests: now }: RunResult): number | undefined {
  const count = Math.max(before.length, now.length)
  for (let at = 0; at < count; at++) {
    const [one, other] = [before[at], now[at]]
    const isEqual = one?.method === other?.method && one?.path === other?.path && one?.sentAt === other?.sentAt
    if (!isEqual) return at + 1
  }
  return undefined
}

/**
 * Returns the behaviour behind a request as text: the later requests with their distances and outcomes, the end, and what
 * the fault left in the world. The client may see the latter only after another fault.
 */
function describeBehaviour(point: Point, run: RunResult, after: number): string {
  const { requests, end, created, broken, statusFields } = run
  const { kind, looksLike, leavesWork } = point
  const later = coordinatesOf(requests, { exhaustive: true, statusFields }).filter(({ index }) => index > after)
  // A client that does the same a little later does the same.
  const sentAt = (index: number) => requests[index - 1]!.sentAt
  const begin = later[0] === undefined ? 0 : sentAt(later[0].index)
  const lines = later.map(({ method, path, index, seen }) => `${method} ${path} ${sentAt(index) - begin} ${seen}`)
  const left = created.map(({ id, isAlive }) => `${id} ${isAlive}`)
  const signatures = broken.map(({ signature }) => signature)
  return [kind, looksLike, leavesWork, after, end, ...left, ...signatures, ...lines].join('\n')
}

/** Requests behind a fault that are near it although the client does the same as without it: its retry, and one more. */
const NEAR_REQUESTS = 2

/**
 * Returns the last request of a run that is near its fault, from 1. Behind it, the client does and sees the same as in
 * the base run, only later.
 */
function findLastNear(base: RunResult, run: RunResult): number {
  const before = coordinatesOf(base.requests, { exhaustive: true, statusFields: base.statusFields })
  const now = coordinatesOf(run.requests, { exhaustive: true, statusFields: base.statusFields })
  let equal = 0
  while (equal < Math.min(before.length, now.length)) {
    const [one, other] = [before.at(-1 - equal)!, now.at(-1 - equal)!]
    if (one.method !== other.method || one.path !== other.path || one.seen !== other.seen) break
    equal++
  }
  const lastNear = now.length - equal + NEAR_REQUESTS
  return now[Math.min(lastNear, now.length) - 1]?.index ?? 0
}

/** A first fault, and a fault that can follow it. */
interface Pair {
  readonly item: PlanItem
  readonly second: Point
}

/**
 * The pairs of an exploration. A pair is worth a run if its first fault changed what the client does: without that, the
 * second fault meets the client as it would alone. The second fault strikes where the run of the first one leads, because
 * coordinates move after a fault.
 *
 * Pairs whose second fault is near the first one come first: far behind it, most clients do again what they do without.
 *
 * Reductions leave out what can hardly differ; the option `exhaustive` turns them off:
 * - First faults count as one if the client behaves equally behind them.
 * - Behind one first fault, a class strikes an operation once for each status that the client saw there.
 * - A second fault that breaks the client alone is left out.
 * - Second faults of an operation count as one if the client behaved equally behind them where all were tried.
 */
export class Pairs {
  readonly #base: RunResult
  readonly #options: SpaceOptions
  readonly #near: Pair[] = []
  readonly #far: Pair[] = []
  readonly #behaviours = new Set<string>()
  readonly #seconds = new Seconds()

  constructor(base: RunResult, options: SpaceOptions) {
    this.#base = base
    this.#options = options
  }

  /** Adds a single fault. It becomes the first one of pairs if that is worth it. Its run is not kept. */
  add({ point, result, isBroken }: Single): void {
    if (point.index !== undefined) this.#seconds.learn('alone', point, result, point.index, isBroken)
    const change = isBroken ? undefined : findChange(this.#base, result)
    if (change === undefined) return
    const after = point.index ?? change - 1
    const behaviour = describeBehaviour(point, result, after)
    if (this.#options.exhaustive !== true && this.#behaviours.has(behaviour)) return
    this.#behaviours.add(behaviour)
    const lastNear = findLastNear(this.#base, result)
    for (const second of this.#secondsOf(result, after)) {
      const isNear = second.index !== undefined && second.index <= lastNear
      const pairs = isNear ? this.#near : this.#far
      pairs.push({ item: point.item, second })
    }
  }

  /**
   * Runs the pairs until the exploration stops. Returns the number of pairs that were left then.
   *
   * @param maxRuns runs of all stages at which it ends, so that some are left for the swarm
   */
  async run(exploration: Exploration, maxRuns: number): Promise<number> {
    const pairs = [...this.#near, ...this.#far]
    let done = 0
    const isWanted = ({ item, second }: Pair) => exploration.stageRuns < maxRuns && this.#isWanted(item, second)
    function* origins() {
      for (const [position, pair] of pairs.entries()) {
        if (!isWanted(pair)) continue
        yield { ...pair, stage: 'pairs' as const, plan: [pair.item, pair.second.item], position: position + 1 }
      }
    }
    await exploration.runEach(
      origins(),
      ({ item, second, position }, { result }) => {
        done = position
        if (result.fired.has(1)) this.#seconds.learn(item, second, result, second.index ?? 0, false)
      },
      isWanted,
    )
    return pairs.slice(done).filter(({ item, second }) => this.#isWanted(item, second)).length
  }

  #isWanted(item: PlanItem, second: Point): boolean {
    return this.#options.exhaustive === true || !this.#seconds.isKnown(second, item)
  }

  #secondsOf(result: RunResult, after: number): Point[] {
    const seen = new Set<string>()
    return pointsOf(spaceOf(result, { ...this.#options, after })).filter(point => {
      // Its violations say nothing about the client.
      if (point.maySurface !== undefined) return false
      const key = `${subjectOf(point)} ${point.class}`
      if (this.#options.exhaustive === true) return true
      const isNew = !seen.has(key)
      seen.add(key)
      return isNew
    })
  }
}

/** What is known of second faults: which of them the client treats alike, and which it does not survive alone. */
class Seconds {
  /** Where the classes of an operation and status were compared: behind which first fault, at which request. */
  readonly #comparisons = new Map<string, { readonly context: unknown; readonly place: string }>()
  /** The first class with a behaviour, where classes are compared. */
  readonly #representatives = new Map<string, string>()
  /** Classes that another class represents, and classes that the client does not survive alone. */
  readonly #known = new Set<string>()

  /** Learns from a run in which a fault acted alone, or behind another one. */
  learn(context: unknown, point: Point, result: RunResult, after: number, isBroken: boolean): void {
    const { class: name, place } = point
    const subject = subjectOf(point)
    const comparison = this.#comparisons.get(subject) ?? { context, place }
    this.#comparisons.set(subject, comparison)
    if (isBroken) this.#known.add(`${subject} ${name}`)
    if (comparison.context !== context || comparison.place !== place) return
    const behaviour = `${subject} ${describeBehaviour(point, result, after)}`
    const representative = this.#representatives.get(behaviour) ?? name
    this.#representatives.set(behaviour, representative)
    if (representative !== name) this.#known.add(`${subject} ${name}`)
  }

  /** Returns whether a fault need not be tried behind a first one. */
  isKnown(point: Point, context: unknown): boolean {
    const subject = subjectOf(point)
    return this.#comparisons.get(subject)?.context !== context && this.#known.has(`${subject} ${point.class}`)
  }
}

/** Points of one subject differ in their class alone, as far as the client can know. */
function subjectOf({ kind, operation, visibleStatus }: Point): string {
  return `${kind} ${operation} ${visibleStatus}`
}
