import { findModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { InferenceHandle } from '../../simulation/inference/request-row.ts'
import { neighbour } from '../endpoint.ts'
import type { Reply, ToolCall } from '../openai/answers.ts'
import { deliverText } from '../openai/generation.ts'
import { TAGGED_REFUSALS } from '../openai/request-lifecycle.ts'
import type { SseFrame } from '../openai/sse.ts'
import { createMessageErrorBody } from './error-body.ts'
import { createMessageRequest, drawSignature } from './message-request.ts'
import {
  type AnswerBlock,
  type BlockDelta,
  MessageAnswer,
  MessageBody,
  MessageStreamEvent,
  type MessageUsage,
  type StopReason,
} from './message-schema.ts'

/** A piece of a tool's arguments, at most 8 characters. */
const ARGUMENTS_PIECE = /.{1,8}/gsu

/** Fields of an answer that its request gives. */
interface MessageHead {
  readonly id: string
  readonly model: string
  /** The signature of the thinking. */
  readonly signature: string
}

/** Returns the blocks of a whole answer. */
function toMessageAnswer(head: MessageHead, reply: Reply, usage: MessageUsage): MessageAnswer {
  return {
    ...toOpenMessage(head, usage),
    content: listBlocks(head, reply).map(({ whole }) => whole),
    ...toEnd(reply),
    usage,
  }
}

/** Yields the events of a stream, each with the token that it comes with. */
function* createMessageFrames(head: MessageHead, reply: Reply, usage: MessageUsage): Generator<SseFrame> {
  yield toFrame(-1, { type: 'message_start', message: toOpenMessage(head, { ...usage, output_tokens: 0 }) })
  let token = 0
  for (const [index, { opening, deltas, closing }] of listBlocks(head, reply).entries()) {
    yield toFrame(token, { type: 'content_block_start', index, content_block: opening })
    if (index === 0) yield toFrame(token, { type: 'ping' })
    for (const delta of deltas()) yield toFrame(token++, { type: 'content_block_delta', index, delta })
    const lastToken = Math.max(0, token - 1)
    if (closing !== undefined) yield toFrame(lastToken, { type: 'content_block_delta', index, delta: closing })
    yield toFrame(lastToken, { type: 'content_block_stop', index })
  }
  const lastToken = Math.max(0, token - 1)
  yield toFrame(lastToken, { type: 'message_delta', delta: toEnd(reply), usage })
  yield toFrame(lastToken, { type: 'message_stop' })
}

/** Returns the last event of a stream whose answer ended early. */
function createLossFrame({ state, reason }: Pick<InferenceHandle, 'state' | 'reason'>): SseFrame {
  const isCutOff = state === 'cutOff'
  const message = isCutOff ? `the answer was cut off: ${reason}` : `the instance that answered was lost: ${reason}`
  return toFrame(0, createMessageErrorBody(isCutOff ? 402 : 503, message))
}

function toFrame(token: number, event: MessageStreamEvent): SseFrame {
  return { token, event: event.type, data: JSON.stringify(event) }
}

function toOpenMessage({ id, model }: MessageHead, usage: MessageUsage): MessageAnswer {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  }
}

