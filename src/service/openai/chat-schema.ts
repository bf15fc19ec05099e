/** Schemas of chat completions: the request, the whole answer, and the events of a stream. */
import * as z from 'zod'
import { integer, looseObject, recordSchema, rowsOf, stringMap, text } from '../fields.ts'
import { Usage } from './generation.ts'
import { ChatLogprobs, MAX_TOP_LOGPROBS } from './logprobs.ts'
import { SamplingFields } from './sampling.ts'

/** Part of a message. Only its text is read; other content is accepted and ignored. */
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

const ROLES = ['system', 'user', 'assistant', 'tool', 'function'] as const

const messageFields = {
  content: z.union([text(), z.array(MessagePart)]).nullish(),
  name: text().nullish(),
  tool_calls: z.array(RequestToolCall).nullish(),
  tool_call_id: text().nullish(),
  // Clients send these fields back with an earlier answer.
  refusal: z.unknown().optional(),
  annotations: z.unknown().optional(),
  audio: z.unknown().optional(),
  function_call: z.unknown().optional(),
  parsed: z.unknown().optional(),
}
const Message = looseObject({ role: z.enum(['developer', ...ROLES]), ...messageFields })
export type Message = z.output<typeof Message>

const ToolSpec = z.discriminatedUnion('type', [
  looseObject({
    type: z.literal('function').optional(),
    function: looseObject({
      name: text(),
      description: text().nullish(),
      parameters: z.record(z.string(), z.unknown()).nullish(),
      strict: z.boolean().nullish(),
    }),
  }),
  looseObject({
    type: z.literal('custom'),
    custom: looseObject({
      name: text(),
      description: text().nullish(),
      format: looseObject({ type: z.enum(['text', 'grammar']), grammar: z.unknown().optional() }).nullish(),
    }),
  }),
])
export type ToolSpec = z.output<typeof ToolSpec>

const JsonSchemaSpec = looseObject({
  name: text(),
  description: text().nullish(),
  schema: z.record(z.string(), z.unknown()).optional(),
  strict: z.boolean().nullish(),
})

export const ResponseFormat = z.discriminatedUnion('type', [
  looseObject({ type: z.literal('text') }),
  looseObject({ type: z.literal('json_object') }),
  looseObject({ type: z.literal('json_schema'), json_schema: JsonSchemaSpec }),
  looseObject({ type: z.literal('regex'), regex: text() }),
  // Without a type, the format is the one that its fields fit.
  looseObject({ type: z.undefined().optional(), json_schema: JsonSchemaSpec.optional(), regex: text().optional() }),
])

const NamedTool = z.discriminatedUnion('type', [
  looseObject({ type: z.literal('function').optional(), function: looseObject({ name: text() }) }),
  looseObject({ type: z.literal('custom'), custom: looseObject({ name: text() }) }),
])
export type NamedTool = z.output<typeof NamedTool>

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

/** Rules between fields, in the words of JSON Schema. `validateTools` and the chat endpoint apply them. */
const FIELD_RULES = [
  {
    anyOf: [
      { properties: { tool_choice: { enum: ['none', 'auto', null] } } },
      { properties: { tools: { type: 'array' } }, required: ['tools'] },
    ],
  },
  {
    anyOf: [
      { properties: { top_logprobs: { enum: [0, null] } } },
      { properties: { logprobs: { const: true } }, required: ['logprobs'] },
    ],
  },
]

const createBody = (message: typeof Message) =>
  z
    .object({
      model: text({ min: 1 }),
      messages: z.array(message).min(1),
      ...SamplingFields,
      max_tokens: integer({ min: 0 }).nullish(),
      max_completion_tokens: integer({ min: 0 }).nullish(),
      response_format: ResponseFormat.nullish(),
      tools: z.array(ToolSpec).min(1).max(128).nullish(),
      tool_choice: ToolChoice.nullish(),
      parallel_tool_calls: z.boolean().nullish(),
      logprobs: z.boolean().nullish(),
      top_logprobs: integer({ min: 0, max: MAX_TOP_LOGPROBS }).nullish(),
      metadata: stringMap({ max: 16, key: 64, value: 512 }).nullish(),
    })
    .meta({ 'x-rules': FIELD_RULES })
export const ChatBody = createBody(looseObject({ role: z.enum(ROLES), ...messageFields }) as unknown as typeof Message)
export const ChatBodyWithDeveloper = createBody(Message)
export type ChatBody = z.output<typeof ChatBody>

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

export const ChatCompletion = recordSchema('ChatCompletion', {
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: rowsOf({
    index: z.int(),
    message: z.object({
      role: z.literal('assistant'),
      content: z.string().nullable(),
      refusal: z.null(),
      tool_calls: z.array(z.discriminatedUnion('type', [FunctionCall, CustomCall])).optional(),
    }),
    logprobs: ChatLogprobs.nullable(),
    finish_reason: FinishReason,
  }),
  usage: Usage,
  service_tier: z.string().optional(),
})

const ToolCallDelta = z.object({
  index: z.int(),
  id: z.string().optional(),
  type: z.enum(['function', 'custom']).optional(),
  function: z.object({ name: z.string().optional(), arguments: z.string() }).optional(),
  custom: z.object({ name: z.string().optional(), input: z.string() }).optional(),
})

export const ChatCompletionChunk = recordSchema('ChatCompletionChunk', {
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: rowsOf({
    index: z.int(),
    delta: z.object({
      role: z.literal('assistant').optional(),
      content: z.string().nullish(),
      tool_calls: z.array(ToolCallDelta).optional(),
    }),
    logprobs: ChatLogprobs.nullable(),
    finish_reason: FinishReason.nullable(),
  }),
  usage: Usage.optional(),
  service_tier: z.string().optional(),
})
