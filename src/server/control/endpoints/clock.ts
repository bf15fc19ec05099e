import * as z from 'zod'
import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { fieldsOf, given } from '../../../lib/fields.ts'
import { parseJsonOrText } from '../../../lib/json-text.ts'
import { matchesJsonSubset } from '../../../lib/json-values.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { hasEmptyRange, parseRange } from '../../../lib/number-ranges.ts'
import { quote } from '../../../lib/quote.ts'
import { rowsOf } from '../../../service/fields.ts'
import { refuse } from '../../../service/refusals.ts'
import { toFutureTime } from '../../../simulator/clock/moves/arguments.ts'
import type { MoveResult } from '../../../simulator/clock/moves/result.ts'
import type { ClockMode } from '../../../simulator/clock/settings.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { control, DurationField, refuseInvalid } from '../endpoint.ts'
import { ClockModeSchema, clockModeOf } from '../world-view.ts'

const ClockView = z.object({
  now: z.string(),
  elapsed_seconds: z.number(),
  ...ClockModeSchema.shape,
  next_event_in_seconds: z.number().nullable(),
})

const MoveView = z.object({
  ...fieldsOf(z.string(), 'from', 'to', 'now'),
  events: z.int(),
  counts: z.record(z.string(), z.int()),
  transitions: rowsOf({ at: z.string(), subject: z.string(), became: z.string() }),
  failed_events: rowsOf({ at: z.string(), subject: z.string(), event: z.string(), error: z.string() })
    .optional()
    .describe('Events that threw an error, which is a bug of the simulator'),
})

export const getClock = control({
  route: 'GET /_sim/clock',
  summary: 'Return the time of the world, how it moves, and when the next event fires',
  returns: ClockView,
  handle: ({ sim }) => toClockView(sim),
})

export const setClock = control({
  route: 'PUT /_sim/clock',
  summary:
    'Set how time moves, without a jump. Modes: `manual`, `scaled` (with `speed`, in simulated seconds per second), ' +
    '`on-poll` (with `step`; default: to the next visible change), `idle` (with `after`, in real milliseconds)',
  example: { body: { mode: 'scaled', speed: 60 } },
  refusals: { 400: 'an unknown mode, an invalid figure, or a figure of another mode' },
  body: z.strictObject({
    mode: z.string().optional(),
    speed: z.number().optional(),
    step: DurationField.optional(),
    after: z.number().optional(),
  }),
  returns: ClockView,
  handle: async ({ body, sim }) => {
    const mode = (body.mode ?? sim.clock.mode) as ClockMode
    if (mode === 'follow') {
      refuse(
        400,
        'Failed to set the clock: a server has no clock to follow. Give mode scaled, on-poll, idle or manual.',
      )
    }
    // A speed stays until a request sets another.
    const speed = body.speed ?? (mode === 'scaled' ? sim.clock.speed : undefined)
    const { step, after } = body
    await refuseInvalid(() => sim.clock.set({ mode, ...given({ speed, step, after }) }))
    return toClockView(sim)
  },
})

const Owner = z.strictObject({ owner: z.string().min(1).max(LIMITS.ownerCharacters) })

export const pauseClock = control({
  route: 'POST /_sim/clock/pause',
  summary: 'Hold the clock under a name. Time then moves only by `advance`, `next` and `until`',
  example: { body: { owner: 'debugger' } },
  body: Owner,
  returns: ClockView,
  handle: async ({ body: { owner }, sim }) => {
    await refuseInvalid(() => sim.clock.pause(owner))
    return toClockView(sim)
  },
})

export const resumeClock = control({
  route: 'POST /_sim/clock/resume',
  summary: 'Release a hold of the clock. Time moves again when the last hold is released',
  example: { body: { owner: 'debugger' } },
  refusals: { 400: 'a name without a hold' },
  body: Owner,
  returns: ClockView,
  handle: async ({ body: { owner }, sim }) => {
    await refuseInvalid(() => sim.clock.resume(owner))
    return toClockView(sim)
  },
})

