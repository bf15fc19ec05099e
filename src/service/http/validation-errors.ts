/** Zod issues as the body of a 422: FastAPI's `detail` with pydantic's messages and types. */

import * as z from 'zod'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { LIMITS } from '../../lib/limits.ts'
import { isIntegerText, MAX_NUMBER_LENGTH } from '../../lib/text/numbers.ts'
import { unwrapSchema } from '../../lib/zod-problems.ts'

export interface ValidationDetail {
  /** Where: `body`, `query`, `path` or `header`, then names and positions, all strings. */
  loc: string[]
  msg: string
  type: string
  /** The values or fields that the place accepts, if `msg` names them. */
  accepted?: readonly unknown[]
}

/** Collects the details of one 422: the first hundred, and how many more there are. */
export class Details {
  readonly #kept: ValidationDetail[] = []
  #more = 0

  /** How many were added. */
  get count(): number {
    return this.#kept.length + this.#more
  }

  /** Those that are kept; the last one says how many more there are. */
  list(): ValidationDetail[] {
    if (this.#more === 0) return [...this.#kept]
    const [place = 'body'] = this.#kept.at(-1)!.loc
    const msg = `Only the first ${LIMITS.errorDetails} errors are listed; there are ${this.count < LIMITS.countedErrors ? '' : 'at least '}${this.#more} more`
    return [...this.#kept, { loc: [place], msg, type: 'too_many_errors' }]
  }

  /** Where each of those that are kept is. */
  get places(): readonly (readonly string[])[] {
    return this.#kept.map(({ loc }) => loc)
  }

  /** Adds a detail; `say` is called if it is kept. */
  add(loc: string[], say: () => Omit<ValidationDetail, 'loc'>): void {
    if (this.#kept.length < LIMITS.errorDetails) this.#kept.push({ loc, ...say() })
    else this.#more++
  }

  /** Adds all of another collection. */
  take(other: Details): void {
    for (const { loc, ...said } of other.#kept) this.add(loc, () => said)
    this.#more += other.#more
  }
}

export type InputLocation = 'path' | 'query' | 'header' | 'body'

type Issue = z.core.$ZodIssue

/** The message that `integer()` of fields.ts gives to its issues. */
export const NOT_AN_INTEGER = 'Input should be a valid integer'

/**
 * Adds every issue of one place, in the order of the fields. The parse must have run with `reportInput`.
 *
 * @param schema what the place takes, for the hint where it takes no other names
 */
export function explainAll(into: Details, place: InputLocation, issues: readonly Issue[], schema: z.ZodType): void {
  for (const [i, issue] of issues.entries()) {
    if (!isRedundant(issue, issues, i)) explainIssue(into, [place], issue, path => listFieldNames(schema, path))
  }
}

/** A name that a place does not take, where it is strict about them, and the one that was meant. */
export function explainExtraField(name: string, known: readonly string[]): { msg: string; type: string } {
  const acceptedText = known.length === 0 ? 'It takes none.' : `It takes ${known.join(', ')}.`
  const hint = formatSuggestion(name, known, acceptedText)
  return { msg: `Extra inputs are not permitted: ${name}. ${hint}`, type: 'extra_forbidden' }
}

/** The names that a schema takes at a place within it, in all of its forms. */
function listFieldNames(given: unknown, path: readonly string[]): string[] {
  const schema = unwrapSchema(given as z.ZodType)
  const [step, ...below] = path
  if (schema instanceof z.ZodUnion) return [...new Set(schema.options.flatMap(option => listFieldNames(option, path)))]
  if (step === undefined) return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
  if (schema instanceof z.ZodObject) return listFieldNames(schema.shape[step], below)
  if (schema instanceof z.ZodArray) return listFieldNames(schema.element, below)
  return schema instanceof z.ZodRecord ? listFieldNames(schema.valueType, below) : []
}

/** Out of the safe range of integers says nothing new where the field has a bound of its own. */
function isRedundant(issue: Issue, issues: readonly Issue[], at: number): boolean {
  if ((issue.code !== 'too_big' && issue.code !== 'too_small') || issue.origin !== 'int') return false
  // The issues of one value are beside one another, so that many values take no longer than they must.
  const path = issue.path.join('/')
  const isSaid = (other: Issue) => other.code === issue.code
  for (const step of [-1, 1]) {
    for (let i = at + step; issues[i]?.path.join('/') === path; i += step) if (isSaid(issues[i]!)) return true
  }
  return false
}

/** Names that are taken at a place, from the outside in. */
type ListFieldNames = (path: readonly string[]) => string[]

function explainIssue(into: Details, prefix: readonly string[], issue: Issue, namesAt: ListFieldNames): void {
  const loc = [...prefix, ...issue.path.map(String)]
  if (issue.code === 'invalid_union') explainUnion(into, loc, issue, namesAt)
  else if (issue.code === 'invalid_key') {
    for (const inner of issue.issues) explainIssue(into, [...loc, '[key]'], inner, namesAt)
  } else if (issue.code === 'invalid_element') {
    for (const inner of issue.issues) explainIssue(into, loc, inner, namesAt)
  } else if (issue.code === 'unrecognized_keys') {
    const known = namesAt(loc.slice(1))
    for (const key of issue.keys) into.add([...loc, key], () => ({ ...explainExtraField(key, known), accepted: known }))
  } else into.add(loc, () => describeIssue(issue))
}

/** What zod says of a union that has nothing to say of itself. */
const DEFAULT_UNION_MESSAGE = 'Invalid input'

/** The branch that got furthest into the value is the one the caller meant. */
function explainUnion(
  into: Details,
  loc: string[],
  issue: Extract<Issue, { code: 'invalid_union' }>,
  namesAt: ListFieldNames,
): void {
  const input = issue.input
  const isTagged = 'options' in issue && issue.discriminator !== undefined
  const discriminatorValue = isTagged ? (input as Record<string, unknown> | undefined)?.[issue.discriminator!] : input
  if (discriminatorValue === undefined) {
    into.add(loc, () => MISSING_FIELD)
    return
  }
  if (isTagged) {
    into.add(loc, () => describeAccepted((issue.options ?? []).filter(option => option !== undefined)))
    return
  }
  const branches = issue.errors.filter(branch => !branch.some(inner => inner.path.length === 0 && isType(inner)))
  // A branch that takes every part of the value, and only its length is wrong, is closer than one that takes no part.
  const closestBranch = branches.find(branch => branch.every(isBoundOfValue)) ?? branches[0]
  if (closestBranch === undefined && issue.message !== DEFAULT_UNION_MESSAGE) {
    into.add(loc, () => ({ msg: `Input should be ${issue.message}`, type: 'value_error' }))
    return
  }
  for (const inner of closestBranch ?? issue.errors[0] ?? []) explainIssue(into, loc, inner, namesAt)
}

function isBoundOfValue({ code, path }: Issue): boolean {
  return path.length === 0 && (code === 'too_big' || code === 'too_small')
}

function isType(issue: Issue): boolean {
  return issue.code === 'invalid_type' || issue.code === 'invalid_value'
}

const MISSING_FIELD = { msg: 'Field required', type: 'missing' }

function describeIssue(issue: Issue): Omit<ValidationDetail, 'loc'> {
  switch (issue.code) {
    case 'invalid_type':
      return describeType(issue.message === NOT_AN_INTEGER ? 'integer' : issue.expected, issue.input)
    case 'invalid_value':
      if (issue.input === undefined) return MISSING_FIELD
      return describeAccepted(issue.values)
    case 'too_small':
      return describeBound(issue.origin, 'least', issue.minimum, issue.inclusive ?? true, issue.input)
    case 'too_big':
      return describeBound(issue.origin, 'most', issue.maximum, issue.inclusive ?? true, issue.input)
    case 'invalid_format':
      if (issue.format === 'regex' && issue.pattern !== undefined) {
        return { msg: `String should match pattern '${stripSlashes(issue.pattern)}'`, type: 'string_pattern_mismatch' }
      }
      return { msg: `Value error, ${issue.message}`, type: 'value_error' }
    default:
      return { msg: `Value error, ${issue.message}`, type: 'value_error' }
  }
}

function describeType(expected: string, input: unknown): { msg: string; type: string } {
  if (input === undefined) return MISSING_FIELD
  switch (expected) {
    case 'int':
    case 'integer':
      return describeInteger(input)
    case 'number':
      return { msg: 'Input should be a valid number', type: 'float_type' }
    case 'string':
      return { msg: 'Input should be a valid string', type: 'string_type' }
    case 'boolean':
      return { msg: 'Input should be a valid boolean', type: 'bool_type' }
    case 'array':
    case 'tuple':
      return { msg: 'Input should be a valid list', type: 'list_type' }
    case 'record':
      return { msg: 'Input should be a valid dictionary', type: 'dict_type' }
    case 'object':
      return {
        msg: 'Input should be a valid dictionary or object to extract fields from',
        type: 'model_attributes_type',
      }
    default:
      return { msg: `Input should be a valid ${expected}`, type: `${expected}_type` }
  }
}

function describeInteger(input: unknown): { msg: string; type: string } {
  if (typeof input === 'number') {
    return Number.isFinite(input)
      ? { msg: `${NOT_AN_INTEGER}, got a number with a fractional part`, type: 'int_from_float' }
      : { msg: 'Input should be a finite number', type: 'finite_number' }
  }
  if (typeof input === 'string' && input.length > MAX_NUMBER_LENGTH) {
    return {
      msg: 'Unable to parse input string as an integer, exceeded maximum size',
      type: 'int_parsing_size',
    }
  }
  if (typeof input === 'string' && !isIntegerText(input.trim())) {
    return { msg: `${NOT_AN_INTEGER}, unable to parse string as an integer`, type: 'int_parsing' }
  }
  return { msg: NOT_AN_INTEGER, type: 'int_type' }
}

function describeBound(
  origin: string,
  edge: 'least' | 'most',
  limit: number | bigint,
  inclusive: boolean,
  input: unknown,
): { msg: string; type: string } {
  if (origin === 'string') {
    const unit = Number(limit) === 1 ? 'character' : 'characters'
    return { msg: `String should have at ${edge} ${limit} ${unit}`, type: `string_too_${toLengthWord(edge)}` }
  }
  if (origin === 'array' || origin === 'object' || origin === 'set' || origin === 'map') {
    const containerName = origin === 'array' ? 'List' : 'Dictionary'
    const unit = Number(limit) === 1 ? 'item' : 'items'
    const size = Array.isArray(input) ? input.length : Object.keys(Object(input)).length
    return {
      msg: `${containerName} should have at ${edge} ${limit} ${unit} after validation, not ${size}`,
      type: `too_${toLengthWord(edge)}`,
    }
  }
  const comparison = edge === 'least' ? 'greater' : 'less'
  return inclusive
    ? { msg: `Input should be ${comparison} than or equal to ${limit}`, type: `${comparison}_than_equal` }
    : { msg: `Input should be ${comparison} than ${limit}`, type: `${comparison}_than` }
}

function toLengthWord(edge: 'least' | 'most'): string {
  return edge === 'least' ? 'short' : 'long'
}

/** Says which values a place accepts, as in `Input should be 'a', 'b' or 'c'`. */
export function describeAccepted(accepted: readonly unknown[]): Omit<ValidationDetail, 'loc'> {
  const quoted = accepted.map(value => (typeof value === 'string' ? `'${value}'` : String(value)))
  const last = quoted.pop() ?? ''
  const list = quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`
  return { msg: `Input should be ${list}`, type: 'literal_error', accepted }
}

function stripSlashes(pattern: string): string {
  return pattern.replace(/^\//, '').replace(/\/[a-z]*$/, '')
}
