/** The lines of a recording, in the order in which the world performed them: what each of them must have, and its type. */

import * as z from 'zod'
import type { Micros } from '../../kernel/duration.ts'
import { jsonPath, problemsOf, WITHOUT_JIT } from '../../lib/zod-problems.ts'
import type { ClockSetting } from '../clock/settings.ts'
import type { WireOutcome } from '../faults/wire-faults.ts'
import type { ControlAction } from '../observer.ts'
import type { SimulatorOptions } from '../options.ts'

/** The version of the file format. */
export const RECORDING_VERSION = 3

/** The time of the world in microseconds since its epoch, and the number of its events so far. */
export type Position = readonly [time: Micros, events: number]

/** Bytes as text, as Base64, or as their length and checksum if they are long. `null`: no body. */
export type RecordedBody =
  | string
  | { readonly base64: string }
  | { readonly bytes: number; readonly digest: string }
  | null

/** Gives a schema a type that says more than it checks. The checksum of a line proves that it is as it was written. */
function typed<Type>(schema: z.ZodType): z.ZodType<Type> {
  return schema as z.ZodType<Type>
}

const Count = z.int().min(0)
const Data = z.looseObject({})
const At = typed<Position>(z.array(z.number().min(0)).length(2))
/** In a file, a number means the headers or the body of that request. */
const Headers = typed<Readonly<Record<string, string>>>(z.union([Count, z.record(z.string(), z.string())]))
const LongBody = z.strictObject({ bytes: Count, digest: z.string() })
const Body = typed<RecordedBody>(
  z.union([z.null(), Count, z.string(), z.strictObject({ base64: z.string() }), LongBody]),
)
/** The time on the clock of a client, if it is another one. */
const Now = z.number().optional()

const action = <Name extends string, Shape extends z.ZodRawShape>(name: Name, shape: Shape) =>
  z.strictObject({ do: z.literal(name), ...shape })

const Action = typed<ControlAction>(
  z.discriminatedUnion('do', [
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
  ]),
)

/** The first line: the world at its begin. */
const Header = z.strictObject({
  recording: Count,
  /** The version of the package. */
  version: z.string(),
  /** What a reader of the file has to know. */
  contains: z.string(),
  /** The name of the fixture of the world, also if the recording begins with a snapshot of it; `given` without a name. */
  fixtures: z.string(),
  /** The checksum of the records of the fixture; missing with a snapshot. */
  fixtureDigest: z.string().optional(),
  seed: z.string(),
  /** The options of the simulator, without its clock. */
  options: typed<SimulatorOptions>(Data),
  clock: typed<ClockSetting>(z.union([z.string(), Data])),
  /** The state at the begin in Base64, if the recording does not begin at time zero. */
  snapshot: z.string().optional(),
  digest: z.string(),
  /** The number of journal entries so far. */
  journal: Count,
  at: At,
})
export type HeaderLine = Readonly<z.infer<typeof Header>>

/** What an answer is. The body of a stream comes in `read` lines. */
const ANSWER = {
  /** The body of the request, if a fault answered before an endpoint read it. */
  sent: Body.optional(),
  /** 0 if the request ended without an answer. */
  status: Count.max(999),
  now: Now,
  headers: Headers.optional(),
  body: Body.optional(),
  streamed: z.literal(true).optional(),
  /** What a wire fault does to the answer on its way. */
  wire: typed<WireOutcome>(
    z.looseObject({ kind: z.enum(['reset', 'refused', 'hang', 'delayed', 'cut', 'slow']) }),
  ).optional(),
}

/** The lines after the first one, by the field that only they have. */
const LINES = {
  /** A request, at its first step in the world. */
  request: z.strictObject({
    request: Count,
    at: At,
    method: z.string(),
    /** Path and query. */
    path: z.string().startsWith('/'),
    headers: Headers,
    /** Missing if no endpoint has read it at this step. */
    body: Body.optional(),
    /** Address of the client. Default: 127.0.0.1. */
    address: z.string().optional(),
    /** The request waits for its first step: an action comes before it. */
    arrived: z.literal(true).optional(),
    /** A request that a move of the clock made, not a client. */
    look: z.literal(true).optional(),
    /** The answer, if nothing comes between. A reader of the file gets it as a line of its own. */
    answered: z.strictObject(ANSWER).optional(),
  }),
  /** A further step of a request: its fault rules were tried before. */
  step: z.strictObject({ step: Count, at: At, body: Body.optional() }),
  /** The answer to a request takes time on the clock of its client. */
  waits: z.strictObject({ waits: Count, at: At }),
  /** A request that waited has its answer, or the head of it. Its body may still be read. */
  ready: z.strictObject({ ready: Count, at: At, now: Now }),
  /** The end of a request to a model, because its client has the answer (`served`) or leaves (`left`). */
  end: z.strictObject({ end: Count, state: z.enum(['served', 'left']), at: At, now: Now }),
  /** A piece of a body that is sent while it is made. */
  read: z.strictObject({
    ...{ read: Count, at: At, now: Now, piece: Body.optional() },
    /** How the body ended, `left` if its client did not read on; missing for a piece. */
    body: z.enum(['over', 'broken', 'left']).optional(),
  }),
  /** The answer that left the world. */
  answer: z.strictObject({ answer: Count, at: At, ...ANSWER }),
  /** A change that no request makes. */
  action: z.strictObject({ action: Action, at: At }),
  /** The last line. */
  digest: z.strictObject({ digest: z.string(), at: At }),
}

type Lines = { readonly [Name in keyof typeof LINES]: Readonly<z.infer<(typeof LINES)[Name]>> }
export type RequestLine = Lines['request']
export type ReadLine = Lines['read']
export type AnswerLine = Lines['answer']
/** What an answer is, without its place in the recording. */
export type AnswerContent = Omit<AnswerLine, 'answer' | 'at'>
export type ActionLine = Lines['action']
export type StepLines = Lines[keyof Lines]

/** A line with its number in the file. */
export type Numbered<Line = StepLines> = Line & { readonly line: number }

/** Returns what is wrong with a line; undefined if it is valid. The first line is the header. */
export function findLineProblem(line: object, isHeader: boolean): string | undefined {
  const kind = (Object.keys(LINES) as (keyof Lines)[]).find(name => Object.hasOwn(line, name))
  if (!isHeader && kind === undefined) return `it has none of the fields ${Object.keys(LINES).join(', ')}. Add one.`
  const schema = isHeader ? Header : LINES[kind!]
  const { error } = schema.safeParse(line, WITHOUT_JIT)
  if (error === undefined) return undefined
  const [problem] = problemsOf(schema, line, error)
  return problem && `${jsonPath(problem.path)}: ${problem.text}`
}