export const advanceClock = control({
  route: 'POST /_sim/clock/advance',
  summary: 'Advance time by a duration ("2h") or to a time (ISO 8601). All events on the way fire',
  example: { body: { by: '2h' } },
  refusals: { 400: 'an invalid duration or time, a time in the past, or too many events at once' },
  body: z.strictObject({ by: DurationField.optional(), to: z.string().optional() }),
  returns: MoveView,
  handle: async ({ body: { by, to }, sim, request: { signal } }) => {
    if ((by === undefined) === (to === undefined)) {
      refuse(400, `Failed to advance the clock: give one of 'by' and 'to', as in {"by":"10m"}.`)
    }
    const result = await refuseInvalid(() =>
      by === undefined
        ? sim.clock.advanceToInSlices(toFutureTime(sim.world.clock, to!), signal)
        : sim.clock.advanceInSlices(by, signal),
    )
    return toMoveView(sim, result)
  },
})

export const nextClock = control({
  route: 'POST /_sim/clock/next',
  summary:
    'Move time to the next event. With `visible`, move it to the next change that a client could see. Time moves by ' +
    '`within` at most',
  example: { body: { visible: true, within: '1h' } },
  refusals: { 400: 'an invalid duration' },
  body: z.strictObject({ visible: z.boolean().optional(), within: DurationField.optional() }).optional(),
  returns: MoveView.extend({ reached: z.boolean().describe('Whether there was such an event within the duration') }),
  handle: async ({ body = {}, sim, request: { signal } }) => {
    const { reached, result: happened } = await refuseInvalid(() => sim.clock.nextInSlices(body, signal))
    return { ...toMoveView(sim, happened), reached }
  },
})

/** The expected response of a GET: fields of an object, or rows of a list in any order. */
const Where = z.union([
  // A record would leave out a field `__proto__`.
  z
    .custom<Record<string, unknown>>(value => kindOf(value) === 'an object')
    .meta({ type: 'object', additionalProperties: {} }),
  z.array(z.unknown()).min(1),
])

const GetResult = z.object({ status: z.int(), body: z.unknown() })

export const untilClock = control({
  route: 'POST /_sim/clock/until',
  summary:
    'Move time until a GET of the service returns what `where` describes, for at most `within`. Default: 24h. If the ' +
    'GET returns an object, `where` has fields that it must have. If it returns a list, `where` is an array, and ' +
    'each of its elements must match a row. Values must be equal. For a number, `where` can have a range as a text: ' +
    '"50..", "..20" or "3..20". Of a nested object or list, `where` can have a part, and `[]` is an empty list. If `within` passes first, `reached` is false. `last` is the last response of the GET',
  example: { body: { get: '/deploy/2cZeTxVFN7tKxCCh', where: { status: 'running' }, within: '15m' } },
  refusals: {
    400: 'an unknown path, a path whose first response is an error or has another type than where, a where that no answer can have, or an invalid duration',
  },
  body: z.strictObject({ get: z.string(), where: Where, within: DurationField.optional() }),
  returns: z.object({ reached: z.boolean(), now: z.string(), happened: MoveView.omit({ now: true }), last: GetResult }),
  handle: async ({ body: { get, where, within }, sim, request: { signal } }) => {
    assertSmall(where)
    const [path] = get.split('?', 1)
    const operation = get.startsWith('/') ? sim.api.findOperationId('GET', path!) : undefined
    if (operation === undefined) {
      refuse(400, `Failed to wait for '${get}': the service has no GET with this path. Give one, as in '/deploy/list'.`)
    }
    // A names profile gives the fields other names.
    const schema = sim.api.lineNames === undefined ? sim.api.operations[operation]?.returns : undefined
    const headers = { authorization: `Bearer ${sim.token}` }
    let last: z.output<typeof GetResult> | undefined
    const look = async () => {
      const request = new Request(`http://sim${get}`, { headers })
      // Directly to the service: the request in progress holds the queue of the transport.
      const response = await sim.look(request, { path: get })
      const isFirst = last === undefined
      last = { status: response.status, body: parseJsonOrText(await response.text()) }
      if (isFirst) {
        assertComparable(get, last, where)
        const problem = whyNever(schema, where)
        if (problem !== undefined) refuse(400, `Failed to wait: no answer of GET ${get} matches where: ${problem}`)
      }
      return response.ok && matchesJsonSubset(last.body, where)
    }
    const { reached, result: happened } = await refuseInvalid(() => sim.clock.untilInSlices(look, { within }, signal))
    const { now, ...result } = toMoveView(sim, happened)
    return { reached, now, happened: result, last: last! }
  },
})

