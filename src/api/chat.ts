import * as z from 'zod'
import type { JsonSchema } from '../cluster/schema-answers.ts'
import type { World } from '../cluster/world.ts'
import type { Key } from '../kernel/random.ts'
import { endpoint, invalid, refuse } from './endpoint.ts'
import { integer, keeping, pairs, text } from './fields.ts'
import { INFERENCE_REFUSALS } from './inference.ts'
import {
  type Bounds,
  chosenTool,
  jsonReply,
  type Reply,
  replyKey,
  scriptedReply,
  type Tool,
  toolReply,
  wordsReply,
} from './replies.ts'
import { Sampling } from './sampling.ts'
import { generate, type TextRules, Usage } from './text-generation.ts'
import { countTokens } from './tokenizer.ts'

/** What a part holds beside a text is taken as it comes: no model looks at it. */
const Part = keeping({
  type: text(),
  text: text().optional(),
  image_url: z.unknown().optional(),
  input_audio: z.unknown().optional(),
  file: z.unknown().optional(),
  refusal: z.unknown().optional(),
})

const AskedToolCall = keeping({
  id: text().optional(),
  type: text().optional(),
  function: keeping({ name: text(), arguments: text(), parsed_arguments: z.unknown().optional() }).optional(),
  custom: keeping({ name: text(), input: text() }).optional(),
})

const Message = keeping({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: z
    .union([text(), z.array(Part)])
    .nullable()
    .optional(),
  name: text().nullable().optional(),
  tool_calls: z.array(AskedToolCall).nullable().optional(),
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
  keeping({
    type: z.literal('function'),
    function: keeping({
      name: FunctionName,
      description: text().nullable().optional(),
      parameters: z.record(z.string(), z.unknown()).nullable().optional(),
      strict: z.boolean().nullable().optional(),
    }),
  }),
  keeping({
    type: z.literal('custom'),
    custom: keeping({
      name: FunctionName,
      description: text().nullable().optional(),
      format: keeping({ type: z.enum(['text', 'grammar']), grammar: z.unknown().optional() })
        .nullable()
        .optional(),
    }),
  }),
])
type ToolSpec = z.output<typeof ToolSpec>

const ResponseFormat = z.discriminatedUnion('type', [
  keeping({ type: z.literal('text') }),
  keeping({ type: z.literal('json_object') }),
  keeping({
    type: z.literal('json_schema'),
    json_schema: keeping({
      name: FunctionName,
      description: text().nullable().optional(),
      schema: z.record(z.string(), z.unknown()).optional(),
      strict: z.boolean().nullable().optional(),
    }),
  }),
])

const NamedTool = z.discriminatedUnion('type', [
  keeping({ type: z.literal('function'), function: keeping({ name: text() }) }),
  keeping({ type: z.literal('custom'), custom: keeping({ name: text() }) }),
])
type NamedTool = z.output<typeof NamedTool>

const ToolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.discriminatedUnion('type', [
    ...NamedTool.options,
    keeping({
      type: z.literal('allowed_tools'),
      allowed_tools: keeping({ mode: z.enum(['auto', 'required']), tools: z.array(NamedTool).min(1) }),
    }),
  ]),
])

const ChatBody = z.object({
  model: text({ min: 1 }),
  messages: z.array(Message).min(1),
  ...Sampling,
  max_completion_tokens: integer({ min: 1 }).nullable().optional(),
  response_format: ResponseFormat.nullable().optional(),
  tools: z.array(ToolSpec).max(128).nullable().optional(),
  tool_choice: ToolChoice.nullable().optional(),
  parallel_tool_calls: z.boolean().nullable().optional(),
  logprobs: z.literal(false).nullable().optional(),
  metadata: pairs({ max: 16, key: 64, value: 512 }).nullable().optional(),
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

const CallPiece = z.object({
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
          tool_calls: z.array(CallPiece).optional(),
        }),
        logprobs: z.null(),
        finish_reason: FinishReason.nullable(),
      }),
    ),
    usage: Usage.nullable().optional(),
  })
  .meta({ id: 'ChatCompletionChunk' })

