import * as z from 'zod'
import type { EntityKey } from '../../kernel/random.ts'
import type { JsonSchema } from '../../lib/json-schema/generate.ts'
import type { World } from '../../simulation/world.ts'
import { endpoint, refuse, rejectInput } from '../endpoint.ts'
import { integer, looseObject, stringMap, text } from '../fields.ts'
import {
  chooseTool,
  createDrawnReply,
  createJsonReply,
  createScriptedReply,
  createToolReply,
  type Reply,
  type ReplyBounds,
  replyKey,
  type Tool,
} from './answers.ts'
import { generateText, type TextProtocol, Usage } from './generation.ts'
import { INFERENCE_REFUSALS } from './request-lifecycle.ts'
import { SamplingFields } from './sampling.ts'
import { countTokens } from './tokenizer.ts'

/** What a part holds beside a text is taken as it comes: no model looks at it. */
const MessagePart = looseObject({
  type: text(),
  text: text().optional(),
  image_url: z.unknown().optional(),
  input_audio: z.unknown().optional(),
  file: z.unknown().optional(),
  refusal: z.unknown().optional(),
})

const RequestToolCall = looseObject({
  id: text().optional(),
  type: text().optional(),
  function: looseObject({ name: text(), arguments: text(), parsed_arguments: z.unknown().optional() }).optional(),
  custom: looseObject({ name: text(), input: text() }).optional(),
})

const Message = looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: z
    .union([text(), z.array(MessagePart)])
    .nullable()
    .optional(),
  name: text().nullable().optional(),
  tool_calls: z.array(RequestToolCall).nullable().optional(),
  tool_call_id: text().nullable().optional(),
  // What clients send back with an earlier answer.
  refusal: z.unknown().optional(),
  annotations: z.unknown().optional(),
  audio: z.unknown().optional(),
  function_call: z.unknown().optional(),
  parsed: z.unknown().optional(),
})
type Message = z.output<typeof Message>

const FunctionName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/)

const ToolSpec = z.discriminatedUnion('type', [
  looseObject({
    type: z.literal('function'),
    function: looseObject({
      name: FunctionName,
      description: text().nullable().optional(),
      parameters: z.record(z.string(), z.unknown()).nullable().optional(),
      strict: z.boolean().nullable().optional(),
    }),
  }),
  looseObject({
    type: z.literal('custom'),
    custom: looseObject({
      name: FunctionName,
      description: text().nullable().optional(),
      format: looseObject({ type: z.enum(['text', 'grammar']), grammar: z.unknown().optional() })
        .nullable()
        .optional(),
    }),
  }),
])
type ToolSpec = z.output<typeof ToolSpec>

const ResponseFormat = z.discriminatedUnion('type', [
  looseObject({ type: z.literal('text') }),
  looseObject({ type: z.literal('json_object') }),
  looseObject({
    type: z.literal('json_schema'),
    json_schema: looseObject({
      name: FunctionName,
      description: text().nullable().optional(),
      schema: z.record(z.string(), z.unknown()).optional(),
      strict: z.boolean().nullable().optional(),
    }),
  }),
])

const NamedTool = z.discriminatedUnion('type', [
  looseObject({ type: z.literal('function'), function: looseObject({ name: text() }) }),
  looseObject({ type: z.literal('custom'), custom: looseObject({ name: text() }) }),
])
type NamedTool = z.output<typeof NamedTool>

const ToolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.discriminatedUnion('type', [
    ...NamedTool.options,
    looseObject({
      type: z.literal('allowed_tools'),
      allowed_tools: looseObject({ mode: z.enum(['auto', 'required']), tools: z.array(NamedTool).min(1) }),
    }),
  ]),
])

