/** A server of the Model Context Protocol whose tools control a simulator. */

import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { quote } from '../../lib/quote.ts'
import { toSnakeCase } from '../../lib/text/words.ts'
import { VERSION } from '../../lib/version.ts'
import { givenBody } from '../../server/control/describe.ts'
import { CONTROL_TOKEN_HEADER } from '../../server/control/guards.ts'
import { controlOperations } from '../../server/control/index.ts'
import { createClientFor } from '../../service/client/client.ts'
import { Refusal } from '../../service/client/refusal.ts'
import { type AnyEndpoint, type Operations, routeParamNames } from '../../service/endpoint.ts'
import { formFields } from '../../service/openapi/json-schema.ts'
import { UsageError } from '../command.ts'
import type { OwnTool } from './explore-tool.ts'

/** A tool of the Model Context Protocol. */
interface ControlTool {
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

/** The simulator that the tools control. */
export interface ToolTarget {
  /** The address of the server, without a slash at its end. */
  readonly url: string
  readonly controlToken?: string | undefined
}

const WORLD_FIELD = {
  type: 'string',
  description: 'The name of the world, as list_worlds shows it. Default: the world of the server',
}

/** Longer answers are cut: the context of a model is small. */
const MAX_ANSWER_CHARACTERS = 100_000

/**
 * Creates the server. Its caller connects it to a transport.
 *
 * @param own a tool beside the operations of the control plane
 * @throws UsageError if the package of the protocol is missing
 */
export async function createToolServer(target: ToolTarget, own?: OwnTool): Promise<Server> {
  const { Server, types } = await loadProtocol()
  const tools = new Map(controlTools(controlOperations).map(tool => [tool.name, tool]))
  const server = new Server({ name: 'modelhost-sim', version: VERSION }, { capabilities: { tools: {} }, instructions })
  server.setRequestHandler(types.ListToolsRequestSchema, () => ({
    tools: [...Array.from(tools.values(), toTool), ...(own === undefined ? [] : [own])],
  }))
  server.setRequestHandler(
    types.CallToolRequestSchema,
    async ({ params: { name, arguments: input = {} } }, { signal }) => {
      try {
        if (name === own?.name) return await own.call(input, signal)
        const tool = tools.get(name)
        if (tool !== undefined) return toResult(await callTool(target, tool, input, signal))
        const hint = formatSuggestion(name, [...tools.keys()], 'tools/list lists them.')
        return toError(`Failed to call '${name}': unknown tool. ${hint}`)
      } catch (error) {
        // A refusal is a result that the model reads and corrects.
        return toError(wordsOf(error))
      }
    },
  )
  return server
}

const instructions =
  'A simulated model-hosting cloud under a virtual clock. Only tools move its time: advance_clock, next_clock ' +
  'or until_clock. Clients under test use the address that list_worlds shows. add_fault and give_command break things, ' +
  'heal_world repairs them. send_request sends what a client would send. For equal seeds and requests, everything happens the same again.'

async function loadProtocol() {
  try {
    const [{ Server }, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ])
    return { Server, types }
  } catch (error) {
    throw missingPackageError(error)
  }
}

/** Returns the error for a missing package of the protocol. It is an optional peer dependency. */
export function missingPackageError(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') return error
  return new UsageError(
    "Failed to start the tools: the package '@modelcontextprotocol/sdk' is missing. " +
      'Run npm install -D @modelcontextprotocol/sdk.',
  )
}

function toTool({ name, description, inputSchema, isOfWorld, isReadOnly, isDestructive }: ControlTool): Tool {
  const properties = { ...(inputSchema.properties as object), ...(isOfWorld && { world: WORLD_FIELD }) }
  return {
    name,
    description,
    inputSchema: { ...inputSchema, properties },
    annotations: { readOnlyHint: isReadOnly, destructiveHint: isDestructive, openWorldHint: false },
  }
}

async function callTool(
  target: ToolTarget,
  tool: ControlTool,
  input: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
) {
  const { name, operationId, isOfWorld, inputSchema } = tool
  const context = `Failed to call '${name}'`
  const fields = [...Object.keys(inputSchema.properties as object), ...(isOfWorld ? ['world'] : [])]
  if (inputSchema.additionalProperties === false) assertKnownKeys(input, fields, context, { noun: 'field' })
  const missing = (inputSchema.required as readonly string[]).find(field => input[field] === undefined)
  if (missing !== undefined) throw new UsageError(`${context}: '${missing}' is missing. Give it.`)
  const { world, ...others } = input
  const inWorld = isOfWorld && world !== undefined
  const send = (request: Request) => reach(target, withControlToken(target, request), signal)
  const client = createClientFor(controlOperations, send, {
    baseUrl: inWorld ? addressOf(target, world, context) : target.url,
  })
  const methods = client as unknown as Readonly<Record<string, (input: unknown) => Promise<unknown>>>
  return methods[operationId]!(inWorld ? others : input)
}

/** Sends a request, and says what to do if the server does not answer. */
async function reach({ url }: ToolTarget, request: Request, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(request, { signal })
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { readonly code?: string }
    if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET') {
      throw new UsageError(`Failed to get an answer from ${url}: the connection ended. Start the server again.`)
    }
    throw new UsageError(
      `Failed to reach a simulator at ${url}: ${code ?? (error as Error).message}. ` +
        "Start one with 'npx modelhost-sim serve', or correct --url.",
    )
  }
}

function addressOf({ url }: ToolTarget, world: unknown, context: string): string {
  if (typeof world === 'string' && !/^\.{0,2}$/.test(world)) return `${url}/_sim/worlds/${encodeURIComponent(world)}`
  throw new UsageError(`${context}: the world is ${quote(world)}. Give a name that list_worlds shows.`)
}

function withControlToken({ controlToken }: ToolTarget, request: Request): Request {
  if (controlToken !== undefined) request.headers.set(CONTROL_TOKEN_HEADER, controlToken)
  return request
}

function toResult(answer: unknown): CallToolResult {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer, null, 1)
  const isLong = text.length > MAX_ANSWER_CHARACTERS
  const shown = isLong
    ? `${text.slice(0, MAX_ANSWER_CHARACTERS)}\n… ${text.length - MAX_ANSWER_CHARACTERS} characters more. Ask for less.`
    : text
  return { content: [{ type: 'text', text: shown }] }
}

/** Returns the words of a refusal without its JSON, or the message of another error. */
function wordsOf(error: unknown): string {
  const { body, message } = error as Refusal
  const words = error instanceof Refusal ? (body as { error?: unknown } | undefined)?.error : undefined
  return typeof words === 'string' ? words : message
}

function toError(message: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true }
}
