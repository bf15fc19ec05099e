/** Native inference of language models: a text, or several, whole or as a stream. */
import * as z from 'zod'
import { type EntityKey, hash32 } from '../../kernel/random.ts'
import { LIMITS } from '../../lib/limits.ts'
import { integer, recordSchema, rowsOf, text } from '../fields.ts'
import { createFormattedReply, createScriptedReply, type Reply, type ReplyBounds, replyKey } from '../openai/answers.ts'
import { ResponseFormat } from '../openai/chat-schema.ts'
import { sumTokens } from '../openai/generation.ts'
import { SamplingFields } from '../openai/sampling.ts'
import type { SseFrame } from '../openai/sse.ts'
import { countTokens } from '../openai/tokenizer.ts'
import { AnswerFields, type NativeScope, nativeProtocol, Webhook } from './protocol.ts'

const DEFAULT_MAX_NEW_TOKENS = 512

const TextBody = z.object({
  input: text({ min: 1 }),
  max_new_tokens: integer({ min: 1, max: 1_000_000 }).nullish(),
  temperature: z.number().min(0).max(100).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  top_k: integer({ min: 0, max: 999 }).nullish(),
  repetition_penalty: z.number().min(0.01).max(5).nullish(),
  stop: z.array(text()).max(16).nullish(),
  num_responses: integer({ min: 1, max: LIMITS.choices }).nullish(),
  response_format: ResponseFormat.nullish(),
  presence_penalty: SamplingFields.presence_penalty,
  frequency_penalty: SamplingFields.frequency_penalty,
  seed: SamplingFields.seed,
  user: SamplingFields.user,
  stream: SamplingFields.stream,
  webhook: Webhook,
})
type TextBody = z.output<typeof TextBody>

const TextAnswer = recordSchema('TextInferenceAnswer', {
  ...AnswerFields,
  results: rowsOf({ generated_text: z.string() }),
  num_tokens: z.int(),
  num_input_tokens: z.int(),
})

const TextEvent = recordSchema('TextInferenceEvent', {
  token: z.object({ id: z.int(), text: z.string(), logprob: z.number(), special: z.boolean() }),
  /** The whole text, in the last event. */
  generated_text: z.string().nullable(),
  details: z.object({ finish_reason: z.enum(['length', 'stop']), generated_tokens: z.int() }).nullable(),
  num_output_tokens: z.int(),
  num_input_tokens: z.int(),
})

export const TEXT_INFERENCE = nativeProtocol({
  body: TextBody,
  returns: TextAnswer,
  needsTokenizer: true,
  streamEvent: TextEvent,
  parse: ({ input }) => {
    const promptTokens = countTokens(input)
    return { prompt: JSON.stringify(input), promptTokens, minAnswerTokens: 1 }
  },
  createWork: (scope, body, { promptTokens }) => {
    const replies = createReplies(scope, body, promptTokens)
    const num_tokens = sumTokens(replies)
    return {
      spec: {
        results: replies.map(reply => ({ generated_text: reply.text })),
        num_tokens,
        num_input_tokens: promptTokens,
      },
      answerTokens: num_tokens,
      longestAnswer: Math.max(...replies.map(({ tokens }) => tokens)),
      streamSource: replies,
    }
  },
  createResult: (_, spec) => spec,
  createStream: (scope, body, { promptTokens }, { streamSource }) =>
    body.stream ? { key: keysOf(scope, body)[0]!, frames: createFrames(streamSource![0]!, promptTokens) } : undefined,
})

/** Returns the keys of the answers, which are those of `POST /v1/completions`. A stream has one answer. */
function keysOf({ world, target }: NativeScope, { input, num_responses, stream }: TextBody): EntityKey[] {
  const length = stream ? 1 : (num_responses ?? 1)
  return Array.from({ length }, (_, index) => replyKey(world.chance, target.name, JSON.stringify(input), index))
}

function createReplies(scope: NativeScope, body: TextBody, promptTokens: number): Reply[] {
  const { chance } = scope.world
  const keys = keysOf(scope, body)
  const bounds: ReplyBounds = {
    limit: Math.min(body.max_new_tokens ?? DEFAULT_MAX_NEW_TOKENS, scope.contextLength - promptTokens),
    stop: body.stop ?? [],
    answerCount: keys.length,
  }
  const scriptedAnswer = scope.findScriptedAnswer(scope.model, body.input)
  return keys.map(key =>
    scriptedAnswer === undefined || 'toolCall' in scriptedAnswer
      ? createFormattedReply(chance, key, body.response_format, bounds)
      : createScriptedReply(chance, key, scriptedAnswer, bounds),
  )
}

/** Yields an event for each token, the last with the whole text. */
function* createFrames(reply: Reply, promptTokens: number): Generator<SseFrame> {
  const pieces = reply.pieces()
  // An answer that a stop text ends at once has one event without a text.
  const lastToken = Math.max(0, pieces.length - 1)
  for (let token = 0; token <= lastToken; token++) {
    const piece = pieces[token] ?? ''
    const isLast = token === lastToken
    const event: z.input<typeof TextEvent> = {
      token: { id: hash32(piece) % TOKEN_COUNT, text: piece, logprob: 0, special: piece === '' },
      generated_text: isLast ? reply.text : null,
      details: isLast
        ? { finish_reason: reply.finish_reason === 'length' ? 'length' : 'stop', generated_tokens: reply.tokens }
        : null,
      num_output_tokens: Math.min(token + 1, reply.tokens),
      num_input_tokens: promptTokens,
    }
    yield { token, data: JSON.stringify(event) }
  }
  yield { token: lastToken, data: '[DONE]' }
}

/** The number of tokens that a tokenizer of language models has (A). */
const TOKEN_COUNT = 128_000
