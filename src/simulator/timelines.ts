/** Timelines that play in a world beside its client: what goes wrong, and when, without a script that moves time. */

import type { Faults } from '../faults/faults.ts'
import type { FaultRule } from '../faults/rules.ts'
import { type Micros, micros } from '../kernel/duration.ts'
import type { Entry } from '../kernel/journal.ts'
import type { Command, ScheduledCommand } from '../simulation/operations/commands.ts'
import type { World } from '../simulation/world.ts'

/** Something of a timeline: a command to the world, or a rule of faults of the wire. */
export type TimelineAct = {
  /** How long after the start. */
  readonly at: Micros
} & (
  | {
      readonly command: Command
      /** Time between two; once unless given. */
      readonly interval?: Micros | undefined
      /** How often in all; for ever unless given. */
      readonly times?: number | undefined
    }
  | { readonly rule: FaultRule }
)

/** A timeline as it was read. */
export interface TimelinePlan {
  readonly name: string
  readonly title: string
  readonly acts: readonly TimelineAct[]
  /** What of the scenario is not played, and why. */
  readonly problems: readonly string[]
}

/** Timelines by their names; whoever serves worlds knows where they lie. */
export interface TimelineLibrary {
  /** Every name there is, sorted. */
  names(): readonly string[]
  /**
   * The timeline of this name; rejects with a RangeError for a file that can not be read.
   */
  read(name: string): Promise<TimelinePlan>
}

/** How far a timeline has come in a world. */
export interface TimelineView {
  readonly state: 'playing' | 'done' | 'stopped'
  /** Acts whose moment has come. */
  readonly done: number
  /** Acts in all; undefined when one is repeated for ever. */
  readonly total: number | undefined
  readonly startedAt: Micros
  /** When the next act comes; undefined when none does. */
  readonly nextAt: Micros | undefined
  readonly title: string
  readonly problems: readonly string[]
}

/** The timelines that were started in a world, by their names. */
export type StartedTimelines = ReadonlyMap<string, StartedTimeline>

/** A timeline that was started; replaced as a whole whenever something of it changes. */
interface StartedTimeline {
  readonly plan: TimelinePlan
  readonly at: Micros
  readonly stoppedAt: Micros | undefined
  readonly waiting: readonly ScheduledCommand[]
  /** Ids of the rules that it added. */
  readonly rules: readonly string[]
  /** Commands that could not be obeyed when their moment came. */
  readonly missed: readonly string[]
}

export interface TimelinesHost {
  readonly world: World
  readonly faults: Faults
}

/** The timelines that were started in one world, by their names. */
export class Timelines {
  readonly #host: TimelinesHost
  readonly #initial: StartedTimelines
  #started: StartedTimelines
  #unsubscribe: (() => void) | undefined

  constructor(host: TimelinesHost, initial: StartedTimelines = new Map()) {
    this.#host = host
    this.#initial = initial
    this.#started = initial
    this.#subscribe()
  }

  /** The timelines as far as they have come, for a world that goes on from here. */
  get started(): StartedTimelines {
    return this.#started
  }

