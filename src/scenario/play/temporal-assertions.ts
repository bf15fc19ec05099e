/** Assertions that hold over time: looked at after every visible change, and failing at the moment of the breach. */
import { type Duration, formatDuration, type Micros, micros } from '../../kernel/duration.ts'
import { type Entry, formatTraceLine } from '../../kernel/journal.ts'
import { CheckError, type Difference, formatJsonValue } from '../check.ts'
import { type EventMatcher, type EventPattern, eventMatcher } from '../events.ts'
import type { ScenarioEnvironment } from './environment.ts'
import { type CallContext, callContext } from './timeline.ts'

/** A condition: true or false, or checks that hold or do not. */
export type Condition = () => unknown

/** An assertion over time, until the scenario ends or it is stopped. */
export interface TemporalAssertion {
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
export type Always = (condition: Condition, what?: string) => TemporalAssertion

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
) => TemporalAssertion

/** One watch, looked at again and again. */
interface ActiveAssertion {
  /** As a failure is headed with. */
  readonly name: string
  /** What is put on record when it held. */
  readonly label: string
  /** Where in the script it was put up. */
  readonly declaredAt: Error
  /** Looks. `isOver`: everything of this moment has happened. Throws CheckError for a breach. */
  evaluate(isOver: boolean): Promise<void> | void
  /** When time must not be moved past without a look; infinity where it does not matter. */
  readonly deadline: Micros
}

/** What the watches need of the script they belong to. */
export interface AssertionHost {
  readonly stage: ScenarioEnvironment
  /** Counts a check and names it. */
  nameOf(what: string): string
  /** Queues something, so that the next awaited call waits for it. */
  queue(act: () => Promise<void>): void
  /** Puts on record that a watch held until now. */
  recordHeld(name: string): void
}

export class TemporalAssertions {
  readonly #host: AssertionHost
  #active: readonly ActiveAssertion[] = []
  #evaluating: Promise<void> | undefined
  #evaluatedRevision = -1
  /** The first breach: whatever the script makes of it, it fails. */
  violation: CheckError | undefined

  constructor(host: AssertionHost) {
    this.#host = host
  }

  /** Whether there is anything to look at. */
  get hasAny(): boolean {
    return this.#active.length > 0
  }

