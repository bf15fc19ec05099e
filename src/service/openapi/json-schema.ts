/** JSON Schemas of the declared input and output of endpoints. */

import * as z from 'zod'
import type { ModelTask } from '../../data/records/enums.ts'
import type { TaskSchemas } from './task-schemas.ts'

export type Json = Record<string, unknown>
type Direction = 'input' | 'output'

/** The parts of a declaration that have schemas. */
export interface DeclaredEndpoint {
  readonly path: string
  readonly body: z.ZodType | undefined
  readonly upload: Upload | undefined
  readonly returns: z.ZodType
  readonly streamEvent: z.ZodType | undefined
  readonly byTask: { readonly schemas: Readonly<Partial<Record<ModelTask, TaskSchemas>>> } | undefined
}

interface Upload {
  readonly part?: string
  readonly isList?: boolean
  readonly optionalParts?: readonly string[]
  readonly fields: Readonly<Record<string, z.ZodType>> | undefined
}

/** Returns the JSON Schema for an OpenAPI document. Named schemas go to `components`, others are inline. */
export function toComponentSchema(schema: z.ZodType, io: Direction, components: Json): Json {
  const { $defs, ...jsonSchema } = convert(schema, io, jsonSchema => {
    // Zod adds the safe range to integers without bounds.
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    // Client generators know no rules between fields.
    delete jsonSchema['x-rules']
  })
  const { id, ...inPlace } = jsonSchema
  for (const [name, definition] of Object.entries(($defs ?? {}) as Json))
    components[name] = rewriteReferences(definition)
  if (typeof id !== 'string') return rewriteReferences(inPlace) as Json
  components[id] = rewriteReferences(inPlace)
  return { $ref: `#/components/schemas/${id}` }
}

/** Returns a JSON Schema that needs no other document. */
export function toStandaloneSchema(schema: z.ZodType, io: Direction): Json {
  return convert(schema, io, jsonSchema => {
    const { 'x-rules': rules } = jsonSchema
    if (rules === undefined) return
    delete jsonSchema['x-rules']
    jsonSchema.allOf = rules as z.core.JSONSchema.BaseSchema[]
  })
}

/** Returns the text fields of a multipart form. */
export function formFields(upload: Upload): z.ZodType {
  return z.object(upload.fields ?? {})
}

/** Returns the schema of a multipart form: that of its text fields, with the files. */
export function addFilePart(form: Json, { part = 'file', isList, optionalParts = [] }: Upload): Json {
  const file = { type: 'string', contentMediaType: 'application/octet-stream' }
  const optionalFiles = Object.fromEntries(optionalParts.map(name => [name, file]))
  const list = isList && { [`${part}[]`]: { type: 'array', items: file, minItems: 1 } }
  const required = (form.required as string[] | undefined) ?? []
  return {
    ...form,
    properties: { ...(form.properties as Json), [part]: file, ...list, ...optionalFiles },
    // Generators of clients make no type of a choice between required fields, so a text of the page says that a list will do.
    required: [...required, part],
  }
}

function convert(schema: z.ZodType, io: Direction, adapt: (jsonSchema: z.core.JSONSchema.BaseSchema) => void): Json {
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema, zodSchema }) => {
      adapt(jsonSchema)
      if (zodSchema._zod.def.type === 'undefined') jsonSchema.not = {}
      // Requests may have unknown fields, and answers may get new ones.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      // Internal marks for names profiles and strict requests.
      delete jsonSchema['x-holds']
      delete jsonSchema['x-unread']
    },
  }) as Json
  return jsonSchema
}

function rewriteReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewriteReferences)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, inner]) => !(key === 'id' && typeof inner === 'string'))
      .map(([key, inner]) => [
        key,
        key === '$ref' && typeof inner === 'string'
          ? inner.replace('#/$defs/', '#/components/schemas/')
          : rewriteReferences(inner),
      ]),
  )
}
