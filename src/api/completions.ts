import * as z from 'zod'
import { endpoint, invalid } from './endpoint.ts'
import { integer, text } from './fields.ts'
import { INFERENCE_REFUSALS } from './inference.ts'
import { type Bounds, replyKey, scriptedReply, wordsReply } from './replies.ts'
import { Sampling } from './sampling.ts'
import { generate, type TextRules, Usage } from './text-generation.ts'
import { countTokens, textOfTokens } from './tokenizer.ts'

const MOST_PROMPTS = 128

const Tokens = z.array(integer({ min: 0 })).min(1)

const Choice = z.object({
  index: z.int(),
  text: z.string(),
  logprobs: z.null(),
  finish_reason: z.enum(['stop', 'length']),
})

const head = { id: z.string(), object: z.literal('text_completion'), created: z.int(), model: z.string() }

const Completion = z.object({ ...head, choices: z.array(Choice), usage: Usage }).meta({ id: 'Completion' })

const CompletionChunk = z
  .object({
    ...head,
    choices: z.array(Choice.extend({ finish_reason: Choice.shape.finish_reason.nullable() })),
    usage: Usage.nullable().optional(),
  })
  .meta({ id: 'CompletionChunk' })

const CompletionBody = z.object({
  model: text({ min: 1 }),
  prompt: z.union([text(), z.array(text()).min(1).max(MOST_PROMPTS), Tokens, z.array(Tokens).min(1).max(MOST_PROMPTS)]),
  ...Sampling,
  echo: z.boolean().nullable().optional(),
  suffix: text().nullable().optional(),
  best_of: Sampling.n,
  logprobs: z.null().optional(),
})
type CompletionBody = z.output<typeof CompletionBody>

const TEXT: TextRules<CompletionBody, 'text_completion', z.input<typeof Choice>> = {
  read: ({ prompt }) => {
    // Tokens that are sent are counted as they are.
    const counts = promptsOf(prompt).map(one => (typeof one === 'string' ? countTokens(one) : known(one).length))
    const promptTokens = counts.reduce((sum, count) => sum + count, 0)
    return { prompt: JSON.stringify(prompt), promptTokens, longestPrompt: Math.max(...counts) }
  },
  ask: ({ model, prompt, n, echo, stop, max_tokens: limit }, read, { world, scripted, name }) => {
    const prompts = promptsOf(prompt).map(one => (typeof one === 'string' ? one : textOfTokens(one)!))
    const each = n ?? 1
    const keys = prompts.flatMap(one =>
      Array.from({ length: each }, (_, nth) => replyKey(world.chance, name, JSON.stringify(one), nth)),
    )
    const replies = (bounds: Bounds) => {
      const given = scripted(model, prompts.at(-1)!)
      return keys.map(key =>
        given === undefined || 'toolCall' in given
          ? wordsReply(world.chance, key, bounds)
          : scriptedReply(world.chance, key, given, bounds),
      )
    }
    return {
      ...{ ...read, model, keys, limit, stop, replies },
      ...(echo && { leads: keys.map((_, index) => prompts[Math.floor(index / each)]!) }),
    }
  },
  shape: {
    prefix: 'cmpl-',
    object: { whole: 'text_completion', event: 'text_completion' },
    choice: (reply, index, lead) => ({
      ...{ index, text: lead + reply.text, logprobs: null },
      finish_reason: reply.finish_reason as 'stop' | 'length',
    }),
    field: 'text',
    opening: (_, lead) => (lead === '' ? undefined : JSON.stringify(lead)),
    pieces: reply => reply.pieces().map(piece => JSON.stringify(piece)),
    closing: '""',
  },
}

export const createCompletion = endpoint({
  route: 'POST /v1/completions',
  mirrored: true,
  summary: 'Go on with a text',
  provenance: 'neighbour',
  assumed: [
    'model as in POST /v1/chat/completions; the same prompt has the same answer, whole, streamed and in a batch',
    `prompt is a text, tokens, or up to ${MOST_PROMPTS} of either: n answers to the first, then n to the second`,
    'tokens are those of o200k_base, and answered as the text that they stand for; what is none of them is 422',
    'echo puts the prompt before its answer; suffix, best_of and what POST /v1/chat/completions lists change nothing',
    'logprobs are not offered: a number is 422',
  ],
  refusals: INFERENCE_REFUSALS,
  alt: true,
  needs: ['tokenizer'],
  body: CompletionBody,
  returns: Completion,
  streams: CompletionChunk,
  example: { body: { model: 'acme/assistant', prompt: 'Once upon a time' } },
  inBatch: TEXT,
  handle: ({ body, ...scope }) => generate(scope, body, TEXT),
})

function promptsOf(prompt: CompletionBody['prompt']): readonly (string | number[])[] {
  if (typeof prompt === 'string') return [prompt]
  return typeof prompt[0] === 'number' ? [prompt as number[]] : (prompt as (string | number[])[])
}

/** Ends the request with 422 where one of the tokens is none. */
function known(tokens: readonly number[]): readonly number[] {
  if (textOfTokens(tokens) !== undefined) return tokens
  const stranger = tokens.find(token => textOfTokens([token]) === undefined)
  invalid(['body', 'prompt'], `Value error, ${stranger} is no token of o200k_base: send the text itself`)
}
