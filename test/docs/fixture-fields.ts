/** The fields of fixture files, as rows of docs/fixtures.md: from the schemas that check a fixture. */
import * as z from 'zod'
import {
  CONTAINER_STATES,
  DEPLOYMENT_STATUSES,
  HOSTED_STATES,
  MODEL_TASKS,
  VARIANT_KEYS,
} from '../../src/data/records/enums.ts'
import { Fixture } from '../../src/data/records/fixture.ts'
import { GPU_TYPES } from '../../src/data/records/gpu-config.ts'

export interface FieldRow {
  /** The path of the field below a record of the file, as in `topup.amount` or `pools[].nodes[].gpu`. */
  readonly field: string
  readonly type: string
  readonly default: string
}

interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly default?: unknown
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly additionalProperties?: JsonSchema | boolean
}

/** Long lists of values, which the page shows once. */
export const VALUE_LISTS: Readonly<Record<string, readonly string[]>> = {
  'GPU type': GPU_TYPES.filter(name => name !== 'other'),
  task: MODEL_TASKS,
  variant: VARIANT_KEYS,
  'deployment status': DEPLOYMENT_STATUSES,
  'hosted state': HOSTED_STATES,
  'container state': CONTAINER_STATES,
}

/** Returns the rows of each file of a fixture folder, by the name of the file. */
export function fixtureFields(): ReadonlyMap<string, readonly FieldRow[]> {
  const { properties } = toJsonSchema(Fixture)
  return new Map(
    Object.entries(properties!).map(([key, schema]) => {
      const { oneOf } = schema.items ?? schema
      const rows = oneOf ? variantFields(oneOf, '') : fieldsOf(schema.items ?? schema, '', '')
      return [`${key}.json`, rows]
    }),
  )
}

function toJsonSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as JsonSchema
}

function fieldsOf(schema: JsonSchema, prefix: string, variant: string): FieldRow[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`
    const isRequired = schema.required?.includes(name) ?? false
    const row = { field: path, type: formatType(field), default: formatDefault(field, isRequired) + variant }
    return [row, ...nestedFields(field, path, variant)]
  })
}

function nestedFields(schema: JsonSchema, path: string, variant: string): FieldRow[] {
  if (schema.items !== undefined) return nestedFields(schema.items, `${path}[]`, variant)
  if (schema.oneOf !== undefined) return variantFields(schema.oneOf, `${path}.`)
  return fieldsOf(schema, `${path}.`, variant)
}

/** Returns the fields of all variants of an object once; a field of some variants names them. */
function variantFields(variants: readonly JsonSchema[], prefix: string): FieldRow[] {
  const [tag] = Object.entries(variants[0]!.properties!).find(([, { const: value }]) => value !== undefined)!
  const names = variants.map(({ properties }) => String(properties![tag]!.const))
  const found = new Map<string, { row: FieldRow; in: string[] }>()
  for (const [position, variant] of variants.entries()) {
    for (const row of fieldsOf(variant, prefix, '')) {
      const entry = found.get(row.field) ?? { row, in: [] }
      entry.in.push(names[position]!)
      found.set(row.field, entry)
    }
  }
  return [...found.values()].map(({ row, in: users }) => {
    if (row.field === prefix + tag) return { ...row, type: formatWords(names) }
    return users.length === names.length ? row : { ...row, default: `${row.default}; ${formatWords(users)} only` }
  })
}

function formatType(schema: JsonSchema): string {
  const { type, items, anyOf, oneOf } = schema
  if (schema.const !== undefined) return formatWords([schema.const])
  if (schema.enum !== undefined) return formatEnum(schema.enum)
  if (Array.isArray(type)) return type.map(each => formatType({ ...schema, type: each })).join(' or ')
  if (anyOf !== undefined) return [...new Set(anyOf.map(formatType))].join(' or ')
  if (oneOf !== undefined || type === 'object') return schema.properties || oneOf ? 'object' : 'object of any keys'
  if (items !== undefined) return `list of ${formatType(items)}`
  if (type === 'integer' || type === 'number') return formatNumber(type, schema)
  return TYPE_WORDS[String(type)] ?? 'JSON'
}

function formatEnum(values: readonly unknown[]): string {
  const list = Object.entries(VALUE_LISTS).find(([, words]) => words.join() === values.join())
  return list === undefined ? formatWords(values) : list[0]
}

const TYPE_WORDS: Readonly<Record<string, string>> = { string: 'text', boolean: 'true or false', null: 'null' }

function formatNumber(type: string, { minimum, exclusiveMinimum, maximum }: JsonSchema): string {
  if (exclusiveMinimum !== undefined) return `${type} above ${exclusiveMinimum}`
  const min = minimum === undefined || minimum <= Number.MIN_SAFE_INTEGER ? undefined : minimum
  const max = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? undefined : maximum
  if (max !== undefined) return `${type}, ${min ?? 'up'} to ${max.toLocaleString('en')}`
  return min === undefined ? type : `${type} from ${min}`
}

function formatDefault({ default: value }: JsonSchema, isRequired: boolean): string {
  if (value === undefined) return isRequired ? 'required' : 'optional'
  if (Array.isArray(value) && value.length === 0) return 'empty'
  if (value === '') return 'empty'
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) return 'empty'
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
}

function formatWords(words: readonly unknown[]): string {
  return words.map(word => `\`${word}\``).join(', ')
}
