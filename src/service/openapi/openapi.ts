/** The OpenAPI 3.1 document, created from the declarations. */

import * as z from 'zod'
import { VERSION } from '../../lib/version.ts'
import { unwrapSchema } from '../../lib/zod-problems.ts'
import { type AnyEndpoint, type ErrorShape, type Operations, routeParamNames } from '../endpoint.ts'
import { isPlainString } from '../http/compiled-operation.ts'
import { addFilePart, formFields, type Json, toComponentSchema } from './json-schema.ts'

/** The assumptions of the simulator for all endpoints. `docs/endpoints.md` has the same list. */
export const COMMON_ASSUMPTIONS = [
  'Success is 200.',
  'An invalid body or parameter is 422, with the first 100 issues in the order of the fields.',
  'Digits in a text count as a number, and the texts `true` and `false` as a boolean. With the policy `validation: strict` of the profile they do so in queries only.',
  'Unknown body fields are ignored, except where an operation says 422. With strict requests they are 422.',
  '`alt-api-key` authenticates if `Authorization` is missing, and `x-api-key` if both are missing.',
  'Refusals of the OpenAI-compatible routes have an error object.',
  'A JSON body needs no content type.',
]

/**
 * Describes operations as OpenAPI 3.1. `x-provenance` says whether the interface document has an operation; `x-assumed`
 * lists the assumptions of the simulator.
 *
 * @example openapi(operations).paths['/deploy/llm'].post.operationId // 'createLlmDeployment'
 */
export function createOpenapiDocument(operations: Operations) {
  const components: Json = { ...ERROR_SCHEMAS }
  const paths: Record<string, Record<string, Json>> = {}
  for (const [operationId, endpoint] of Object.entries(operations)) {
    const pathItem = { [endpoint.method.toLowerCase()]: describeOperation(operationId, endpoint, components) }
    paths[endpoint.path] = { ...paths[endpoint.path], ...pathItem }
    if (endpoint.mirror === undefined) continue
    const method = endpoint.method.toLowerCase()
    const mirrorOperation = {
      ...pathItem[method],
      operationId: `compat${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}`,
      summary: `The same as ${endpoint.method} ${endpoint.path}`,
      'x-provenance': 'neighbour',
      'x-mirror-of': operationId,
    }
    paths[endpoint.mirror] = { ...paths[endpoint.mirror], [method]: mirrorOperation }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'modelhost-sim',
      version: VERSION,
      description:
        'A simulated model-hosting service. x-provenance: documented, neighbour (missing in the interface document, but ' +
        'needed for a lifecycle) or assumed. x-assumed: assumptions where the interface document is silent. ' +
        'x-open: the field may have other values, too. x-mirror-of: the operation that this path serves a second time. ' +
        'An unknown path is 404, an unsupported method 405, both with the schema DetailError.',
      license: { name: 'MIT', identifier: 'MIT' },
      'x-assumed': COMMON_ASSUMPTIONS,
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        'alt-api-key': { type: 'apiKey', in: 'header', name: 'alt-api-key' },
        'second-api-key': { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
    },
  }
}

/** Returns the assumptions of an endpoint with its refusals, because the interface document has no error statuses. */
export function listAssumptions(endpoint: AnyEndpoint): string[] {
  const refusals = Object.entries(endpoint.refusals).map(([status, reason]) => `${status}: ${reason}`)
  return [...endpoint.assumptions, ...refusals]
}

