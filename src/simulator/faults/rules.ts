/** Fault rules: which requests they change, when, and how. */

import * as z from 'zod'
import { type Clock, elapsedAt } from '../../kernel/clock.ts'
import { DURATION_PATTERN, type Duration, type Micros, micros } from '../../kernel/duration.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import type { OpenName } from '../../lib/fields.ts'
import { LIMITS } from '../../lib/limits.ts'
import { globOf } from '../../lib/patterns.ts'
import { jsonPath, problemsOf } from '../../lib/zod-problems.ts'
import { type AnyEndpoint, type Operations, routeParamNames } from '../../service/endpoint.ts'
import type { operations } from '../../service/index.ts'
import { BATCH_ENDPOINTS } from '../../simulation/batches/input-lines.ts'
import type { JournalKindName } from '../../simulation/journal-kinds.ts'
import { FaultError } from './fault-error.ts'
import { duration, isDuration } from './kinds/fields.ts'
import { FAULT_KINDS } from './kinds/index.ts'
import type { FaultKind } from './kinds/kind.ts'
import { MODEL_FIELDS, namesModelInForm } from './model-fields.ts'
import { canHavePath } from './path-pattern.ts'

/** The texts that are a valid time, as a pattern for JSON Schema. */
export const TIME_INPUT_PATTERN = `${DURATION_PATTERN}|^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+([Zz]|[+-]\\d\\d:?\\d\\d)$`
/** A time: a duration from now, ISO 8601 with an offset, or a Date. */
const timeInput = z
  .custom<Duration | Date>(
    value =>
      isDuration(value) ||
      ((typeof value === 'string' || value instanceof Date) && Number.isFinite(elapsedAt(value, 0))),
    { error: "a duration from now like '10m', or ISO 8601 with an offset like '2026-01-01T01:00:00Z'" },
  )
  .meta({
    ...{ type: ['string', 'number'] as never, pattern: TIME_INPUT_PATTERN, minimum: 0 },
    description: "As in '10m', or ISO 8601 with an offset",
  })

type OperationName = keyof typeof operations

const pattern = z.string().min(1).max(LIMITS.rulePattern)
const journalKind: z.ZodType<OpenName<JournalKindName>, OpenName<JournalKindName>> = z.string()
const positiveInteger = z.int().min(1)

/** Returns what `on` should be instead of the value; undefined if the value is valid. */
function expectedOn(value: unknown): string | undefined {
  const patterns = [value].flat()
  if (patterns.length === 0 || !patterns.every(one => typeof one === 'string' && one !== '')) {
    return "an operation, a pattern like 'create*', or a list of them"
  }
  if (patterns.length > LIMITS.rulePatterns) return `at most ${LIMITS.rulePatterns} patterns`
  const isShort = patterns.every(one => (one as string).length <= LIMITS.rulePattern)
  return isShort ? undefined : `patterns of at most ${LIMITS.rulePattern} characters`
}

type FaultSchema = (typeof FAULT_KINDS)[keyof typeof FAULT_KINDS]['schema']

/** The schema of every fault kind. Zod asks for a list with at least one element, which a list of values never is. */
const FAULT_SCHEMAS = Object.values(FAULT_KINDS).map(({ schema }) => schema) as [FaultSchema, ...FaultSchema[]]

/** The JSON Schema of a pattern of `on`. */
const PATTERN_JSON = { type: 'string', maxLength: LIMITS.rulePattern } as const

/** The schema of a fault rule. It checks rules, and editors get it as JSON Schema. */
export const RuleSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[\w.-]{1,64}$/, { error: 'text of letters, digits, dot, dash and underscore' })
    .optional(),
  on: z
    .custom<OpenName<OperationName> | readonly OpenName<OperationName>[]>(value => expectedOn(value) === undefined, {
      error: ({ input }) => expectedOn(input),
    })
    .meta({
      anyOf: [PATTERN_JSON, { type: 'array', items: PATTERN_JSON, minItems: 1, maxItems: LIMITS.rulePatterns }],
      description: "An operation, a pattern like 'create*', a route, or a list of them",
    }),
  in: z.literal('batch').describe('On lines of batches in place of requests').optional(),
  path: pattern
    .regex(/^\//, { error: "text that begins with a slash, like '/deploy/dep_*'" })
    .describe("The path without the query, as in '/deploy/dep_*'; * matches any text")
    .optional(),
  token: pattern.optional(),
  model: pattern.optional(),
  deployment: pattern.optional(),
  times: positiveInteger.optional(),
  nth: positiveInteger.optional(),
  for: duration
    .refine(value => micros(value) > 0, { error: "a duration above 0, like '60s'" })
    .describe("With nth: how long the fault continues after the nth match, as in '60s'; a number is milliseconds")
    .optional(),
  every: positiveInteger.optional(),
  chance: z.number().gt(0).max(1).optional(),
  after: z.strictObject({ kind: journalKind, subject: z.string().optional() }).optional(),
  from: timeInput.optional(),
  until: timeInput.optional(),
  fault: z.discriminatedUnion('kind', FAULT_SCHEMAS),
})

