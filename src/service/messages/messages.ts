import { findModelTarget } from '../../simulation/deployments/model-lookup.ts'
import { endpoint } from '../endpoint.ts'
import { deliverText } from '../openai/generation.ts'
import { INFERENCE_REFUSALS } from '../openai/request-lifecycle.ts'
import { createLossFrame, createMessageFrames, toMessageAnswer } from './message-events.ts'
import { createMessageRequest, drawSignature } from './message-request.ts'
import { MessageAnswer, MessageBody, MessageStreamEvent } from './message-schema.ts'

export const createMessage = endpoint({
  route: 'POST /vendor_a/v1/messages',
  summary: 'Answer messages',
  provenance: 'neighbour',
  assumptions: [
    'the path starts with the literal /vendor_a',
    'model: as in POST /v1/chat/completions',
    'texts, lengths and calls of tools are generated as for a chat; a conversation of texts gets the words of the chat with the same messages',
    'usage counts the tokens of o200k_base; input_tokens is what count_tokens answers; no token is billed as cached, so the counts of the cache are 0',
    'images, documents and earlier thinking are accepted and have no tokens',
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
  refusals: INFERENCE_REFUSALS,
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
