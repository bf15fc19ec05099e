/** Assertions that hold over time: looked at after every visible change, and failing at the moment of the breach. */
import { type Duration, type Micros, micros, readable } from '../kernel/duration.ts'
import { type Entry, traceLine } from '../kernel/journal.ts'
import { CheckError, type Difference, shown } from './check.ts'
import { type EventMatcher, type EventPattern, eventMatcher } from './events.ts'
import type { Stage } from './stage.ts'
import { type Part, part } from './timeline.ts'

/** A condition: true or false, or checks that hold or do not. */
export type Condition = () => unknown

/** An assertion over time, until the scenario ends or it is stopped. */
export interface Watch {
  /** Ends it: what happens from now on does not matter to it. */
  stop(): void
}

/**
 * Holds a condition against every visible change from now on, until the scenario ends.
 *
 * @param condition returns whether it holds; or checks, and the check that fails says what broke
 * @param what names it in the report
 * @throws CheckError at the moment of the breach, out of whatever the script awaits then
 * @example always(async () => (await ledger.balance()) >= 0, 'the account is never overdrawn')
 */
export type Always = (condition: Condition, what?: string) => Watch

/**
 * For every event of one pattern, demands one of another after it (or at the same moment) within a time. An event whose
 * time is not over when the scenario ends counts as met: the clock is not moved for it.
 *
 * @param then what has to follow; a function is given the first event, for patterns that depend on it
 * @param options `within` how long it may take; `sameSubject` when both must be of one thing
 * @example leadsTo('deployment.initializing', 'deployment.running', { within: '15m', sameSubject: true })
 */
export type LeadsTo = (
  event: EventPattern,
  then: EventPattern | ((first: Entry) => EventPattern),
  options: { readonly within: Duration; readonly sameSubject?: boolean | undefined },
) => Watch

/** One watch, looked at again and again. */
interface Watched {
  /** As a failure is headed with. */
  readonly name: string
  /** What is put on record when it held. */
  readonly label: string
  /** Where in the script it was put up. */
  readonly from: Error
  /** Looks. `isOver`: everything of this moment has happened. Throws CheckError for a breach. */
  look(isOver: boolean): Promise<void> | void
  /** When time must not be moved past without a look; infinity where it does not matter. */
  readonly deadline: Micros
}

/** What the watches need of the script they belong to. */
export interface WatchHost {
  readonly stage: Stage
  /** Counts a check and names it. */
  nameOf(what: string): string
  /** Queues something, so that the next awaited call waits for it. */
  queue(act: () => Promise<void>): void
  /** Puts on record that a watch held until now. */
  held(name: string): void
}

export class Watches {
  readonly #host: WatchHost
  #watches: readonly Watched[] = []
  #looking: Promise<void> | undefined
  #revision = -1
  /** The first breach: whatever the script makes of it, it fails. */
  breach: CheckError | undefined

  constructor(host: WatchHost) {
    this.#host = host
  }

  /** Whether there is anything to look at. */
  get any(): boolean {
    return this.#watches.length > 0
  }

