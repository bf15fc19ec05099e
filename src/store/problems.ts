/** A zod schema's complaints in the words of this project: where, what was expected, what to do. */
import * as z from 'zod'
import { nearest } from '../kernel/nearest.ts'

/** For what is read once and kept: zod else compiles a parser for each kind of object, which 20,000 of it do not make up for. */
export const READ_ONCE = Object.freeze({ jitless: true })

/** One thing wrong with a record: where, and `expected …, got …. Fix that value.` */
export interface Problem {
  path: readonly PropertyKey[]
  text: string
}

/** The problems of a value that a schema refused, in the order of the fields. */
export function problemsOf(schema: z.ZodType, value: unknown, error: z.ZodError): Problem[] {
  return error.issues.flatMap(issue => problemsOfIssue(schema, value, issue))
}

/** `['a', 2, 'b c']` as `$.a[2]["b c"]`. */
export function jsonPath(path: readonly PropertyKey[]): string {
  let text = '$'
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else text += /^[A-Za-z_]\w*$/.test(String(step)) ? `.${String(step)}` : `[${JSON.stringify(String(step))}]`
  }
  return text
}

/** A value as an error shows it: short, strings in single quotes. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return value.length > 60 ? `'${value.slice(0, 57)}…'` : `'${value}'`
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value === 'function') return 'a function'
  return String(value)
}

function problemsOfIssue(schema: z.ZodType, value: unknown, issue: z.core.$ZodIssue): Problem[] {
  const path = issue.path
  const got = valueAt(value, path)
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, value, path)
    return issue.keys.map(key => {
      const meant = nearest(key, known)
      const hint = meant === undefined ? 'Remove it.' : `Did you mean '${meant}'? Rename or remove it.`
      return { path: [...path, key], text: `unknown field. ${hint}` }
    })
  }
  const expected = expectation(issue)
  if (got === undefined) return [{ path, text: `expected ${expected}, got nothing. Add that field.` }]
  const words = wordsOf(issue)
  const meant = words === undefined || typeof got !== 'string' ? undefined : nearest(got, words)
  const hint = meant === undefined ? '' : ` Did you mean '${meant}'?`
  return [{ path, text: `expected ${expected}, got ${shown(got)}.${hint} Fix that value.` }]
}

function wordsOf(issue: z.core.$ZodIssue): string[] | undefined {
  if (issue.code === 'invalid_value') return issue.values.map(String)
  if (issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options))
    return issue.options.map(String)
  return undefined
}

const KINDS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

function expectation(issue: z.core.$ZodIssue): string {
  const words = wordsOf(issue)
  if (words !== undefined) {
    const quoted = words.map(word => `'${word}'`)
    return quoted.length === 1 ? quoted[0]! : `one of ${quoted.join(', ')}`
  }
  switch (issue.code) {
    case 'invalid_type':
      return KINDS[issue.expected] ?? issue.expected
    case 'too_small':
      return bound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)
    case 'too_big':
      return bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
    case 'invalid_format':
      return format(issue)
    case 'invalid_union':
      return 'a JSON value'
    default:
      return issue.message
  }
}

function bound(origin: string, relation: string, limit: number | bigint): string {
  if (origin === 'string') return `${relation} ${limit} character${limit === 1 ? '' : 's'}`
  if (origin === 'array') return `${relation} ${limit} item${limit === 1 ? '' : 's'}`
  return `${relation} ${limit}`
}

function format(issue: z.core.$ZodIssueInvalidStringFormat): string {
  if (issue.format === 'datetime') return "a time with an offset like '2025-12-31T08:00:00Z'"
  if (issue.format === 'starts_with') return `text that starts with '${(issue as { prefix?: string }).prefix}'`
  // A schema that words its own message says it better than its pattern.
  if (issue.message.startsWith('text ')) return issue.message
  if (!issue.message.startsWith('Invalid')) return `text like '${issue.message}'`
  return issue.pattern === undefined ? issue.format : `text that matches ${issue.pattern}`
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let inner = value
  for (const step of path) {
    if (typeof inner !== 'object' || inner === null) return undefined
    inner = (inner as Record<PropertyKey, unknown>)[step]
  }
  return inner
}

/** The field names a schema knows at a path; a union's are those of the option the value's discriminator picks. */
function keysAt(schema: z.ZodType, value: unknown, path: readonly PropertyKey[]): string[] {
  let inner = schema
  for (const [depth, step] of path.entries()) {
    const next = stepInto(inner, valueAt(value, path.slice(0, depth)), step)
    if (next === undefined) return []
    inner = next
  }
  return keysOf(unwrapped(inner), valueAt(value, path))
}

function keysOf(schema: z.ZodType, value: unknown): string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape)
  if (schema instanceof z.ZodDiscriminatedUnion) return keysOf(picked(schema, value), value)
  if (schema instanceof z.ZodRecord && schema.keyType instanceof z.ZodEnum) return schema.keyType.options.map(String)
  return []
}

function stepInto(schema: z.ZodType, value: unknown, step: PropertyKey): z.ZodType | undefined {
  const bare = unwrapped(schema)
  if (bare instanceof z.ZodArray) return bare.element as z.ZodType
  if (bare instanceof z.ZodRecord) return bare.valueType as z.ZodType
  if (bare instanceof z.ZodDiscriminatedUnion) return stepInto(picked(bare, value), value, step)
  if (bare instanceof z.ZodObject) return bare.shape[String(step)] as z.ZodType | undefined
  return undefined
}

function picked(union: z.ZodDiscriminatedUnion, value: unknown): z.ZodType {
  const word = valueAt(value, [union.def.discriminator])
  const options = union.options as readonly z.ZodObject[]
  return options.find(option => option.shape[union.def.discriminator]?.safeParse(word).success) ?? options[0]!
}

function unwrapped(schema: z.ZodType): z.ZodType {
  let inner = schema
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodOptional || inner instanceof z.ZodNullable) {
    inner = inner.unwrap() as z.ZodType
  }
  return inner
}
