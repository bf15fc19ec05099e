/** Describes the problems of a zod schema in the format of this project: place, expected value, remedy. */
import * as z from 'zod'
import { formatHint, nearestWord } from './did-you-mean.ts'
import { describeUnknownField } from './known-keys.ts'

/**
 * Option for values that are read once. Otherwise zod compiles a parser for each kind of object, which takes longer.
 */
export const WITHOUT_JIT = Object.freeze({ jitless: true })

/** Parses a JSON value. A missing field is missing, also if every object inherits a property of its name: `constructor`. */
export function parseOwnFields<Output>(schema: z.ZodType<Output>, value: unknown): z.ZodSafeParseResult<Output> {
  const result = schema.safeParse(value, { reportInput: true })
  return result.error?.issues.some(readsInherited) ? schema.safeParse(withoutPrototypes(value)) : result
}

/** Tells whether a schema read an inherited property of a JSON value. The parse must have run with `reportInput`. */
export function readsInherited(issue: z.core.$ZodIssue): boolean {
  return (
    typeof issue.input === 'function' || (issue.code === 'invalid_union' && issue.errors.flat().some(readsInherited))
  )
}

/** Returns a JSON value whose objects inherit nothing. */
export function withoutPrototypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPrototypes)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  const fields = Object.entries(value).map(([name, inner]) => [name, withoutPrototypes(inner)])
  return Object.assign(Object.create(null), Object.fromEntries(fields))
}

/** A problem of a record: its place, and a text like `expected …, got …. Fix that value.` */
export interface Problem {
  path: readonly PropertyKey[]
  text: string
}

/**
 * Returns the problems of an invalid value, in the order of the fields. A field that is missing because of a typo in its
 * name is one problem, that of the typo.
 */
export function problemsOf(schema: z.ZodType, value: unknown, error: z.ZodError): Problem[] {
  const mistyped = new Set(error.issues.flatMap(issue => mistypedFields(schema, value, issue)).map(jsonPath))
  return error.issues
    .flatMap(issue => problemsOfIssue(schema, value, issue))
    .filter(({ path }) => valueAt(value, path) !== undefined || !mistyped.has(jsonPath(path)))
}

/** Returns the fields that the unknown keys of an issue probably mean. */
function mistypedFields(schema: z.ZodType, value: unknown, issue: z.core.$ZodIssue): PropertyKey[][] {
  if (issue.code !== 'unrecognized_keys') return []
  const known = knownKeysAt(schema, value, issue.path)
  return issue.keys.flatMap(key => {
    const meant = nearestWord(key, known)
    return meant === undefined ? [] : [[...issue.path, meant]]
  })
}

/** Formats a path: `['a', 2, 'b c']` becomes `$.a[2]["b c"]`. */
export function jsonPath(path: readonly PropertyKey[]): string {
  let text = '$'
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else text += /^[A-Za-z_]\w*$/.test(String(step)) ? `.${String(step)}` : `[${JSON.stringify(String(step))}]`
  }
  return text
}

/** Returns the problems of a value in one text, each with its path. */
export function describeProblems(...args: Parameters<typeof problemsOf>): string {
  return problemsOf(...args)
    .map(({ path, text }) => `${jsonPath(path)}: ${text}`)
    .join(' ')
}

/** Formats a value for an error: short, with strings in single quotes. */
export function formatValue(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return value.length > 60 ? `'${value.slice(0, 57)}…'` : `'${value}'`
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value === 'function') return 'a function'
  return String(value)
}

/** Returns the text of a problem with a value that is not as expected. */
export function describeWrongValue(expected: string, got: unknown): string {
  return `expected ${expected}, got ${formatValue(got)}. Fix that value.`
}

function problemsOfIssue(schema: z.ZodType, value: unknown, issue: z.core.$ZodIssue): Problem[] {
  const path = issue.path
  const received = valueAt(value, path)
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeysAt(schema, value, path)
    return issue.keys.map(key => ({ path: [...path, key], text: describeUnknownField(key, known) }))
  }
  if (issue.code === 'invalid_key') {
    const expectedName = describeExpected(issue.issues[0]!)
    return [{ path, text: `expected ${expectedName}, got ${formatValue(path.at(-1))}. Fix that name.` }]
  }
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') {
    // The forms whose type the value has, and the first of them whose words it has.
    const forms = issue.errors.filter(issues => issues.length > 0 && issues.every(inner => inner.path.length > 0))
    const closest = forms.find(issues => issues.every(({ code }) => code !== 'invalid_value')) ?? forms[0]
    const within = closest?.map(inner => ({ ...inner, path: [...path, ...inner.path] }))
    if (within !== undefined) return within.flatMap(inner => problemsOfIssue(schema, value, inner))
  }
  const expected = describeExpected(issue)
  if (received === undefined) return [{ path, text: `expected ${expected}, got nothing. Add that field.` }]
  const allowedValues = allowedValuesOf(issue)
  const hint = allowedValues && typeof received === 'string' ? formatHint(received, allowedValues) : ''
  return [{ path, text: `expected ${expected}, got ${formatValue(received)}.${hint} Fix that value.` }]
}