const ChatBody = z.object({
  model: text({ min: 1 }),
  messages: z.array(Message).min(1),
  ...SamplingFields,
  max_completion_tokens: integer({ min: 1 }).nullable().optional(),
  response_format: ResponseFormat.nullable().optional(),
  tools: z.array(ToolSpec).max(128).nullable().optional(),
  tool_choice: ToolChoice.nullable().optional(),
  parallel_tool_calls: z.boolean().nullable().optional(),
  logprobs: z.literal(false).nullable().optional(),
  metadata: stringMap({ max: 16, key: 64, value: 512 }).nullable().optional(),
})
type ChatBody = z.output<typeof ChatBody>

const FunctionCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
})

const CustomCall = z.object({
  id: z.string(),
  type: z.literal('custom'),
  custom: z.object({ name: z.string(), input: z.string() }),
})

const FinishReason = z.enum(['stop', 'length', 'tool_calls'])

const ChatCompletion = z
  .object({
    id: z.string(),
    object: z.literal('chat.completion'),
    created: z.int(),
    model: z.string(),
    choices: z.array(
      z.object({
        index: z.int(),
        message: z.object({
          role: z.literal('assistant'),
          content: z.string().nullable(),
          refusal: z.null(),
          tool_calls: z.array(z.discriminatedUnion('type', [FunctionCall, CustomCall])).optional(),
        }),
        logprobs: z.null(),
        finish_reason: FinishReason,
      }),
    ),
    usage: Usage,
  })
  .meta({ id: 'ChatCompletion' })

const ToolCallDelta = z.object({
  index: z.int(),
  id: z.string().optional(),
  type: z.enum(['function', 'custom']).optional(),
  function: z.object({ name: z.string().optional(), arguments: z.string() }).optional(),
  custom: z.object({ name: z.string().optional(), input: z.string() }).optional(),
})

const ChatCompletionChunk = z
  .object({
    id: z.string(),
    object: z.literal('chat.completion.chunk'),
    created: z.int(),
    model: z.string(),
    choices: z.array(
      z.object({
        index: z.int(),
        delta: z.object({
          role: z.literal('assistant').optional(),
          content: z.string().nullable().optional(),
          tool_calls: z.array(ToolCallDelta).optional(),
        }),
        logprobs: z.null(),
        finish_reason: FinishReason.nullable(),
      }),
    ),
    usage: Usage.nullable().optional(),
  })
  .meta({ id: 'ChatCompletionChunk' })

const CHAT_PROTOCOL: TextProtocol<ChatBody, 'chat.completion', ReturnType<typeof toChoice>> = {
  parsePrompt: body => {
    validateTools(body)
    const promptTokens = countChatPromptTokens(body)
    return { prompt: JSON.stringify(body.messages), promptTokens, longestPromptTokens: promptTokens }
  },
  createRequest: (
    body,
    { prompt, promptTokens, longestPromptTokens: longestPrompt },
    { world, findScriptedAnswer, name },
  ) => {
    const { model, messages, stop } = body
    const keys = Array.from({ length: body.n ?? 1 }, (_, index) => replyKey(world.chance, name, prompt, index))
    const replies = (bounds: ReplyBounds) => {
      const scriptedAnswer = findScriptedAnswer(model, messageText(messages.at(-1)!))
      return keys.map(key =>
        scriptedAnswer === undefined
          ? createReply(world, key, body, bounds)
          : createScriptedReply(world.chance, key, scriptedAnswer, bounds),
      )
    }
    const limit = body.max_completion_tokens ?? body.max_tokens
    return { model, prompt, promptTokens, longestPromptTokens: longestPrompt, keys, limit, stop, replies }
  },
  format: {
    idPrefix: 'chatcmpl-',
    objectNames: { whole: 'chat.completion', event: 'chat.completion.chunk' },
    toChoice: toChoice,
    chunkField: 'delta',
    toOpening: ({ toolCalls }) => `{"role":"assistant","content":${toolCalls.length > 0 ? 'null' : '""'}}`,
    toPieces: toDeltas,
    closing: '{}',
  },
}

