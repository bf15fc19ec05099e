/** What chat and plain completions have in common: the answers to one request, whole or as a stream of their tokens. */
import * as z from 'zod'
import type { EntityKey } from '../../kernel/random.ts'
import { findModelTarget } from '../../simulation/deployments/model-lookup.ts'
import { type ApiScope, DeferredResult } from '../endpoint.ts'
import type { Reply, ReplyBounds } from './answers.ts'
import { hashRequest, startInference, waitForWholeAnswer, waitUntilStarted } from './request-lifecycle.ts'
import type { SamplingFields } from './sampling.ts'
import { createEventStream, type SseFrame } from './sse.ts'

/** Tokens of an answer at least: a prompt has to leave room for them in the context. */
export const MIN_ANSWER_TOKENS = 1

/** Tokens, by o200k_base. */
export const Usage = z
  .object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() })
  .meta({ id: 'Usage' })

/** What a body asks, whoever is asked. */
export interface PromptInput {
  /** All of it, as text. */
  readonly prompt: string
  /** Tokens of it, and of the longest part that is answered by itself: that must have room in the context. */
  readonly promptTokens: number
  readonly longestPromptTokens: number
}

/** What is asked of a model, its answers drawn from `keys`, one each. */
export interface TextRequest extends PromptInput {
  readonly model: string
  readonly keys: readonly EntityKey[]
  /** What bounds an answer, as the request has it. */
  readonly limit: number | null | undefined
  readonly stop: DeliveryOptions['stop']
  /** What stands before each answer, and is none of it; nothing where there is none. */
  readonly leads?: readonly string[]
  /** The answers, by what bounds each. Ends the request where there can be none. */
  readonly replies: (bounds: ReplyBounds) => readonly Reply[]
}

/** How an endpoint shows its answers. */
export interface AnswerFormat<Whole extends string, Choice> {
  /** What the wire id of an answer begins with, as in `chatcmpl-`. */
  readonly idPrefix: string
  /** What the whole answer calls itself, and an event. */
  readonly objectNames: { readonly whole: Whole; readonly event: string }
  readonly toChoice: (reply: Reply, index: number, lead: string) => Choice
  /** The field of an event that holds a piece of an answer. */
  readonly chunkField: 'delta' | 'text'
  /** The pieces, as JSON: what comes before the first token, if anything; the tokens; beside the reason why it ends. */
  readonly toOpening: (reply: Reply, lead: string) => string | undefined
  readonly toPieces: (reply: Reply) => Iterable<string>
  readonly closing: string
}

/** What an endpoint for text makes of a body, and how it shows its answers. */
export interface TextProtocol<Body, Whole extends string, Choice> {
  /** Throws Invalid for what can not be asked. Method syntax: rules for different bodies stand in one record. */
  parsePrompt(body: Body): PromptInput
  /** @param scope with the whole name of the model, however the body spells it: what answers are drawn from */
  createRequest(
    body: Body,
    prompt: PromptInput,
    scope: Pick<ApiScope, 'world' | 'findScriptedAnswer'> & { readonly name: string },
  ): TextRequest
  readonly format: AnswerFormat<Whole, Choice>
}

interface TextAnswer<Whole, Choice> {
  id: string
  object: Whole
  created: number
  model: string
  choices: Choice[]
  usage: z.output<typeof Usage>
}

type DeliveryOptions = z.output<z.ZodObject<Pick<typeof SamplingFields, 'stop' | 'stream' | 'stream_options'>>>

/**
 * Answers a request for text, bounded and sent as it wants to have it.
 *
 * @throws Refused, before anything has changed
 */
