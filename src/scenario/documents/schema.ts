/** Scenarios as data: what may stand in a YAML or JSON file. The one schema for reading it and for editors. */
import * as z from 'zod'
import { RuleSchema, TIME_INPUT_PATTERN } from '../../faults/rules.ts'
import { DURATION_PATTERN } from '../../kernel/duration.ts'
import { operations } from '../../service/index.ts'
import { JOURNAL_KINDS } from '../../simulation/journal-kinds.ts'
import { COMMANDS } from '../../simulation/operations/commands.ts'
import { OPTION_SCENARIO_KEYS } from '../../simulator/option-fields.ts'
import { isCountRange } from '../events.ts'
import { DurationOrReference, inputSchemas, isReference } from './operation-input.ts'

const OPERATIONS = Object.keys(operations)
/** What can be looked at beside the service's own operations. */
export const QUERIES = ['balance', 'cost', 'rent', 'node', 'nodeOf', 'nodes', 'fault', 'value'] as const
/** What a look beside the operations takes; `value` takes anything. */
const QUERY_INPUTS: Readonly<Partial<Record<(typeof QUERIES)[number], object>>> = {
  balance: { type: 'null' },
  nodes: { type: 'null' },
  cost: { type: 'string' },
  rent: { type: 'string' },
  node: { type: 'string' },
  nodeOf: { type: 'string' },
  fault: { type: 'string' },
}

const Anything = z.unknown()

/** One key, the operation, and its input. */
function call(names: readonly string[], describe: string) {
  return z.partialRecord(z.enum(names as [string, ...string[]]), Anything).describe(describe)
}

const Call = call(OPERATIONS, 'An operation of the service and its input, path, query and body in one')
const Query = call(
  [...OPERATIONS, ...QUERIES],
  'What to look at: an operation and its input, or balance, cost (an id), rent (an id), node (a name), nodeOf (a deployment, hosted instance or container), nodes, fault (a rule, by its name), value (something saved)',
)
const Expected = Anything.describe('The fields that matter; /…/ is a pattern; lists have their full length')
const Refused = z
  .strictObject({
    status: z.int().describe('The status of the refusal'),
    message: z.string().optional().describe('A part of what the service says, or /a pattern/'),
  })
  .describe('The refusal that it should meet')
const SaveAs = z
  .string()
  .regex(/^[A-Za-z_]\w*$/)
  .describe('Saves the answer under this name: later steps take its fields with a dollar sign and braces')
const Token = z.string().describe('Sent with this token instead of the first of the world')
const CheckLabel = z.string().describe('Names the check in the report')

/** A verb of the world: something breaks or is mended. */
export const CommandFault = z
  .strictObject({
    verb: z.enum(Object.keys(COMMANDS) as [string, ...string[]]).describe('What happens to the fleet or the account'),
    target: z.string().optional().describe('What it happens to, as in h100-0'),
    nodeOf: z
      .string()
      .optional()
      .describe('Instead of a target: the node of this deployment, hosted instance or container'),
    args: z.record(z.string(), Anything).optional().describe('Arguments of the verb by name'),
    at: DurationOrReference.optional().describe('How long from now'),
  })
  .describe('Breaks or mends something; GET /_sim/commands lists the verbs')

/** A rule of faults of the wire. */
export const WireFault = RuleSchema.describe('A rule of faults of the wire: docs/faults.md has every kind')

/** What the journal calls things. */
export const EventKind = z.enum(JOURNAL_KINDS as [string, ...string[]]).describe('What the journal calls it')
/** An event with more than its kind. */
export const EventFields = z.strictObject({
  kind: EventKind,
  subject: z.string().optional().describe('Wire id or name of the thing, or /a pattern/'),
  fields: z.record(z.string(), Anything).optional(),
})
const Event = z.union([EventKind, EventFields]).describe('An event of the journal: its kind, or more of it')
export const LeadsTo = z.strictObject({
  event: Event,
  to: Event,
  within: DurationOrReference,
  sameSubject: z.boolean().optional().describe('Both have to be of one thing'),
})
export const CountOf = z.strictObject({
  event: Event,
  range: z
    .custom<number | string>(value => isCountRange(value) || isReference(value), {
      error: "how often, as in 3, '1..3', '2..' or '..4'",
    })
    .meta({ type: ['string', 'integer'] as never, description: "How often: 3, '1..3', '2..', '..4'" }),
  what: CheckLabel.optional(),
})
const HeldCondition = z.strictObject({ get: Query, is: Expected, what: CheckLabel.optional() })

