/** Pairs of faults, reduced to those that can differ from the singles. */

import { coordinatesOf } from '../plan/coordinates.ts'
import type { PlanItem } from '../plan/plan.ts'
import { type Point, type SpaceOptions, spaceOf } from '../plan/space.ts'
import type { RunResult } from '../run/run-result.ts'
import type { Exploration } from './exploration.ts'
import { pointsOf, type SurvivedSingle } from './singles.ts'

/** A first fault, and the faults that can follow it. */
interface First {
  readonly item: PlanItem
  readonly seconds: readonly Point[]
}

/**
 * The pairs of an exploration. A pair is worth a run if its first fault changed what the client does: without that, the
 * second fault meets the client as it would alone. The second fault strikes where the run of the first one leads, because
 * coordinates move after a fault.
 *
 * Two reductions leave out what can hardly differ. First faults count as one if they leave the same things in the world, and
 * the client then sends the same requests at the same times and sees the same outcomes. Behind one first fault, a class strikes an operation once for each status
 * that the client saw there. The option `exhaustive` turns both off.
 */
export class Pairs {
  readonly #base: RunResult
  readonly #options: SpaceOptions
  readonly #firsts: First[] = []
  readonly #behaviours = new Set<string>()

  constructor(base: RunResult, options: SpaceOptions) {
    this.#base = base
    this.#options = options
  }

  /** Adds a single fault that the client survived, if it is worth pairs. Its run is not kept. */
  consider({ point, result }: SurvivedSingle): void {
    const change = findChange(this.#base, result)
    if (change === undefined) return
    const after = point.index ?? change - 1
    if (this.#options.exhaustive !== true) {
      const behaviour = describeBehaviour(point, result, after)
      if (this.#behaviours.has(behaviour)) return
      this.#behaviours.add(behaviour)
    }
    this.#firsts.push({ item: point.item, seconds: this.#secondsOf(result, after) })
  }

  /** Runs the pairs until the exploration stops. */
  async run(exploration: Exploration): Promise<void> {
    for (const { item, seconds } of this.#firsts) {
      for (const second of seconds) {
        const explored = await exploration.run({ stage: 'pairs', plan: [item, second.item] })
        if (explored === undefined) return
      }
    }
  }

  #secondsOf(result: RunResult, after: number): Point[] {
    const seen = new Set<string>()
    return pointsOf(spaceOf(result, { ...this.#options, after })).filter(point => {
      // Its violations say nothing about the client.
      if (point.maySurface !== undefined) return false
      const key = `${point.operation} ${point.visibleStatus} ${point.class}`
      if (this.#options.exhaustive === true) return true
      const isNew = !seen.has(key)
      seen.add(key)
      return isNew
    })
  }
}

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
 * Returns what the client did and saw behind a first fault, as text. What the fault left in the world belongs to it,
 * although the client may see that only after the second fault.
 */
function describeBehaviour(
  { kind, class: name, leavesWork }: Point,
  { requests, end, base }: RunResult,
  after: number,
) {
  const later = coordinatesOf(requests, { exhaustive: true }).filter(({ index }) => index > after)
  const lines = later.map(({ method, path, index, seen }) =>
    [method, path, requests[index - 1]!.sentAt, seen].join(' '),
  )
  const created = base.created.map(({ id, isAlive }) => `${id} ${isAlive}`)
  return [kind, kind === 'world' ? name : leavesWork, after, end, ...created, ...lines].join('\n')
}