export const createChatCompletion = endpoint({
  route: 'POST /v1/chat/completions',
  isMirrored: true,
  summary: 'Answer a conversation',
  provenance: 'neighbour',
  assumptions: [
    'model is a deployment or adapter of the account by name, deploy_id:<id>, or a current model of the catalog',
    'text, token counts and calls of tools are drawn from seed, model and messages; usage is exact under o200k_base',
    "tool_choice auto: a tool is called where the last message is the user's, and text answers the result of a tool",
    'tool_choice allowed_tools leaves only those that it names; a custom tool is called with a text, and one with a grammar is 400',
    'the answer fits response_format.json_schema and the parameters of the tool, unless max_tokens cuts it',
    'max_completion_tokens counts before max_tokens; temperature, top_p, penalties, logit_bias, seed and user change nothing',
    'logprobs are not offered: true is 422',
    'stream: server-sent events, data: [DONE] last; when the instance is lost the connection breaks',
  ],
  refusals: INFERENCE_REFUSALS,
  acceptsKeyHeader: true,
  needs: ['tokenizer'],
  body: ChatBody,
  returns: ChatCompletion,
  streamEvent: ChatCompletionChunk,
  example: { body: { model: 'acme/assistant', messages: [{ role: 'user', content: 'Hello!' }] } },
  batchProtocol: CHAT_PROTOCOL,
  handle: ({ body, ...scope }) => generateText(scope, body, CHAT_PROTOCOL),
})

/** Rules between the tools and the choice among them. */
function validateTools({ tools, tool_choice: choice }: ChatBody): void {
  if (tools !== null && tools !== undefined && tools.length === 0) {
    rejectInput(['body', 'tools'], 'List should have at least 1 item after validation, not 0', 'too_short')
  }
  if (choice === null || choice === undefined || choice === 'none' || choice === 'auto') return
  if (!tools) rejectInput(['body', 'tool_choice'], 'Value error, tool_choice needs tools to choose among')
  if (typeof choice === 'string') return
  const names = tools.map(toolName)
  const requireTool = (named: NamedTool, loc: readonly string[]) => {
    const isListed = tools.some(tool => tool.type === named.type && toolName(tool) === toolName(named))
    if (isListed) return
    const location = ['body', 'tool_choice', ...loc, named.type, 'name']
    rejectInput(
      location,
      `Value error, there is no ${named.type} tool ${toolName(named)}: tools has ${names.join(', ')}`,
    )
  }
  if (choice.type === 'allowed_tools') {
    for (const [i, named] of choice.allowed_tools.tools.entries())
      requireTool(named, ['allowed_tools', 'tools', String(i)])
  } else requireTool(choice, [])
}

function toolName(tool: ToolSpec | NamedTool): string {
  return tool.type === 'function' ? tool.function.name : tool.custom.name
}

function countChatPromptTokens({ messages, tools }: ChatBody): number {
  const calls = messages.flatMap(({ tool_calls }) => tool_calls ?? [])
  return (
    countMessageTokens(messages) +
    calls.reduce((sum, toolCall) => sum + countTokens(toolCallText(toolCall)), 0) +
    (tools ?? []).reduce((sum, tool) => sum + countTokens(JSON.stringify(tool[tool.type as 'function'])), 0)
  )
}

/**
 * Tokens of a conversation: 3 around each message, 3 that open the answer, and its texts (OpenAI cookbook, "How to count
 * tokens with tiktoken").
 */
function countMessageTokens(messages: readonly Message[]): number {
  let sum = 3
  for (const { role, content } of messages) {
    sum += 3 + countTokens(role)
    if (typeof content === 'string') sum += countTokens(content)
    else if (Array.isArray(content)) for (const part of content) sum += countTokens(part.text ?? '')
  }
  return sum
}

function toolCallText({ function: functionCall, custom }: z.output<typeof RequestToolCall>): string {
  return `${functionCall?.name ?? ''}${functionCall?.arguments ?? ''}${custom?.name ?? ''}${custom?.input ?? ''}`
}

