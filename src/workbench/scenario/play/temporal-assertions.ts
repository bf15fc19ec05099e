/** Temporal assertions: evaluated after every visible change, and failing at the time of the violation. */

import { type Duration, formatDuration, type Micros, micros } from '../../../kernel/duration.ts'
import { formatTraceLine } from '../../../kernel/entry.ts'
import type { Entry } from '../../../kernel/journal.ts'
import { type Difference, formatJsonValue } from '../../../lib/differences.ts'
import { CheckError } from '../check.ts'
import { type EventMatcher, type EventPattern, eventMatcher } from '../events.ts'
import type { ScenarioEnvironment } from './environment.ts'
import { type CallContext, callContext } from './timeline.ts'

/** A condition: returns a boolean, or makes checks that hold or fail. */
export type Condition = () => unknown

/** A temporal assertion. It lasts until the scenario ends or it is stopped. */
export interface TemporalAssertion {
  /** Ends it. Later events do not matter to it. */
  stop(): void
}

/**
 * Asserts that a condition holds at every visible change from now on, until the scenario ends.
 *
 * @param condition returns whether it holds; or makes checks, and a failed check describes the violation
 * @param what name of the assertion in the report
 * @throws CheckError at the time of the violation, from the call that the script awaits then
 * @example always(async () => (await ledger.balance()) >= 0, 'the account is never overdrawn')
 */
export type Always = (condition: Condition, what?: string) => TemporalAssertion

/**
 * Asserts that each event of one pattern is followed by an event of another, within a time or at the same time. If the
 * scenario ends before that time is over, the event counts as followed: the clock does not move for it.
 *
 * @param then the pattern that has to follow; a function receives the first event and returns the pattern
 * @param options `within`: longest time between both; `sameSubject`: both must have the same subject
 * @example leadsTo('deployment.initializing', 'deployment.running', { within: '15m', sameSubject: true })
 */
export type LeadsTo = (
  event: EventPattern,
  then: EventPattern | ((first: Entry) => EventPattern),
  options: { readonly within: Duration; readonly sameSubject?: boolean | undefined },
) => TemporalAssertion

/** One temporal assertion with its state. */
interface ActiveAssertion {
  /** Name in the record of an assertion that held. */
  readonly label: string
  /** The place in the script where it was declared. */
  readonly declaredAt: Error
  /** Evaluates it. `isOver`: every event of this time has happened. Throws CheckError for a violation. */
  evaluate(isOver: boolean): Promise<void> | void
  /** Time that must not be passed without an evaluation. Infinity: no such time. */
  readonly deadline: Micros
}

/** The script that temporal assertions belong to. */
export interface AssertionHost {
  readonly stage: ScenarioEnvironment
  /** Counts a check and names it. */
  nameOf(what: string): string
  /** Queues a call, so that the next awaited call waits for it. */
  queue(act: () => Promise<void>): void
  /** Records that an assertion held until now. */
  recordHeld(name: string): void
}

export class TemporalAssertions {
  readonly #host: AssertionHost
  #active: readonly ActiveAssertion[] = []
  #evaluating: Promise<void> | undefined
  #evaluatedRevision = -1
  /** The first violation. The scenario then fails in any case. */
  violation: CheckError | undefined

  constructor(host: AssertionHost) {
    this.#host = host
  }

  /** Whether there are assertions. */
  get hasAny(): boolean {
    return this.#active.length > 0
  }

  /** Time that must not be passed without an evaluation. */
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
    return this.#add(createLeadsTo(this.#host.stage, this.#host.nameOf(label), label, { first, follows, span }))
  }

  /**
   * Evaluates every assertion, if something has changed since the last evaluation.
   *
   * @param isOver every event of this time has happened
   * @throws CheckError for a violation
   */
  async evaluate(isOver = false): Promise<void> {
    // An evaluation in progress may have read the state before the change that caused this one.
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

  /** Ends every assertion and records that it held. */
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
      // The position in the script is that of the declaration, not of the call that was awaited.
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
    return this.#add({ label, declaredAt: new Error(), evaluate: look, deadline: Number.POSITIVE_INFINITY })
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

/** Evaluates a condition: by its value, or by a failed check in it. */
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
  // A function with a missing `return` would hold always or never.
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

/** Each event of one pattern, from now on, is followed by another one within a time. */
function createLeadsTo(
  stage: ScenarioEnvironment,
  name: string,
  label: string,
  rule: { readonly first: EventMatcher; follows(entry: Entry): EventMatcher; readonly span: Micros },
): ActiveAssertion {
  const { first, follows, span } = rule
  const since = stage.clock.elapsed
  let obligations: readonly Obligation[] = []
  let lastSeq = 0
  return {
    label,
    declaredAt: new Error(),
    get deadline() {
      return Math.min(Number.POSITIVE_INFINITY, ...obligations.map(({ until }) => until))
    },
    async evaluate(isOver) {
      for (const entry of entriesAfter(stage.entries, lastSeq)) {
        lastSeq = entry.seq
        obligations = obligations.filter(({ matcher, until }) => entry.time > until || !matcher.matches(entry))
        if (entry.time < since || !first.matches(entry)) continue
        obligations = [...obligations, { entry, until: entry.time + span, matcher: follows(entry) }]
      }
      const now = stage.clock.elapsed
      const overdue = obligations.find(({ until }) => now > until || (isOver && now === until))
      if (overdue === undefined) return
      const expected = `${overdue.matcher.name} within ${formatDuration(span)}`
      const found = `none since ${formatTraceLine(overdue.entry)}`
      throw new CheckError(name, [{ path: '', expected, found }], overdue.entry.subject)
    },
  }
}

/** Returns the journal entries of the world after a position, oldest first. */
function entriesAfter(record: readonly Entry[], seen: number): Entry[] {
  let from = record.length
  while (from > 0 && (record[from - 1]!.seq === 0 || record[from - 1]!.seq > seen)) from--
  return record.slice(from).filter(({ seq }) => seq > 0)
}

/** Returns the lines of a stack without the message. */
function stackLines(error: Error): string {
  return (error.stack ?? '').split('\n').slice(1).join('\n')
}