/** Returns the allowed values if there is a fixed set of them. */
export function allowedValuesOf(issue: z.core.$ZodIssue): string[] | undefined {
  if (issue.code === 'invalid_value') return issue.values.map(String)
  if (issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options))
    return issue.options.map(String)
  return undefined
}

const TYPE_NAMES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

function describeExpected(issue: z.core.$ZodIssue): string {
  const allowedValues = allowedValuesOf(issue)
  if (allowedValues !== undefined) {
    const quoted = allowedValues.map(word => `'${word}'`)
    return quoted.length === 1 ? quoted[0]! : `one of ${quoted.join(', ')}`
  }
  switch (issue.code) {
    case 'invalid_type':
      return TYPE_NAMES[issue.expected] ?? issue.expected
    case 'too_small':
      return describeBound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)
    case 'too_big':
      return describeBound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
    case 'invalid_format':
      return describeFormat(issue)
    case 'invalid_union':
      return issue.message === 'Invalid input' ? describeForms(issue.errors) : issue.message
    default:
      return issue.message
  }
}

/** More forms than this are those of any JSON value. */
const MAX_FORMS = 5

/** Returns what each form of a union expects. */
function describeForms(options: readonly (readonly z.core.$ZodIssue[])[]): string {
  const first = options.flatMap(([issue]) => (issue?.path.length === 0 ? [issue] : []))
  const forms = [...new Set(first.map(describeExpected))]
  return forms.length === 0 || forms.length > MAX_FORMS ? 'a JSON value' : forms.join(' or ')
}

function describeBound(origin: string, relation: string, limit: number | bigint): string {
  if (origin === 'string') return `${relation} ${limit} character${limit === 1 ? '' : 's'}`
  if (origin === 'array') return `${relation} ${limit} item${limit === 1 ? '' : 's'}`
  return `${relation} ${limit}`
}

function describeFormat(issue: z.core.$ZodIssueInvalidStringFormat): string {
  if (issue.format === 'datetime') return "a time with an offset like '2025-12-31T08:00:00Z'"
  if (issue.format === 'starts_with') return `text that starts with '${(issue as { prefix?: string }).prefix}'`
  // The schema's own message is better than its pattern.
  if (issue.message.startsWith('text ')) return issue.message
  if (!issue.message.startsWith('Invalid')) return `text like '${issue.message}'`
  return issue.pattern === undefined ? issue.format : `text that matches ${issue.pattern}`
}

/** Returns the value at a path; undefined without one. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let inner = value
  for (const step of path) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, step)) return undefined
    inner = (inner as Record<PropertyKey, unknown>)[step]
  }
  return inner
}

/**
 * Returns the field names of a schema at a path. For a union, they are those of the option of the value's
 * discriminator.
 */
export function knownKeysAt(schema: z.ZodType, value: unknown, path: readonly PropertyKey[]): string[] {
  let inner = schema
  for (const [depth, step] of path.entries()) {
    const next = stepInto(inner, valueAt(value, path.slice(0, depth)), step)
    if (next === undefined) return []
    inner = next
  }
  return keysOf(unwrapSchema(inner), valueAt(value, path))
}

function keysOf(schema: z.ZodType, value: unknown): string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape)
  if (schema instanceof z.ZodDiscriminatedUnion) return keysOf(selectOption(schema, value), value)
  if (schema instanceof z.ZodRecord && schema.keyType instanceof z.ZodEnum) return schema.keyType.options.map(String)
  return []
}

function stepInto(schema: z.ZodType, value: unknown, step: PropertyKey): z.ZodType | undefined {
  const unwrapped = unwrapSchema(schema)
  if (unwrapped instanceof z.ZodArray) return unwrapped.element as z.ZodType
  if (unwrapped instanceof z.ZodRecord) return unwrapped.valueType as z.ZodType
  if (unwrapped instanceof z.ZodDiscriminatedUnion) return stepInto(selectOption(unwrapped, value), value, step)
  if (unwrapped instanceof z.ZodObject) return unwrapped.shape[String(step)] as z.ZodType | undefined
  return undefined
}

function selectOption(union: z.ZodDiscriminatedUnion, value: unknown): z.ZodType {
  const word = valueAt(value, [union.def.discriminator])
  const options = union.options as readonly z.ZodObject[]
  return options.find(option => option.shape[union.def.discriminator]?.safeParse(word).success) ?? options[0]!
}

const WRAPPERS = [z.ZodDefault, z.ZodOptional, z.ZodNullable, z.ZodReadonly, z.ZodCatch]

/** Returns the schema inside optional, nullable, default, readonly and catch. */
export function unwrapSchema(schema: z.ZodType): z.ZodType {
  let inner = schema
  while (WRAPPERS.some(wrapper => inner instanceof wrapper)) inner = (inner as z.ZodOptional).unwrap() as z.ZodType
  return inner
}
