import * as z from 'zod'
import { LIMITS } from '../../lib/limits.ts'
import { findModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { World } from '../../simulation/world.ts'
import { documented } from '../endpoint.ts'
import { text } from '../fields.ts'
import { qualifyModelName } from '../lookups.ts'
import { countInputTokens, toPromptMessages } from '../messages/message-request.ts'
import { refuse } from '../refusals.ts'

const Block = z.looseObject({ type: text() })
const ContentField = z.union([text(), z.array(Block)])

const Tool = z.looseObject({
  name: text(),
  input_schema: z.record(z.string(), z.unknown()).optional(),
  description: text().nullish(),
})

export const countTokens = documented({
  route: 'POST /vendor_a/v1/messages/count_tokens',
  summary: 'Count the input tokens of a message request',
  assumptions: [
    'the path starts with the literal /vendor_a',
    '200 {"input_tokens": n}: what POST /vendor_a/v1/messages is billed as input tokens for the same messages, system and tools, and a chat as prompt_tokens',
    'tokens are those of o200k_base; a message takes 3 and its role, and the start of the answer takes 3',
    'a tool result counts as a message of the role tool',
    'model and messages are required; content and system are a string or an array of blocks',
    'thinking and tool_choice are accepted and not counted',
    'authentication is optional; if a token is sent, it must be valid',
  ],
  refusals: { 404: 'unknown or deprecated model', 413: 'a body of more than 8 MiB' },
  maxBodyBytes: LIMITS.countTokensBytes,
  auth: 'optional',
  needsTokenizer: true,
  body: z.object({
    model: text(),
    messages: z.array(z.looseObject({ role: text(), content: ContentField })),
    system: ContentField.nullish(),
    tools: z.array(Tool).nullish(),
    thinking: z.looseObject({ enabled: z.boolean().optional() }).nullish(),
    tool_choice: z.looseObject({}).nullish(),
  }),
  returns: z.object({ input_tokens: z.int() }),
  example: {
    body: {
      model: 'aurora-labs/aurora-8b-instruct',
      messages: [{ role: 'user', content: 'How many tokens are these?' }],
    },
  },
  handle: ({ body, world }) => {
    const { model, tools } = body
    if (!isCountedModel(world, model)) refuse(404, `no model ${model}`)
    return { input_tokens: countInputTokens(toPromptMessages(body), tools) }
  },
})

/** Returns whether a chat takes the name, or the account has a model of this name. */
function isCountedModel(world: World, model: string): boolean {
  const own = () => world.modelVersions.get(qualifyModelName(world, model))
  return findModelTarget(world, model) !== undefined || own() !== undefined
}
