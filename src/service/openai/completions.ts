import * as z from 'zod'
import { LIMITS } from '../../lib/limits.ts'
import { neighbour } from '../endpoint.ts'
import { integer, recordSchema, text } from '../fields.ts'
import { rejectInput } from '../refusals.ts'
import { createFormattedReply, createScriptedReply, type ReplyBounds, replyKey } from './answers.ts'
import { ResponseFormat } from './chat-schema.ts'
import { generateText, type TextProtocol, Usage } from './generation.ts'
import { CompletionLogprobs, toCompletionLogprobs } from './logprobs.ts'
import { toInputList } from './prompt-tokens.ts'
import { COMPAT_INFERENCE, INFERENCE_REFUSALS } from './request-lifecycle.ts'
import { SamplingFields } from './sampling.ts'
import { countTokens, decodeTokens } from './tokenizer.ts'

/** Maximum of `logprobs`, as in the API of the openai package. */
const MAX_LOGPROBS = 5

/** Bounds of `best_of`, as in the API of the openai package. */
const MAX_BEST_OF = 20

/** The largest ordinary token of o200k_base. */
const MAX_TOKEN = 199_997
const PromptTokens = z.array(integer({ min: 0 }).meta({ maximum: MAX_TOKEN })).min(1)

const Choice = z.object({
  index: z.int(),
  text: z.string(),
  logprobs: CompletionLogprobs.nullable(),
  finish_reason: z.enum(['stop', 'length']),
})

const commonFields = { id: z.string(), object: z.literal('text_completion'), created: z.int(), model: z.string() }

const Completion = recordSchema('Completion', {
  ...commonFields,
  choices: z.array(Choice),
  usage: Usage,
  service_tier: z.string().optional(),
})

const CompletionChunk = recordSchema('CompletionChunk', {
  ...commonFields,
  choices: z.array(Choice.extend({ finish_reason: Choice.shape.finish_reason.nullable() })),
  usage: Usage.optional(),
  service_tier: z.string().optional(),
})

const CompletionBody = z.object({
  model: text({ min: 1 }),
  prompt: z.union([
    text(),
    PromptTokens,
    z.array(text()).min(1).max(LIMITS.completionPrompts),
    z.array(PromptTokens).min(1).max(LIMITS.completionPrompts),
  ]),
  ...SamplingFields,
  echo: z.boolean().nullish(),
  suffix: text().nullish(),
  response_format: ResponseFormat.nullish(),
  best_of: integer({ min: 0, max: MAX_BEST_OF }).nullish(),
  logprobs: integer({ min: 0, max: MAX_LOGPROBS }).nullish(),
})
type CompletionBody = z.output<typeof CompletionBody>

const COMPLETION_PROTOCOL: TextProtocol<CompletionBody, 'text_completion', z.input<typeof Choice>> = {
  parsePrompt: ({ prompt }) => {
    const tokenCounts = toInputList(prompt).map(input =>
      typeof input === 'string' ? countTokens(input) : requireKnownTokens(input).length,
    )
    const promptTokens = tokenCounts.reduce((sum, count) => sum + count, 0)
    return { prompt: JSON.stringify(prompt), promptTokens, longestPromptTokens: Math.max(...tokenCounts) }
  },
  createRequest: (
    { model, prompt, n, echo, stop, max_tokens: limit, logprobs, response_format, service_tier },
    promptInput,
    { world, findScriptedAnswer, name },
  ) => {
    const prompts = toInputList(prompt).map(input => (typeof input === 'string' ? input : decodeTokens(input)!))
    const answersPerPrompt = n ?? 1
    const keys = prompts.flatMap(promptText =>
      Array.from({ length: answersPerPrompt }, (_, answerIndex) =>
        replyKey(world.chance, name, JSON.stringify(promptText), answerIndex),
      ),
    )
    const replies = (bounds: ReplyBounds) => {
      const scriptedAnswer = findScriptedAnswer(model, prompts.at(-1)!)
      return keys.map(key =>
        scriptedAnswer === undefined || 'toolCall' in scriptedAnswer
          ? createFormattedReply(world.chance, key, response_format, bounds)
          : createScriptedReply(world.chance, key, scriptedAnswer, bounds),
      )
    }
    return {
      ...promptInput,
      model,
      keys,
      limit,
      stop,
      replies,
      topLogprobs: logprobs ?? undefined,
      serviceTier: service_tier,
      ...(echo && { leads: keys.map((_, index) => prompts[Math.floor(index / answersPerPrompt)]!) }),
    }
  },
  format: {
    idPrefix: 'cmpl-',
    objectNames: { whole: 'text_completion', event: 'text_completion' },
    toLogprobs: toCompletionLogprobs,
    toChoice: (reply, index, lead, tokens) => ({
      index,
      text: lead + reply.text,
      logprobs: tokens === undefined ? null : toCompletionLogprobs(tokens, 0),
      finish_reason: reply.finish_reason as 'stop' | 'length',
    }),
    chunkField: 'text',
    toOpening: (_, lead) => (lead === '' ? undefined : JSON.stringify(lead)),
    toPieces: reply => reply.pieces().map(piece => JSON.stringify(piece)),
    closing: '""',
  },
}

export const createCompletion = neighbour({
  ...COMPAT_INFERENCE,
  route: 'POST /v1/completions',
  summary: 'Create a text completion',
  assumptions: [
    'model: as in POST /v1/chat/completions',
    'equal prompts have equal answers: whole, streamed and in a batch',
    `prompt: a text, an array of tokens, or an array of up to ${LIMITS.completionPrompts} of either; choices has n answers to the first prompt, then n to the second`,
    'tokens are those of o200k_base, and are answered like their text; an unknown token is 422',
    'echo puts the prompt before its answer',
    'response_format: as in POST /v1/chat/completions',
    'suffix, best_of and the fields that POST /v1/chat/completions ignores are validated and ignored',
    `logprobs: 0 to ${MAX_LOGPROBS}, drawn from the seed; with echo, the first token of the prompt has null`,
  ],
  refusals: INFERENCE_REFUSALS,
  needsTokenizer: true,
  maxBodyValues: LIMITS.tokenBodyValues,
  body: CompletionBody,
  returns: Completion,
  streamEvent: CompletionChunk,
  example: { body: { model: 'acme/assistant', prompt: 'Once upon a time' } },
  batchProtocol: COMPLETION_PROTOCOL,
  handle: scope => generateText(scope, scope.body, COMPLETION_PROTOCOL),
})

/** Returns the tokens. Rejects with 422 if one of them is unknown. */
function requireKnownTokens(tokens: readonly number[]): readonly number[] {
  if (decodeTokens(tokens) !== undefined) return tokens
  const unknownToken = tokens.find(token => decodeTokens([token]) === undefined)
  rejectInput(['body', 'prompt'], `Value error, ${unknownToken} is not a token of o200k_base: send the text itself`)
}
