/** What an operation takes, as a scenario in YAML or JSON writes it: the fields of path, query and body in one map. */
import * as z from 'zod'
import { isDuration } from '../../faults/kinds/fields.ts'
import { DURATION_PATTERN } from '../../kernel/duration.ts'
import { type AnyEndpoint, routeParamNames } from '../../service/endpoint.ts'
import { operations } from '../../service/index.ts'

/** `${made.deploy_id}`: what stands there is known when the step is played. */
const REFERENCE = /\$\{/

/** A length of time, or what an earlier step saved. */
export const DurationOrReference = z
  .custom<string | number>(value => isDuration(value) || isReference(value), {
    error: "a duration of at least 0, like '90s', '10m' or '1h30m'",
  })
  .meta({
    ...{ type: ['string', 'number'] as never, pattern: `${DURATION_PATTERN}|${REFERENCE.source}`, minimum: 0 },
    description: "As in '90s', '10m', '1h30m'; a number is milliseconds",
  })

/** Strict at every depth: the service passes over what it does not know, and so would whoever mistypes a word. */
export const OPERATION_INPUTS: Readonly<Record<string, z.ZodObject>> = Object.fromEntries(
  Object.entries(operations).map(([name, endpoint]) => [name, inputOf(endpoint as AnyEndpoint)]),
)

function inputOf({ path, params, query, body, upload }: AnyEndpoint): z.ZodObject {
  return z.strictObject({
    ...Object.fromEntries(routeParamNames(path).map(name => [name, params[name] ?? z.string()])),
    ...query,
    ...(body instanceof z.ZodObject && toStrict(body).shape),
    ...(upload && { ...upload.fields, file: z.string(), filename: z.string().optional() }),
  })
}

function toStrict<Schema extends z.ZodType>(schema: Schema): Schema {
  return makeStrict(schema) as unknown as Schema
}

function makeStrict(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return toStrict(schema.unwrap() as z.ZodType).optional()
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return toStrict(schema.unwrap() as z.ZodType).optional()
  }
  if (schema instanceof z.ZodNullable) return toStrict(schema.unwrap() as z.ZodType).nullable()
  if (schema instanceof z.ZodArray) return z.array(toStrict(schema.element as z.ZodType))
  // One that says what else it takes means it.
  if (!(schema instanceof z.ZodObject) || schema.def.catchall !== undefined) return schema
  const shape = Object.entries(schema.shape).map(([name, field]) => [name, toStrict(field as z.ZodType)])
  return z.strictObject(Object.fromEntries(shape))
}

/** A value as its place takes it: what stands in an address is text, whatever YAML makes of it. */
export function toRequestInput(operation: string, input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { path, query } = operations[operation as keyof typeof operations] as AnyEndpoint
  const inAddress = new Set([...routeParamNames(path), ...Object.keys(query)])
  const convert = ([name, value]: [string, unknown]) => [
    name,
    inAddress.has(name) && isScalar(value) ? `${value}` : value,
  ]
  return Object.fromEntries(Object.entries(input).map(one => convert(one) as [string, unknown]))
}

function isScalar(value: unknown): value is number | boolean {
  return typeof value === 'number' || typeof value === 'boolean'
}

/** Whether a text holds what only a run can fill in. */
export function isReference(value: unknown): boolean {
  return typeof value === 'string' && REFERENCE.test(value)
}

/** Whether a value, or anything in it, does. */
export function containsReference(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isReference(value)
  return Object.values(value).some(containsReference)
}

/** What an issue is about: a word that is not known or lacks, a type, a choice. Bounds are the service's to judge. */
const CHECKED_ISSUE_CODES: readonly string[] = ['unrecognized_keys', 'invalid_type', 'invalid_value', 'invalid_union']

/**
 * Whether a mistake can be told before the step is played.
 *
 * @param value what stands where the issue is
 * @param isRefused the step expects the service to refuse it: then a wrong value may be meant, an unknown word never is
 */
export function isDefiniteMistake(issue: z.core.$ZodIssue, value: unknown, isRefused: boolean): boolean {
  if (issue.code === 'unrecognized_keys') return true
  return !isRefused && CHECKED_ISSUE_CODES.includes(issue.code) && !containsReference(value)
}

type JsonSchema = z.core.JSONSchema.BaseSchema

/** The inputs for editors, by operation. */
export function inputSchemas(): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(OPERATION_INPUTS).map(([name, input]) => {
      const { $schema: _, ...schema } = z.toJSONSchema(input, {
        io: 'input',
        unrepresentable: 'any',
        // What is kept unread is a matter of strict worlds.
        override: ({ jsonSchema }) => delete jsonSchema['x-unread'],
      })
      const { summary } = operations[name as keyof typeof operations]
      const properties = Object.entries(schema.properties ?? {}).map(([key, one]) => [
        key,
        allowReferences(one as JsonSchema),
      ])
      return [
        name,
        {
          description: summary,
          ...schema,
          // Without anything that has to be given the map may be left out.
          ...(schema.required === undefined && { type: ['object', 'null'] as never }),
          properties: Object.fromEntries(properties),
        },
      ]
    }),
  )
}

/** A schema that takes a reference wherever it takes a value. */
function allowReferences(schema: JsonSchema): JsonSchema {
  const inner: JsonSchema = {
    ...schema,
    ...(schema.properties && {
      properties: Object.fromEntries(
        Object.entries(schema.properties).map(([name, one]) => [name, allowReferences(one as JsonSchema)]),
      ),
    }),
    ...(schema.items && { items: allowReferences(schema.items as JsonSchema) }),
  }
  const reference = { type: 'string', pattern: REFERENCE.source } as const
  if (schema.anyOf) return { ...inner, anyOf: [...schema.anyOf, reference] }
  const isText = schema.type === 'string' && schema.enum === undefined && schema.pattern === undefined
  return isText || schema.type === undefined ? inner : { anyOf: [inner, reference] }
}