  /** Back to what was playing at first, for a world that is back there. */
  reset(): void {
    this.restore(this.#initial)
  }

  /** Goes on with other timelines, for a world that goes on from where they were. */
  restore(started: StartedTimelines): void {
    this.#started = started
    this.#subscribe()
  }

  isPlaying(name: string): boolean {
    return this.get(name)?.state === 'playing'
  }

  /** Undefined for one that was never started here. */
  get(name: string): TimelineView | undefined {
    const started = this.#started.get(name)
    return started && toTimelineView(started, this.#host.world.clock.now)
  }

  /**
   * Starts a timeline now; one of that name that has come to its end goes.
   *
   * @throws RangeError for a command or a rule that makes no sense in this world, before anything has changed
   */
  start(plan: TimelinePlan): void {
    const { world, faults } = this.#host
    const rules = plan.acts.flatMap(act => ('rule' in act ? [shiftWindow(act.rule, act.at)] : []))
    const previousRules = this.#started.get(plan.name)?.rules ?? []
    for (const act of plan.acts) if ('command' in act) world.commands.assertExecutable(act.command)
    const names = rules.flatMap(({ name }) => name ?? [])
    for (const rule of rules) {
      const { name, ...nameless } = rule
      // The rules of its last playing make room for these.
      faults.validate(name !== undefined && previousRules.includes(name) ? nameless : rule)
      if (name === undefined || names.indexOf(name) === names.lastIndexOf(name)) continue
      throw new RangeError(`Failed to start '${plan.name}': two of its rules are named '${name}'. Rename one.`)
    }
    this.#removeRules(previousRules)
    const { now } = world.clock
    const waiting: ScheduledCommand[] = []
    const missed: string[] = []
    world.journal.recordUndigested(now, 'scenario.started', plan.name)
    for (const act of plan.acts) {
      if (!('command' in act)) continue
      const repeat = act.interval === undefined ? undefined : { interval: act.interval, times: act.times }
      try {
        const planned = world.commands.schedule(act.command, act.at, repeat)
        if (planned) waiting.push(planned)
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
        missed.push(error.message)
      }
    }
    const ids = rules.map(rule => faults.add(rule).id)
    this.#set(plan.name, { plan, at: now, stoppedAt: undefined, waiting, rules: ids, missed })
  }

  /** Takes back what is still to come, and its rules; what was done to the world stays. */
  stop(name: string): void {
    const started = this.#started.get(name)
    if (started === undefined || started.stoppedAt !== undefined) return
    const { world } = this.#host
    for (const planned of started.waiting) world.commands.cancel(planned)
    this.#removeRules(started.rules)
    world.journal.recordUndigested(world.clock.now, 'scenario.stopped', name)
    // What has come to its end stays so.
    const stoppedAt = this.isPlaying(name) ? world.clock.now : undefined
    this.#set(name, { ...started, stoppedAt, waiting: [], rules: [] })
  }

  #removeRules(ids: readonly string[]): void {
    const { faults } = this.#host
    // Some may have been removed by hand.
    const existing = faults.list().map(({ id }) => id)
    for (const id of ids) if (existing.includes(id)) faults.remove(id)
  }

  #set(name: string, started: StartedTimeline): void {
    this.#started = new Map([...this.#started, [name, started]])
    this.#subscribe()
  }

  /** Hears of commands that could not be obeyed, while any may come. */
  #subscribe(): void {
    this.#unsubscribe?.()
    const hasWaiting = [...this.#started.values()].some(({ waiting }) => waiting.length > 0)
    this.#unsubscribe = hasWaiting ? this.#host.world.journal.listen(this.#onCommandMissed) : undefined
  }

  readonly #onCommandMissed = ({ kind, time, fields }: Entry): void => {
    if (kind !== 'command.missed') return
    for (const [name, started] of this.#started) {
      const { plan, at, stoppedAt, missed } = started
      if (stoppedAt !== undefined) continue
      const isOwnCommand = plan.acts.some(
        act => 'command' in act && act.command.verb === fields?.verb && isDueAt(act, time - at),
      )
      if (isOwnCommand)
        this.#started = new Map([...this.#started, [name, { ...started, missed: [...missed, String(fields?.reason)] }]])
    }
  }
}

/** A rule with its window counted from the moment of its act. */
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

/** Whether a moment counts from now; else it is a time of the world. */
function isRelativeTime(moment: FaultRule['from']): moment is string | number {
  return typeof moment === 'number' || (typeof moment === 'string' && !/^\d{4}-/.test(moment))
}

type RepeatableAct = TimelineAct & { readonly interval?: Micros | undefined; readonly times?: number | undefined }

function isDueAt(act: RepeatableAct, elapsed: Micros): boolean {
  const since = elapsed - act.at
  return since === 0 || (act.interval !== undefined && since > 0 && since % act.interval === 0)
}

/** How often an act comes in all. */
export function repetitionsOf({ interval, times }: RepeatableAct): number {
  return interval === undefined ? 1 : (times ?? Number.POSITIVE_INFINITY)
}

function toTimelineView({ plan, at, stoppedAt, missed }: StartedTimeline, now: Micros): TimelineView {
  const elapsed = (stoppedAt ?? now) - at
  let [done, total, next] = [0, 0, Number.POSITIVE_INFINITY]
  for (const act of plan.acts as readonly RepeatableAct[]) {
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