function createReply(world: World, key: EntityKey, body: ChatBody, bounds: ReplyBounds): Reply {
  const { chance } = world
  const tool = chooseCalledTool(world, key, body)
  if (tool !== undefined) return createToolReply(chance, key, tool, bounds)
  const format = body.response_format
  if (format?.type === 'json_schema') {
    return createJsonReply(chance, key, (format.json_schema.schema ?? { type: 'object' }) as JsonSchema, bounds)
  }
  if (format?.type === 'json_object') return createJsonReply(chance, key, ANY_OBJECT, bounds)
  return createDrawnReply(chance, key, bounds)
}

/** What a model says that is told to answer with JSON and not which. */
const ANY_OBJECT: JsonSchema = {
  type: 'object',
  required: ['answer', 'points'],
  properties: { answer: { type: 'string' }, points: { type: 'array', items: { type: 'string' } } },
}

/** The tool that this answer calls, if any: what is asked for, else one where the user has the word. */
function chooseCalledTool(
  { chance }: World,
  key: EntityKey,
  { tools, tool_choice, messages }: ChatBody,
): Tool | undefined {
  if (!tools || tool_choice === 'none') return undefined
  const choice = tool_choice ?? 'auto'
  const isNamed = (tool: ToolSpec, named: NamedTool) => tool.type === named.type && toolName(tool) === toolName(named)
  if (typeof choice === 'object' && choice.type !== 'allowed_tools') {
    return toTool(tools.find(tool => isNamed(tool, choice))!)
  }
  const allowed = typeof choice === 'object' ? choice.allowed_tools : undefined
  const lastMessage = messages.at(-1)!
  const mode = allowed?.mode ?? choice
  if (mode !== 'required' && lastMessage.role !== 'user') return undefined
  const allowedTools = tools.filter(tool => allowed?.tools.some(named => isNamed(tool, named)) ?? true)
  return chooseTool(chance, key, allowedTools.map(toTool), messageText(lastMessage))
}

function toTool(tool: ToolSpec): Tool {
  if (tool.type === 'function') {
    const { name, parameters } = tool.function
    return { name, parameters: (parameters ?? { type: 'object', properties: {} }) as JsonSchema }
  }
  const { name, format } = tool.custom
  if (format?.type === 'grammar') {
    refuse(
      400,
      `the input of the tool ${name} cannot be made by a grammar: leave its format out, or give it the type text`,
    )
  }
  return { name, parameters: undefined }
}

/** The texts of a message. */
function messageText({ content }: Pick<Message, 'content'>): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(part => part.text ?? '').join('\n')
}

function toChoice({ text, toolCalls, finish_reason }: Reply, index: number) {
  const calls = toolCalls.map(one => toToolCall(one))
  return {
    index,
    message: {
      role: 'assistant' as const,
      content: calls.length > 0 ? null : text,
      refusal: null,
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    logprobs: null,
    finish_reason,
  }
}

function toToolCall({ id, name, arguments: args, isCustom }: Reply['toolCalls'][number]) {
  return isCustom
    ? { id, type: 'custom' as const, custom: { name, input: args } }
    : { id, type: 'function' as const, function: { name, arguments: args } }
}

/** The deltas of an answer, as JSON. */
function* toDeltas(reply: Reply): Generator<string> {
  const { toolCalls } = reply
  for (const piece of reply.pieces()) yield `{"content":${JSON.stringify(piece)}}`
  for (const [index, call] of toolCalls.entries()) {
    yield `{"tool_calls":[${JSON.stringify({ index, ...toToolCall({ ...call, arguments: '' }) })}]}`
    for (const piece of call.arguments.match(/.{1,8}/gsu) ?? []) {
      const delta = call.isCustom ? { custom: { input: piece } } : { function: { arguments: piece } }
      yield `{"tool_calls":[${JSON.stringify({ index, ...delta })}]}`
    }
  }
}
