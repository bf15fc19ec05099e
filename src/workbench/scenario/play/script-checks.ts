/** The checks of a script: each compares something of the world with an expectation, and records the check. */

import { type Duration, formatDuration, micros } from '../../../kernel/duration.ts'
import type { EntryFields } from '../../../kernel/journal.ts'
import { differences, formatJsonValue } from '../../../lib/differences.ts'
import { plural } from '../../../lib/text/numbers.ts'
import { CheckError, findRefusalDifferences, flattenExpected } from '../check.ts'
import { type CountRange, countBounds, type EventPattern, eventMatcher, formatCountRange } from '../events.ts'
import { toTraceLine } from '../runner/trace.ts'
import type { Props } from '../scenario.ts'
import type { ScenarioEnvironment } from './environment.ts'
import { formatVirtualTime, LAST_EVENTS } from './failures.ts'
import { type Condition, evaluateCondition } from './temporal-assertions.ts'
import { callContext } from './timeline.ts'

/** The parts of a script that its checks use. */
interface CheckingScript {
  /** Moves time until a predicate holds. Rejects with UntilError. */
  until(isMet: () => Promise<boolean>, options: { readonly within?: Duration | undefined }): Promise<unknown>
  whenCommandsDone(): Promise<void>
  /** Adds to the message of a check that a move of time is not awaited, if there is one. */
  addAwaitHint(error: CheckError): CheckError
}

export class ScriptChecks {
  /** Checks so far. */
  count = 0
  readonly #environment: ScenarioEnvironment
  readonly #script: CheckingScript

  constructor(environment: ScenarioEnvironment, script: CheckingScript) {
    this.#environment = environment
    this.#script = script
  }

  check(actual: unknown, expected: unknown, what: string | undefined): void {
    const name = this.nextName(what)
    if (actual instanceof Promise) {
      throw new TypeError(`Failed to check: ${name} is given a promise. Await it: check(await …, …).`)
    }
    const found = differences(actual, expected)
    if (found.length > 0) throw this.#script.addAwaitHint(new CheckError(name, found, actual))
    this.record(what, flattenExpected(expected))
  }

  /** Puts a check that held on record. One that a look made is the look's business. */
  record(what: string | undefined, fields: EntryFields): void {
    const inside = callContext.getStore()
    if (inside) inside.checks++
    if (inside?.kind === 'look' && !inside.isOver) return
    this.#environment.addNote('check', what === undefined ? String(this.count) : JSON.stringify(what), fields)
  }

  async eventually(condition: Condition, options: { readonly within?: Duration | undefined } = {}, what?: string) {
    const name = this.nextName(what === undefined ? 'eventually' : `eventually: ${what}`)
    const within = formatDuration(micros(options.within ?? '24h'))
    let last: Awaited<ReturnType<typeof evaluateCondition>> | undefined
    const isMet = async () => {
      last = await evaluateCondition(condition, name)
      return last.holds
    }
    try {
      await this.#script.until(isMet, options)
    } catch (error) {
      if ((error as Error).name !== 'UntilError') throw error
      const found = last?.differences.map(one => ({ ...one, expected: `${one.expected} within ${within}` })) ?? []
      const never = { path: '', expected: `true within ${within}`, found: `false until ${this.#environment.clock.iso}` }
      throw new CheckError(name, found.length > 0 ? found : [never], last?.actual)
    }
    this.record(what, { eventually: true })
  }

  async countOf(event: EventPattern, range: CountRange, what: string | undefined): Promise<number> {
    const matcher = eventMatcher(event)
    const bounds = countBounds(range)
    const name = this.nextName(what ?? `count of ${matcher.name}`)
    const found = this.#environment.entries.filter(entry => matcher.matches(entry))
    const { length } = found
    if (length < bounds.min || length > bounds.max) {
      const last = found.at(-1)
      const times =
        length === 0 ? 'none' : `${length}, the last at ${formatVirtualTime(last!.time)} of ${last!.subject}`
      throw new CheckError(name, [{ path: '', expected: formatCountRange(bounds), found: times }], last?.subject)
    }
    this.record(what, { count: formatCountRange(bounds), of: matcher.name })
    return length
  }

  async unchanged<T>(act: () => T | Promise<T>): Promise<T> {
    const environment = this.#environment
    const name = this.nextName('unchanged')
    const before = environment.sim.digest
    const since = environment.entries.length
    const result = await act()
    await this.#script.whenCommandsDone()
    if (environment.sim.digest !== before) {
      const changes = environment.entries.slice(since).filter(({ kind }) => kind !== 'request' && kind !== 'check')
      const lines = changes.flatMap(entry => toTraceLine(entry) ?? []).slice(0, LAST_EVENTS)
      const found = `${plural(changes.length, 'change')}:${lines.map(line => `\n    ${line}`).join('')}`
      throw new CheckError(name, [{ path: '', expected: 'a world that stays as it is', found }], lines)
    }
    this.record(undefined, { unchanged: true })
    return result
  }

  async expectRefusal(call: Promise<unknown>, status: number, message: string | RegExp | undefined) {
    const name = this.nextName(undefined)
    const outcome = await Promise.resolve(call).then(
      value => ({ value }),
      (error: unknown) => ({ error }),
    )
    if ('value' in outcome) {
      const found = `success: ${formatJsonValue(outcome.value)}`
      throw new CheckError(name, [{ path: '', expected: `a refusal ${status}`, found }], outcome.value)
    }
    const found = findRefusalDifferences(outcome.error, status, message)
    if (found.length > 0) throw new CheckError(name, found, outcome.error)
    this.record(undefined, { refused: status, ...(message !== undefined && { message: String(message) }) })
    return outcome.error as Awaited<ReturnType<Props['expectRefusal']>>
  }

  nextName(what: string | undefined): string {
    const inside = callContext.getStore()
    if (inside?.kind === 'look' && !inside.isOver) return inside.name
    this.count++
    return `check ${this.count}${what === undefined ? '' : ` (${what})`}`
  }
}
