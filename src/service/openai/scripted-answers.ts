/** Answers that a test scripts in place of generated answers. Rules are tried in order; the first match answers. */
import * as z from 'zod'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { acceptCopies } from '../../lib/errors.ts'
import { formatValue, jsonPath, problemsOf } from '../../lib/zod-problems.ts'
import { RETRY_AFTER } from '../../simulation/inference/request-admission.ts'
import { text } from '../fields.ts'
import { RefusalError } from '../refusals.ts'

const Json = z.json()
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** Printable ASCII, with inner spaces and tabs. */
const HEADER_VALUE = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/

/** The answer of a rule. */
export const ScriptedAnswer = z.union([
  z.strictObject({ text: z.string() }),
  z.strictObject({ json: Json }),
  z.strictObject({
    toolCall: z.strictObject({ name: text({ min: 1 }), arguments: z.record(z.string(), Json).default({}) }),
  }),
  z.strictObject({
    error: z.strictObject({
      status: z.int().min(400).max(599),
      message: z.string().default(''),
      /** Value of Retry-After, in seconds. Default: 1 for 429 and 503, no header for other statuses. */
      retryAfter: z.int().min(0).optional(),
      /** The whole body. Default: an error with `message`. */
      body: Json.optional(),
      /** Headers of the answer. They take precedence over `retryAfter`. Default: no more headers. */
      headers: z.record(z.string().regex(HEADER_NAME), z.string().regex(HEADER_VALUE)).optional(),
    }),
  }),
])
export type ScriptedAnswer = z.output<typeof ScriptedAnswer>
type ScriptedError = Extract<ScriptedAnswer, { error: unknown }>['error']

export const ScriptRule = z.strictObject({
  /** Name of the rule. Default: generated, as in `script-1`. */
  name: text({ min: 1 }).optional(),
  /** The model name as the request spells it. Default: every model. */
  model: text({ min: 1 }).optional(),
  /** Text that the last message or the prompt contains, ignoring case. Default: any text. */
  contains: text({ min: 1 }).optional(),
  /** How many requests the rule answers. Default: no limit. */
  times: z.int().min(1).optional(),
  answer: ScriptedAnswer,
})
export type ScriptRule = z.input<typeof ScriptRule>

/** Refuses the request with the error of a rule. A names profile leaves its message unchanged. */
export function throwScriptedError({ status, message, retryAfter, body, headers = {} }: ScriptedError): never {
  const seconds = retryAfter ?? (status === 429 || status === 503 ? RETRY_AFTER.place : undefined)
  const answerHeaders: Record<string, string> = seconds === undefined ? {} : { 'retry-after': String(seconds) }
  for (const [name, value] of Object.entries(headers)) answerHeaders[name.toLowerCase()] = value
  throw new RefusalError(status, message, answerHeaders, body, true)
}

/** Returns an answer that is not an error, and refuses the request with one that is. */
export function requireNoError(
  answer: ScriptedAnswer | undefined,
): Exclude<ScriptedAnswer, { error: unknown }> | undefined {
  return answer !== undefined && 'error' in answer ? throwScriptedError(answer.error) : answer
}

/** A rule and how often it has answered. */
export interface ScriptRuleView extends z.output<typeof ScriptRule> {
  readonly name: string
  readonly hits: number
}

/** A rule that a test has added. `hits` is always current. */
export interface ScriptRuleHandle extends ScriptRuleView {
  /** Removes the rule. Does nothing if the rule is already removed. */
  remove(): void
}

/** An invalid rule, or a name that no rule has. */
export class ScriptError extends RangeError {
  override readonly name = 'ScriptError'
}
acceptCopies(ScriptError, 'ScriptError')

/** The rules of a simulator with their counts. */
export interface ScriptedState {
  readonly rules: readonly ScriptRuleView[]
  /** Rules that were added without a name. */
  readonly unnamed: number
}

/**
 * The answers that a test scripts. Rules are tried in the order in which they were added. The first rule that matches
 * answers.
 *
 * @example
 * const weather = sim.inference.add({ contains: 'weather', answer: { text: 'Sunny, 21 degrees.' } })
 * sim.inference.add({ times: 1, answer: { error: { status: 500, message: 'out of luck' } } })
 * weather.hits // 0, until the rule has answered
 * weather.remove()
 */
export interface InferenceControls {
  /** Adds a rule. Throws ScriptError, before anything has changed, if the rule is invalid or its name is taken. */
  add(rule: ScriptRule): ScriptRuleHandle
  list(): readonly ScriptRuleView[]
  /** Returns the rule of this name. Throws ScriptError if the name is unknown. */
  get(name: string): ScriptRuleView
  /** Removes the rule of this name. Throws ScriptError if the name is unknown. */
  remove(name: string): void
  /** Removes every rule. */
  clear(): void
}

