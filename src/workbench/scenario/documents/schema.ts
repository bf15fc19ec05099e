/** The schema of scenarios in YAML and JSON, for the reader and for editors. */
import * as z from 'zod'
import { DURATION_PATTERN } from '../../../kernel/duration.ts'
import { hasEmptyRange } from '../../../lib/number-ranges.ts'
import { parsePattern } from '../../../lib/patterns.ts'
import { operations } from '../../../service/index.ts'
import { ScriptRule } from '../../../service/openai/scripted-answers.ts'
import { JOURNAL_KINDS } from '../../../simulation/journal-kinds.ts'
import { COMMANDS } from '../../../simulation/operations/commands.ts'
import { RuleSchema, TIME_INPUT_PATTERN } from '../../../simulator/faults/rules.ts'
import { OPTION_SCENARIO_KEYS } from '../../../simulator/option-schemas.ts'
import { PLAN_VERSION, type Plan } from '../../explore/plan/plan.ts'
import { ITEM_SCHEMAS } from '../../explore/plan/plan-form.ts'
import { isCountRange } from '../events.ts'
import { DurationOrReference, inputSchemas, isReference } from './operation-input.ts'

const { fixtures, seed, profile, weather, with: patch } = OPTION_SCENARIO_KEYS

/** The keys of a scenario that plays a flow. */
export const FLOW_KEYS = {
  flow: z
    .string()
    .min(1)
    .optional()
    .describe('The file of the flow, relative to this file. Its default export is the flow'),
  command: z
    .array(z.string())
    .min(1)
    .optional()
    .describe('In place of flow: the program and its arguments, which run in the working directory'),
  explore: z.literal(PLAN_VERSION).describe('The version of the form of the plan'),
  given: z
    .strictObject({ fixtures, seed, profile, weather, with: patch })
    .optional()
    .describe('The initial world. Default: that of the flow'),
  inputs: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('The inputs of the flow by name. Default: the simplest ones'),
  plan: z.array(z.union(Object.values(ITEM_SCHEMAS))).describe('The faults of the run, in any order'),
  invariants: z
    .union([z.array(z.string().min(1)).min(1), z.record(z.string(), z.union([z.boolean(), z.number(), z.string()]))])
    .optional()
    .describe('The invariants that should hold: a list, or a map with their amounts. Default: all of the flow'),
} as const

const OPERATIONS = Object.keys(operations)
/** The queries beside the operations of the service, each with its input; `value` takes any. */
export const QUERY_INPUTS: Readonly<Record<string, { readonly type?: 'null' | 'string' }>> = {
  balance: { type: 'null' },
  cost: { type: 'string' },
  rentSeconds: { type: 'string' },
  node: { type: 'string' },
  nodeOf: { type: 'string' },
  nodes: { type: 'null' },
  fault: { type: 'string' },
  value: {},
}

const Anything = z.unknown()

/** A map with one key, the operation, and its input as the value. */
function call(names: readonly string[], describe: string) {
  return z.partialRecord(z.enum(names as [string, ...string[]]), Anything).describe(describe)
}

const Call = call(
  OPERATIONS,
  'An operation of the service and its input: the fields of path, query and body in one map',
)
const Query = call(
  [...OPERATIONS, ...Object.keys(QUERY_INPUTS)],
  'What to read: an operation and its input, or balance, cost (an id), rentSeconds (an id), node (a name), nodeOf (a deployment, hosted instance or container), nodes, fault (a rule, by its name), value (something saved)',
)

/** Returns a schema that refuses invalid patterns in its texts. A text with a reference is complete only in the play. */
function withPatterns<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.refine(value => findInvalidPattern(value) === undefined, {
    error: ({ input }) => `a valid pattern, or a text that does not begin with a slash: ${findInvalidPattern(input)}`,
  })
}

