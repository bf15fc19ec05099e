/** Schemas of messages: the request, the whole answer, and the events of a stream. */
import * as z from 'zod'
import { integer, looseObject, recordSchema, text } from '../fields.ts'

/** Maximum number of tools, as for a chat. */
const MAX_TOOLS = 128

/** A mark of the client for its prompt cache. */
const CacheControl = { cache_control: z.unknown().optional() }

const TextBlock = looseObject({
  type: z.literal('text'),
  text: text(),
  citations: z.unknown().optional(),
  ...CacheControl,
})

const Source = looseObject({
  type: text(),
  media_type: text().optional(),
  data: text().optional(),
  url: text().optional(),
  content: z.unknown().optional(),
  file_id: text().optional(),
})

const ImageBlock = looseObject({ type: z.literal('image'), source: Source, ...CacheControl })

const DocumentBlock = looseObject({
  type: z.literal('document'),
  source: Source,
  title: text().nullish(),
  context: text().nullish(),
  citations: z.unknown().optional(),
  ...CacheControl,
})

const ToolResultBlock = looseObject({
  type: z.literal('tool_result'),
  tool_use_id: text(),
  content: z.union([text(), z.array(z.discriminatedUnion('type', [TextBlock, ImageBlock, DocumentBlock]))]).nullish(),
  is_error: z.boolean().nullish(),
  ...CacheControl,
})

/** A block of a message. Only texts, calls of tools and their results count as input. */
const RequestBlock = z.discriminatedUnion('type', [
  TextBlock,
  ImageBlock,
  DocumentBlock,
  looseObject({
    type: z.literal('tool_use'),
    id: text(),
    name: text(),
    input: z.record(z.string(), z.unknown()),
    ...CacheControl,
  }),
  ToolResultBlock,
  // Clients send these blocks back with an earlier answer.
  looseObject({ type: z.literal('thinking'), thinking: text(), signature: text() }),
  looseObject({ type: z.literal('redacted_thinking'), data: text() }),
])

const Message = looseObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([text(), z.array(RequestBlock)]),
})

const ToolSpec = looseObject({
  type: text().nullish(),
  name: text({ min: 1 }),
  description: text().nullish(),
  input_schema: z.record(z.string(), z.unknown()),
  strict: z.boolean().nullish(),
  ...CacheControl,
})
export type ToolSpec = z.output<typeof ToolSpec>

const PARALLEL = { disable_parallel_tool_use: z.boolean().nullish() }

const ToolChoice = z.discriminatedUnion('type', [
  looseObject({ type: z.literal('auto'), ...PARALLEL }),
  looseObject({ type: z.literal('any'), ...PARALLEL }),
  looseObject({ type: z.literal('tool'), name: text(), ...PARALLEL }),
  looseObject({ type: z.literal('none') }),
])

const Thinking = looseObject({
  type: z.enum(['enabled', 'adaptive', 'disabled']).optional(),
  enabled: z.boolean().optional(),
  budget_tokens: integer({ min: 1 }).nullish(),
  display: text().nullish(),
})
export type Thinking = z.output<typeof Thinking>

/** A rule between fields, in the words of JSON Schema. `validateTools` applies it. */
const FIELD_RULES = [
  {
    anyOf: [
      {
        properties: {
          tool_choice: { anyOf: [{ type: 'null' }, { properties: { type: { enum: ['auto', 'none'] } } }] },
        },
      },
      { properties: { tools: { type: 'array', minItems: 1 } }, required: ['tools'] },
    ],
  },
]

export const MessageBody = z
  .object({
    model: text({ min: 1 }),
    messages: z.array(Message).min(1),
    max_tokens: integer({ min: 1 }).nullish(),
    system: z.union([text(), z.array(TextBlock)]).nullish(),
    stop_sequences: z.array(text()).nullish(),
    stream: z.boolean().nullish(),
    temperature: z.number().min(0).max(2).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    top_k: integer().nullish(),
    metadata: looseObject({ user_id: text().nullish() }).nullish(),
    tools: z.array(ToolSpec).max(MAX_TOOLS).nullish(),
    tool_choice: ToolChoice.nullish(),
    thinking: Thinking.nullish(),
  })
  .meta({ 'x-rules': FIELD_RULES })
export type MessageBody = z.output<typeof MessageBody>

const ThinkingBlock = z.object({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() })

/** A block of an answer. */
const AnswerBlock = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  ThinkingBlock,
  z.object({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
  }),
])
export type AnswerBlock = z.output<typeof AnswerBlock>

const StopReason = z.enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use'])
export type StopReason = z.output<typeof StopReason>

/** Token counts by o200k_base. */
const MessageUsage = recordSchema('MessageUsage', {
  input_tokens: z.int(),
  output_tokens: z.int(),
  cache_creation_input_tokens: z.int(),
  cache_read_input_tokens: z.int(),
})
export type MessageUsage = z.output<typeof MessageUsage>

export const MessageAnswer = recordSchema('MessageAnswer', {
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(AnswerBlock),
  stop_reason: StopReason.nullable(),
  stop_sequence: z.string().nullable(),
  usage: MessageUsage,
})
export type MessageAnswer = z.output<typeof MessageAnswer>

const BlockDelta = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text_delta'), text: z.string() }),
  z.object({ type: z.literal('thinking_delta'), thinking: z.string() }),
  z.object({ type: z.literal('signature_delta'), signature: z.string() }),
  z.object({ type: z.literal('input_json_delta'), partial_json: z.string() }),
])
export type BlockDelta = z.output<typeof BlockDelta>

/** The data of an event. The field `event` of the stream has the same word as `type`. */
export const MessageStreamEvent = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('message_start'), message: MessageAnswer }),
    z.object({ type: z.literal('content_block_start'), index: z.int(), content_block: AnswerBlock }),
    z.object({ type: z.literal('content_block_delta'), index: z.int(), delta: BlockDelta }),
    z.object({ type: z.literal('content_block_stop'), index: z.int() }),
    z.object({
      type: z.literal('message_delta'),
      delta: z.object({ stop_reason: StopReason, stop_sequence: z.string().nullable() }),
      usage: MessageUsage,
    }),
    z.object({ type: z.literal('message_stop') }),
    z.object({ type: z.literal('ping') }),
    z.object({ type: z.literal('error'), error: z.object({ type: z.string(), message: z.string() }) }),
  ])
  .meta({ id: 'MessageStreamEvent' })
export type MessageStreamEvent = z.output<typeof MessageStreamEvent>
