/** Plan files: a plan as JSON, with the version of its form. */

import * as z from 'zod'
import { isDuration } from '../../faults/kinds/fields.ts'
import { RuleSchema } from '../../faults/rules.ts'
import type { Duration } from '../../kernel/duration.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { parseJsonText } from '../../lib/json-text.ts'
import { quote } from '../../lib/quote.ts'
import { jsonPath, problemsOf, WITHOUT_JIT } from '../../lib/zod-problems.ts'
import { JOURNAL_KINDS } from '../../simulation/journal-kinds.ts'
import { COMMANDS } from '../../simulation/operations/commands.ts'
import type { Plan } from './plan.ts'

/** The version of the form of plan files. */
export const PLAN_VERSION = 1

/** A plan file that cannot be read. */
export class PlanFileError extends RangeError {
  override readonly name = 'PlanFileError'
}

/** A plan of a file and the name of its flow. */
export interface PlanFile {
  /** Undefined if the file does not name one. */
  readonly flow: string | undefined
  readonly plan: Plan
}

const duration = z.custom<Duration>(isDuration, { error: "a duration of at least 0, like '500ms' or '10m'" })
const positiveInteger = z.int().min(1)

const Command = z.strictObject({
  verb: z.string(),
  target: z.string().optional(),
  args: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.string())])).optional(),
})
const CommandItem = z.strictObject({
  command: Command,
  after: z.strictObject({
    kind: z.string(),
    subject: z.string().optional(),
    nth: positiveInteger.optional(),
    offset: duration.optional(),
  }),
  for: duration.optional(),
  undo: Command.optional(),
})
const ITEMS = {
  fault: z.strictObject({ fault: RuleSchema }),
  command: CommandItem,
  crash: z.strictObject({ crash: positiveInteger }),
}

/** Returns the text of a plan file. */
export function writePlanFile({ plan, flow }: PlanFile): string {
  return `${JSON.stringify({ planVersion: PLAN_VERSION, flow, plan }, undefined, 2)}\n`
}

/**
 * Reads the text of a plan file.
 *
 * @param name the name of the file, for errors
 * @throws PlanFileError that names the file, the place and a remedy
 */
export function readPlanFile(text: string, name: string): PlanFile {
  const fail = (reason: string): never => {
    throw new PlanFileError(`Failed to read the plan ${name}: ${reason}`)
  }
  const parsed = parseJsonText(text)
  if ('fault' in parsed) {
    const { line, column, reason } = parsed.fault
    return fail(`line ${line}, column ${column}: ${reason}. Write it as JSON.`)
  }
  const file = parsed.value
  if (typeof file !== 'object' || file === null || !('planVersion' in file)) {
    return fail('it has no planVersion. Give a file that explore wrote.')
  }
  const { planVersion, flow, plan, ...others } = file as Record<string, unknown>
  if (planVersion !== PLAN_VERSION) {
    return fail(
      `it has version ${quote(planVersion)}, and this version of modelhost-sim reads ${PLAN_VERSION}. ` +
        'Use the version that wrote it, or explore the flow again.',
    )
  }
  const [unknownField] = Object.keys(others)
  if (unknownField !== undefined) return fail(`unknown field '${unknownField}'. Fields are planVersion, flow and plan.`)
  if (flow !== undefined && typeof flow !== 'string') return fail('$.flow: expected a string. Fix that value.')
  if (!Array.isArray(plan)) return fail('$.plan: expected an array. Add the items of the plan.')
  for (const [index, item] of plan.entries()) {
    const problem = problemOfItem(item)
    if (problem !== undefined) fail(`${jsonPath(['plan', index, ...problem.path])}: ${problem.text}`)
  }
  return { flow, plan: plan as Plan }
}

interface ItemProblem {
  readonly path: readonly PropertyKey[]
  readonly text: string
}

function problemOfItem(item: unknown): ItemProblem | undefined {
  const kinds = Object.keys(ITEMS) as (keyof typeof ITEMS)[]
  const isObject = typeof item === 'object' && item !== null
  const found = isObject ? kinds.find(one => Object.hasOwn(item, one)) : undefined
  if (found === undefined) return { path: [], text: `expected an object with ${kinds.join(', ')}. Fix that item.` }
  const schema = ITEMS[found]
  const result = schema.safeParse(item, WITHOUT_JIT)
  if (!result.success) return problemsOf(schema, item, result.error)[0]
  return 'command' in result.data ? problemOfNames(result.data) : undefined
}

function problemOfNames({ command, undo, after: { kind } }: z.output<typeof CommandItem>): ItemProblem | undefined {
  for (const [field, one] of Object.entries({ command, undo })) {
    if (one === undefined || Object.hasOwn(COMMANDS, one.verb)) continue
    const advice = formatSuggestion(one.verb, Object.keys(COMMANDS), "'node.crash' is one.")
    return { path: [field, 'verb'], text: `unknown command '${one.verb}'. ${advice}` }
  }
  if (kind === 'start' || (JOURNAL_KINDS as readonly string[]).includes(kind)) return undefined
  const advice = formatSuggestion(kind, ['start', ...JOURNAL_KINDS], "Give 'start' or one that the journal has.")
  return { path: ['after', 'kind'], text: `unknown kind '${kind}'. ${advice}` }
}