interface StepKinds {
  readonly do: z.ZodType
  readonly [kind: string]: z.ZodType
}

const Steps: z.ZodType = z.lazy(() => z.array(Step))
const stepsByKey = (pattern: string) => z.record(z.string().meta({ pattern }), Steps)

/** The kinds of steps, each by the key that only it has. */
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
    .describe('Looks at something and checks it'),
  advance: z.strictObject({ advance: DurationOrReference }).describe('Moves time on'),
  until: z
    .strictObject({
      until: z.strictObject({ get: Query, where: Expected, within: DurationOrReference.optional() }),
      token: Token.optional(),
    })
    .describe('Moves time until a look fits, 24h at most unless given'),
  fault: z
    .strictObject({ fault: z.union([CommandFault, WireFault]) })
    .describe('Breaks or mends something, or adds a rule of faults of the wire'),
  always: z
    .strictObject({ always: HeldCondition, token: Token.optional() })
    .describe('Holds from now on, at every change'),
  never: z.strictObject({ never: HeldCondition, token: Token.optional() }).describe('Never comes to hold from now on'),
  leadsTo: z.strictObject({ leadsTo: LeadsTo }).describe('After every event of one kind another, in time'),
  countOf: z.strictObject({ countOf: CountOf }).describe('How often something has happened so far'),
  at: z
    .strictObject({ at: stepsByKey(TIME_INPUT_PATTERN).describe('Steps by how long from now they are done') })
    .describe('Plans steps'),
  every: z
    .strictObject({
      every: stepsByKey(DURATION_PATTERN).describe('Steps by their interval'),
      times: z.int().min(1).optional(),
    })
    .describe('Plans steps again and again'),
} as const satisfies StepKinds

export type StepKind = keyof typeof STEP_SCHEMAS

const Step: z.ZodType = z.union(Object.values<z.ZodType>(STEP_SCHEMAS))

export const GivenWorld = z
  .strictObject(OPTION_SCENARIO_KEYS)
  .describe('The world that the scenario begins in: the options of createSimulator')

/** A whole file. */
export const ScenarioDocument = z
  .strictObject({
    $schema: z.string().optional(),
    title: z.string().min(1).describe('A sentence: what happens'),
    tags: z.array(z.string()).optional(),
    teaches: z.string().optional().describe('What one learns from it'),
    client: z.string().optional().describe('What a good client does about it'),
    seeds: z.enum(['any', 'own']).optional().describe('own for a story that needs its seed'),
    given: GivenWorld.optional(),
    steps: Steps.describe('What is done, in order'),
  })
  .describe('A scenario of modelhost-sim')

/** The schema for editors: it knows what each operation takes, too. */
export function scenarioJsonSchema(): unknown {
  const named = (names: Readonly<Record<string, unknown>>) => ({
    type: 'object',
    properties: names,
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
  })
  const inputs = Object.fromEntries(OPERATIONS.map(name => [name, { $ref: `#/$defs/${name}` }]))
  const looks = Object.fromEntries(QUERIES.map(name => [name, QUERY_INPUTS[name] ?? {}]))
  const defs: Readonly<Record<string, unknown>> = {
    call: { description: Call.description, ...named(inputs) },
    look: { description: Query.description, ...named({ ...inputs, ...looks }) },
    ...inputSchemas(),
  }
  const schema = z.toJSONSchema(ScenarioDocument, {
    io: 'input',
    // What is judged by a function says its type beside it.
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
