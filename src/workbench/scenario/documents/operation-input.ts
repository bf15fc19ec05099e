/** The input of an operation in a scenario in YAML or JSON: the fields of path, query and body in one map. */
import * as z from 'zod'
import { DURATION_PATTERN } from '../../../kernel/duration.ts'
import { decodeBase64 } from '../../../lib/bytes.ts'
import { type AnyEndpoint, routeParamNames } from '../../../service/endpoint.ts'
import { operations } from '../../../service/index.ts'
import { isDuration } from '../../../simulator/faults/kinds/fields.ts'

/** `${made.deploy_id}`: the value is known when the step is played. */
const REFERENCE = /\$\{/

/** A duration, or a reference to a saved value. */
export const DurationOrReference = z
  .custom<string>(value => typeof value === 'string' && (isDuration(value) || isReference(value)), {
    error: "a duration of at least 0 with its unit, like '90s', '10m' or '1h30m'",
  })
  .meta({
    ...{ type: 'string', pattern: `${DURATION_PATTERN}|${REFERENCE.source}` },
    description: "As in '90s', '10m', '1h30m'",
  })

/** The inputs by operation, strict at every depth: the service ignores unknown fields, so typos would pass unnoticed. */
export const OPERATION_INPUTS: Readonly<Record<string, z.ZodObject>> = Object.fromEntries(
  Object.entries(operations).map(([name, endpoint]) => [name, inputOf(endpoint as AnyEndpoint)]),
)

function inputOf({ path, params, query, body, upload }: AnyEndpoint): z.ZodObject {
  return z.strictObject({
    ...Object.fromEntries(routeParamNames(path).map(name => [name, params[name] ?? z.string()])),
    ...query,
    ...bodyFields(body),
    ...(upload && { ...upload.fields, file: z.string(), filename: z.string().optional() }),
  })
}

/** Returns the fields of a body. A body with several forms has the fields of all of them, none of which is required. */
function bodyFields(body: z.ZodType | undefined): z.ZodRawShape {
  if (body instanceof z.ZodObject) return toStrict(body).shape
  if (!(body instanceof z.ZodUnion)) return {}
  const schemas = new Map<string, z.ZodType[]>()
  for (const form of body.options as readonly z.ZodType[]) {
    for (const [name, schema] of Object.entries(bodyFields(form))) {
      schemas.set(name, [...(schemas.get(name) ?? []), schema as z.ZodType])
    }
  }
  return Object.fromEntries([...schemas].map(([name, options]) => [name, z.union(options).optional()]))
}

function toStrict<Schema extends z.ZodType>(schema: Schema): Schema {
  return makeStrict(schema) as unknown as Schema
}

function makeStrict(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return toStrict(schema.unwrap() as z.ZodType).optional()
  }
  if (schema instanceof z.ZodNullable) return toStrict(schema.unwrap() as z.ZodType).nullable()
  if (schema instanceof z.ZodArray) return z.array(toStrict(schema.element as z.ZodType))
  // A declared catchall is intended.
  if (!(schema instanceof z.ZodObject) || schema.def.catchall !== undefined) return schema
  const shape = Object.entries(schema.shape).map(([name, field]) => [name, toStrict(field as z.ZodType)])
  return z.strictObject(Object.fromEntries(shape))
}

/** Converts the fields of path and query to text: YAML reads some of them as numbers or booleans. */
export function toRequestInput(operation: string, input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { path, query } = operations[operation as keyof typeof operations] as AnyEndpoint
  const inAddress = new Set([...routeParamNames(path), ...Object.keys(query)])
  const convert = (name: string, value: unknown) => (inAddress.has(name) && isScalar(value) ? `${value}` : value)
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, convert(name, value)]))
}

/** A file as base64. */
const DATA_URL = /^data:[^,]*;base64,/

/**
 * Returns the input with the bytes of an upload that is a data URL, because YAML and JSON have no bytes.
 *
 * @throws Error for invalid base64
 */
export function decodeUpload(operation: string, input: Readonly<Record<string, unknown>>): object {
  const { upload } = operations[operation as keyof typeof operations] as AnyEndpoint
  const { file } = input
  const [prefix] = (upload !== undefined && typeof file === 'string' && DATA_URL.exec(file)) || []
  if (prefix === undefined) return input
  try {
    return { ...input, file: decodeBase64((file as string).slice(prefix.length)) }
  } catch {
    throw new Error(
      `Failed to read the file of ${operation}: its data URL has invalid base64. Give valid base64, or the text of the file.`,
    )
  }
}

function isScalar(value: unknown): value is number | boolean {
  return typeof value === 'number' || typeof value === 'boolean'
}

/** Returns whether a value is a text with a reference. */
export function isReference(value: unknown): boolean {
  return typeof value === 'string' && REFERENCE.test(value)
}

/** Returns whether a value contains a reference at any depth. */
export function containsReference(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isReference(value)
  return Object.values(value).some(containsReference)
}

/** Issues that are reported before a step is played. Bounds are left to the service. */
const CHECKED_ISSUE_CODES: readonly string[] = ['unrecognized_keys', 'invalid_type', 'invalid_value', 'invalid_union']

/**
 * Returns whether an issue is a mistake in any case.
 *
 * @param value the value at the path of the issue
 * @param isRefused whether the step expects a refusal: then an invalid value may be intended, an unknown field never is
 */
export function isDefiniteMistake(issue: z.core.$ZodIssue, value: unknown, isRefused: boolean): boolean {
  if (issue.code === 'unrecognized_keys') return true
  return !isRefused && CHECKED_ISSUE_CODES.includes(issue.code) && !containsReference(value)
}

type JsonSchema = z.core.JSONSchema.BaseSchema

/** Returns the JSON Schema of each operation's input, for editors. */
export function inputSchemas(): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(OPERATION_INPUTS).map(([name, input]) => {
      const { $schema: _, ...schema } = z.toJSONSchema(input, {
        io: 'input',
        unrepresentable: 'any',
        // Only strict worlds need the marks of ignored fields, and only names profiles those of texts.
        override: ({ jsonSchema }) => {
          delete jsonSchema['x-unread']
          delete jsonSchema['x-holds']
        },
      })
      const { summary } = operations[name as keyof typeof operations]
      // An operation without required input may have no map.
      const type = schema.required === undefined && { type: ['object', 'null'] as never }
      return [name, { description: summary, ...schema, ...type, properties: propertiesOf(schema) }]
    }),
  )
}

function propertiesOf({ properties = {} }: JsonSchema): NonNullable<JsonSchema['properties']> {
  return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, allowReferences(one as JsonSchema)]))
}

/** Returns the schema with references accepted wherever a value is. */
function allowReferences(schema: JsonSchema): JsonSchema {
  const inner: JsonSchema = {
    ...schema,
    ...(schema.properties && { properties: propertiesOf(schema) }),
    ...(schema.items && { items: allowReferences(schema.items as JsonSchema) }),
  }
  const reference = { type: 'string', pattern: REFERENCE.source } as const
  if (schema.anyOf) return { ...inner, anyOf: [...schema.anyOf, reference] }
  const isText = schema.type === 'string' && schema.enum === undefined && schema.pattern === undefined
  return isText || schema.type === undefined ? inner : { anyOf: [inner, reference] }
}
