/** Text generation: the answers to one request, whole or as a stream, in the formats of chat and text completions. */

import * as z from 'zod'
import type { EntityKey } from '../../kernel/random.ts'
import { findModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { InferenceHandle } from '../../simulation/inference/request-row.ts'
import type { ApiScope } from '../api-scope.ts'
import { recordSchema } from '../fields.ts'
import { DeferredResult } from '../results.ts'
import type { Reply, ReplyBounds } from './answers.ts'
import { drawLogprobs, type TokenLogprob } from './logprobs.ts'
import {
  answerWhenStarted,
  findPromptBlocks,
  hashRequest,
  startInference,
  waitForWholeAnswer,
} from './request-lifecycle.ts'
import type { SamplingFields } from './sampling.ts'
import { createEventStream, type SseFrame } from './sse.ts'

/** Returns the minimum length of an answer in tokens. The prompt must leave room for it in the context. */
export function minAnswerTokens({ limit }: Pick<TextRequest, 'limit'>): number {
  return limit === 0 ? 0 : 1
}

/** Token counts by o200k_base. */
export const Usage = recordSchema('Usage', {
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
})

/** The prompt of a body, independent of the model. */
export interface PromptInput {
  /** The whole prompt as text. */
  readonly prompt: string
  readonly promptTokens: number
  /** Tokens of the longest prompt that is answered separately. It must fit the context. */
  readonly longestPromptTokens: number
}

/** A request for text. Each key gives one answer. */
export interface TextRequest extends PromptInput {
  readonly model: string
  readonly keys: readonly EntityKey[]
  /** The definitions of tools as text, which the model reads before the prompt. Default: no tools. */
  readonly toolText?: string | undefined
  /** Maximum number of tokens of an answer, as in the request. */
  readonly limit: number | null | undefined
  readonly stop: DeliveryOptions['stop']
  /** How many likely tokens are named for each token; undefined for an answer without log probabilities. */
  readonly topLogprobs?: number | undefined
  /** The answer repeats it. */
  readonly serviceTier?: string | null | undefined
  /** Texts before each answer that are not generated. Default: no texts. */
  readonly leads?: readonly string[]
  /** Creates the answers within the bounds. Refuses the request if that is impossible. */
  readonly replies: (bounds: ReplyBounds) => readonly Reply[]
}

/** Format of the answers of an endpoint. */
export interface AnswerFormat<Whole extends string, Choice> {
  /** Prefix of the id of an answer, as in `chatcmpl-`. */
  readonly idPrefix: string
  /** The field `object` of a whole answer, and of an event. */
  readonly objectNames: { readonly whole: Whole; readonly event: string }
  readonly toChoice: (reply: Reply, index: number, lead: string, tokens: readonly TokenLogprob[] | undefined) => Choice
  /** Returns the field `logprobs` of tokens that follow `textOffset` characters of an answer. */
  readonly toLogprobs: (tokens: readonly TokenLogprob[], textOffset: number) => unknown
  /** The field of an event that holds a piece of an answer. */
  readonly chunkField: 'delta' | 'text'
  /** JSON of the piece before the first token; undefined for no such piece. */
  readonly toOpening: (reply: Reply, lead: string) => string | undefined
  /** JSON of each token's piece. */
  readonly toPieces: (reply: Reply) => Iterable<string>
  /** JSON of the piece beside the finish reason. */
  readonly closing: string
}

/** How a text endpoint reads a body and formats its answers. */
export interface TextProtocol<Body, Whole extends string, Choice> {
  /** Throws InvalidInputError. Method syntax, because protocols of different bodies share one record. */
  parsePrompt(body: Body): PromptInput
  /** @param scope `name` is the full name of the model, from which answers are generated */
  createRequest(
    body: Body,
    prompt: PromptInput,
    scope: Pick<ApiScope, 'world' | 'findScriptedAnswer'> & { readonly name: string },
  ): TextRequest
  readonly format: AnswerFormat<Whole, Choice>
}

interface TextAnswer<Whole, Choice> extends AnswerHead {
  object: Whole
  choices: Choice[]
  usage: z.output<typeof Usage>
}

/** The fields that each answer of chat and text completions begins with. */
interface AnswerHead {
  id: string
  created: number
  model: string
  service_tier?: string | undefined
}

/** How the answers of an endpoint are sent, whole or as a stream. */
export interface TextDelivery<Whole> {
  /** Prefix of the id of an answer, as in `chatcmpl-`. */
  readonly idPrefix: string
  readonly isStreamed: boolean
  toWhole(head: AnswerHead, replies: readonly Reply[], usage: z.output<typeof Usage>): Whole
  createFrames(head: AnswerHead, replies: readonly Reply[], usage: z.output<typeof Usage>): Iterator<SseFrame>
  /** Returns the last event of a stream whose answer ended early. Default: the connection breaks. */
  readonly createLossFrame?: ((handle: InferenceHandle) => SseFrame) | undefined
}

type DeliveryOptions = z.output<z.ZodObject<Pick<typeof SamplingFields, 'stop' | 'stream' | 'stream_options'>>>
type TextScope = ApiScope & { readonly request: Request }

/**
 * Answers a request for text in the format of chat or text completions, whole or as a stream.
 *
 * @throws RefusalError, before anything has changed
 */
export function generateText<Body extends DeliveryOptions & { readonly model: string }, Whole extends string, Choice>(
  scope: TextScope,
  body: Body,
  { parsePrompt, createRequest, format }: TextProtocol<Body, Whole, Choice>,
): DeferredResult<TextAnswer<Whole, Choice>> {
  const { world, findScriptedAnswer } = scope
  const name = findModelTarget(world, body.model)?.name ?? body.model
  const textRequest = createRequest(body, parsePrompt(body), { world, findScriptedAnswer, name })
  const { leads } = textRequest
  return deliverText(scope, name, textRequest, {
    idPrefix: format.idPrefix,
    isStreamed: body.stream ?? false,
    toWhole: (head, replies, usage) =>
      toTextAnswer(
        format,
        head,
        toChoices(format, replies, leads, drawLogprobs(world.chance, textRequest, replies)),
        usage,
      ),
    createFrames: ({ id, ...head }, replies, usage) => {
      const logprobs = drawLogprobs(world.chance, textRequest, replies)
      const sentUsage = body.stream_options?.include_usage === false ? undefined : usage
      return createFrames(
        format,
        { id, object: format.objectNames.event, ...head },
        replies,
        leads,
        logprobs,
        sentUsage,
      )
    },
  })
}

/**
 * Submits a request for text and delivers its answers. `name` is the full name of the model.
 *
 * @throws RefusalError, before anything has changed
 */
export function deliverText<Whole>(
  { world, token, request }: TextScope,
  name: string,
  textRequest: TextRequest,
  { idPrefix, isStreamed, toWhole, createFrames, createLossFrame }: TextDelivery<Whole>,
): DeferredResult<Whole> {
  const { model, prompt, promptTokens, longestPromptTokens, toolText = '' } = textRequest
  let replies: readonly Reply[] = []
  let longestAnswer = 0
  let usage = toUsage(promptTokens, 0)
  const handle = startInference(
    world,
    token,
    model,
    'text-generation',
    longestPromptTokens,
    minAnswerTokens(textRequest),
    (context, target) => {
      replies = createReplies(textRequest, context)
      longestAnswer = Math.max(...replies.map(({ tokens }) => tokens))
      usage = toUsage(promptTokens, sumTokens(replies))
      return {
        prefix: idPrefix,
        hash: hashRequest(name, prompt),
        promptBlocks: findPromptBlocks(target, toolText + prompt, promptTokens),
        promptTokens,
        answerTokens: usage.completion_tokens,
        longestAnswer,
        isCut: replies.some(({ finish_reason }) => finish_reason === 'length'),
      }
    },
  )
  const head = {
    id: handle.id,
    created: world.clock.unix(),
    model,
    service_tier: textRequest.serviceTier || undefined,
  }
  if (!isStreamed) {
    return new DeferredResult<Whole>(waiter =>
      waitForWholeAnswer<Whole>(world, handle, longestAnswer, waiter, request, () => toWhole(head, replies, usage)),
    )
  }
  return new DeferredResult<never>(waiter =>
    answerWhenStarted<never>(world, handle, waiter, request, () =>
      createEventStream({
        world,
        handle,
        key: textRequest.keys[0]!,
        longestAnswer,
        waiter,
        client: request,
        frames: createFrames(head, replies, usage),
        createLossFrame,
      }),
    ),
  )
}

/** Creates the answers within a context length in tokens. Throws RefusalError if that is impossible. */
export function createReplies(
  { keys, limit, stop, longestPromptTokens, replies }: TextRequest,
  contextLength: number,
): readonly Reply[] {
  const made = replies(toBounds(limit, contextLength - longestPromptTokens, stop, keys.length))
  // A tool call has at least its name, so an answer without tokens is a text.
  return limit === 0 ? made.map(() => EMPTY_REPLY) : made
}

export function toChoices<Choice>(
  { toChoice }: AnswerFormat<string, Choice>,
  replies: readonly Reply[],
  leads: TextRequest['leads'],
  logprobs?: ReturnType<typeof drawLogprobs>,
): Choice[] {
  return replies.map((reply, index) => toChoice(reply, index, leads?.[index] ?? '', logprobs?.[index]))
}

/** Returns the body of a whole answer. */
export function toTextAnswer<Whole extends string, Choice>(
  { objectNames }: AnswerFormat<Whole, Choice>,
  { id, created, model, service_tier }: AnswerHead,
  choices: Choice[],
  usage: z.output<typeof Usage>,
): TextAnswer<Whole, Choice> {
  const answer = { id, object: objectNames.whole, created, model, choices, usage }
  return service_tier === undefined ? answer : { ...answer, service_tier }
}

/** Yields the events of a stream: the openings, the tokens, and the finish reasons, the last with the usage. */
function* createFrames(
  { chunkField, toOpening, toPieces, toLogprobs, closing }: AnswerFormat<string, unknown>,
  head: Readonly<Record<string, string | number | undefined>>,
  replies: readonly Reply[],
  leads: TextRequest['leads'],
  logprobs: ReturnType<typeof drawLogprobs>,
  usage: z.output<typeof Usage> | undefined,
): Generator<SseFrame> {
  // Created once, because all events share most of their text.
  const chunkStart = JSON.stringify(head).slice(0, -1)
  const toChunk = (index: number, piece: string, finishReason: string, tokenLogprobs = 'null', chunkEnd = '') =>
    `${chunkStart},"choices":[{"index":${index},"${chunkField}":${piece},"logprobs":${tokenLogprobs},"finish_reason":${finishReason}}]${chunkEnd}}`
  const takers = replies.map((_, index) => createLogprobTaker(toLogprobs, logprobs[index]))
  for (const [index, reply] of replies.entries()) {
    const lead = leads?.[index] ?? ''
    const piece = toOpening(reply, lead)
    if (piece === undefined) continue
    yield { token: -1, data: toChunk(index, piece, 'null', lead === '' ? 'null' : takers[index]!(lead)) }
  }
  const piecesByReply = replies.map(reply => [...toPieces(reply)])
  const tokenCount = Math.max(...piecesByReply.map(replyPieces => replyPieces.length))
  for (let token = 0; token < tokenCount; token++) {
    for (const [index, pieces] of piecesByReply.entries()) {
      if (token < pieces.length) yield { token, data: toChunk(index, pieces[token]!, 'null', takers[index]!()) }
    }
  }
  const lastToken = Math.max(0, tokenCount - 1)
  for (const [index, { finish_reason }] of replies.entries()) {
    const hasUsage = usage !== undefined && index === replies.length - 1
    const chunkEnd = hasUsage ? `,"usage":${JSON.stringify(usage)}` : ''
    yield { token: lastToken, data: toChunk(index, closing, JSON.stringify(finish_reason), 'null', chunkEnd) }
  }
  yield { token: lastToken, data: '[DONE]' }
}

/** Returns a function that takes the log probabilities of the next token, or of the tokens of a text, as JSON. */
function createLogprobTaker(
  toLogprobs: AnswerFormat<string, unknown>['toLogprobs'],
  tokens: readonly TokenLogprob[] | undefined,
): (text?: string) => string {
  let position = 0
  let offset = 0
  return (text = '') => {
    if (tokens === undefined) return 'null'
    const first = position
    let length = 0
    do length += tokens[position++]!.token.length
    while (length < text.length)
    const taken = toLogprobs(tokens.slice(first, position), offset)
    offset += length
    return JSON.stringify(taken)
  }
}

/** Returns the bounds of an answer: the requested limit and the room that the prompt leaves in the context. */
function toBounds(
  requestedLimit: number | null | undefined,
  room: number,
  stop: DeliveryOptions['stop'],
  answerCount: number,
): ReplyBounds {
  const limit = Math.min(requestedLimit ?? room, room)
  return {
    limit: limit === Number.POSITIVE_INFINITY ? undefined : limit,
    stop: typeof stop === 'string' ? [stop] : (stop ?? []),
    answerCount,
  }
}

/** The answer to a request with `max_tokens` 0. */
const EMPTY_REPLY: Reply = {
  text: '',
  toolCalls: [],
  finish_reason: 'length',
  tokens: 0,
  isDrawn: false,
  pieces: () => [],
}

export function sumTokens(replies: readonly Reply[]): number {
  return replies.reduce((sum, { tokens }) => sum + tokens, 0)
}

export function toUsage(promptTokens: number, completionTokens: number): z.output<typeof Usage> {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  }
}