/**
 * A rule that changes what a client sees.
 *
 * `on` names operations (`createLlmDeployment`), patterns of them (`create*`, `*`) or routes (`POST /deploy/llm`). At
 * most one of `times` (the first n), `nth`, `every` (each n-th) and `chance` selects among the matching requests. Default:
 * all of them. With `for`, the fault of `nth` continues for that time. `path` is a pattern of the path without its query.
 * `after` arms the rule with a journal entry, `from` and `until` limit it in time. `in: 'batch'` makes it a rule for lines of
 * batches.
 *
 * @example { on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } }
 * @example { on: 'GET /deploy/*', model: 'acme/chat', chance: 0.1, fault: { kind: 'latency', delay: '2s', jitter: '3s' } }
 */
export type FaultRule = z.input<typeof RuleSchema>
/** A fault: its kind and its fields. */
export type Fault = FaultRule['fault']

/** A rule with the values that are computed when it is added. */
export interface ParsedRule {
  /** The rule with its defaults. */
  readonly rule: z.output<typeof RuleSchema>
  /** The operations of the rule to which its fault applies. */
  readonly operations: ReadonlySet<string>
  readonly from: Micros
  readonly until: Micros
}

/** What the parser of a rule needs. */
export interface RuleContext {
  readonly operations: Operations
  operationOf(method: string, path: string): string | undefined
  /** The kinds of journal entries. */
  readonly kinds: readonly string[]
  readonly clock: Clock
}

export const TRIGGERS = ['times', 'nth', 'every', 'chance'] as const

/**
 * Parses a rule.
 *
 * @throws FaultError before anything has changed
 */
export function parseRule(input: unknown, context: RuleContext): ParsedRule {
  const parsed = parseRuleWithoutWindow(input, context)
  return { ...parsed, ...toWindow(parsed.rule, context.clock) }
}

/**
 * Parses a rule without its time window, for which a clock is necessary.
 *
 * @throws FaultError with the path of the invalid field
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
    throw invalidRule(`${triggers.join(' and ')} contradict each other. Give at most one of ${TRIGGERS.join(', ')}.`)
  }
  if (rule.for !== undefined && rule.nth === undefined) {
    throw invalidRule("the time begins at the nth match. Give 'nth' too, or limit the rule with 'until'.", ['for'])
  }
  assertKnownKind(rule.after?.kind, context.kinds)
  const selected = new Set([rule.on].flat().flatMap(one => selectOperations(one, context)))
  if (rule.in === 'batch') return { rule, operations: operationsOfLines(rule, selected, context) }
  const applicable = applicableOperations(rule.fault, selected, context)
  assertCanMatch(rule, applicable, context)
  return { rule, operations: applicable }
}

/**
 * Rejects a rule for a path that no request of its operations has, or for a deployment or a model if none of them names
 * one. The named one need not exist yet.
 */
function assertCanMatch(
  { path: pathPattern, deployment, model }: z.output<typeof RuleSchema>,
  applicable: ReadonlySet<string>,
  { operations }: Pick<RuleContext, 'operations'>,
): void {
  const endpoints = [...applicable].map(name => operations[name] as AnyEndpoint)
  const names = [...applicable].slice(0, 3).join(', ')
  if (pathPattern !== undefined && !endpoints.some(({ path }) => canHavePath(path, pathPattern))) {
    throw invalidRule(`no request of ${names} has such a path. ${pathAdvice(pathPattern, endpoints)}`, ['path'])
  }
  const cannotMatch = (place: string, what: string) =>
    invalidRule(
      `no request of ${names} names ${what}, so the rule would never act. Leave it out, or name others in 'on'.`,
      [place],
    )
  if (deployment !== undefined && !endpoints.some(({ path }) => routeParamNames(path).includes('deploy_id'))) {
    throw cannotMatch('deployment', 'a deployment in its path')
  }
  if (model !== undefined && !endpoints.some(namesModel)) throw cannotMatch('model', 'a model')
}

function pathAdvice(pattern: string, endpoints: readonly AnyEndpoint[]): string {
  if (pattern.includes('?')) return 'Leave the query out.'
  if (pattern.endsWith('/')) return 'Leave the last slash out.'
  const paths = endpoints.slice(0, 3).map(({ path }) => `'${path.replaceAll(/\{\w+\}/g, '*')}'`)
  return `Give one that fits ${paths.join(' or ')}, or name other operations in 'on'.`
}

function namesModel({ path, query, body, upload }: AnyEndpoint): boolean {
  const isInBody = body instanceof z.ZodObject && MODEL_FIELDS.some(field => Object.hasOwn(body.shape, field))
  const isInAddress = Object.hasOwn(query, 'model') || routeParamNames(path).includes('model_name')
  return isInBody || isInAddress || namesModelInForm({ upload })
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
  const advice = formatSuggestion(selector, known, "docs/endpoints.md lists them; '*' is all of them.")
  throw invalidRule(`unknown operation '${selector}'. ${advice}`, ['on'])
}

