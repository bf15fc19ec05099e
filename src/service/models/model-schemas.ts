/** What an endpoint takes and answers, as the schemas of a model show it. All of it follows from the declaration. */

import type { ModelTask, VariantKey } from '../../data/records/enums.ts'
import { oncePer } from '../../lib/once.ts'
import type { ApiScope, VendorNames } from '../api-scope.ts'
import { routeParamNames } from '../endpoint.ts'
import {
  addFilePart,
  type DeclaredEndpoint,
  formFields,
  type Json,
  toStandaloneSchema,
} from '../openapi/json-schema.ts'
import type { TaskSchemas } from '../openapi/task-schemas.ts'
import type { FieldDescription } from '../records.ts'

export type VariantScope = Pick<ApiScope, 'world' | 'findEndpoint' | 'outputNames'>

export interface ServedVariant {
  readonly key: VariantKey
  readonly url: string
  readonly endpoint: DeclaredEndpoint
}

/** Methods of the variants that do not have POST. */
const METHODS: Readonly<Partial<Record<VariantKey, string>>> = {
  'read-voice': 'GET',
  'list-voices': 'GET',
  'delete-voice': 'DELETE',
}

/** Returns the variants of a model whose endpoints are served, in the order of the fixture. */
export function listServedVariants(
  { world, findEndpoint }: Pick<VariantScope, 'world' | 'findEndpoint'>,
  type: ModelTask,
  model_name: string,
): readonly ServedVariant[] {
  return world.store.variantsOf(type).flatMap(key => {
    const url = world.store.schema(type, key)!.url.replaceAll('{model_name}', model_name)
    const endpoint = findEndpoint(METHODS[key] ?? 'POST', url)
    const isServed = endpoint !== undefined && (endpoint.byTask === undefined || type in endpoint.byTask.schemas)
    return isServed ? [{ key, url, endpoint }] : []
  })
}

/**
 * Returns the schemas of the body, the answer and the events of an endpoint for models of a type.
 *
 * @param outputNames the names that they have. Default: neutral names
 */
export function describeEndpoint(endpoint: DeclaredEndpoint, type: ModelTask, outputNames: VendorNames | undefined) {
  const taskSchemas = endpoint.byTask?.schemas[type]
  const { input: neutralInput, output, event } = schemasOf(taskSchemas ?? endpoint)
  const translate = (schema: Json): Json => outputNames?.nameSchema(schema, endpoint) ?? schema
  const input = neutralInput && translate(neutralInput)
  const pathFields = routeParamNames(endpoint.path)
    .filter(name => name !== 'model_name')
    .map(name => ({ name: outputNames?.names.fields.get(name) ?? name, ftype: 'string' }))
  return {
    fields_in: [...pathFields, ...(input === undefined ? [] : listFields(input))],
    ...(input && { schema_in: input }),
    schema_out: translate(output),
    ...(event && { schema_stream: translate(event) }),
  }
}

/** Neutral schemas of an endpoint, or of its part for one task. */
const schemasOf = oncePer(
  ({ body, upload, returns, streamEvent }: (TaskSchemas & { readonly upload?: undefined }) | DeclaredEndpoint) => ({
    input:
      upload !== undefined
        ? addFilePart(toStandaloneSchema(formFields(upload), 'input'), upload)
        : body && toStandaloneSchema(body, 'input'),
    output: toStandaloneSchema(returns, 'output'),
    event: streamEvent && toStandaloneSchema(streamEvent, 'output'),
  }),
)

/** Returns the fields of a body, each followed by the fields of the objects in it. */
function listFields(body: Json): FieldDescription[] {
  return Object.entries(propertiesOf(body)).flatMap(([name, schema]) => {
    const children = new Map<string, FieldDescription>()
    for (const form of listForms(schema)) {
      for (const inner of form.items === undefined ? [form] : listForms(form.items as Json)) {
        for (const [childName, child] of Object.entries(propertiesOf(inner))) {
          const known = children.get(childName)
          const field = { ...toField(childName, child), parent: name }
          if (known === undefined) children.set(childName, field)
          else if (known.allowed && field.allowed) known.allowed = [...new Set([...known.allowed, ...field.allowed])]
        }
      }
    }
    return [toField(name, schema), ...children.values()]
  })
}

const BOUNDS = ['minimum', 'exclusiveMinimum', 'maximum', 'exclusiveMaximum'] as const

function toField(name: string, schema: Json): FieldDescription {
  const forms = listForms(schema)
  const [first = {}] = forms
  const isFile = first.contentMediaType !== undefined
  const field: FieldDescription = { name, ftype: isFile ? 'file' : typeOf(first) }
  const { description = first.description, default: defaultValue, examples } = schema
  if (typeof description === 'string') field.description = description
  if (defaultValue !== undefined) field.default = defaultValue
  if (Array.isArray(examples)) field.examples = examples
  const allowed = forms.map(({ enum: values, const: value }) => values ?? (value === undefined ? undefined : [value]))
  if (allowed.length > 0 && allowed.every(Array.isArray)) field.allowed = allowed.flat()
  for (const bound of BOUNDS) {
    const value = first[bound]
    // Zod adds the safe range to integers without bounds.
    if (typeof value === 'number' && Math.abs(value) !== Number.MAX_SAFE_INTEGER) field[bound] = value
  }
  return field
}

/** Returns the alternatives of a schema without null. */
function listForms(schema: Json): Json[] {
  const branches = (schema.anyOf ?? schema.oneOf) as Json[] | undefined
  if (branches !== undefined) return branches.flatMap(listForms)
  return schema.type === 'null' || schema.not !== undefined ? [] : [schema]
}

function typeOf({ type }: Json): string {
  const types = (Array.isArray(type) ? type : [type]) as (string | undefined)[]
  return types.find(word => word !== 'null') ?? 'any'
}

function propertiesOf({ properties = {} }: Json): Readonly<Record<string, Json>> {
  return properties as Record<string, Json>
}
