/** JSON Schemas of requests: checks their form and their keywords, and resolves their references. */
import * as z from 'zod'
import { LIMITS } from '../limits.ts'

export type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue }
/** A schema as a request has it. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown }

/** A schema without a possible answer: it contradicts itself, or has an unsupported keyword. */
export class SchemaError extends Error {
  /** @param at the place in the schema, as a JSON pointer */
  constructor(at: string, message: string) {
    super(`#${at}: ${message}`)
  }
}

/** The schema exceeds a limit of effort. No other branch is tried. */
export class EffortLimitError extends SchemaError {}

/** Keywords that neither zod nor pydantic writes. A schema that has one is refused. */
export const REFUSED_KEYWORDS = [
  ...['not', 'if', 'then', 'else', 'contains', 'minContains', 'maxContains', 'dependencies', 'dependentRequired'],
  ...['dependentSchemas', 'unevaluatedItems', 'unevaluatedProperties', '$dynamicRef', '$recursiveRef'],
]
const LEAST_COUNTS = ['minLength', 'minItems', 'minProperties'] as const
const MOST_COUNTS = ['maxLength', 'maxItems', 'maxProperties'] as const
const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const
const SCHEMAS = ['items', 'additionalProperties', 'propertyNames'] as const
const SCHEMA_LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const
const SCHEMA_MAPS = ['properties', 'patternProperties', '$defs', 'definitions'] as const

type Keywords<Names extends readonly string[], Value> = { readonly [keyword in Names[number]]?: Value | undefined }

/** A checked schema in the words of draft 2020-12. The schema `false` is an empty `anyOf`. */
export interface SchemaObject
  extends Keywords<typeof LEAST_COUNTS | typeof MOST_COUNTS | typeof BOUNDS | ['multipleOf'], number>,
    Keywords<typeof SCHEMAS, SchemaObject>,
    Keywords<typeof SCHEMA_LISTS, readonly SchemaObject[]>,
    Keywords<typeof SCHEMA_MAPS, { readonly [name: string]: SchemaObject }>,
    Keywords<['$ref', 'pattern', 'format'], string>,
    Keywords<['type', 'required'], readonly string[]> {
  readonly const?: JsonValue | undefined
  readonly enum?: readonly JsonValue[] | undefined
  readonly uniqueItems?: boolean | undefined
}

const each = (keywords: readonly string[], shape: (keyword: string) => z.ZodType) =>
  Object.fromEntries(keywords.map(keyword => [keyword, shape(keyword).optional()]))
const Schema = z.lazy(() => z.preprocess(toCurrentWords, Checked)) as unknown as z.ZodType<SchemaObject>
const Checked = z.looseObject({
  ...each(REFUSED_KEYWORDS, keyword => z.never({ error: `the keyword ${keyword} is not supported` })),
  ...each(LEAST_COUNTS, () => z.int().nonnegative().max(LIMITS.schemaCharacters)),
  ...each(MOST_COUNTS, () => z.int().nonnegative()),
  ...each(BOUNDS, () => z.number()),
  ...each(SCHEMAS, () => Schema),
  ...each(SCHEMA_LISTS, () => z.array(Schema)),
  ...each(SCHEMA_MAPS, () => z.record(z.string(), Schema)),
  ...each(['$ref', 'pattern', 'format'], () => z.string()),
  multipleOf: z.number().positive().optional(),
  type: z
    .array(z.enum(['object', 'array', 'string', 'integer', 'number', 'boolean', 'null']))
    .min(1)
    .optional(),
  required: z.array(z.string()).optional(),
  enum: z.array(z.unknown()).min(1).optional(),
  uniqueItems: z.boolean().optional(),
})

