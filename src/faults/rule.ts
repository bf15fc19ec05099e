/** A rule of a fault: what it befalls, when, and which fault it is. */
import * as z from 'zod'
import { type AnyEndpoint, type Operations, routeNames } from '../api/endpoint.ts'
import type { Clock } from '../kernel/clock.ts'
import { DURATION_PATTERN, type Duration, type Micros, micros } from '../kernel/duration.ts'
import { globOf } from '../kernel/glob.ts'
import { nearest } from '../kernel/nearest.ts'
import { jsonPath, problemsOf } from '../store/problems.ts'
import { isDuration } from './fields.ts'
import type { Kind } from './kind.ts'
import { KINDS } from './kinds.ts'

const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/i
/** The texts that are a moment, as the source of a pattern for JSON Schema. */
export const MOMENT_PATTERN = `${DURATION_PATTERN}|^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+([Zz]|[+-]\\d\\d:?\\d\\d)$`
/** A moment: a duration from now, ISO 8601 with an offset, or a Date. */
const moment = z
  .custom<Duration | Date>(
    value =>
      isDuration(value) ||
      (value instanceof Date && Number.isFinite(value.getTime())) ||
      (typeof value === 'string' && ISO.test(value) && Number.isFinite(Date.parse(value))),
    { error: "a duration from now like '10m', or ISO 8601 with an offset like '2026-01-01T01:00:00Z'" },
  )
  .meta({
    ...{ type: ['string', 'number'] as never, pattern: MOMENT_PATTERN, minimum: 0 },
    description: "As in '10m', or ISO 8601 with an offset",
  })

/** Most characters of a pattern, and most patterns in a list: more than any real name or rule needs. */
const PATTERN_MAX_LENGTH = 1000
const PATTERNS_MAX = 1000
const pattern = z.string().min(1).max(PATTERN_MAX_LENGTH)
const count = z.int().min(1)

/** Returns what `on` should be instead of the value; undefined if the value is valid. */
function expectedOn(value: unknown): string | undefined {
  const patterns = [value].flat()
  if (patterns.length === 0 || !patterns.every(one => typeof one === 'string' && one !== '')) {
    return "an operation, a pattern like 'create*', or a list of them"
  }
  if (patterns.length > PATTERNS_MAX) return `at most ${PATTERNS_MAX} patterns`
  const isShort = patterns.every(one => (one as string).length <= PATTERN_MAX_LENGTH)
  return isShort ? undefined : `patterns of at most ${PATTERN_MAX_LENGTH} characters`
}

/** What a rule may hold: the one schema for reading it and for editors. */
export const RuleSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[\w.-]{1,64}$/, { error: 'text of letters, digits, dot, dash and underscore' })
    .optional(),
  on: z
    .custom<string | readonly string[]>(value => expectedOn(value) === undefined, {
      error: ({ input }) => expectedOn(input),
    })
    .meta({
      anyOf: [
        { type: 'string', maxLength: PATTERN_MAX_LENGTH },
        {
          type: 'array',
          items: { type: 'string', maxLength: PATTERN_MAX_LENGTH },
          minItems: 1,
          maxItems: PATTERNS_MAX,
        },
      ],
      description: "An operation, a pattern like 'create*', a route, or a list of them",
    }),
  token: pattern.optional(),
  model: pattern.optional(),
  deployment: pattern.optional(),
  times: count.optional(),
  nth: count.optional(),
  every: count.optional(),
  chance: z.number().gt(0).max(1).optional(),
  after: z.strictObject({ kind: z.string(), subject: z.string().optional() }).optional(),
  from: moment.optional(),
  until: moment.optional(),
  fault: z.discriminatedUnion('kind', [
    KINDS.status.schema,
    KINDS.rateLimit.schema,
    KINDS.latency.schema,
    KINDS.hang.schema,
    KINDS.reset.schema,
    KINDS.refused.schema,
    KINDS.empty.schema,
    KINDS.truncated.schema,
    KINDS.garbled.schema,
    KINDS.html.schema,
    KINDS.slowBody.schema,
    KINDS.drift.schema,
    KINDS.stale.schema,
    KINDS.duplicate.schema,
  ]),
})

