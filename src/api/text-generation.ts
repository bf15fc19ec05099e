/** What chat and plain completions have in common: the answers to one request, whole or as a stream of their tokens. */
import * as z from 'zod'
import { targetOf } from '../cluster/targets.ts'
import type { Key } from '../kernel/random.ts'
import { type ApiScope, Deferred } from './endpoint.ts'
import { eventStream, type Frame } from './event-stream.ts'
import { requestHash, started, takeOn, whole } from './inference.ts'
import type { Bounds, Reply } from './replies.ts'
import type { Sampling } from './sampling.ts'

/** Tokens of an answer at least: a prompt has to leave room for them in the context. */
export const SHORTEST = 1

/** Tokens, by o200k_base. */
export const Usage = z
  .object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() })
  .meta({ id: 'Usage' })

/** What a body asks, whoever is asked. */
export interface Prompt {
  /** All of it, as text. */
  readonly prompt: string
  /** Tokens of it, and of the longest part that is answered by itself: that must have room in the context. */
  readonly promptTokens: number
  readonly longestPrompt: number
}

/** What is asked of a model, its answers drawn from `keys`, one each. */
export interface Asked extends Prompt {
  readonly model: string
  readonly keys: readonly Key[]
  /** What bounds an answer, as the request has it. */
  readonly limit: number | null | undefined
  readonly stop: HowSent['stop']
  /** What stands before each answer, and is none of it; nothing where there is none. */
  readonly leads?: readonly string[]
  /** The answers, by what bounds each. Ends the request where there can be none. */
  readonly replies: (bounds: Bounds) => readonly Reply[]
}

/** How an endpoint shows its answers. */
export interface Shape<Whole extends string, Choice> {
  /** What the wire id of an answer begins with, as in `chatcmpl-`. */
  readonly prefix: string
  /** What the whole answer calls itself, and an event. */
  readonly object: { readonly whole: Whole; readonly event: string }
  readonly choice: (reply: Reply, index: number, lead: string) => Choice
  /** The field of an event that holds a piece of an answer. */
  readonly field: 'delta' | 'text'
  /** The pieces, as JSON: what comes before the first token, if anything; the tokens; beside the reason why it ends. */
  readonly opening: (reply: Reply, lead: string) => string | undefined
  readonly pieces: (reply: Reply) => Iterable<string>
  readonly closing: string
}

/** What an endpoint for text makes of a body, and how it shows its answers. */
export interface TextRules<Body, Whole extends string, Choice> {
  /** Throws Invalid for what can not be asked. Method syntax: rules for different bodies stand in one record. */
  read(body: Body): Prompt
  /** @param scope with the whole name of the model, however the body spells it: what answers are drawn from */
  ask(body: Body, prompt: Prompt, scope: Pick<ApiScope, 'world' | 'scripted'> & { readonly name: string }): Asked
  readonly shape: Shape<Whole, Choice>
}

interface Answered<Whole, Choice> {
  id: string
  object: Whole
  created: number
  model: string
  choices: Choice[]
  usage: z.output<typeof Usage>
}

type HowSent = z.output<z.ZodObject<Pick<typeof Sampling, 'stop' | 'stream' | 'stream_options'>>>

/**
 * Answers a request for text, bounded and sent as it wants to have it.
 *
 * @throws Refused, before anything has changed
 */