  /** When time must not be moved past without a look. */
  get deadline(): Micros {
    return Math.min(Number.POSITIVE_INFINITY, ...this.#active.map(watch => watch.deadline))
  }

  readonly always: Always = (condition, what) => this.#addCondition('always', condition, true, what)
  readonly never: Always = (condition, what) => this.#addCondition('never', condition, false, what)

  readonly leadsTo: LeadsTo = (event, then, { within, sameSubject = false }) => {
    const first = eventMatcher(event)
    const next = typeof then === 'function' ? undefined : eventMatcher(then)
    const span = micros(within)
    const label = `${first.name} leads to ${next?.name ?? 'what follows from it'} within ${formatDuration(span)}`
    const follows = (entry: Entry): EventMatcher => {
      const matcher = next ?? eventMatcher((then as (first: Entry) => EventPattern)(entry))
      if (!sameSubject) return matcher
      return { name: matcher.name, matches: other => other.subject === entry.subject && matcher.matches(other) }
    }
    return this.#add(
      new LeadsToAssertion(this.#host.stage, { name: this.#host.nameOf(label), label }, { first, follows, span }),
    )
  }

  /**
   * Looks at everything that is watched, unless nothing has changed since.
   *
   * @param isOver everything that happens at this moment has happened
   * @throws CheckError for a breach
   */
  async evaluate(isOver = false): Promise<void> {
    // A look that is under way may have seen what was before the change that asks for this one.
    while (this.#evaluating) await this.#evaluating
    const { stage } = this.#host
    if (!this.hasAny || (stage.revision === this.#evaluatedRevision && !isOver)) return
    this.#evaluatedRevision = stage.revision
    this.#evaluating = this.#evaluateAll(isOver)
    try {
      await this.#evaluating
    } finally {
      this.#evaluating = undefined
    }
  }

  /** Ends all of them, as held. */
  endAll(): void {
    for (const watch of this.#active) this.#host.recordHeld(watch.label)
    this.#active = []
  }

  async #evaluateAll(isOver: boolean): Promise<void> {
    for (const watch of this.#active) await this.#evaluateOne(watch, isOver)
  }

  async #evaluateOne(watch: ActiveAssertion, isOver: boolean): Promise<void> {
    if (this.violation) throw this.violation
    if (!this.#active.includes(watch)) return
    try {
      await watch.evaluate(isOver)
    } catch (error) {
      // The line of the script is the one that put the watch up, whatever was awaited when it broke.
      if (error instanceof Error) error.stack = `${error.name}: ${error.message}\n${stackLines(watch.declaredAt)}`
      if (error instanceof CheckError) this.violation ??= error
      throw error
    }
  }

  #addCondition(
    word: 'always' | 'never',
    condition: Condition,
    holds: boolean,
    what: string | undefined,
  ): TemporalAssertion {
    const label = what === undefined ? word : `${word}: ${what}`
    const name = this.#host.nameOf(label)
    const { stage } = this.#host
    const look = async () => {
      const found = await evaluateCondition(condition, name)
      if (found.holds === holds) return
      const differences =
        found.differences.length > 0
          ? found.differences
          : [{ path: '', expected: `${holds} at every moment`, found: `${!holds} at ${stage.clock.iso}` }]
      throw new CheckError(name, differences, found.actual)
    }
    return this.#add({ name, label, declaredAt: new Error(), evaluate: look, deadline: Number.POSITIVE_INFINITY })
  }

  #add(watch: ActiveAssertion): TemporalAssertion {
    this.#active = [...this.#active, watch]
    this.#host.queue(() => this.#evaluateOne(watch, false))
    return {
      stop: () => {
        if (!this.#active.includes(watch)) return
        this.#active = this.#active.filter(other => other !== watch)
        this.#host.recordHeld(watch.label)
      },
    }
  }
}

/** What a condition says: by its value, or by the check in it that does not hold. */
export async function evaluateCondition(
  condition: Condition,
  name: string,
): Promise<{ readonly holds: boolean; readonly differences: readonly Difference[]; readonly actual: unknown }> {
  const look: CallContext = { kind: 'look', name, checks: 0, isOver: false }
  let value: unknown
  try {
    value = await callContext.run(look, async () => condition())
  } catch (error) {
    if (!(error instanceof CheckError)) throw error
    return { holds: false, differences: error.differences, actual: error.actual }
  } finally {
    look.isOver = true
  }
  if (typeof value === 'boolean') return { holds: value, differences: [], actual: undefined }
  // A body whose `return` was forgotten would hold for ever, or never.
  if (value === undefined && look.checks > 0) return { holds: true, differences: [], actual: undefined }
  throw new TypeError(
    `Failed to look: ${name} is given ${formatJsonValue(value)}. Return true or false, or check(…) in it.`,
  )
}

interface Obligation {
  readonly entry: Entry
  readonly until: Micros
  readonly matcher: EventMatcher
}

class LeadsToAssertion implements ActiveAssertion {
  readonly name: string
  readonly label: string
  readonly declaredAt = new Error()
  readonly #stage: ScenarioEnvironment
  readonly #first: EventMatcher
  readonly #follows: (entry: Entry) => EventMatcher
  readonly #span: Micros
  readonly #since: number
  #obligations: readonly Obligation[] = []
  #lastSeq = 0

  constructor(
    stage: ScenarioEnvironment,
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
    return Math.min(Number.POSITIVE_INFINITY, ...this.#obligations.map(({ until }) => until))
  }

  async evaluate(isOver: boolean): Promise<void> {
    for (const entry of entriesAfter(await this.#stage.journalEntries(), this.#lastSeq)) {
      this.#lastSeq = entry.seq
      this.#obligations = this.#obligations.filter(
        ({ matcher, until }) => entry.time > until || !matcher.matches(entry),
      )
      if (entry.time < this.#since || !this.#first.matches(entry)) continue
      this.#obligations = [
        ...this.#obligations,
        { entry, until: entry.time + this.#span, matcher: this.#follows(entry) },
      ]
    }
    const now = this.#stage.clock.elapsed
    const overdue = this.#obligations.find(({ until }) => now > until || (isOver && now === until))
    if (overdue === undefined) return
    throw new CheckError(
      this.name,
      [
        {
          path: '',
          expected: `${overdue.matcher.name} within ${formatDuration(this.#span)}`,
          found: `none since ${formatTraceLine(overdue.entry)}`,
        },
      ],
      overdue.entry.subject,
    )
  }
}

/** What a record holds of the world's own beyond a position, oldest first. */
function entriesAfter(record: readonly Entry[], seen: number): Entry[] {
  let from = record.length
  while (from > 0 && (record[from - 1]!.seq === 0 || record[from - 1]!.seq > seen)) from--
  return record.slice(from).filter(({ seq }) => seq > 0)
}

/** The lines of a stack, without its message. */
function stackLines(error: Error): string {
  return (error.stack ?? '').split('\n').slice(1).join('\n')
}