/** Returns the operations to which the fault applies. A pattern may match others too. */
function applicableOperations(
  fault: z.output<typeof RuleSchema>['fault'],
  selected: ReadonlySet<string>,
  { operations }: Pick<RuleContext, 'operations'>,
): ReadonlySet<string> {
  const { appliesTo, scope, explainMismatch } = FAULT_KINDS[fault.kind] as unknown as FaultKind
  if (appliesTo === undefined) return selected
  const applicable = [...selected].filter(name => appliesTo(fault, operations[name] as AnyEndpoint))
  if (applicable.length > 0) return new Set(applicable)
  const endpoints = [...selected].map(name => operations[name] as AnyEndpoint)
  const mismatch = explainMismatch?.(fault, endpoints)
  if (mismatch !== undefined) throw invalidRule(mismatch.reason, ['fault', ...mismatch.path])
  const firstNames = [...selected].slice(0, 3).join(', ')
  throw invalidRule(`'${fault.kind}' applies only to ${scope}, not to ${firstNames}. Name others in 'on'.`, ['fault'])
}

/** Returns the operations of a rule that lines of batches call. Rejects what a line cannot have. */
function operationsOfLines(
  rule: z.output<typeof RuleSchema>,
  selected: ReadonlySet<string>,
  { operations }: Pick<RuleContext, 'operations'>,
): ReadonlySet<string> {
  const called = BATCH_ENDPOINTS.map(path => Object.keys(operations).find(name => operations[name]!.path === path)!)
  const applicable = called.filter(name => selected.has(name))
  if (applicable.length === 0) {
    const names = [...selected].slice(0, 3).join(', ')
    throw invalidRule(`no line of a batch calls ${names}. Give ${oneOf(called)}.`, ['on'])
  }
  const { fault } = rule
  const { lineError, schema } = FAULT_KINDS[fault.kind] as unknown as FaultKind
  if (lineError === undefined) {
    const kinds = Object.entries<Pick<FaultKind, 'lineError'>>(FAULT_KINDS)
      .filter(([, kind]) => kind.lineError !== undefined)
      .map(([name]) => `'${name}'`)
    throw invalidRule(`'${fault.kind}' is not possible with in: 'batch'. Give ${oneOf(kinds)}.`, ['fault', 'kind'])
  }
  const isOfLines = (name: string) => name === 'kind' || lineError.fields.includes(name)
  const used = schema.parse(Object.fromEntries(Object.entries(fault).filter(([name]) => isOfLines(name))))
  const place =
    LINELESS_FIELDS.find(name => rule[name] !== undefined) ??
    Object.entries(fault).find(([name, value]) => value !== used[name])?.[0]
  if (place !== undefined) {
    const path = Object.hasOwn(rule, place) ? [place] : ['fault', place]
    throw invalidRule(`it is not possible with in: 'batch'. Remove it.`, path)
  }
  const { status } = lineError.of(fault)
  if (status < 400) {
    const reason = `expected a status of 400 or more with in: 'batch', got ${status}. Raise it.`
    throw invalidRule(reason, ['fault', 'status'])
  }
  return new Set(applicable)
}

/** Fields of a rule that no line of a batch has. */
const LINELESS_FIELDS = ['path', 'token', 'deployment'] as const

function oneOf(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}

function toWindow({ from, until }: z.output<typeof RuleSchema>, clock: Clock): { from: Micros; until: Micros } {
  const start = from === undefined ? 0 : toMicros(from, clock)
  const end = until === undefined ? Number.POSITIVE_INFINITY : toMicros(until, clock)
  if (end <= clock.now) {
    throw invalidRule(`the window ended at ${clock.iso(end)}, and it is ${clock.iso()}. Give a later time.`, ['until'])
  }
  if (end <= start) {
    throw invalidRule(`the window ends at ${clock.iso(end)}, before it begins. Give a time after 'from'.`, ['until'])
  }
  return { from: start, until: end }
}

function toMicros(time: Duration | Date, clock: Clock): Micros {
  return isDuration(time) ? clock.now + micros(time) : clock.elapsedAt(time as string | Date)
}

/** Rejects an unknown kind, for which a rule would wait without end. */
function assertKnownKind(kind: string | undefined, kinds: readonly string[]): void {
  if (kind === undefined || kinds.includes(kind)) return
  const advice = formatSuggestion(kind, kinds, "Give one that the journal has, as in 'deployment.running'.")
  throw invalidRule(`unknown kind '${kind}'. ${advice}`, ['after', 'kind'])
}

function invalidRule(reason: string, path?: readonly PropertyKey[]): FaultError {
  const place = path === undefined ? '' : `${jsonPath(path)}: `
  return new FaultError(`Failed to add the fault: ${place}${reason}`, path, reason)
}