export function generateText<Body extends DeliveryOptions & { readonly model: string }, Whole extends string, Choice>(
  { world, token, request, findScriptedAnswer }: ApiScope & { readonly request: Request },
  body: Body,
  { parsePrompt, createRequest, format }: TextProtocol<Body, Whole, Choice>,
): DeferredResult<TextAnswer<Whole, Choice>> {
  const { stream, stream_options: options } = body
  const name = findModelTarget(world, body.model)?.name ?? body.model
  const textRequest = createRequest(body, parsePrompt(body), { world, findScriptedAnswer, name })
  const { model, promptTokens, longestPromptTokens } = textRequest
  let replies: readonly Reply[] = []
  let longestAnswer = 0
  let usage = toUsage(promptTokens, 0)
  const handle = startInference(
    world,
    token,
    model,
    'text-generation',
    longestPromptTokens,
    MIN_ANSWER_TOKENS,
    context => {
      replies = createReplies(textRequest, context)
      longestAnswer = Math.max(...replies.map(({ tokens }) => tokens))
      usage = toUsage(promptTokens, sumTokens(replies))
      return {
        ...{ prefix: format.idPrefix, hash: hashRequest(name, textRequest.prompt), promptTokens },
        ...{ answerTokens: usage.completion_tokens, longestAnswer: longestAnswer },
      }
    },
  )
  const created = world.clock.unix()
  if (!stream) {
    return new DeferredResult(waiter =>
      waitForWholeAnswer(world, handle, longestAnswer, waiter, request, () =>
        toTextAnswer(format, { id: handle.id, created, model }, toChoices(format, replies, textRequest.leads), usage),
      ),
    )
  }
  return new DeferredResult<never>(async patience => {
    await waitUntilStarted(world, handle, patience, request)
    const head = { id: handle.id, object: format.objectNames.event, created, model }
    const frames = createFrames(format, head, replies, textRequest.leads, options?.include_usage ? usage : undefined)
    return createEventStream({
      world,
      handle,
      key: textRequest.keys[0]!,
      longestAnswer,
      waiter: patience,
      client: request,
      frames,
    })
  })
}

/** The answers to what is asked, within a context of so many tokens. Throws Refused where there can be none. */
export function createReplies(
  { keys, limit, stop, longestPromptTokens, replies }: TextRequest,
  contextLength: number,
): readonly Reply[] {
  return replies({ ...toBounds(limit, contextLength - longestPromptTokens, stop), answerCount: keys.length })
}

export function toChoices<Choice>(
  { toChoice }: AnswerFormat<string, Choice>,
  replies: readonly Reply[],
  leads: TextRequest['leads'],
): Choice[] {
  return replies.map((reply, index) => toChoice(reply, index, leads?.[index] ?? ''))
}

/** The body of a whole answer. */
export function toTextAnswer<Whole extends string, Choice>(
  { objectNames }: AnswerFormat<Whole, Choice>,
  { id, created, model }: Pick<TextAnswer<Whole, Choice>, 'id' | 'created' | 'model'>,
  choices: Choice[],
  usage: z.output<typeof Usage>,
): TextAnswer<Whole, Choice> {
  return { id, object: objectNames.whole, created, model, choices, usage }
}

/** The events of a stream: how each answer opens, token by token what, why it ends, and what it took. */
function* createFrames(
  { chunkField, toOpening, toPieces, closing }: AnswerFormat<string, unknown>,
  head: Readonly<Record<string, string | number>>,
  replies: readonly Reply[],
  leads: TextRequest['leads'],
  usage: z.output<typeof Usage> | undefined,
): Generator<SseFrame> {
  // Made once: most of an event is the same in all of them.
  const chunkStart = JSON.stringify(head).slice(0, -1)
  const chunkEnd = usage === undefined ? '' : ',"usage":null'
  const toChunk = (index: number, piece: string, finishReason: string) =>
    `${chunkStart},"choices":[{"index":${index},"${chunkField}":${piece},"logprobs":null,"finish_reason":${finishReason}}]${chunkEnd}}`
  for (const [index, reply] of replies.entries()) {
    const piece = toOpening(reply, leads?.[index] ?? '')
    if (piece !== undefined) yield { token: -1, data: toChunk(index, piece, 'null') }
  }
  const piecesByReply = replies.map(reply => [...toPieces(reply)])
  const tokenCount = Math.max(...piecesByReply.map(replyPieces => replyPieces.length))
  for (let token = 0; token < tokenCount; token++) {
    for (const [index, line] of piecesByReply.entries()) {
      if (token < line.length) yield { token, data: toChunk(index, line[token]!, 'null') }
    }
  }
  const lastToken = Math.max(0, tokenCount - 1)
  for (const [index, { finish_reason }] of replies.entries()) {
    yield { token: lastToken, data: toChunk(index, closing, JSON.stringify(finish_reason)) }
  }
  if (usage !== undefined)
    yield { token: lastToken, data: `${chunkStart},"choices":[],"usage":${JSON.stringify(usage)}}` }
  yield { token: lastToken, data: '[DONE]' }
}

/** What bounds an answer: what was asked for, and the room that the prompt leaves in the context. */
function toBounds(requestedLimit: number | null | undefined, room: number, stop: DeliveryOptions['stop']): ReplyBounds {
  const limit = Math.min(requestedLimit ?? room, room)
  return {
    limit: limit === Number.POSITIVE_INFINITY ? undefined : limit,
    stop: typeof stop === 'string' ? [stop] : (stop ?? []),
  }
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