export function generate<Body extends HowSent & { readonly model: string }, Whole extends string, Choice>(
  { world, token, request, scripted }: ApiScope & { readonly request: Request },
  body: Body,
  { read, ask, shape }: TextRules<Body, Whole, Choice>,
): Deferred<Answered<Whole, Choice>> {
  const { stream, stream_options: options } = body
  const name = targetOf(world, body.model)?.name ?? body.model
  const asked = ask(body, read(body), { world, scripted, name })
  const { model, promptTokens, longestPrompt } = asked
  let replies: readonly Reply[] = []
  let longest = 0
  let usage = usageOf(promptTokens, 0)
  const call = takeOn(world, token, model, 'text-generation', longestPrompt, SHORTEST, context => {
    replies = repliesTo(asked, context)
    longest = Math.max(...replies.map(({ tokens }) => tokens))
    usage = usageOf(promptTokens, tokensOf(replies))
    return {
      ...{ prefix: shape.prefix, hash: requestHash(name, asked.prompt), promptTokens },
      ...{ answerTokens: usage.completion_tokens, longestAnswer: longest },
    }
  })
  const created = world.clock.unix()
  if (!stream) {
    return new Deferred(patience =>
      whole(world, call, longest, patience, request, () =>
        answered(shape, { id: call.id, created, model }, choicesOf(shape, replies, asked.leads), usage),
      ),
    )
  }
  return new Deferred<never>(async patience => {
    await started(world, call, patience, request)
    const head = { id: call.id, object: shape.object.event, created, model }
    const frames = framesOf(shape, head, replies, asked.leads, options?.include_usage ? usage : undefined)
    return eventStream({ world, call, key: asked.keys[0]!, longest, patience, client: request, frames })
  })
}

/** The answers to what is asked, within a context of so many tokens. Throws Refused where there can be none. */
export function repliesTo({ keys, limit, stop, longestPrompt, replies }: Asked, context: number): readonly Reply[] {
  return replies({ ...boundsOf(limit, context - longestPrompt, stop), answers: keys.length })
}

export function choicesOf<Choice>(
  { choice }: Shape<string, Choice>,
  replies: readonly Reply[],
  leads: Asked['leads'],
): Choice[] {
  return replies.map((reply, index) => choice(reply, index, leads?.[index] ?? ''))
}

/** The body of a whole answer. */
export function answered<Whole extends string, Choice>(
  { object }: Shape<Whole, Choice>,
  { id, created, model }: Pick<Answered<Whole, Choice>, 'id' | 'created' | 'model'>,
  choices: Choice[],
  usage: z.output<typeof Usage>,
): Answered<Whole, Choice> {
  return { id, object: object.whole, created, model, choices, usage }
}

/** The events of a stream: how each answer opens, token by token what, why it ends, and what it took. */
function* framesOf(
  { field, opening, pieces, closing }: Shape<string, unknown>,
  head: Readonly<Record<string, string | number>>,
  replies: readonly Reply[],
  leads: Asked['leads'],
  usage: z.output<typeof Usage> | undefined,
): Generator<Frame> {
  // Made once: most of an event is the same in all of them.
  const open = JSON.stringify(head).slice(0, -1)
  const tail = usage === undefined ? '' : ',"usage":null'
  const event = (index: number, piece: string, finish: string) =>
    `${open},"choices":[{"index":${index},"${field}":${piece},"logprobs":null,"finish_reason":${finish}}]${tail}}`
  for (const [index, reply] of replies.entries()) {
    const piece = opening(reply, leads?.[index] ?? '')
    if (piece !== undefined) yield { token: -1, data: event(index, piece, 'null') }
  }
  const lines = replies.map(reply => [...pieces(reply)])
  const longest = Math.max(...lines.map(line => line.length))
  for (let token = 0; token < longest; token++) {
    for (const [index, line] of lines.entries()) {
      if (token < line.length) yield { token, data: event(index, line[token]!, 'null') }
    }
  }
  const last = Math.max(0, longest - 1)
  for (const [index, { finish_reason }] of replies.entries()) {
    yield { token: last, data: event(index, closing, JSON.stringify(finish_reason)) }
  }
  if (usage !== undefined) yield { token: last, data: `${open},"choices":[],"usage":${JSON.stringify(usage)}}` }
  yield { token: last, data: '[DONE]' }
}

/** What bounds an answer: what was asked for, and the room that the prompt leaves in the context. */
function boundsOf(asked: number | null | undefined, room: number, stop: HowSent['stop']): Bounds {
  const limit = Math.min(asked ?? room, room)
  return {
    limit: limit === Number.POSITIVE_INFINITY ? undefined : limit,
    stop: typeof stop === 'string' ? [stop] : (stop ?? []),
  }
}

export function tokensOf(replies: readonly Reply[]): number {
  return replies.reduce((sum, { tokens }) => sum + tokens, 0)
}

export function usageOf(promptTokens: number, completionTokens: number): z.output<typeof Usage> {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  }
}