function describeOperation(operationId: string, endpoint: AnyEndpoint, components: Json): Json {
  const parameters = [
    ...routeParamNames(endpoint.path).map(name => ({
      name,
      in: 'path',
      required: true,
      schema: toComponentSchema(endpoint.params[name] ?? z.string(), 'output', components),
    })),
    ...Object.entries(endpoint.query).map(([name, schema]) => ({
      name,
      in: 'query',
      required: !isOptional(schema),
      schema: toComponentSchema(schema, 'output', components),
    })),
    ...(endpoint.acceptsKeyHeader
      ? [{ name: 'alt-api-key', in: 'header', required: false, schema: { type: ['string', 'null'] } }]
      : []),
  ]
  const requestBody = describeRequestBody(endpoint, components)
  return {
    operationId,
    summary: endpoint.summary,
    tags: [toTag(endpoint.path)],
    'x-provenance': endpoint.provenance,
    'x-assumed': listAssumptions(endpoint),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: describeResponses(endpoint, components),
    security: describeSecurity(endpoint),
  }
}

function describeRequestBody(endpoint: AnyEndpoint, components: Json): Json | undefined {
  if (endpoint.upload !== undefined) {
    const { upload } = endpoint
    const schema = addFilePart(toComponentSchema(formFields(upload), 'input', components), upload)
    return { required: true, content: { 'multipart/form-data': { schema } } }
  }
  if (endpoint.body === undefined) return undefined
  const schema = toComponentSchema(endpoint.body, 'input', components)
  const { body: example } = endpoint.example
  const mediaType = example === undefined ? { schema } : { schema, example }
  return {
    // The live service declares no body that depends on the model.
    required: endpoint.byTask === undefined && !isOptional(endpoint.body),
    content: Object.fromEntries(MEDIA_TYPES[endpoint.consumes].map(media => [media, mediaType])),
  }
}

function describeResponses(endpoint: AnyEndpoint, components: Json): Json {
  const responses: Json = {
    [endpoint.status]: {
      description: 'Success',
      'x-provenance': endpoint.provenance,
      ...(endpoint.status !== 204 && {
        content: {
          [endpoint.produces]: { schema: toComponentSchema(endpoint.returns, 'output', components) },
          ...(endpoint.streamEvent && {
            'text/event-stream': { schema: toComponentSchema(endpoint.streamEvent, 'output', components) },
          }),
        },
      }),
    },
  }
  const refusals: Record<string, string> = { ...endpoint.refusals }
  const ownSchema = OWN_SCHEMA_OF_SHAPE[endpoint.errorShape]
  const authRefusals = ownSchema === undefined ? AUTH_REFUSALS : createAuthRefusals(ownSchema)
  // Authentication refuses before the endpoint runs, and always with the same schemas.
  if (endpoint.auth !== 'none') {
    for (const [status, [reason, schema]] of Object.entries(authRefusals))
      responses[status] = describeRefusal(reason, schema)
  }
  for (const [status, reason] of Object.entries(refusals)) {
    const authRefusal =
      responses[status] === undefined ? undefined : authRefusals[Number(status) as keyof typeof authRefusals]
    const refusalObject = describeRefusal(reason, SCHEMA_OF_SHAPE[endpoint.errorShape], authRefusal)
    responses[status] =
      status === '429' || status === '503' ? { ...refusalObject, headers: RETRY_AFTER_HEADER } : refusalObject
  }
  const { params, query, body, upload } = endpoint
  const isValidated =
    Object.values(params).some(schema => !isPlainString(unwrapSchema(schema))) ||
    Object.values(query).some(schema => !isPlainString(unwrapSchema(schema)) || !isOptional(schema))
  if (isValidated || body !== undefined || upload !== undefined)
    responses[422] = describeRefusal('the request is invalid', 'ValidationError')
  const mediaReason = UNSUPPORTED_MEDIA_REASONS[endpoint.upload === undefined ? endpoint.consumes : 'upload']
  if (endpoint.body !== undefined || endpoint.upload !== undefined)
    responses[415] = describeRefusal(mediaReason, ownSchema ?? 'DetailError')
  // Every operation documents at least one refusal.
  if (Object.keys(responses).length === 1)
    responses[405] = describeRefusal('the path does not support the method', 'DetailError')
  return responses
}

