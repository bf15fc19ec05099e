/** The form of plans that people write: the schema of each kind of item, and the check of a whole plan. */

import * as z from 'zod'
import { formatSuggestion, nearestWord } from '../../../lib/did-you-mean.ts'
import { isRecord } from '../../../lib/json-text.ts'
import { jsonPath, problemsOf, WITHOUT_JIT } from '../../../lib/zod-problems.ts'
import { JOURNAL_KINDS } from '../../../simulation/journal-kinds.ts'
import { COMMANDS } from '../../../simulation/operations/commands.ts'
import { duration } from '../../../simulator/faults/kinds/fields.ts'
import { RuleSchema } from '../../../simulator/faults/rules.ts'
import { startSentence } from '../../../simulator/judge/words.ts'
import type { Plan } from './plan.ts'

const Command = z.strictObject({
  verb: z.enum(Object.keys(COMMANDS) as [string, ...string[]]).describe('Name of the command, as in node.crash'),
  target: z.string().optional().describe('The target of the command, as in h100-0'),
  args: z.record(z.string(), z.unknown()).optional().describe('Arguments of the command by name'),
})

const passes = z.boolean().optional().describe('Whether a client can end as usual after it')

const After = z.strictObject({
  kind: z
    .enum(['start', ...JOURNAL_KINDS] as [string, ...string[]])
    .describe('Kind of journal entry, or start for the start of the flow'),
  subject: z.string().optional().describe('Id or name of the subject. Default: any'),
  nth: z.int().min(1).optional().describe('Which of these entries. Default: 1'),
  offset: duration.optional().describe('Time after that entry'),
})

/** The kinds of plan items, each by the key that only this kind has. */
export const ITEM_SCHEMAS = {
  fault: z.strictObject({ fault: RuleSchema.describe('A fault rule; docs/faults.md lists the kinds'), passes }),
  command: z.strictObject({
    command: Command.describe('A command to the fleet or the account'),
    after: After.describe('The moment of the command'),
    for: duration.optional().describe('Time after which undo is executed'),
    undo: Command.optional().describe('The command that ends the failure'),
    passes,
  }),
  crash: z.strictObject({
    crash: z
      .int()
      .min(1)
      .describe('The process of the client ends after the request with this number, and starts again'),
  }),
} as const

export type ItemKind = keyof typeof ITEM_SCHEMAS

/** What is wrong with an item, and where in it. */
export interface ItemProblem {
  readonly path: readonly (string | number)[]
  readonly what: string
  readonly advice: string
}

/** Returns the kind of an item, or why it has none. */
export function kindOfItem(item: unknown): ItemKind | ItemProblem {
  return kindByKey(item, Object.keys(ITEM_SCHEMAS) as ItemKind[], 'item', 'an item of a plan')
}

/** Returns the kind of a map, by the key that only this kind has, or why it has none. */
export function kindByKey<Kind extends string>(
  value: unknown,
  kinds: readonly Kind[],
  noun: string,
  whole: string,
): Kind | ItemProblem {
  const keys = isRecord(value) ? Object.keys(value) : []
  const [kind, second] = kinds.filter(one => keys.includes(one))
  if (second !== undefined) {
    return {
      path: [second],
      what: `one ${noun} has both '${kind}' and '${second}'`,
      advice: `Split it into two ${noun}s`,
    }
  }
  if (kind !== undefined) return kind
  const key = keys.find(one => nearestWord(one, kinds) !== undefined) ?? keys[0]
  const meant = key && nearestWord(key, kinds)
  return {
    path: key === undefined ? [] : [key],
    what: key === undefined ? `${whole} must be a map` : `unknown ${noun} '${key}'`,
    advice: meant ? `Did you mean '${meant}'?` : `${startSentence(noun)}s are ${kinds.join(', ')}`,
  }
}

/** Returns what a valid item lacks: a time needs an undo, and an undo a time. */
export function findMissingPart(item: object): ItemProblem | undefined {
  const hasUndo = 'undo' in item && item.undo !== undefined
  const hasTime = 'for' in item && item.for !== undefined
  if (hasUndo === hasTime) return undefined
  const [given, missing] = hasUndo ? ['undo', 'for'] : ['for', 'undo']
  return { path: [given!], what: `'${given}' needs '${missing}'`, advice: `Add ${missing}, or remove ${given}` }
}

/**
 * Rejects a plan of another form.
 *
 * @param context start of the error, as in `Failed to call toSurvive`
 * @throws TypeError that names the place of the first problem and a remedy
 */
export function assertPlan(plan: unknown, context: string): asserts plan is Plan {
  if (!Array.isArray(plan)) {
    throw new TypeError(`${context}: it has no plan. Give the list of faults that explore reports, as plan: […].`)
  }
  for (const [index, item] of plan.entries()) {
    const kind = kindOfItem(item)
    const problem = typeof kind === 'object' ? toText(kind) : findProblem(ITEM_SCHEMAS[kind], item)
    if (problem === undefined) continue
    const place = jsonPath(['plan', index, ...problem.path]).slice('$.'.length)
    throw new TypeError(`${context}: ${place}: ${problem.text}`)
  }
}

function toText({ path, what, advice }: ItemProblem) {
  return { path, text: `${what}. ${advice}${/[?.]$/.test(advice) ? '' : '.'}` }
}

function findProblem(schema: z.ZodType, item: object): ReturnType<typeof problemsOf>[number] | undefined {
  const { error } = schema.safeParse(item, WITHOUT_JIT)
  if (error === undefined) {
    const missing = findMissingPart(item)
    return missing && toText(missing)
  }
  const issue = error.issues[0]!
  const word = issue.path.reduce<unknown>((value, step) => (value as Record<PropertyKey, unknown>)?.[step], item)
  const name = issue.path.at(-1)
  // The lists of commands and of kinds are too long for an error.
  if (issue.code === 'invalid_value' && typeof word === 'string' && (name === 'verb' || issue.path[0] === 'after')) {
    const advice = formatSuggestion(word, issue.values.map(String), `'${String(issue.values[0])}' is one.`)
    return { path: issue.path, text: `unknown ${name === 'verb' ? 'command' : 'kind'} '${word}'. ${advice}` }
  }
  return problemsOf(schema, item, error)[0]
}
