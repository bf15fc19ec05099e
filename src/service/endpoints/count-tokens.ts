import * as z from 'zod'
import { endpoint } from '../endpoint.ts'
import { text } from '../fields.ts'
import { isKnownModel } from '../lookups.ts'
import { qualifyModelName } from '../model-names.ts'
import { countTokens as countTextTokens } from '../openai/tokenizer.ts'
import { refuse } from '../refusals.ts'

const Block = z.looseObject({ type: text() })
const Content = z.union([text(), z.array(Block)])

const Tool = z.looseObject({
  name: text(),
  input_schema: z.record(z.string(), z.unknown()).optional(),
  description: text().optional(),
})

export const countTokens = endpoint({
  route: 'POST /vendor_a/v1/messages/count_tokens',
  summary: 'Count the input tokens of a message request',
  provenance: 'documented',
  assumptions: [
    'the path starts with the literal /vendor_a',
    '200 {"input_tokens": n}: tokens of the texts of messages, system and tools, by o200k_base',
    'model and messages are required; content and system are a string or an array of blocks',
    'thinking and tool_choice are accepted and not counted',
    'authentication is optional; if a token is sent, it must be valid',
  ],
  refusals: { 404: 'unknown model', 413: 'a body of more than 8 MiB' },
  maxBodyBytes: 8 * 1_048_576,
  auth: 'optional',
  needs: ['tokenizer'],
  body: z.object({
    model: text(),
    messages: z.array(z.looseObject({ role: text(), content: Content })),
    system: Content.optional(),
    tools: z.array(Tool).optional(),
    thinking: z.looseObject({ enabled: z.boolean().optional() }).optional(),
    tool_choice: z.looseObject({}).optional(),
  }),
  returns: z.object({ input_tokens: z.int() }),
  example: {
    body: {
      model: 'aurora-labs/aurora-8b-instruct',
      messages: [{ role: 'user', content: 'How many tokens are these?' }],
    },
  },
  handle: ({ body: { model, messages, system, tools }, world }) => {
    if (!isKnownModel(world, qualifyModelName(world, model))) refuse(404, `no model ${model}`)
    const pieces = [
      ...extractTexts(system),
      ...messages.flatMap(message => extractTexts(message.content)),
      ...(tools ?? []).flatMap(tool => [tool.name, tool.description ?? '', toJsonOrEmpty(tool.input_schema)]),
    ]
    return { input_tokens: pieces.reduce((sum, piece) => sum + (piece === '' ? 0 : countTextTokens(piece)), 0) }
  },
})

/** Returns the texts that a model reads: texts, tool calls and their results. Images have no text. */
function extractTexts(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return content.flatMap(block => {
    if (typeof block.text === 'string') return [block.text]
    if (block.type === 'tool_use') return [String(block.name ?? ''), toJsonOrEmpty(block.input)]
    return extractTexts(block.content)
  })
}

function toJsonOrEmpty(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value)
}