function toEnd({ finish_reason, stopText }: Reply): { stop_reason: StopReason; stop_sequence: string | null } {
  if (stopText !== undefined) return { stop_reason: 'stop_sequence', stop_sequence: stopText }
  const stop_reason = ({ stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' } as const)[finish_reason]
  return { stop_reason, stop_sequence: null }
}

/** A block of an answer, whole and in the parts that a stream sends. */
interface AnswerPart {
  readonly whole: AnswerBlock
  readonly opening: AnswerBlock
  /** Yields the pieces, one for each token. */
  deltas(): Iterable<BlockDelta>
  /** A piece after the tokens. */
  readonly closing?: BlockDelta
}

function listBlocks({ signature }: MessageHead, reply: Reply): AnswerPart[] {
  const parts: AnswerPart[] = []
  const { thinking, text } = reply
  if (thinking !== undefined) parts.push(toThinkingPart(thinking, signature))
  if (text !== '') parts.push(toTextPart(reply))
  return [...parts, ...reply.toolCalls.map(toToolPart)]
}

function toThinkingPart(thinking: Reply, signature: string): AnswerPart {
  return {
    whole: { type: 'thinking', thinking: thinking.text, signature },
    opening: { type: 'thinking', thinking: '', signature: '' },
    *deltas() {
      for (const piece of thinking.pieces()) yield { type: 'thinking_delta', thinking: piece }
    },
    closing: { type: 'signature_delta', signature },
  }
}

function toTextPart(reply: Reply): AnswerPart {
  return {
    whole: { type: 'text', text: reply.text },
    opening: { type: 'text', text: '' },
    *deltas() {
      for (const piece of reply.pieces()) yield { type: 'text_delta', text: piece }
    },
  }
}

function toToolPart({ id, name, arguments: args }: ToolCall): AnswerPart {
  const head = { type: 'tool_use' as const, id: id.replace('call_', 'toolu_'), name }
  return {
    whole: { ...head, input: parseInput(args) },
    opening: { ...head, input: {} },
    *deltas() {
      for (const [piece] of args.matchAll(ARGUMENTS_PIECE)) yield { type: 'input_json_delta', partial_json: piece }
    },
  }
}

/** Returns the input of a tool; an empty object if `max_tokens` cut its JSON. */
function parseInput(args: string): Record<string, unknown> {
  try {
    return JSON.parse(args) as Record<string, unknown>
  } catch {
    return {}
  }
}

export const createMessage = neighbour({
  route: 'POST /vendor_a/v1/messages',
  summary: 'Answer messages',
  assumptions: [
    'the path starts with the literal /vendor_a',
    'model: as in POST /v1/chat/completions',
    'texts, lengths and calls of tools are generated as for a chat; a conversation of texts gets the words of the chat with the same messages',
    'usage counts the tokens of o200k_base; input_tokens is what count_tokens answers; no token is billed as cached, so the counts of the cache are 0',
    'images, documents and earlier thinking have no tokens; tools and images: as in POST /v1/chat/completions',
    'max_tokens is optional: without it, an answer ends by itself or at the end of the context, with the stop_reason max_tokens',
    "tool_choice auto: a tool is called if the last message is the user's and has no result of a tool; else the answer is text",
    'tools and tool_choice: at most one tool is called; its input is valid under input_schema, except if max_tokens cuts it: then a whole answer has an empty input',
    'thinking: enabled (default true) or type enabled or adaptive gives a block of thinking before the answer, at most budget_tokens long; its tokens are part of output_tokens and max_tokens',
    'an answer without tokens has no block of content',
    'temperature, top_p, top_k and metadata are validated and ignored',
    'the headers vendor_a-version and vendor_a-beta are ignored; the header request-id names the request',
    'refusals have the error shape of the protocol; 422 has detail, as everywhere',
    'stream: server-sent events of the protocol; if the instance is lost or the account suspended, the last event is error',
  ],
  refusals: TAGGED_REFUSALS,
  errorShape: 'message',
  requestIdHeader: 'request-id',
  acceptsKeyHeader: true,
  acceptsScopedTokens: true,
  needsTokenizer: true,
  body: MessageBody,
  returns: MessageAnswer,
  streamEvent: MessageStreamEvent,
  example: { body: { model: 'acme/assistant', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello!' }] } },
  handle: ({ body, ...scope }) => {
    const { world } = scope
    const name = findModelTarget(world, body.model)?.name ?? body.model
    const request = createMessageRequest(body, scope, name)
    const signature = drawSignature(world, request.keys[0]!)
    const toUsage = ({ prompt_tokens, completion_tokens }: { prompt_tokens: number; completion_tokens: number }) => ({
      input_tokens: prompt_tokens,
      output_tokens: completion_tokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    })
    return deliverText(scope, name, request, {
      idPrefix: 'msg_',
      isStreamed: body.stream ?? false,
      toWhole: ({ id, model }, [reply], usage) => toMessageAnswer({ id, model, signature }, reply!, toUsage(usage)),
      createFrames: ({ id, model }, [reply], usage) =>
        createMessageFrames({ id, model, signature }, reply!, toUsage(usage)),
      createLossFrame,
    })
  },
})