/** Rejects a description that would take long to compare after each event. */
function assertSmall(where: z.output<typeof Where>): void {
  const { length } = JSON.stringify(where)
  if (length <= LIMITS.whereCharacters) return
  refuse(400, `Failed to wait: where has ${length} characters. Give at most ${LIMITS.whereCharacters}.`)
}

/** Rejects a wait that can never end: for a GET that is refused, or that returns another type than `where`. */
function assertComparable(
  get: string,
  { status, body }: z.output<typeof GetResult>,
  where: z.output<typeof Where>,
): void {
  if (status >= 400) {
    refuse(400, `Failed to wait: GET ${get} answers ${status} ${JSON.stringify(body)}. Give one that answers 200.`)
  }
  const [expectedKind, actualKind] = [kindOf(where), kindOf(body)]
  if (expectedKind === actualKind) return
  const [row = {}] = Array.isArray(body) ? (body as unknown[]) : [body]
  const simple = Object.entries(Object(row)).find(([, value]) => typeof value !== 'object')
  const example = JSON.stringify(Object.fromEntries(simple ? [simple] : []))
  const remedy =
    actualKind === 'a list'
      ? `Give where as a list of what its rows should have, as in [${example}].`
      : actualKind === 'an object'
        ? `Give where as an object, as in ${example}.`
        : 'Give a path whose answer is JSON.'
  refuse(400, `Failed to wait: GET ${get} answers ${actualKind}, and where is ${expectedKind}. ${remedy}`)
}

/** What to expect of a value of each simple type. */
const EXPECTATIONS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number, or a range of numbers, as in "50..", "..20" or "3..20"',
  boolean: 'true or false',
}

/** Returns why no answer of a schema has the expected fields and values, with advice; undefined if one may have. */
function whyNever(schema: unknown, expected: unknown, field = 'it'): string | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return expected === null ? undefined : whyNever(schema.unwrap(), expected, field)
  }
  if (schema instanceof z.ZodArray) {
    if (!Array.isArray(expected)) return `${field} is never ${quote(expected)}. Give a list.`
    return expected.map(one => whyNever(schema.element, one, field)).find(problem => problem !== undefined)
  }
  if (schema instanceof z.ZodEnum && !schema.safeParse(expected).success) {
    const words = schema.options.map(String)
    return `${field} is never ${quote(expected)}. ${formatSuggestion(String(expected), words, `Give one of ${words.join(', ')}.`)}`
  }
  const { type } = schema instanceof z.ZodType ? schema.def : {}
  const expectation = type && EXPECTATIONS[type]
  const isRange = typeof expected === 'string' && parseRange(expected) !== undefined && !hasEmptyRange(expected)
  if (expectation !== undefined && typeof expected !== type && !(type === 'number' && isRange))
    return `${field} is never ${quote(expected)}. Give ${expectation}.`
  if (!(schema instanceof z.ZodObject)) return undefined
  if (typeof expected !== 'object' || expected === null || Array.isArray(expected))
    return `${field} is never ${quote(expected)}. Give its fields.`
  const fields = Object.entries(expected).map(([name, inner]) => {
    if (Object.hasOwn(schema.shape, name)) return whyNever(schema.shape[name], inner, name)
    const names = Object.keys(schema.shape)
    return schema.def.catchall !== undefined
      ? undefined
      : `unknown field '${name}'. ${formatSuggestion(name, names, `Fields are ${names.join(', ')}.`)}`
  })
  return fields.find(problem => problem !== undefined)
}

function kindOf(value: unknown): 'a list' | 'an object' | 'text' {
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : 'text'
}

export const reset = control({
  route: 'POST /_sim/reset',
  summary: 'Return to the world as it was loaded, with its time, ids and digest',
  returns: z.object({ now: z.string(), digest: z.string() }),
  handle: ({ sim }) => {
    sim.reset()
    return { now: sim.clock.iso, digest: sim.digest }
  },
})

function toClockView(sim: Simulator): z.input<typeof ClockView> {
  const { clock } = sim
  return {
    now: clock.iso,
    elapsed_seconds: clock.elapsed / 1e6,
    ...clockModeOf(sim),
    next_event_in_seconds: clock.nextIn === undefined ? null : clock.nextIn / 1e6,
  }
}

function toMoveView(sim: Simulator, result: MoveResult) {
  const { from, to, events, counts, transitions, failedEvents } = result
  return {
    ...{ from, to, events, counts, transitions, now: sim.clock.iso },
    ...(failedEvents && { failed_events: failedEvents }),
  }
}