export class ScriptedAnswers implements InferenceControls {
  /**
   * Called after each change of the rules by the user.
   *
   * @internal
   */
  onChange: ((change: { readonly added: ScriptRule } | { readonly removed: string } | 'cleared') => void) | undefined
  #rules: readonly ScriptRuleView[] = []
  #unnamed = 0

  add(rule: ScriptRule): ScriptRuleHandle {
    const parsed = ScriptRule.safeParse(rule)
    if (!parsed.success) {
      const { path, text: problem } = problemsOf(ScriptRule, rule, parsed.error)[0]!
      const isUnknownAnswer = parsed.error.issues[0]!.code === 'invalid_union'
      const text = isUnknownAnswer ? `expected an answer, got ${formatValue(rule.answer)}.` : problem
      throw new ScriptError(
        `Failed to script an answer: ${jsonPath(isUnknownAnswer ? ['answer'] : path)}: ${text} Give { model, contains, times } and an answer: { text }, { json }, { toolCall } or { error }.`,
      )
    }
    const { name = this.#createName() } = parsed.data
    if (this.#rules.some(existingRule => existingRule.name === name)) {
      throw new ScriptError(`Failed to script an answer: there is a rule '${name}' already. Give another name.`)
    }
    const addedRule = { ...parsed.data, name, hits: 0 }
    this.#rules = [...this.#rules, addedRule]
    this.onChange?.({ added: { ...parsed.data, name } })
    return this.#createHandle(addedRule)
  }

  list(): readonly ScriptRuleView[] {
    return this.#rules
  }

  get(name: string): ScriptRuleView {
    return this.#getRule('find', name)
  }

  remove(name: string): void {
    const removedRule = this.#getRule('remove', name)
    this.#rules = this.#rules.filter(rule => rule !== removedRule)
    this.onChange?.({ removed: name })
  }

  clear(): void {
    this.#rules = []
    this.onChange?.('cleared')
  }

  /**
   * Returns the answer to a request and counts it as a hit. Returns undefined if no rule matches.
   *
   * @internal
   */
  takeAnswer(model: string, words: string): ScriptedAnswer | undefined {
    if (this.#rules.length === 0) return undefined
    const lowerCaseWords = words.toLowerCase()
    const matchedRule = this.#rules.find(
      rule =>
        (rule.model === undefined || rule.model === model) &&
        (rule.contains === undefined || lowerCaseWords.includes(rule.contains.toLowerCase())) &&
        (rule.times === undefined || rule.hits < rule.times),
    )
    if (matchedRule === undefined) return undefined
    this.#rules = this.#rules.map(rule => (rule === matchedRule ? { ...rule, hits: rule.hits + 1 } : rule))
    return matchedRule.answer
  }

  /**
   * The rules and their counts, for another simulator or a later `restore`.
   *
   * @internal
   */
  get state(): ScriptedState {
    return { rules: this.#rules, unnamed: this.#unnamed }
  }

  /**
   * Replaces the rules and their counts.
   *
   * @internal
   */
  restore({ rules, unnamed }: ScriptedState): void {
    this.#rules = rules
    this.#unnamed = unnamed
  }

  #getRule(action: 'find' | 'remove', name: string): ScriptRuleView {
    const rule = this.#rules.find(existingRule => existingRule.name === name)
    if (rule !== undefined) return rule
    const names = this.#rules.map(existingRule => existingRule.name)
    const advice = formatSuggestion(name, names, 'inference.list() returns the rules.')
    throw new ScriptError(`Failed to ${action} the rule '${name}': unknown name. ${advice}`)
  }

  #createHandle(addedRule: ScriptRuleView): ScriptRuleHandle {
    const content = toContent(addedRule)
    let lastView = addedRule
    let isRemoved = false
    const findCurrent = () => {
      // A snapshot replaces the objects, so a rule is known by what it says. A removed rule keeps its last count.
      const current = isRemoved ? undefined : this.#rules.find(rule => toContent(rule) === content)
      lastView = current ?? lastView
      return current
    }
    return {
      ...addedRule,
      get hits() {
        findCurrent()
        return lastView.hits
      },
      remove: () => {
        const current = findCurrent()
        isRemoved = true
        if (current !== undefined) this.remove(current.name)
      },
    }
  }

  #createName(): string {
    do this.#unnamed++
    while (this.#rules.some(rule => rule.name === `script-${this.#unnamed}`))
    return `script-${this.#unnamed}`
  }
}

/** Returns everything about a rule except its count, its name included. */
function toContent(rule: ScriptRuleView): string {
  return JSON.stringify({ ...rule, hits: undefined })
}
