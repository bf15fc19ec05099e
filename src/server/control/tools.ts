/** The control plane as tools of a model: a name, a description and a schema for each operation. */

import * as z from 'zod'
import { toSnakeCase } from '../../lib/text/snake-case.ts'
import { type AnyEndpoint, type Operations, routeParamNames } from '../../service/endpoint.ts'
import { formFields } from '../../service/openapi/json-schema.ts'
import { givenBody } from './body-schema.ts'

/** A tool of the Model Context Protocol. */
export interface ControlTool {
  /** The operation in snake case: `advance_clock`. */
  readonly name: string
  readonly operationId: string
  readonly description: string
  /** A JSON Schema of type `object`: the fields of path, query and body. */
  readonly inputSchema: { readonly type: 'object'; readonly [keyword: string]: unknown }
  /** Whether the operation is about one world, not about the server. */
  readonly isOfWorld: boolean
  /** Whether a call changes nothing. */
  readonly isReadOnly: boolean
  /** Whether a call removes something. */
  readonly isDestructive: boolean
}

/** The content types that a tool can return: a model reads text, not files, and no endless streams. */
const READABLE_TYPE = /^(application\/json|text\/(?!event-stream))/

/** Returns a tool for each operation that takes and returns text. */
export function controlTools(operations: Operations): ControlTool[] {
  return Object.entries(operations as Readonly<Record<string, AnyEndpoint>>)
    .filter(([, { upload, produces }]) => upload === undefined && READABLE_TYPE.test(produces))
    .map(([operationId, endpoint]) => ({
      name: toSnakeCase(operationId),
      operationId,
      description: describeTool(endpoint),
      inputSchema: inputSchema(endpoint),
      isOfWorld: endpoint.path.startsWith('/_sim/') && !endpoint.path.startsWith('/_sim/worlds'),
      isReadOnly: endpoint.method === 'GET',
      isDestructive: endpoint.method === 'DELETE' || operationId === 'reset' || operationId === 'restoreSnapshot',
    }))
}

function describeTool({ route, summary, refusals }: AnyEndpoint): string {
  const reasons = Object.values(refusals)
  return `${summary}. (${route})${reasons.length === 0 ? '' : ` Refused: ${reasons.join('; ')}.`}`
}

function inputSchema(endpoint: AnyEndpoint): ControlTool['inputSchema'] {
  const { path, params, query } = endpoint
  const body = givenBody(endpoint)
  const pathSchema = z.object(Object.fromEntries(routeParamNames(path).map(name => [name, params[name] ?? z.string()])))
  const schemas = [pathSchema, formFields({ fields: query }), ...(body === undefined ? [] : [body])]
  const parts = schemas.map(schema => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
  const isOpen = parts.at(-1)!.additionalProperties !== false && body !== undefined
  return {
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required = [] }) => required),
    additionalProperties: isOpen,
    ...definitionsOf(parts),
  }
}

function definitionsOf(parts: readonly z.core.JSONSchema.BaseSchema[]) {
  const $defs = Object.assign({}, ...parts.map(part => part.$defs))
  return Object.keys($defs).length === 0 ? {} : { $defs }
}
