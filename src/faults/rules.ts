/** A rule of a fault: what it befalls, when, and which fault it is. */
import * as z from 'zod'
import type { Clock } from '../kernel/clock.ts'
import { DURATION_PATTERN, type Duration, type Micros, micros } from '../kernel/duration.ts'
import { formatSuggestion } from '../lib/did-you-mean.ts'
import { globOf } from '../lib/glob.ts'
import { jsonPath, problemsOf } from '../lib/zod-problems.ts'
import { type AnyEndpoint, type Operations, routeParamNames } from '../service/endpoint.ts'
import { isDuration } from './kinds/fields.ts'
import { FAULT_KINDS } from './kinds/index.ts'
import type { FaultKind } from './kinds/kind.ts'

const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/i
/** The texts that are a moment, as the source of a pattern for JSON Schema. */
export const TIME_INPUT_PATTERN = `${DURATION_PATTERN}|^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+([Zz]|[+-]\\d\\d:?\\d\\d)$`
/** A moment: a duration from now, ISO 8601 with an offset, or a Date. */
const timeInput = z
  .custom<Duration | Date>(
    value =>
      isDuration(value) ||
      (value instanceof Date && Number.isFinite(value.getTime())) ||
      (typeof value === 'string' && ISO.test(value) && Number.isFinite(Date.parse(value))),
    { error: "a duration from now like '10m', or ISO 8601 with an offset like '2026-01-01T01:00:00Z'" },
  )
  .meta({
    ...{ type: ['string', 'number'] as never, pattern: TIME_INPUT_PATTERN, minimum: 0 },
    description: "As in '10m', or ISO 8601 with an offset",
  })

/** Most characters of a pattern, and most patterns in a list: more than any real name or rule needs. */
const PATTERN_MAX_LENGTH = 1000
const PATTERNS_MAX = 1000
const pattern = z.string().min(1).max(PATTERN_MAX_LENGTH)
const positiveInteger = z.int().min(1)

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

type FaultSchema = (typeof FAULT_KINDS)[keyof typeof FAULT_KINDS]['schema']

/** The schema of every fault kind. Zod asks for a list with at least one element, which a list of values never is. */
const FAULT_SCHEMAS = Object.values(FAULT_KINDS).map(({ schema }) => schema) as [FaultSchema, ...FaultSchema[]]

/** The schema of a fault rule. It checks rules, and editors get it as JSON Schema. */
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
  times: positiveInteger.optional(),
  nth: positiveInteger.optional(),
  every: positiveInteger.optional(),
  chance: z.number().gt(0).max(1).optional(),
  after: z.strictObject({ kind: z.string(), subject: z.string().optional() }).optional(),
  from: timeInput.optional(),
  until: timeInput.optional(),
  fault: z.discriminatedUnion('kind', FAULT_SCHEMAS),
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
export interface ParsedRule {
  /** As it was given, with what it left out. */
  readonly rule: z.output<typeof RuleSchema>
  /** The operations that it is on, and can befall. */
  readonly operations: ReadonlySet<string>
  readonly from: Micros
  readonly until: Micros
}