const CHAT: TextRules<ChatBody, 'chat.completion', ReturnType<typeof choiceOf>> = {
  read: body => {
    checkTools(body)
    const promptTokens = chatPromptTokens(body)
    return { prompt: JSON.stringify(body.messages), promptTokens, longestPrompt: promptTokens }
  },
  ask: (body, { prompt, promptTokens, longestPrompt }, { world, scripted, name }) => {
    const { model, messages, stop } = body
    const keys = Array.from({ length: body.n ?? 1 }, (_, index) => replyKey(world.chance, name, prompt, index))
    const replies = (bounds: Bounds) => {
      const given = scripted(model, wordsOf(messages.at(-1)!))
      return keys.map(key =>
        given === undefined ? replyOf(world, key, body, bounds) : scriptedReply(world.chance, key, given, bounds),
      )
    }
    const limit = body.max_completion_tokens ?? body.max_tokens
    return { model, prompt, promptTokens, longestPrompt, keys, limit, stop, replies }
  },
  shape: {
    prefix: 'chatcmpl-',
    object: { whole: 'chat.completion', event: 'chat.completion.chunk' },
    choice: choiceOf,
    field: 'delta',
    opening: ({ toolCalls }) => `{"role":"assistant","content":${toolCalls.length > 0 ? 'null' : '""'}}`,
    pieces: deltasOf,
    closing: '{}',
  },
}