/** Returns what is wrong with the first invalid `/…/` in a value. */
function findInvalidPattern(value: unknown): string | undefined {
  if (typeof value === 'object' && value !== null) {
    return Object.values(value)
      .map(findInvalidPattern)
      .find(problem => problem !== undefined)
  }
  if (typeof value !== 'string' || value.includes('${')) return undefined
  try {
    parsePattern(value)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const Expected = withPatterns(Anything)
  .refine(value => !hasEmptyRange(value), {
    error: 'a range that begins with its smaller number, as in 3..20',
  })
  .describe(
    'The expected fields; others are ignored. /…/ is a pattern, and ..20, 3.. or 3..20 a range of numbers. Lists are compared in full length',
  )
const Refused = z
  .strictObject({
    status: z.int().describe('The status of the refusal'),
    message: withPatterns(z.string()).optional().describe('A part of the message of the service, or /a pattern/'),
  })
  .describe('The refusal that the call should get')
const SaveAs = z
  .string()
  .regex(/^[A-Za-z_]\w*$/)
  .describe('Saves the answer under this name. Later steps refer to its fields with a dollar sign and braces')
const AnswerStatus = z.int().min(0).max(599).describe('The expected status; 0 for no answer')
const REQUEST_LINE = /^[A-Z]+ \/\S*$/
const SentName = z.string().regex(/^[A-Za-z_]\w*$/)
const Token = z.string().describe('The API token to send. Default: the first of the world')
const CheckLabel = z.string().describe('Name of the check in the report')

/** A command: something breaks or recovers. */
export const CommandFault = z
  .strictObject({
    verb: z.enum(Object.keys(COMMANDS) as [string, ...string[]]).describe('Name of the command, as in node.crash'),
    target: z.string().optional().describe('The target of the command, as in h100-0'),
    nodeOf: z
      .string()
      .optional()
      .describe('Instead of a target: the deployment, hosted instance or container whose node is the target'),
    args: z.record(z.string(), Anything).optional().describe('Arguments of the command by name'),
    at: DurationOrReference.optional().describe('Delay from now'),
  })
  .describe('Executes a command on the fleet; GET /_sim/commands lists the commands')

export type CommandStep = z.output<typeof CommandFault>

/** A fault rule. */
export const WireFault = RuleSchema.describe('A fault rule; docs/faults.md lists the kinds')

/** A kind of journal entry. */
export const EventKind = z.enum(JOURNAL_KINDS as [string, ...string[]]).describe('Kind of journal entry')
/** An event by its kind and more. */
export const EventFields = z.strictObject({
  kind: EventKind,
  subject: withPatterns(z.string()).optional().describe('Id or name of the subject, or /a pattern/'),
  fields: withPatterns(z.record(z.string(), Anything)).optional(),
})
const Event = z.union([EventKind, EventFields]).describe('A journal entry: its kind, or its kind, subject and fields')
export const LeadsTo = z.strictObject({
  event: Event,
  to: Event,
  within: DurationOrReference,
  sameSubject: z.boolean().optional().describe('Both entries must have the same subject'),
})
export const CountOf = z.strictObject({
  event: Event,
  range: z
    .custom<number | string>(value => isCountRange(value) || isReference(value), {
      error: "a count, as in 3, '1..3', '2..' or '..4'",
    })
    .meta({ type: ['string', 'integer'] as never, description: "A count or a range: 3, '1..3', '2..', '..4'" }),
  what: CheckLabel.optional(),
})
const HeldCondition = z.strictObject({ get: Query, is: Expected, what: CheckLabel.optional() })

const Steps: z.ZodType = z.lazy(() => z.array(Step))
const stepsByKey = (pattern: string) => z.record(z.string().meta({ pattern }), Steps)

/** The kinds of steps, each by the key that only this kind has. */
export const STEP_SCHEMAS = {
  do: z
    .strictObject({ do: Call, as: SaveAs.optional(), token: Token.optional(), refused: Refused.optional() })
    .describe('Calls an operation'),
  expect: z
    .strictObject({
      expect: z.strictObject({ get: Query, is: Expected.optional(), what: CheckLabel.optional() }),
      as: SaveAs.optional(),
      token: Token.optional(),
    })
    .describe('Reads something and checks it'),
  advance: z.strictObject({ advance: DurationOrReference }).describe('Advances time'),
  until: z
    .strictObject({
      until: z.strictObject({ get: Query, where: Expected, within: DurationOrReference.optional() }),
      token: Token.optional(),
    })
    .describe('Advances time until the query matches. Default limit: 24h'),
  fault: z
    .strictObject({ fault: z.union([CommandFault, WireFault]) })
    .describe('Executes a command, or adds a fault rule'),
  removeFault: z
    .strictObject({ removeFault: z.string().describe('The name of a fault rule, or its id as in fault-1') })
    .describe('Removes a fault rule'),
  addAnswer: z
    .strictObject({ addAnswer: ScriptRule.describe('A scripted answer of models') })
    .describe('Adds a scripted answer'),
  removeAnswer: z
    .strictObject({ removeAnswer: z.string().describe('The name of a scripted answer, as in script-1') })
    .describe('Removes a scripted answer'),
  clearAnswers: z.strictObject({ clearAnswers: z.literal(true) }).describe('Removes every scripted answer'),
  request: z
    .strictObject({
      request: z
        .custom<string>(value => typeof value === 'string' && REQUEST_LINE.test(value), {
          error: "a method with a path, as in 'GET /deploy/list'",
        })
        .meta({
          type: 'string',
          pattern: REQUEST_LINE.source,
          description: 'Method and path, as in POST /v1/chat/completions',
        }),
      headers: z
        .record(z.string(), z.string().nullable())
        .optional()
        .describe('Headers; null leaves out one that is sent otherwise'),
      body: Anything.optional().describe('The body: a text as it is, any other value as JSON'),
      base64: z.base64().optional().describe('In place of body: its bytes'),
      status: AnswerStatus.optional(),
      later: SentName.optional().describe(
        'The step ends when the request is in the world. A step `answered` with this name takes the answer',
      ),
      token: Token.optional(),
    })
    .describe('Sends a request as it is'),
  answered: z
    .strictObject({
      answered: SentName.describe('The name of a request that was sent with later'),
      status: AnswerStatus,
    })
    .describe('Takes the answer to an earlier request. If it is not there yet, time moves to it'),
  leave: z
    .strictObject({ leave: SentName.describe('The name of a request that was sent with later') })
    .describe('Ends an earlier request: its client leaves'),
  always: z
    .strictObject({ always: HeldCondition, token: Token.optional() })
    .describe('Asserts that the query matches from now on, at every change'),
  never: z
    .strictObject({ never: HeldCondition, token: Token.optional() })
    .describe('Asserts that the query does not match from now on'),
  leadsTo: z.strictObject({ leadsTo: LeadsTo }).describe('Asserts that each event is followed by another in time'),
  countOf: z.strictObject({ countOf: CountOf }).describe('Asserts how often an event has happened so far'),
  at: z
    .strictObject({
      at: stepsByKey(TIME_INPUT_PATTERN).describe('Steps by their delay from now, or their virtual time'),
    })
    .describe('Schedules steps'),
  every: z
    .strictObject({
      every: stepsByKey(DURATION_PATTERN).describe('Steps by their interval'),
      times: z.int().min(1).optional(),
    })
    .describe('Schedules steps that repeat'),
} as const satisfies Readonly<Record<string, z.ZodType>>

export type StepKind = keyof typeof STEP_SCHEMAS

const Step: z.ZodType = z.union(Object.values<z.ZodType>(STEP_SCHEMAS))

export const GivenWorld = z.strictObject(OPTION_SCENARIO_KEYS).describe('The initial world: options of createSimulator')

const ABOUT_KEYS = {
  $schema: z.string().optional(),
  title: z.string().min(1).describe('What happens, in one sentence'),
  tags: z.array(z.string()).optional(),
  teaches: z.string().optional().describe('What the reader learns'),
  client: z.string().optional().describe('What a good client does'),
}

/** A whole file with steps. */
export const ScenarioDocument = z
  .strictObject({
    ...ABOUT_KEYS,
    seeds: z.enum(['any', 'own']).optional().describe('own if the scenario works only with its own seed'),
    given: GivenWorld.optional(),
    steps: Steps.describe('The steps, in order'),
  })
  .describe('A scenario of modelhost-sim')

/** A whole file that plays a flow. */
export const FlowDocument = z
  .strictObject({ ...ABOUT_KEYS, ...FLOW_KEYS })
  .describe('A scenario of modelhost-sim that plays a flow under a plan of faults')

/** A step of the file and its position. */
export interface DocumentStep {
  readonly kind: StepKind
  readonly body: Readonly<Record<string, unknown>>
  /** `line:column` */
  readonly position: string
  /** Of `at` and `every`: the steps by their time. */
  readonly nestedSteps: Readonly<Record<string, readonly DocumentStep[]>>
}

export interface ScenarioData extends Omit<z.output<typeof ScenarioDocument>, 'steps'> {
  /** Empty for a scenario that plays a flow. */
  readonly steps: readonly DocumentStep[]
  readonly survival?: FlowSurvival | undefined
}

/** A flow and the plan that it should survive. */
export interface FlowSurvival
  extends Pick<z.output<typeof FlowDocument>, 'flow' | 'command' | 'inputs' | 'invariants'> {
  readonly plan: Plan
}

/** Returns the JSON Schema for editors, with the input of each operation. */
export function scenarioJsonSchema(): unknown {
  const named = (names: Readonly<Record<string, unknown>>) => ({
    type: 'object',
    properties: names,
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
  })
  const inputs = Object.fromEntries(OPERATIONS.map(name => [name, { $ref: `#/$defs/${name}` }]))
  const defs: Readonly<Record<string, unknown>> = {
    call: { description: Call.description, ...named(inputs) },
    look: { description: Query.description, ...named({ ...inputs, ...QUERY_INPUTS }) },
    ...inputSchemas(),
  }
  const schema = z.toJSONSchema(z.union([ScenarioDocument, FlowDocument]), {
    io: 'input',
    // Types that are checked by a function declare their type in `meta`.
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const def = (zodSchema as unknown) === Call ? 'call' : (zodSchema as unknown) === Query ? 'look' : undefined
      if (def === undefined) return
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key]
      jsonSchema.$ref = `#/$defs/${def}`
    },
  })
  return { ...schema, $defs: { ...schema.$defs, ...defs } }
}

/** Returns whether a fault is a fault rule; otherwise it is a command. */
export function isRule(fault: unknown): boolean {
  return typeof fault === 'object' && fault !== null && ('on' in fault || 'fault' in fault)
}

/** Returns the schema of a step for the form that its body has, so that a mistake is reported for that form only. */
export function narrowStepSchema(kind: StepKind, body: Record<string, unknown>): z.ZodObject {
  const part = (typeof body[kind] === 'object' && body[kind] !== null ? body[kind] : {}) as Record<string, unknown>
  const event = (name: string) => (typeof part[name] === 'object' && part[name] !== null ? EventFields : EventKind)
  switch (kind) {
    case 'fault':
      return z.strictObject({ fault: isRule(body.fault) ? WireFault : CommandFault })
    case 'leadsTo':
      return z.strictObject({ leadsTo: LeadsTo.extend({ event: event('event'), to: event('to') }) })
    case 'countOf':
      return z.strictObject({ countOf: CountOf.extend({ event: event('event') }) })
    default:
      return STEP_SCHEMAS[kind]
  }
}