/**
 * What goes wrong on the wire, and when.
 *
 * `on` names operations (`createLlmDeployment`), patterns of them (`create*`, `*`) or routes (`POST /deploy/llm`). At
 * most one of `times` (the first n), `nth`, `every` (each n-th) and `chance` says which of the matching requests it
 * befalls; all of them when none does. `after` arms it with an event of the journal, `from` and `until` bound it in time.
 *
 * @example { on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } }
 * @example { on: 'GET /deploy/*', model: 'acme/chat', chance: 0.1, fault: { kind: 'latency', delay: '2s', jitter: '3s' } }
 */
export type FaultRule = z.input<typeof RuleSchema>
/** A fault: its kind and what it takes. */
export type Fault = FaultRule['fault']

/** A rule that can not be: the message says where, and what would do. */
export class FaultError extends RangeError {
  /** Where in the rule, where it is at one place, and what is wrong there. */
  readonly path: readonly PropertyKey[]
  readonly reason: string

  constructor(message: string, path: readonly PropertyKey[] = [], reason = message) {
    super(message)
    this.path = path
    this.reason = reason
  }
}

/** A rule with what is settled when it is added. */
export interface ReadRule {
  /** As it was given, with what it left out. */
  readonly rule: z.output<typeof RuleSchema>
  /** The operations that it is on, and can befall. */
  readonly operations: ReadonlySet<string>
  readonly from: Micros
  readonly until: Micros
}

/** What a rule is read against. */
export interface Surroundings {
  readonly operations: Operations
  operationOf(method: string, path: string): string | undefined
  /** What the journal calls things. */
  readonly kinds: readonly string[]
  readonly clock: Clock
}

/** The fields of a body in which a request names a model. */
export const MODEL_FIELDS = ['model_name', 'model', 'base_model'] as const

const TRIGGERS = ['times', 'nth', 'every', 'chance'] as const

/**
 * Reads a rule.
 *
 * @throws FaultError before anything has changed
 */
export function readRule(given: unknown, around: Surroundings): ReadRule {
  const read = demandRule(given, around)
  return { ...read, ...windowOf(read.rule, around.clock) }
}

/**
 * The same without a world: everything of a rule but its window, which a clock has to judge.
 *
 * @throws FaultError that says at which path
 */
export function demandRule(given: unknown, around: Omit<Surroundings, 'clock'>): Pick<ReadRule, 'rule' | 'operations'> {
  const parsed = RuleSchema.safeParse(given)
  if (!parsed.success) {
    const [{ path, text }] = problemsOf(RuleSchema, given, parsed.error) as [{ path: PropertyKey[]; text: string }]
    throw refused(text, path)
  }
  const rule = parsed.data
  const triggers = TRIGGERS.filter(name => rule[name] !== undefined)
  if (triggers.length > 1) {
    throw refused(`${triggers.join(' and ')} contradict each other. Give one of ${TRIGGERS.join(', ')}, or none.`)
  }
  demandKind(rule.after?.kind, around.kinds)
  const named = new Set([rule.on].flat().flatMap(one => operationsNamed(one, around)))
  const befalls = befallen(rule.fault, named, around)
  demandNaming(rule, befalls, around)
  return { rule, operations: befalls }
}

/** A rule for requests that name a deployment or a model is on some that can. What they name may be made later. */
function demandNaming(
  { deployment, model }: z.output<typeof RuleSchema>,
  befalls: ReadonlySet<string>,
  { operations }: Pick<Surroundings, 'operations'>,
): void {
  const endpoints = [...befalls].map(name => operations[name] as AnyEndpoint)
  const names = [...befalls].slice(0, 3).join(', ')
  const never = (place: string, what: string) =>
    refused(`no request of ${names} names ${what}, so it would never act. Leave it out, or name others in 'on'.`, [
      place,
    ])
  if (deployment !== undefined && !endpoints.some(({ path }) => routeNames(path).includes('deploy_id'))) {
    throw never('deployment', 'a deployment in its path')
  }
  if (model !== undefined && !endpoints.some(namesModel)) throw never('model', 'a model')
}

