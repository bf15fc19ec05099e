/** Answers that a test gives in place of those that are drawn: by rules, in order, the first that fits. */
import * as z from 'zod'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { RETRY_AFTER } from '../../simulation/inference/requests.ts'
import { RefusalError } from '../endpoint.ts'
import { text } from '../fields.ts'

const Json = z.json()

/** What is answered. */
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
      /** What Retry-After says, in seconds: 1 beside 429 and 503, and no such header beside others, unless given. */
      retryAfter: z.int().min(0).optional(),
    }),
  }),
])
export type ScriptedAnswer = z.output<typeof ScriptedAnswer>
type ScriptedError = Extract<ScriptedAnswer, { error: unknown }>['error']

export const ScriptRule = z.strictObject({
  /** What to call it by; made up unless given. */
  name: text({ min: 1 }).optional(),
  /** The model as the request names it; every model unless given. */
  model: text({ min: 1 }).optional(),
  /** What the last message or the prompt holds, whatever its case; anything unless given. */
  contains: text({ min: 1 }).optional(),
  /** How often it answers; for ever unless given. */
  times: z.int().min(1).optional(),
  answer: ScriptedAnswer,
})
export type ScriptRule = z.input<typeof ScriptRule>

/** Ends the request with the error that a rule has for it, in its own words. */
export function throwScriptedError({ status, message, retryAfter }: ScriptedError): never {
  const seconds = retryAfter ?? (status === 429 || status === 503 ? RETRY_AFTER.place : undefined)
  const headers = seconds === undefined ? undefined : { 'retry-after': String(seconds) }
  throw new RefusalError(status, message, headers, undefined, true)
}

/** A rule and how often it has answered. */
export interface ScriptRuleView extends z.output<typeof ScriptRule> {
  readonly name: string
  readonly hits: number
}

/** A rule that can not be, or is not there. */
export class ScriptError extends RangeError {
  override readonly name = 'ScriptError'
}

/** The rules of a simulator, and how far each has come. */
export interface ScriptedState {
  readonly rules: readonly ScriptRuleView[]
  /** Rules that were added without a name. */
  readonly unnamed: number
}

/**
 * The answers that a test scripts. They are tried in the order in which they were added, and the first that fits answers.
 *
 * @example
 * sim.inference.on({ model: 'acme/chat', contains: 'weather' }, 'Sunny, 21 degrees.')
 * sim.inference.on({ times: 1 }, { error: { status: 500, message: 'out of luck' } })
 */
export class ScriptedAnswers {
  #rules: readonly ScriptRuleView[] = []
  #unnamed = 0

  /** Adds a rule; returns its name. Throws ScriptError for one that can not be. */
  on(when: Omit<ScriptRule, 'answer'>, answer: string | z.input<typeof ScriptedAnswer>): string {
    return this.add({ ...when, answer: typeof answer === 'string' ? { text: answer } : answer }).name
  }

  add(rule: ScriptRule): ScriptRuleView {
    const parsed = ScriptRule.safeParse(rule)
    if (!parsed.success) {
      const [issue] = parsed.error.issues
      const location = issue!.path.length === 0 ? '$' : `$.${issue!.path.join('.')}`
      throw new ScriptError(
        `Failed to script an answer: ${location}: ${issue!.message}. Give { model, contains, times } and an answer: { text }, { json }, { toolCall } or { error }.`,
      )
    }
    const { name = this.#createName() } = parsed.data
    if (this.#rules.some(one => one.name === name)) {
      throw new ScriptError(`Failed to script an answer: there is a rule '${name}' already. Give another name.`)
    }
    const added = { ...parsed.data, name, hits: 0 }
    this.#rules = [...this.#rules, added]
    return added
  }

  list(): readonly ScriptRuleView[] {
    return this.#rules
  }

  /** Throws ScriptError where there is none of this name. */
  remove(name: string): void {
    const names = this.#rules.map(one => one.name)
    if (!names.includes(name)) {
      const advice = formatSuggestion(name, names, 'list() has those there are.')
      throw new ScriptError(`Failed to remove the rule '${name}': there is none. ${advice}`)
    }
    this.#rules = this.#rules.filter(one => one.name !== name)
  }

  clear(): void {
    this.#rules = []
  }

  /** The answer to a request, which counts as given; undefined where nothing is scripted for it. */
  takeAnswer(model: string, words: string): ScriptedAnswer | undefined {
    if (this.#rules.length === 0) return undefined
    const lowerCaseWords = words.toLowerCase()
    const rule = this.#rules.find(
      one =>
        (one.model === undefined || one.model === model) &&
        (one.contains === undefined || lowerCaseWords.includes(one.contains.toLowerCase())) &&
        (one.times === undefined || one.hits < one.times),
    )
    if (rule === undefined) return undefined
    this.#rules = this.#rules.map(one => (one === rule ? { ...one, hits: one.hits + 1 } : one))
    return rule.answer
  }

  /** What another simulator goes on with, or this one when it comes back to here. */
  get state(): ScriptedState {
    return { rules: this.#rules, unnamed: this.#unnamed }
  }

  /** Goes on with other rules, as far as they have come. */
  restore({ rules, unnamed }: ScriptedState): void {
    this.#rules = rules
    this.#unnamed = unnamed
  }

  #createName(): string {
    do this.#unnamed++
    while (this.#rules.some(one => one.name === `script-${this.#unnamed}`))
    return `script-${this.#unnamed}`
  }
}
