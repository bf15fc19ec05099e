/** What each line of a recording must have. Its checksum proves that it is as it was written, not that it is valid. */

import * as z from 'zod'
import { jsonPath, problemsOf, WITHOUT_JIT } from '../../lib/zod-problems.ts'

const Count = z.int().min(0)
const At = z.array(z.number().min(0)).length(2)
/** A number means the headers or the body of that request. */
const Headers = z.union([Count, z.record(z.string(), z.string())])
const LongBody = z.strictObject({ bytes: Count, digest: z.string() })
const Body = z.union([z.null(), Count, z.string(), z.strictObject({ base64: z.string() }), LongBody])
const Now = z.number().optional()
const Data = z.looseObject({})

const ANSWER = {
  status: Count.max(999),
  now: Now,
  headers: Headers.optional(),
  body: Body.optional(),
  streamed: z.literal(true).optional(),
  wire: z.looseObject({ kind: z.enum(['reset', 'refused', 'hang', 'delayed', 'cut', 'slow']) }).optional(),
}

const action = <Name extends string, Shape extends z.ZodRawShape>(name: Name, shape: Shape) =>
  z.strictObject({ do: z.literal(name), ...shape })

const Action = z.discriminatedUnion('do', [
  action('command', { command: Data, delay: z.number().optional(), repetition: Data.optional() }),
  action('addFault', { rule: Data }),
  action('removeFault', { id: z.string() }),
  action('addAnswer', { rule: Data }),
  action('removeAnswer', { name: z.string() }),
  action('clearAnswers', {}),
  action('startTimeline', { plan: Data }),
  action('stopTimeline', { name: z.string() }),
  action('setClock', { clock: z.union([z.string(), Data]) }),
  action('reset', { snapshot: z.string().optional(), journal: Count.optional() }),
  action('restore', { snapshot: z.string() }),
  action('settleWebhook', {
    attempt: z.strictObject({ ordinal: Count, use: Count, attempt: Count }),
    outcome: z.union([z.strictObject({ status: Count }), z.strictObject({ reason: z.string() })]),
  }),
  action('endInference', { ordinal: Count, state: z.enum(['served', 'left']), tokens: z.number() }),
  action('writeData', {
    kind: z.enum(['tokens', 'models', 'voices', 'hub', 'aggregator', 'hardware', 'schemas']),
    key: z.string(),
    action: z.enum(['create', 'update', 'delete']),
    record: Data.optional(),
  }),
  action('listControlRequest', { operation: z.string(), method: z.string(), path: z.string() }),
])

const Header = z.strictObject({
  recording: Count,
  version: z.string(),
  contains: z.string(),
  fixtures: z.string(),
  fixtureDigest: z.string().optional(),
  seed: z.string(),
  options: Data,
  clock: z.union([z.string(), Data]),
  snapshot: z.string().optional(),
  digest: z.string(),
  journal: Count,
  at: At,
})

/** The lines after the first one, by the field that only they have. */
const LINES: Readonly<Record<string, z.ZodType>> = {
  request: z.strictObject({
    ...{ request: Count, at: At, method: z.string(), path: z.string().startsWith('/'), headers: Headers },
    ...{ body: Body.optional(), address: z.string().optional() },
    ...{ arrived: z.literal(true).optional(), look: z.literal(true).optional() },
    answered: z.strictObject(ANSWER).optional(),
  }),
  step: z.strictObject({ step: Count, at: At, body: Body.optional() }),
  waits: z.strictObject({ waits: Count, at: At }),
  ready: z.strictObject({ ready: Count, at: At, now: Now }),
  end: z.strictObject({ end: Count, state: z.enum(['served', 'left']), at: At, now: Now }),
  read: z.strictObject({
    ...{ read: Count, at: At, now: Now, piece: Body.optional() },
    body: z.enum(['over', 'broken', 'left']).optional(),
  }),
  answer: z.strictObject({ answer: Count, at: At, ...ANSWER }),
  action: z.strictObject({ action: Action, at: At }),
  digest: z.strictObject({ digest: z.string(), at: At }),
}

/** Returns what is wrong with a line; undefined if it is valid. The first line is the header. */
export function findLineProblem(line: object, isHeader: boolean): string | undefined {
  const kind = Object.keys(LINES).find(name => Object.hasOwn(line, name))
  if (!isHeader && kind === undefined) return `it has none of the fields ${Object.keys(LINES).join(', ')}. Add one.`
  const schema = isHeader ? Header : LINES[kind!]!
  const { error } = schema.safeParse(line, WITHOUT_JIT)
  if (error === undefined) return undefined
  const [problem] = problemsOf(schema, line, error)
  return problem && `${jsonPath(problem.path)}: ${problem.text}`
}