  /** When time must not be moved past without a look. */
  get deadline(): Micros {
    return Math.min(Number.POSITIVE_INFINITY, ...this.#watches.map(watch => watch.deadline))
  }

  readonly always: Always = (condition, what) => this.#condition('always', condition, true, what)
  readonly never: Always = (condition, what) => this.#condition('never', condition, false, what)

  readonly leadsTo: LeadsTo = (event, then, { within, sameSubject = false }) => {
    const first = eventMatcher(event)
    const next = typeof then === 'function' ? undefined : eventMatcher(then)
    const span = micros(within)
    const label = `${first.name} leads to ${next?.name ?? 'what follows from it'} within ${readable(span)}`
    const follows = (entry: Entry): EventMatcher => {
      const matcher = next ?? eventMatcher((then as (first: Entry) => EventPattern)(entry))
      if (!sameSubject) return matcher
      return { name: matcher.name, matches: other => other.subject === entry.subject && matcher.matches(other) }
    }
    return this.#put(
      new LeadingTo(this.#host.stage, { name: this.#host.nameOf(label), label }, { first, follows, span }),
    )
  }

  /**
   * Looks at everything that is watched, unless nothing has changed since.
   *
   * @param isOver everything that happens at this moment has happened
   * @throws CheckError for a breach
   */
  async look(isOver = false): Promise<void> {
    // A look that is under way may have seen what was before the change that asks for this one.
    while (this.#looking) await this.#looking
    const { stage } = this.#host
    if (!this.any || (stage.revision === this.#revision && !isOver)) return
    this.#revision = stage.revision
    this.#looking = this.#lookNow(isOver)
    try {
      await this.#looking
    } finally {
      this.#looking = undefined
    }
  }

  /** Ends all of them, as held. */
  end(): void {
    for (const watch of this.#watches) this.#host.held(watch.label)
    this.#watches = []
  }

  async #lookNow(isOver: boolean): Promise<void> {
    for (const watch of this.#watches) await this.#lookAt(watch, isOver)
  }

  async #lookAt(watch: Watched, isOver: boolean): Promise<void> {
    if (this.breach) throw this.breach
    if (!this.#watches.includes(watch)) return
    try {
      await watch.look(isOver)
    } catch (error) {
      // The line of the script is the one that put the watch up, whatever was awaited when it broke.
      if (error instanceof Error) error.stack = `${error.name}: ${error.message}\n${linesOf(watch.from)}`
      if (error instanceof CheckError) this.breach ??= error
      throw error
    }
  }

  #condition(word: 'always' | 'never', condition: Condition, holds: boolean, what: string | undefined): Watch {
    const label = what === undefined ? word : `${word}: ${what}`
    const name = this.#host.nameOf(label)
    const { stage } = this.#host
    const look = async () => {
      const found = await outcomeOf(condition, name)
      if (found.holds === holds) return
      const differences =
        found.differences.length > 0
          ? found.differences
          : [{ path: '', expected: `${holds} at every moment`, found: `${!holds} at ${stage.clock.iso}` }]
      throw new CheckError(name, differences, found.actual)
    }
    return this.#put({ name, label, from: new Error(), look, deadline: Number.POSITIVE_INFINITY })
  }

  #put(watch: Watched): Watch {
    this.#watches = [...this.#watches, watch]
    this.#host.queue(() => this.#lookAt(watch, false))
    return {
      stop: () => {
        if (!this.#watches.includes(watch)) return
        this.#watches = this.#watches.filter(other => other !== watch)
        this.#host.held(watch.label)
      },
    }
  }
}

/** What a condition says: by its value, or by the check in it that does not hold. */
export async function outcomeOf(
  condition: Condition,
  name: string,
): Promise<{ readonly holds: boolean; readonly differences: readonly Difference[]; readonly actual: unknown }> {
  const look: Part = { kind: 'look', name, checks: 0, isOver: false }
  let value: unknown
  try {
    value = await part.run(look, async () => condition())
  } catch (error) {
    if (!(error instanceof CheckError)) throw error
    return { holds: false, differences: error.differences, actual: error.actual }
  } finally {
    look.isOver = true
  }
  if (typeof value === 'boolean') return { holds: value, differences: [], actual: undefined }
  // A body whose `return` was forgotten would hold for ever, or never.
  if (value === undefined && look.checks > 0) return { holds: true, differences: [], actual: undefined }
  throw new TypeError(`Failed to look: ${name} is given ${shown(value)}. Return true or false, or check(…) in it.`)
}

interface Obligation {
  readonly entry: Entry
  readonly until: Micros
  readonly matcher: EventMatcher
}

class LeadingTo implements Watched {
  readonly name: string
  readonly label: string
  readonly from = new Error()
  readonly #stage: Stage
  readonly #first: EventMatcher
  readonly #follows: (entry: Entry) => EventMatcher
  readonly #span: Micros
  readonly #since: number
  #open: readonly Obligation[] = []
  #seen = 0

  constructor(
    stage: Stage,
    names: { name: string; label: string },
    rule: { first: EventMatcher; follows: (entry: Entry) => EventMatcher; span: Micros },
  ) {
    this.#stage = stage
    this.name = names.name
    this.label = names.label
    this.#first = rule.first
    this.#follows = rule.follows
    this.#span = rule.span
    this.#since = stage.clock.elapsed
  }

  get deadline(): Micros {
    return Math.min(Number.POSITIVE_INFINITY, ...this.#open.map(({ until }) => until))
  }

  async look(isOver: boolean): Promise<void> {
    for (const entry of after(await this.#stage.record(), this.#seen)) {
      this.#seen = entry.seq
      this.#open = this.#open.filter(({ matcher, until }) => entry.time > until || !matcher.matches(entry))
      if (entry.time < this.#since || !this.#first.matches(entry)) continue
      this.#open = [...this.#open, { entry, until: entry.time + this.#span, matcher: this.#follows(entry) }]
    }
    const now = this.#stage.clock.elapsed
    const late = this.#open.find(({ until }) => now > until || (isOver && now === until))
    if (late === undefined) return
    throw new CheckError(
      this.name,
      [
        {
          path: '',
          expected: `${late.matcher.name} within ${readable(this.#span)}`,
          found: `none since ${traceLine(late.entry)}`,
        },
      ],
      late.entry.subject,
    )
  }
}

/** What a record holds of the world's own beyond a position, oldest first. */
function after(record: readonly Entry[], seen: number): Entry[] {
  let from = record.length
  while (from > 0 && (record[from - 1]!.seq === 0 || record[from - 1]!.seq > seen)) from--
  return record.slice(from).filter(({ seq }) => seq > 0)
}

/** The lines of a stack, without its message. */
function linesOf(error: Error): string {
  return (error.stack ?? '').split('\n').slice(1).join('\n')
}
