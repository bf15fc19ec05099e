/** Describes the control plane from its declarations, for `GET /_sim` and the page `docs/control.md`. */
import * as z from 'zod'
import { fieldsOf } from '../../lib/fields.ts'
import { type AnyEndpoint, type FieldSchemas, routeParamNames } from '../../service/endpoint.ts'
import { exampleTarget } from '../../service/openapi/examples.ts'

/** A parameter of an endpoint. `type` is a text: `string or number`, `'manual' or 'scaled'`. */
export const ParameterSchema = z.object({
  in: z.enum(['path', 'query', 'body']),
  ...fieldsOf(z.string(), 'name', 'type'),
  required: z.boolean(),
})
type EndpointParameter = z.output<typeof ParameterSchema>

/** A request that succeeds in the default world: path and query, and a body. */
export const ExampleSchema = z.object({ target: z.string(), body: z.unknown().optional() })

/** Returns the parameters of an endpoint in the order path, query, body. */
export function parametersOf(endpoint: AnyEndpoint): EndpointParameter[] {
  const { path, query } = endpoint
  const names = routeParamNames(path).map(name => ({ in: 'path' as const, name, type: 'string', required: true }))
  return [...names, ...parametersIn('query', query), ...parametersIn('body', shapeOf(endpoint))]
}

/** Returns the example of an endpoint's declaration. */
export function exampleRequest(endpoint: AnyEndpoint): z.output<typeof ExampleSchema> {
  const { body } = endpoint.example
  return { target: exampleTarget(endpoint), ...(body !== undefined && { body }) }
}

function shapeOf(endpoint: AnyEndpoint): FieldSchemas {
  const body = givenBody(endpoint)
  return body instanceof z.ZodObject ? (body.shape as FieldSchemas) : {}
}

function parametersIn(place: 'query' | 'body', fields: FieldSchemas): EndpointParameter[] {
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

/** Returns the schema of a body that is given, also if it can be left out; undefined for an endpoint without a body. */
export function givenBody({ body }: Pick<AnyEndpoint, 'body'>): z.ZodType | undefined {
  return body instanceof z.ZodOptional ? (body.unwrap() as z.ZodType) : body
}
