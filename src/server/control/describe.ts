/** Describes the control plane from its declarations, for `GET /_sim` and the page `docs/control.md`. */
import * as z from 'zod'
import { type AnyEndpoint, type FieldSchemas, routeParamNames } from '../../service/endpoint.ts'
import { exampleTarget } from '../../service/openapi/examples.ts'
import { givenBody } from './body-schema.ts'

/** A parameter of an endpoint. */
export interface EndpointParameter {
  readonly in: 'path' | 'query' | 'body'
  readonly name: string
  /** The type as text: `string or number`, `'manual' or 'scaled'`. */
  readonly type: string
  readonly required: boolean
}

/** A request that succeeds in the default world. */
export interface ExampleRequest {
  /** Path and query. */
  readonly target: string
  readonly body?: unknown
}

/** Returns the parameters of an endpoint in the order path, query, body. */
export function parametersOf(endpoint: AnyEndpoint): EndpointParameter[] {
  const { path, query } = endpoint
  const names = routeParamNames(path).map(name => ({ in: 'path' as const, name, type: 'string', required: true }))
  return [...names, ...fieldsOf('query', query), ...fieldsOf('body', shapeOf(endpoint))]
}

/** Returns the example of an endpoint's declaration. */
export function exampleRequest(endpoint: AnyEndpoint): ExampleRequest {
  const { body } = endpoint.example
  return { target: exampleTarget(endpoint), ...(body !== undefined && { body }) }
}

function shapeOf(endpoint: AnyEndpoint): FieldSchemas {
  const body = givenBody(endpoint)
  return body instanceof z.ZodObject ? (body.shape as FieldSchemas) : {}
}

function fieldsOf(place: 'query' | 'body', fields: FieldSchemas): EndpointParameter[] {
  return Object.entries(fields).map(([name, schema]) => ({
    in: place,
    name,
    type: formatType(z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' })),
    required: !schema.safeParse(undefined).success,
  }))
}

type Schema = z.core.JSONSchema.JSONSchema

/** Returns a type as text, without the content of lists and objects. */
function formatType(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map(word => `'${String(word)}'`).join(' or ')
  const options = schema.anyOf ?? schema.oneOf
  if (options !== undefined) return options.map(option => formatType(option as Schema)).join(' or ')
  const defaultNote = schema.default === undefined ? '' : `; default: ${String(schema.default)}`
  return `${schema.type === undefined ? 'anything' : [schema.type].flat().join(' or ')}${defaultNote}`
}