/** What a rule is read against. */
export interface RuleContext {
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
export function parseRule(input: unknown, context: RuleContext): ParsedRule {
  const parsed = parseRuleWithoutWindow(input, context)
  return { ...parsed, ...toWindow(parsed.rule, context.clock) }
}

/**
 * The same without a world: everything of a rule but its window, which a clock has to judge.
 *
 * @throws FaultError that says at which path
 */
export function parseRuleWithoutWindow(
  input: unknown,
  context: Omit<RuleContext, 'clock'>,
): Pick<ParsedRule, 'rule' | 'operations'> {
  const parsed = RuleSchema.safeParse(input)
  if (!parsed.success) {
    const [{ path, text }] = problemsOf(RuleSchema, input, parsed.error) as [{ path: PropertyKey[]; text: string }]
    throw invalidRule(text, path)
  }
  const rule = parsed.data
  const triggers = TRIGGERS.filter(name => rule[name] !== undefined)
  if (triggers.length > 1) {
    throw invalidRule(`${triggers.join(' and ')} contradict each other. Give one of ${TRIGGERS.join(', ')}, or none.`)
  }
  assertKnownKind(rule.after?.kind, context.kinds)
  const selected = new Set([rule.on].flat().flatMap(one => selectOperations(one, context)))
  const applicable = applicableOperations(rule.fault, selected, context)
  assertCanMatch(rule, applicable, context)
  return { rule, operations: applicable }
}

/** A rule for requests that name a deployment or a model is on some that can. What they name may be made later. */
function assertCanMatch(
  { deployment, model }: z.output<typeof RuleSchema>,
  applicable: ReadonlySet<string>,
  { operations }: Pick<RuleContext, 'operations'>,
): void {
  const endpoints = [...applicable].map(name => operations[name] as AnyEndpoint)
  const names = [...applicable].slice(0, 3).join(', ')
  const cannotMatch = (place: string, what: string) =>
    invalidRule(`no request of ${names} names ${what}, so it would never act. Leave it out, or name others in 'on'.`, [
      place,
    ])
  if (deployment !== undefined && !endpoints.some(({ path }) => routeParamNames(path).includes('deploy_id'))) {
    throw cannotMatch('deployment', 'a deployment in its path')
  }
  if (model !== undefined && !endpoints.some(namesModel)) throw cannotMatch('model', 'a model')
}

function namesModel({ path, query, body }: AnyEndpoint): boolean {
  const fields = body instanceof z.ZodObject ? Object.keys(body.shape) : []
  const isInBody = MODEL_FIELDS.some(field => fields.includes(field))
  return isInBody || Object.hasOwn(query, 'model') || routeParamNames(path).includes('model_name')
}

function selectOperations(selector: string, { operations, operationOf }: Omit<RuleContext, 'clock'>): string[] {
  const allOperations = Object.entries(operations as Operations<unknown>)
  const glob = globOf(selector)
  const matched = allOperations.filter(([name, { route }]) => glob(name) || glob(route)).map(([name]) => name)
  if (matched.length > 0) return matched
  const [method = '', path = ''] = selector.split(' ')
  const operation = path.startsWith('/') ? operationOf(method.toUpperCase(), path) : undefined
  if (operation !== undefined) return [operation]
  const known = selector.includes(' ') ? allOperations.map(([, { route }]) => route) : Object.keys(operations)
  const advice = formatSuggestion(selector, known, "'modelhost-sim endpoints' lists them; '*' is all of them.")
  throw invalidRule(`there is no operation '${selector}'. ${advice}`, ['on'])
}

/** The operations that the fault can befall; a pattern may take in others. */
function applicableOperations(
  fault: z.output<typeof RuleSchema>['fault'],
  selected: ReadonlySet<string>,
  { operations }: Pick<RuleContext, 'operations'>,
): ReadonlySet<string> {
  const { appliesTo, scope, explainMismatch } = FAULT_KINDS[fault.kind] as unknown as FaultKind
  if (appliesTo === undefined) return selected
  const applicable = [...selected].filter(name => appliesTo(fault, operations[name] as AnyEndpoint))
  if (applicable.length > 0) return new Set(applicable)
  const mismatch = explainMismatch?.(
    fault,
    [...selected].map(name => operations[name] as AnyEndpoint),
  )
  if (mismatch !== undefined) throw invalidRule(mismatch.reason, ['fault', ...mismatch.path])
  const firstNames = [...selected].slice(0, 3).join(', ')
  throw invalidRule(`'${fault.kind}' befalls ${scope}, and ${firstNames} is none. Name others in 'on'.`, ['fault'])
}

function toWindow({ from, until }: z.output<typeof RuleSchema>, clock: Clock): { from: Micros; until: Micros } {
  const start = from === undefined ? 0 : toMicros(from, clock)
  const end = until === undefined ? Number.POSITIVE_INFINITY : toMicros(until, clock)
  if (end <= clock.now) {
    throw invalidRule(`that window has ended, at ${clock.iso(end)}, and it is ${clock.iso()}. Give a later one.`, [
      'until',
    ])
  }
  if (end <= start) {
    throw invalidRule(`the window ends at ${clock.iso(end)}, before it begins. Give one after 'from'.`, ['until'])
  }
  return { from: start, until: end }
}

function toMicros(time: Duration | Date, clock: Clock): Micros {
  return isDuration(time) ? clock.now + micros(time) : clock.elapsedAt(time as string | Date)
}

/** What has not happened yet is no mistake; what the journal never calls anything would never come. */
function assertKnownKind(kind: string | undefined, kinds: readonly string[]): void {
  if (kind === undefined || kinds.includes(kind)) return
  const advice = formatSuggestion(kind, kinds, "Give one that the journal has, as in 'deployment.running'.")
  throw invalidRule(`nothing is of the kind '${kind}'. ${advice}`, ['after', 'kind'])
}

function invalidRule(reason: string, path?: readonly PropertyKey[]): FaultError {
  const place = path === undefined ? '' : `${jsonPath(path)}: `
  return new FaultError(`Failed to add the fault: ${place}${reason}`, path, reason)
}