const UNSUPPORTED_MEDIA_REASONS = {
  json: 'the body is a form, or compressed: send application/json',
  form: 'the body is not a form, or compressed: send application/x-www-form-urlencoded',
  upload: 'the body is compressed: send it uncompressed',
} as const

const MEDIA_TYPES = {
  json: ['application/json'],
  form: ['application/x-www-form-urlencoded', 'multipart/form-data'],
} as const

const AUTH_REFUSALS = {
  401: ['missing or unknown token', 'AuthenticationError'],
  403: ['the token does not allow this address', 'SimpleError'],
} as const

/** Returns the refusals of authentication where they have the error shape of the endpoint. */
function createAuthRefusals(schema: string) {
  return { 401: [AUTH_REFUSALS[401][0], schema], 403: [AUTH_REFUSALS[403][0], schema] } as const
}

const RETRY_AFTER_HEADER = {
  'Retry-After': {
    description: 'Seconds after which a retry may succeed',
    schema: { type: 'integer', minimum: 0 },
  },
} as const

/** The schema of each error shape. */
export const SCHEMA_OF_SHAPE = {
  simple: 'SimpleError',
  detail: 'DetailError',
  wrapped: 'WrappedError',
  compat: 'CompatError',
  message: 'MessageError',
} as const

/** The schemas of the shapes that all refusals of their endpoints but 422 have. */
const OWN_SCHEMA_OF_SHAPE: Readonly<Partial<Record<ErrorShape, string>>> = {
  compat: 'CompatError',
  message: 'MessageError',
}

/** Describes a refusal. Each is assumed, because the interface document has no error statuses. */
function describeRefusal(
  reason: string,
  schema: string,
  authRefusal?: readonly [reason: string, schema: string],
): Json {
  const references = [...new Set([...(authRefusal === undefined ? [] : [authRefusal[1]]), schema])].map(name => ({
    $ref: `#/components/schemas/${name}`,
  }))
  const description = authRefusal === undefined ? reason : `${authRefusal[0]}; ${reason}`
  const content = { 'application/json': { schema: references.length === 1 ? references[0] : { anyOf: references } } }
  return { description, 'x-provenance': 'assumed', content }
}

function describeSecurity(endpoint: AnyEndpoint): Json[] {
  if (endpoint.auth === 'none') return []
  const either = [{ bearer: [] }, { 'alt-api-key': [] }, { 'second-api-key': [] }]
  return endpoint.auth === 'optional' ? [{}, ...either] : either
}

function isOptional(schema: z.ZodType): boolean {
  return schema.safeParse(undefined).success
}

/** Returns the first part of a path that is neither a version nor a parameter. */
function toTag(path: string): string {
  return path.split('/').find(word => word !== '' && !/^v\d+$/.test(word) && !word.startsWith('{')) ?? 'other'
}

const TEXT = { type: 'string' }
const TEXT_OR_NULL = { type: ['string', 'null'] }

/** Returns the schema of an object that has all of these fields. */
function objectOf(properties: Json): Json {
  return { type: 'object', required: Object.keys(properties), properties }
}

/** The schemas of the bodies of refusals. */
export const ERROR_SCHEMAS: Json = {
  ValidationError: objectOf({
    detail: { type: 'array', items: objectOf({ loc: { type: 'array', items: TEXT }, msg: TEXT, type: TEXT }) },
  }),
  SimpleError: objectOf({ error: TEXT }),
  DetailError: objectOf({ detail: TEXT }),
  WrappedError: objectOf({ detail: objectOf({ error: TEXT }) }),
  CompatError: objectOf({
    error: objectOf({ message: TEXT, type: TEXT, param: TEXT_OR_NULL, code: TEXT_OR_NULL }),
  }),
  MessageError: objectOf({ type: { const: 'error' }, error: objectOf({ type: TEXT, message: TEXT }) }),
  AuthenticationError: objectOf({
    detail: { anyOf: [TEXT, { type: 'object', properties: { error: TEXT } }] },
  }),
}