export const createChatCompletion = endpoint({
  route: 'POST /v1/chat/completions',
  mirrored: true,
  summary: 'Answer a conversation',
  provenance: 'neighbour',
  assumed: [
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
  alt: true,
  needs: ['tokenizer'],
  body: ChatBody,
  returns: ChatCompletion,
  streams: ChatCompletionChunk,
  example: { body: { model: 'acme/assistant', messages: [{ role: 'user', content: 'Hello!' }] } },
  inBatch: CHAT,
  handle: ({ body, ...scope }) => generate(scope, body, CHAT),
})

/** Rules between the tools and the choice among them. */
function checkTools({ tools, tool_choice: choice }: ChatBody): void {
  if (tools !== null && tools !== undefined && tools.length === 0) {
    invalid(['body', 'tools'], 'List should have at least 1 item after validation, not 0', 'too_short')
  }
  if (choice === null || choice === undefined || choice === 'none' || choice === 'auto') return
  if (!tools) invalid(['body', 'tool_choice'], 'Value error, tool_choice needs tools to choose among')
  if (typeof choice === 'string') return
  const names = tools.map(nameOf)
  const demand = (named: NamedTool, loc: readonly string[]) => {
    const isThere = tools.some(tool => tool.type === named.type && nameOf(tool) === nameOf(named))
    if (isThere) return
    const place = ['body', 'tool_choice', ...loc, named.type, 'name']
    invalid(place, `Value error, there is no ${named.type} tool ${nameOf(named)}: tools has ${names.join(', ')}`)
  }
  if (choice.type === 'allowed_tools') {
    for (const [i, named] of choice.allowed_tools.tools.entries()) demand(named, ['allowed_tools', 'tools', String(i)])
  } else demand(choice, [])
}

function nameOf(tool: ToolSpec | NamedTool): string {
  return tool.type === 'function' ? tool.function.name : tool.custom.name
}

function chatPromptTokens({ messages, tools }: ChatBody): number {
  const calls = messages.flatMap(({ tool_calls }) => tool_calls ?? [])
  return (
    messageTokens(messages) +
    calls.reduce((sum, one) => sum + countTokens(wordsOfCall(one)), 0) +
    (tools ?? []).reduce((sum, tool) => sum + countTokens(JSON.stringify(tool[tool.type as 'function'])), 0)
  )
}

/**
 * Tokens of a conversation: 3 around each message, 3 that open the answer, and its texts (OpenAI cookbook, "How to count
 * tokens with tiktoken").
 */
function messageTokens(messages: readonly Message[]): number {
  let sum = 3
  for (const { role, content } of messages) {
    sum += 3 + countTokens(role)
    if (typeof content === 'string') sum += countTokens(content)
    else if (Array.isArray(content)) for (const part of content) sum += countTokens(part.text ?? '')
  }
  return sum
}

function wordsOfCall({ function: called, custom }: z.output<typeof AskedToolCall>): string {
  return `${called?.name ?? ''}${called?.arguments ?? ''}${custom?.name ?? ''}${custom?.input ?? ''}`
}

function replyOf(world: World, key: Key, body: ChatBody, bounds: Bounds): Reply {
  const { chance } = world
  const tool = calledTool(world, key, body)
  if (tool !== undefined) return toolReply(chance, key, tool, bounds)
  const format = body.response_format
  if (format?.type === 'json_schema') {
    return jsonReply(chance, key, (format.json_schema.schema ?? { type: 'object' }) as JsonSchema, bounds)
  }
  if (format?.type === 'json_object') return jsonReply(chance, key, ANY_OBJECT, bounds)
  return wordsReply(chance, key, bounds)
}

/** What a model says that is told to answer with JSON and not which. */
const ANY_OBJECT: JsonSchema = {
  type: 'object',
  required: ['answer', 'points'],
  properties: { answer: { type: 'string' }, points: { type: 'array', items: { type: 'string' } } },
}

/** The tool that this answer calls, if any: what is asked for, else one where the user has the word. */
function calledTool({ chance }: World, key: Key, { tools, tool_choice, messages }: ChatBody): Tool | undefined {
  if (!tools || tool_choice === 'none') return undefined
  const choice = tool_choice ?? 'auto'
  const isNamed = (tool: ToolSpec, named: NamedTool) => tool.type === named.type && nameOf(tool) === nameOf(named)
  if (typeof choice === 'object' && choice.type !== 'allowed_tools') {
    return offeredTool(tools.find(tool => isNamed(tool, choice))!)
  }
  const allowed = typeof choice === 'object' ? choice.allowed_tools : undefined
  const last = messages.at(-1)!
  const mode = allowed?.mode ?? choice
  if (mode !== 'required' && last.role !== 'user') return undefined
  const left = tools.filter(tool => allowed?.tools.some(named => isNamed(tool, named)) ?? true)
  return chosenTool(chance, key, left.map(offeredTool), wordsOf(last))
}

function offeredTool(tool: ToolSpec): Tool {
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
function wordsOf({ content }: Pick<Message, 'content'>): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(part => part.text ?? '').join('\n')
}

function choiceOf({ text, toolCalls, finish_reason }: Reply, index: number) {
  const calls = toolCalls.map(one => toolCallOf(one))
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

function toolCallOf({ id, name, arguments: given, isCustom }: Reply['toolCalls'][number]) {
  return isCustom
    ? { id, type: 'custom' as const, custom: { name, input: given } }
    : { id, type: 'function' as const, function: { name, arguments: given } }
}

/** The deltas of an answer, as JSON. */
function* deltasOf(reply: Reply): Generator<string> {
  const { toolCalls } = reply
  for (const piece of reply.pieces()) yield `{"content":${JSON.stringify(piece)}}`
  for (const [index, call] of toolCalls.entries()) {
    yield `{"tool_calls":[${JSON.stringify({ index, ...toolCallOf({ ...call, arguments: '' }) })}]}`
    for (const piece of call.arguments.match(/.{1,8}/gsu) ?? []) {
      const more = call.isCustom ? { custom: { input: piece } } : { function: { arguments: piece } }
      yield `{"tool_calls":[${JSON.stringify({ index, ...more })}]}`
    }
  }
}
