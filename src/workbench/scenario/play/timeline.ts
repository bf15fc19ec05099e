/** The planned steps of a scenario. Each runs when time reaches it. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { elapsedAt } from '../../../kernel/clock.ts'
import { type Duration, formatDuration, type Micros, micros } from '../../../kernel/duration.ts'
import type { ScenarioClock } from './controls.ts'

/** A planned step. */
export interface ScheduledStep {
  /** Takes it off the timeline. */
  stop(): void
}

/**
 * Plans a step. It runs when time reaches that moment, after the events of the world at that moment.
 *
 * @param moment a duration from now, or a time of the world: ISO 8601 with offset
 * @param what name of the step in the report of its failure
 * @example at('5m', () => cluster.nodeOf(deploy_id).crash())
 */
export type At = (moment: Duration | Date, act: () => unknown, what?: string) => ScheduledStep

/**
 * Plans a repeated step. It runs first after one interval, until it is stopped, has run `times` times, or the scenario
 * ends.
 *
 * @example every('1h', async () => check(await ledger.balance() >= 0, true))
 */
export type Every = (
  interval: Duration,
  act: () => unknown,
  options?: { readonly times?: number | undefined; readonly what?: string | undefined },
) => ScheduledStep

/** A step that is due. */
export interface DueStep {
  readonly name: string
  readonly act: () => unknown
}

/** A step and its time. */
export interface TimelineStep extends DueStep {
  at: Micros
  /** Time between two runs; undefined for a step that runs once. */
  readonly interval: Micros | undefined
  runsLeft: number
  /** How often it has run. */
  runs: number
  /** Where in the script it was planned. */
  readonly declaredAt: Error
}

/** The step or condition that makes a call, if the script does not make it directly. */
export interface CallContext {
  readonly kind: 'step' | 'look'
  readonly name: string
  /** Number of checks that held in it. */
  checks: number
  /** Calls that it began may continue after its end. */
  isOver: boolean
}

/**
 * The step or condition that makes the present call.
 *
 * @internal
 */
export const callContext = new AsyncLocalStorage<CallContext>()

/** The planned steps in the order of their times; at one time, in the order of the plans. */
export class Timeline {
  readonly #clock: ScenarioClock
  #steps: readonly TimelineStep[] = []

  constructor(clock: ScenarioClock) {
    this.#clock = clock
  }

  /** Time of the next step; Infinity: no step is planned. */
  get next(): Micros {
    return this.#steps[0]?.at ?? Number.POSITIVE_INFINITY
  }

  readonly at: At = (moment, act, what) => {
    const at = toElapsed(this.#clock, moment)
    const when =
      typeof moment === 'number'
        ? formatDuration(micros(moment))
        : moment instanceof Date
          ? moment.toISOString()
          : moment
    const name = what === undefined ? `at ${when}` : `at ${when} (${what})`
    return this.#schedule({ name, at, interval: undefined, runsLeft: 1, runs: 0, act, declaredAt: new Error() })
  }

  readonly every: Every = (interval, act, { times = Number.POSITIVE_INFINITY, what } = {}) => {
    const span = micros(interval)
    const name = `every ${formatDuration(span)}${what === undefined ? '' : ` (${what})`}`
    if (span === 0) throw new RangeError(`Failed to plan a step: 'every ${interval}' would never let time go on.`)
    if (times !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(times) && times > 0)) {
      throw new RangeError(`Failed to plan '${name}': times is ${String(times)}. Give an integer above 0.`)
    }
    const at = this.#clock.elapsed + span
    return this.#schedule({ name, at, interval: span, runsLeft: times, runs: 0, act, declaredAt: new Error() })
  }

  /** Removes and returns the next step that is due. Undefined: no step is due. */
  takeDue(): DueStep | undefined {
    const [first, ...rest] = this.#steps
    if (first === undefined || first.at > this.#clock.elapsed) return undefined
    this.#steps = rest
    first.runsLeft--
    first.runs++
    if (first.interval !== undefined && first.runsLeft > 0) {
      first.at += first.interval
      this.#insert(first)
    }
    return first
  }

  /** The first step that never ran, or ran less often than planned. */
  get unreached(): TimelineStep | undefined {
    return this.#steps.find(({ runs, runsLeft: left }) => runs === 0 || left !== Number.POSITIVE_INFINITY)
  }

  #schedule(step: TimelineStep): ScheduledStep {
    if (typeof step.act !== 'function') {
      throw new TypeError(
        `Failed to plan '${step.name}': there is nothing to do. Give a function, as in at('5m', () => cluster.hub.down()).`,
      )
    }
    this.#insert(step)
    return {
      stop: () => {
        this.#steps = this.#steps.filter(other => other !== step)
        step.runsLeft = 0
      },
    }
  }

  #insert(step: TimelineStep): void {
    const place = this.#steps.findIndex(other => other.at > step.at)
    this.#steps = place < 0 ? [...this.#steps, step] : this.#steps.toSpliced(place, 0, step)
  }
}

/** Returns microseconds since the epoch for a duration from now, or a time of the world. */
function toElapsed(clock: ScenarioClock, moment: Duration | Date): Micros {
  if (typeof moment === 'number' || (typeof moment === 'string' && !/^\d{4}-/.test(moment))) {
    return clock.elapsed + micros(moment)
  }
  const at = elapsedInScenario(clock, moment)
  if (at >= clock.elapsed) return at
  const text = moment instanceof Date ? moment.toISOString() : moment
  const why = Number.isNaN(at) ? 'no time with an offset' : `it is ${clock.iso} already`
  throw new RangeError(`Failed to plan a step at '${text}': ${why}. Give a duration from now, as in at('5m', …).`)
}

/** Returns microseconds since the epoch of a scenario's world for a Date or an ISO 8601 time; NaN if it is invalid. */
export function elapsedInScenario(clock: ScenarioClock, time: string | Date): Micros {
  return elapsedAt(time, clock.now.getTime() - Math.floor(clock.elapsed / 1000))
}
