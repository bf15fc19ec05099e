import * as z from 'zod'
import { endpoint, refuse } from '../endpoint.ts'
import { text } from '../fields.ts'
import { qualifyModelName } from '../model-names.ts'
import { countTokens as tokensIn } from '../openai/tokenizer.ts'

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
    'the path begins with /vendor_a literally',
    '200 {"input_tokens": n}, by o200k_base over the texts of messages, system and tools',
    'model and messages are required; content is a string or an array of blocks, system too',
    'thinking and tool_choice are accepted and not counted',
    'authentication is optional: a token that is sent must be a good one',
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
    const model_name = qualifyModelName(world, model)
    const isKnown = world.store.models.has(model_name) || world.modelVersions.get(model_name) !== undefined
    if (!isKnown) refuse(404, `no model ${model}`)
    const pieces = [
      ...extractTexts(system),
      ...messages.flatMap(message => extractTexts(message.content)),
      ...(tools ?? []).flatMap(tool => [tool.name, tool.description ?? '', toJsonOrEmpty(tool.input_schema)]),
    ]
    return { input_tokens: pieces.reduce((sum, piece) => sum + (piece === '' ? 0 : tokensIn(piece)), 0) }
  },
})

/** What of a content a model reads: texts, calls of tools and their results. Images have no text. */
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
