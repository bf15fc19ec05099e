/** Log probabilities of the tokens of an answer. They are drawn, because no model is behind the simulator. */

import * as z from 'zod'
import { ln } from '../../kernel/exact-math.ts'
import { type Chance, type EntityKey, purpose } from '../../kernel/random.ts'
import { ANSWER_WORDS } from '../../simulation/inference/text-generator.ts'
import { recordSchema } from '../fields.ts'
import type { Reply } from './answers.ts'
import { splitTokens } from './tokenizer.ts'

const CONFIDENCE_DRAW = purpose('answer.confidence')
const RANK_DRAW = purpose('answer.rank')
const WORD_DRAW = purpose('answer.alternative')

/** Maximum number of alternatives to a token. */
export const MAX_TOP_LOGPROBS = 20
/** Minimum probability of the likeliest token. */
const MIN_CONFIDENCE = 0.5
/** How often the answer has the second likeliest token. */
const SECOND_SHARE = 0.08

interface Alternative {
  readonly token: string
  readonly logprob: number
}

export interface TokenLogprob {
  readonly token: string
  /** Null for the first token of a prompt, which follows no other. */
  readonly logprob: number | null
  /** The likeliest tokens at this place, in descending order. */
  readonly top: readonly Alternative[]
}

interface LogprobRequest {
  /** A key for each answer. */
  readonly keys: readonly EntityKey[]
  /** Texts before each answer. Default: no texts. */
  readonly leads?: readonly string[]
  /** How many likely tokens are named for each token; undefined for an answer without log probabilities. */
  readonly topLogprobs?: number | undefined
}

/**
 * Returns the log probabilities of each answer's tokens, its lead included. Undefined if the request wants none, or if
 * the answer is a tool call.
 */
export function drawLogprobs(
  chance: Chance,
  { keys, leads, topLogprobs }: LogprobRequest,
  replies: readonly Reply[],
): readonly (readonly TokenLogprob[] | undefined)[] {
  return replies.map((reply, index) => {
    if (topLogprobs === undefined || reply.toolCalls.length > 0) return undefined
    const lead = leads?.[index] ?? ''
    const leadTokens = lead === '' ? [] : splitTokens(lead)
    return [...leadTokens, ...reply.pieces()].map((token, position) =>
      position === 0 && lead !== ''
        ? { token, logprob: null, top: [] }
        : drawTokenLogprob(chance, keys[index]!, token, position, topLogprobs),
    )
  })
}

/** Draws the probability of the likeliest token. Each further token has half of what remains. */
function drawTokenLogprob(
  chance: Chance,
  key: EntityKey,
  token: string,
  position: number,
  topCount: number,
): TokenLogprob {
  const confidence = MIN_CONFIDENCE + (1 - MIN_CONFIDENCE) * chance.unit(key, CONFIDENCE_DRAW, position)
  const rank = chance.unit(key, RANK_DRAW, position) < SECOND_SHARE ? 1 : 0
  const logprobAt = (place: number) => roundLogprob(place === 0 ? confidence : (1 - confidence) * 0.5 ** place)
  const words = alternativeWords(chance, key, token, position)
  const top = Array.from({ length: topCount }, (_, place) => ({
    token: place === rank ? token : words[place]!,
    logprob: logprobAt(place),
  }))
  return { token, logprob: logprobAt(rank), top }
}

/** Returns distinct words that differ from the token. */
function alternativeWords(chance: Chance, key: EntityKey, token: string, position: number): readonly string[] {
  const start = chance.integer(ANSWER_WORDS.length, key, WORD_DRAW, position)
  const count = MAX_TOP_LOGPROBS + 2
  const words = Array.from({ length: count }, (_, i) => ` ${ANSWER_WORDS[(start + i) % ANSWER_WORDS.length]!}`)
  return words.filter(word => word !== token)
}

/** Returns the logarithm with 6 decimals. The lowest value is that of the API for an unlikely token. */
function roundLogprob(probability: number): number {
  return probability <= 0 ? -9999 : Math.round(ln(probability) * 1e6) / 1e6
}

const ChatToken = z.object({ token: z.string(), logprob: z.number(), bytes: z.array(z.int()).nullable() })

/** The field `logprobs` of a chat. */
export const ChatLogprobs = recordSchema('ChatLogprobs', {
  content: z.array(ChatToken.extend({ top_logprobs: z.array(ChatToken) })).nullable(),
  refusal: z.null(),
})

export function toChatLogprobs(tokens: readonly TokenLogprob[]): z.output<typeof ChatLogprobs> {
  const content = tokens.map(({ token, logprob, top }) => ({
    ...toChatToken(token, logprob!),
    top_logprobs: top.map(alternative => toChatToken(alternative.token, alternative.logprob)),
  }))
  return { content, refusal: null }
}

function toChatToken(token: string, logprob: number): z.output<typeof ChatToken> {
  return { token, logprob, bytes: [...new TextEncoder().encode(token)] }
}

/** The field `logprobs` of a text completion. */
export const CompletionLogprobs = recordSchema('CompletionLogprobs', {
  tokens: z.array(z.string()),
  token_logprobs: z.array(z.number().nullable()),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()),
  text_offset: z.array(z.int()),
})

/** @param textOffset characters of the answer before these tokens */
export function toCompletionLogprobs(
  tokens: readonly TokenLogprob[],
  textOffset: number,
): z.output<typeof CompletionLogprobs> {
  let offset = textOffset
  const offsets = tokens.map(({ token }) => {
    offset += token.length
    return offset - token.length
  })
  return {
    tokens: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    // The chosen token is always in the map, so it can have one entry more than the request asks for.
    top_logprobs: tokens.map(({ token, logprob, top }) =>
      logprob === null
        ? null
        : Object.fromEntries([...top.map(one => [one.token, one.logprob] as const), [token, logprob] as const]),
    ),
    text_offset: offsets,
  }
}