function namesModel({ path, query, body }: AnyEndpoint): boolean {
  const fields = body instanceof z.ZodObject ? Object.keys(body.shape) : []
  const named = MODEL_FIELDS.some(field => fields.includes(field))
  return named || Object.hasOwn(query, 'model') || routeNames(path).includes('model_name')
}

function operationsNamed(wanted: string, { operations, operationOf }: Omit<Surroundings, 'clock'>): string[] {
  const served = Object.entries(operations as Operations<unknown>)
  const glob = globOf(wanted)
  const found = served.filter(([name, { route }]) => glob(name) || glob(route)).map(([name]) => name)
  if (found.length > 0) return found
  const [method = '', path = ''] = wanted.split(' ')
  const one = path.startsWith('/') ? operationOf(method.toUpperCase(), path) : undefined
  if (one !== undefined) return [one]
  const meant = nearest(wanted, wanted.includes(' ') ? served.map(([, { route }]) => route) : Object.keys(operations))
  throw refused(
    `there is no operation '${wanted}'. ` +
      (meant === undefined ? "'modelhost-sim endpoints' lists them; '*' is all of them." : `Did you mean '${meant}'?`),
    ['on'],
  )
}

/** The operations that the fault can befall; a pattern may take in others. */
function befallen(
  fault: z.output<typeof RuleSchema>['fault'],
  named: ReadonlySet<string>,
  { operations }: Pick<Surroundings, 'operations'>,
): ReadonlySet<string> {
  const { befalls, befallsOnly, misfit } = KINDS[fault.kind] as unknown as Kind
  if (befalls === undefined) return named
  const found = [...named].filter(name => befalls(fault, operations[name] as AnyEndpoint))
  if (found.length > 0) return new Set(found)
  const wrong = misfit?.(
    fault,
    [...named].map(name => operations[name] as AnyEndpoint),
  )
  if (wrong !== undefined) throw refused(wrong.reason, ['fault', ...wrong.path])
  const shown = [...named].slice(0, 3).join(', ')
  throw refused(`'${fault.kind}' befalls ${befallsOnly}, and ${shown} is none. Name others in 'on'.`, ['fault'])
}

function windowOf({ from, until }: z.output<typeof RuleSchema>, clock: Clock): { from: Micros; until: Micros } {
  const begins = from === undefined ? 0 : timeOf(from, clock)
  const ends = until === undefined ? Number.POSITIVE_INFINITY : timeOf(until, clock)
  if (ends <= clock.now) {
    throw refused(`that window has ended, at ${clock.iso(ends)}, and it is ${clock.iso()}. Give a later one.`, [
      'until',
    ])
  }
  if (ends <= begins) {
    throw refused(`the window ends at ${clock.iso(ends)}, before it begins. Give one after 'from'.`, ['until'])
  }
  return { from: begins, until: ends }
}

function timeOf(given: Duration | Date, clock: Clock): Micros {
  if (given instanceof Date) return (given.getTime() - clock.epochMs) * 1000
  return isDuration(given) ? clock.now + micros(given) : clock.fromIso(given as string)
}

/** What has not happened yet is no mistake; what the journal never calls anything would never come. */
function demandKind(kind: string | undefined, kinds: readonly string[]): void {
  if (kind === undefined || kinds.includes(kind)) return
  const meant = nearest(kind, kinds)
  throw refused(
    `nothing is of the kind '${kind}'. ` +
      (meant === undefined ? "Give one that the journal has, as in 'deployment.running'." : `Did you mean '${meant}'?`),
    ['after', 'kind'],
  )
}

function refused(reason: string, path?: readonly PropertyKey[]): FaultError {
  const place = path === undefined ? '' : `${jsonPath(path)}: `
  return new FaultError(`Failed to add the fault: ${place}${reason}`, path, reason)
}
