/** Timelines of scenarios that play in a world: commands and fault rules at given times, beside the requests of a client. */

import { type Micros, micros } from '../kernel/duration.ts'
import type { Entry } from '../kernel/journal.ts'
import { actFor } from '../kernel/journal-origin.ts'
import type { Command, ScheduledCommand } from '../simulation/operations/commands.ts'
import type { World } from '../simulation/world.ts'
import type { Faults } from './faults/faults.ts'
import type { FaultRule } from './faults/rules.ts'

/** A step of a timeline: a command, or a fault rule. */
export type TimelineAct = {
  /** The time since the start. */
  readonly at: Micros
  /** The time between two repetitions. Default: no repetition. */
  readonly interval?: Micros | undefined
  /** The number of repetitions. Default: without end. */
  readonly times?: number | undefined
} & ({ readonly command: Command } | { readonly rule: FaultRule })

/** A parsed timeline. */
export interface TimelinePlan {
  readonly name: string
  readonly title: string
  readonly acts: readonly TimelineAct[]
  /** The steps of the scenario that are not played, with their reasons. */
  readonly problems: readonly string[]
}

/** A scenario that was run whole, in a world of its own. */
export interface ScenarioRun {
  readonly title: string
  readonly passed: boolean
  /** Why it failed; undefined if it passed. */
  readonly failure: string | undefined
  /** The line of its file at which it failed, if that is known. */
  readonly line: number | undefined
  readonly seed: string
  /** Simulated time of the run. */
  readonly elapsed: Micros
  /** Real milliseconds. They are never part of a trace. */
  readonly wallMs: number
  readonly checks: number
  /** The digest of the world at the end; empty if there was no world. */
  readonly digest: string
  /** What its script did, each with the time of the world in ISO 8601. */
  readonly steps: readonly { readonly at: string; readonly text: string }[]
  /** The recording of its world; undefined if there was no world. */
  readonly recording: string | undefined
}

/** Scenarios by name. The server decides where they are stored. */
export interface TimelineLibrary {
  /** Returns all names, sorted. */
  names(): readonly string[]
  /**
   * Returns the timeline of this name. Rejects with a RangeError for an invalid file.
   */
  read(name: string): Promise<TimelinePlan>
  /**
   * Runs the scenario of this name. Rejects with a RangeError for an invalid file, or for one that runs a program.
   */
  run(name: string): Promise<ScenarioRun>
}

/** The progress of a timeline in a world. */
export interface TimelineView {
  readonly state: 'playing' | 'done' | 'stopped'
  /** Steps that are due or past. */
  readonly done: number
  /** All steps; undefined if one repeats without end. */
  readonly total: number | undefined
  readonly startedAt: Micros
  /** The time of the next step; undefined without a next step. */
  readonly nextAt: Micros | undefined
  readonly title: string
  readonly problems: readonly string[]
}

/** The started timelines of a world, by name. */
export type StartedTimelines = ReadonlyMap<string, StartedTimeline>

/** A started timeline. It is immutable: a change replaces it. */
interface StartedTimeline {
  readonly plan: TimelinePlan
  readonly at: Micros
  readonly stoppedAt: Micros | undefined
  readonly waiting: readonly ScheduledCommand[]
  /** Ids of the fault rules that it added. */
  readonly rules: readonly string[]
  /** Reasons of commands that failed at their time. */
  readonly missed: readonly string[]
}

/** A change of the timelines by the user. */
export type TimelineAction =
  | { readonly do: 'startTimeline'; readonly plan: TimelinePlan }
  | { readonly do: 'stopTimeline'; readonly name: string }

export interface TimelinesHost {
  readonly world: World
  readonly faults: Faults
  /** Performs a change of the timelines, and reports it. */
  perform(describe: () => TimelineAction, perform: () => void): void
}

/** The started timelines of one world, by name. Their commands wait in the scheduler of the world. */
export class Timelines {
  readonly #host: TimelinesHost
  readonly #initial: StartedTimelines
  /** The state of the timelines, from which another simulator can continue. */
  started: StartedTimelines
  #unsubscribe: (() => void) | undefined

  constructor(host: TimelinesHost, initial: StartedTimelines = new Map()) {
    this.#host = host
    this.#initial = initial
    this.started = initial
    this.#subscribe()
  }

  /** Returns to the initial timelines, for a world that was reset. */
  reset(): void {
    this.restore(this.#initial)
  }

  /** Continues from other timelines, for a world that was restored with them. */
  restore(started: StartedTimelines): void {
    this.started = started
    this.#subscribe()
  }

  isPlaying(name: string): boolean {
    return this.get(name)?.state === 'playing'
  }

  /** Returns the progress of a timeline; undefined if it was never started here. */
  get(name: string): TimelineView | undefined {
    const started = this.started.get(name)
    return started && toTimelineView(started, this.#host.world.clock.now)
  }

  /**
   * Starts a timeline now. It replaces a finished timeline of the same name.
   *
   * @throws RangeError for a command or a rule that is invalid in this world, before anything has changed
   */
  start(plan: TimelinePlan): void {
    this.#host.perform(
      () => ({ do: 'startTimeline', plan }),
      () => this.#start(plan),
    )
  }

  #start(plan: TimelinePlan): void {
    const { world, faults } = this.#host
    const rules = plan.acts.flatMap(act => ('rule' in act ? [shiftWindow(act.rule, act.at)] : []))
    const previousRules = this.started.get(plan.name)?.rules ?? []
    for (const act of plan.acts) if ('command' in act) world.commands.assertExecutable(act.command)
    const names = rules.flatMap(({ name }) => name ?? [])
    for (const rule of rules) {
      const { name, ...nameless } = rule
      // The rules of its last run are replaced by these.
      faults.validate(name !== undefined && previousRules.includes(name) ? nameless : rule)
      if (name === undefined || names.indexOf(name) === names.lastIndexOf(name)) continue
      throw new RangeError(`Failed to start '${plan.name}': two of its rules are named '${name}'. Rename one.`)
    }
    this.#removeRules(previousRules)
    const { now } = world.clock
    const waiting: ScheduledCommand[] = []
    const missed: string[] = []
    const started = world.journal.recordUndigested(now, 'scenario.started', plan.name)
    for (const act of plan.acts) {
      if (!('command' in act)) continue
      const repeat = act.interval === undefined ? undefined : { interval: act.interval, times: act.times }
      try {
        const planned = actFor(world.journal, started, () => world.commands.schedule(act.command, act.at, repeat))
        if (planned) waiting.push(planned)
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
        missed.push(error.message)
      }
    }
    const ids = actFor(world.journal, started, () => rules.map(rule => faults.add(rule).id))
    this.#set(plan.name, { plan, at: now, stoppedAt: undefined, waiting, rules: ids, missed })
  }