/** Returns a schema of draft 7 or OpenAPI 3.0 in the words of draft 2020-12, and a boolean as an object. */
function toCurrentWords(raw: unknown): unknown {
  if (raw === true) return {}
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return raw === false ? { anyOf: [] } : raw
  const { items, additionalItems, additionalProperties, nullable, type, ...rest } = raw as Record<string, unknown>
  // Zod writes this for a value that cannot exist.
  if (JSON.stringify(rest.not) === '{}') return { anyOf: [] }
  const exclusive = (flag: unknown, bound: unknown) => (flag === true ? bound : flag === false ? undefined : flag)
  return {
    ...rest,
    ...(Array.isArray(items) ? { prefixItems: items, items: additionalItems } : { items }),
    additionalProperties: additionalProperties === true ? undefined : additionalProperties,
    type: type === undefined ? undefined : [type, nullable === true && rest.enum !== undefined ? 'null' : []].flat(),
    exclusiveMinimum: exclusive(rest.exclusiveMinimum, rest.minimum),
    exclusiveMaximum: exclusive(rest.exclusiveMaximum, rest.maximum),
  }
}

/** A checked schema: each keyword is supported and has a valid value, and each reference has a target. */
export class SchemaDocument {
  readonly root: SchemaObject
  readonly #raw: JsonSchema
  readonly #targets = new Map<string, SchemaObject>()
  readonly #places = new Map<SchemaObject, string>()

  /** @throws SchemaError for an invalid schema, an unsupported keyword, or a reference without a target */
  constructor(raw: JsonSchema) {
    this.#raw = raw
    this.root = this.resolve('#')
  }

  /** Returns the place of a schema, as a JSON pointer. */
  placeOf(schema: SchemaObject | undefined): string {
    return this.#places.get(schema!) ?? ''
  }

  /** Returns the schema of a reference. */
  resolve(ref: string, from?: SchemaObject): SchemaObject {
    const known = this.#targets.get(ref)
    if (known !== undefined) return known
    const isLocal = ref === '#' || ref.startsWith('#/')
    const target = ref
      .split('/')
      .slice(1)
      .reduce(valueOfStep, isLocal ? this.#raw : undefined)
    if (target === undefined) throw new SchemaError(this.placeOf(from), `$ref ${JSON.stringify(ref)} leads nowhere`)
    const { data, error } = Schema.safeParse(target)
    const issue = error?.issues[0]
    if (issue) throw new SchemaError([ref.slice(1), ...issue.path.map(toPointerStep)].join('/'), issue.message)
    this.#targets.set(ref, data!)
    this.#addPlaces(data!, ref.slice(1))
    return data!
  }

  /** Adds the places of a schema and those within, and resolves their references. */
  #addPlaces(schema: SchemaObject, at: string): void {
    this.#places.set(schema, at)
    if (schema.$ref !== undefined) this.resolve(schema.$ref, schema)
    for (const keyword of SCHEMAS) if (schema[keyword]) this.#addPlaces(schema[keyword], `${at}/${keyword}`)
    for (const keyword of [...SCHEMA_LISTS, ...SCHEMA_MAPS])
      for (const [name, one] of Object.entries(schema[keyword] ?? {}))
        this.#addPlaces(one, `${at}/${keyword}/${toPointerStep(name)}`)
  }
}

const toPointerStep = (name: PropertyKey) => String(name).replaceAll('~', '~0').replaceAll('/', '~1')

/** Returns what a value has at a step of a JSON pointer in a URI. */
function valueOfStep(value: unknown, step: string): unknown {
  const name = step
    .replace(/%[0-7][0-9a-f]/gi, decodeURIComponent)
    .replaceAll('~1', '/')
    .replaceAll('~0', '~')
  return Object.hasOwn(Object(value), name) ? (value as Record<string, unknown>)[name] : undefined
}

/** Returns the smallest and the largest count that all of these schemas allow. */
export function countRange(
  schemas: readonly SchemaObject[],
  unit: 'Length' | 'Items' | 'Properties',
): [number, number] {
  const valuesOf = (keyword: 'min' | 'max') => schemas.flatMap(one => one[`${keyword}${unit}`] ?? [])
  return [Math.max(0, ...valuesOf('min')), Math.min(...valuesOf('max'))]
}
