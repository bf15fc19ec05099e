import * as z from 'zod'
import { LIMITS } from '../../limits.ts'
import { findModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { World } from '../../simulation/world.ts'
import { endpoint } from '../endpoint.ts'
import { text } from '../fields.ts'
import { qualifyModelName } from '../model-names.ts'
import { countPromptTokens, type PromptMessage } from '../openai/prompt-tokens.ts'
import { refuse } from '../refusals.ts'

const Block = z.looseObject({ type: text() })
const ContentField = z.union([text(), z.array(Block)])

const Tool = z.looseObject({
  name: text(),
  input_schema: z.record(z.string(), z.unknown()).optional(),
  description: text().nullable().optional(),
})

export const countTokens = endpoint({
  route: 'POST /vendor_a/v1/messages/count_tokens',
  summary: 'Count the input tokens of a message request',
  provenance: 'documented',
  assumptions: [
    'the path starts with the literal /vendor_a',
    '200 {"input_tokens": n}: what the same messages, system and tools are billed as prompt_tokens in a chat',
    'tokens are those of o200k_base; a message takes 3 and its role, and the start of the answer takes 3',
    'a tool result counts as a message of the role tool',
    'model and messages are required; content and system are a string or an array of blocks',
    'thinking and tool_choice are accepted and not counted',
    'authentication is optional; if a token is sent, it must be valid',
  ],
  refusals: { 404: 'unknown or deprecated model', 413: 'a body of more than 8 MiB' },
  maxBodyBytes: LIMITS.countTokensBytes,
  auth: 'optional',
  needs: ['tokenizer'],
  body: z.object({
    model: text(),
    messages: z.array(z.looseObject({ role: text(), content: ContentField })),
    system: ContentField.nullable().optional(),
    tools: z.array(Tool).nullable().optional(),
    thinking: z.looseObject({ enabled: z.boolean().optional() }).nullable().optional(),
    tool_choice: z.looseObject({}).nullable().optional(),
  }),
  returns: z.object({ input_tokens: z.int() }),
  example: {
    body: {
      model: 'aurora-labs/aurora-8b-instruct',
      messages: [{ role: 'user', content: 'How many tokens are these?' }],
    },
  },
  handle: ({ body: { model, messages, system, tools }, world }) => {
    if (!isCountedModel(world, model)) refuse(404, `no model ${model}`)
    const systemMessages = system ? [{ role: 'system', content: system }] : []
    const prompt = [...systemMessages, ...messages].flatMap(toPromptMessages)
    const definitions = (tools ?? []).map(({ name, description, input_schema }) => ({
      name,
      ...(description != null && { description }),
      parameters: input_schema ?? {},
    }))
    return { input_tokens: countPromptTokens(prompt, definitions) }
  },
})

/** Returns whether a chat takes the name, or the account has a model of this name. */
function isCountedModel(world: World, model: string): boolean {
  const own = () => world.modelVersions.get(qualifyModelName(world, model))
  return findModelTarget(world, model) !== undefined || own() !== undefined
}

type Content = string | readonly z.output<typeof Block>[]

/** Returns a message in the form of a chat: results of tools are messages of their own. */
function toPromptMessages({ role, content }: { readonly role: string; readonly content: Content }): PromptMessage[] {
  if (typeof content === 'string') return [{ role, content }]
  const results = content
    .filter(({ type }) => type === 'tool_result')
    .map(block => ({ role: 'tool', content: extractText(block.content) }))
  const texts = content.flatMap(({ text }) => (typeof text === 'string' ? [{ text }] : []))
  const calls = content.filter(({ type }) => type === 'tool_use')
  if (results.length > 0 && texts.length === 0 && calls.length === 0) return results
  const tool_calls = calls.map(({ name, input }) => ({
    function: { name: String(name ?? ''), arguments: JSON.stringify(input ?? {}) },
  }))
  return [...results, { role, content: texts, tool_calls }]
}

/** Returns the texts of a content, a line each. Images have no text. */
function extractText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.flatMap(block => (typeof block?.text === 'string' ? [block.text] : [])).join('\n')
}