  /** Cancels the scheduled commands and removes the fault rules. The effects of executed commands stay. */
  stop(name: string): void {
    const started = this.started.get(name)
    if (started === undefined || started.stoppedAt !== undefined) return
    this.#host.perform(
      () => ({ do: 'stopTimeline', name }),
      () => this.#stop(name, started),
    )
  }

  #stop(name: string, started: StartedTimeline): void {
    const { world } = this.#host
    for (const planned of started.waiting) world.commands.cancel(planned)
    this.#removeRules(started.rules)
    world.journal.recordUndigested(world.clock.now, 'scenario.stopped', name)
    // A finished timeline stays finished.
    const stoppedAt = this.isPlaying(name) ? world.clock.now : undefined
    this.#set(name, { ...started, stoppedAt, waiting: [], rules: [] })
  }

  #removeRules(ids: readonly string[]): void {
    const { faults } = this.#host
    // The user may have removed some.
    const existing = faults.list().map(({ id }) => id)
    for (const id of ids) if (existing.includes(id)) faults.remove(id)
  }

  #set(name: string, started: StartedTimeline): void {
    this.started = new Map([...this.started, [name, started]])
    this.#subscribe()
  }

  /** Listens for failed commands while commands are scheduled. */
  #subscribe(): void {
    this.#unsubscribe?.()
    const hasWaiting = [...this.started.values()].some(({ waiting }) => waiting.length > 0)
    this.#unsubscribe = hasWaiting ? this.#host.world.journal.listen(this.#onCommandMissed) : undefined
  }

  readonly #onCommandMissed = ({ kind, time, fields }: Entry): void => {
    if (kind !== 'command.missed') return
    for (const [name, started] of this.started) {
      const { plan, at, stoppedAt, missed } = started
      if (stoppedAt !== undefined) continue
      const isOwnCommand = plan.acts.some(
        act => 'command' in act && act.command.verb === fields?.verb && isDueAt(act, time - at),
      )
      if (isOwnCommand)
        this.started = new Map([...this.started, [name, { ...started, missed: [...missed, String(fields?.reason)] }]])
    }
  }
}

/** Returns the rule with its window counted from the time of its step. */
function shiftWindow(rule: FaultRule, at: Micros): FaultRule {
  if (at === 0) return rule
  const { from, until } = rule
  const addOffset = (moment: string | number) => `${at + micros(moment)}us`
  return {
    ...rule,
    from: isRelativeTime(from) ? addOffset(from) : (from ?? `${at}us`),
    ...(until !== undefined && { until: isRelativeTime(until) ? addOffset(until) : until }),
  }
}

/** Returns whether a time is a duration from now, not a time of the world. */
function isRelativeTime(moment: FaultRule['from']): moment is string | number {
  return typeof moment === 'number' || (typeof moment === 'string' && !/^\d{4}-/.test(moment))
}

function isDueAt(act: TimelineAct, elapsed: Micros): boolean {
  const since = elapsed - act.at
  return since === 0 || (act.interval !== undefined && since > 0 && since % act.interval === 0)
}

/** Returns the number of repetitions of a step. */
export function repetitionsOf({ interval, times }: TimelineAct): number {
  return interval === undefined ? 1 : (times ?? Number.POSITIVE_INFINITY)
}

function toTimelineView({ plan, at, stoppedAt, missed }: StartedTimeline, now: Micros): TimelineView {
  const elapsed = (stoppedAt ?? now) - at
  let [done, total, next] = [0, 0, Number.POSITIVE_INFINITY]
  for (const act of plan.acts) {
    const since = elapsed - act.at
    const repetitions = repetitionsOf(act)
    const completed =
      since < 0 ? 0 : Math.min(repetitions, 1 + (act.interval === undefined ? 0 : Math.floor(since / act.interval)))
    done += completed
    total += repetitions
    if (completed < repetitions) next = Math.min(next, at + act.at + completed * (act.interval ?? 0))
  }
  const isPlaying = stoppedAt === undefined && done < total
  return {
    state: isPlaying ? 'playing' : stoppedAt === undefined ? 'done' : 'stopped',
    done,
    total: total === Number.POSITIVE_INFINITY ? undefined : total,
    startedAt: at,
    nextAt: isPlaying ? next : undefined,
    title: plan.title,
    problems: [...plan.problems, ...missed],
  }
}
