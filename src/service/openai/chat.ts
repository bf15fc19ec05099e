import type { EntityKey } from '../../kernel/random.ts'
import type { World } from '../../simulation/world.ts'
import { neighbour } from '../endpoint.ts'
import { rejectInput } from '../refusals.ts'
import {
  createFormattedReply,
  createScriptedReply,
  createToolReply,
  type Reply,
  type ReplyBounds,
  replyKey,
} from './answers.ts'
import { ChatBody, ChatBodyWithDeveloper, ChatCompletion, ChatCompletionChunk } from './chat-schema.ts'
import { chooseCalledTool, messageText, validateTools } from './chat-tools.ts'
import { generateText, type TextProtocol } from './generation.ts'
import { type TokenLogprob, toChatLogprobs } from './logprobs.ts'
import { countPromptTokens } from './prompt-tokens.ts'
import { COMPAT_INFERENCE, requireTags, TAGGED_REFUSALS } from './request-lifecycle.ts'

const CHAT_PROTOCOL: TextProtocol<ChatBody, 'chat.completion', ReturnType<typeof toChoice>> = {
  parsePrompt: body => {
    validateTools(body)
    if (body.top_logprobs && !body.logprobs)
      rejectInput(['body', 'top_logprobs'], 'Value error, top_logprobs needs logprobs: true')
    const promptTokens = countChatPromptTokens(body)
    return { prompt: JSON.stringify(body.messages), promptTokens, longestPromptTokens: promptTokens }
  },
  createRequest: (body, { prompt, promptTokens, longestPromptTokens }, { world, findScriptedAnswer, name }) => {
    const { model, messages, stop, tools } = body
    const parts = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : (content ?? [])))
    requireTags(world, model, { tools: !!tools, multimodal: parts.some(({ type }) => type === 'image_url') })
    const keys = Array.from({ length: body.n ?? 1 }, (_, index) => replyKey(world.chance, name, prompt, index))
    const replies = (bounds: ReplyBounds) => {
      const scriptedAnswer = findScriptedAnswer(model, messageText(messages.at(-1)!))
      return keys.map(key =>
        scriptedAnswer === undefined
          ? createReply(world, key, body, bounds)
          : createScriptedReply(world.chance, key, scriptedAnswer, bounds),
      )
    }
    return {
      model,
      prompt,
      promptTokens,
      longestPromptTokens,
      keys,
      stop,
      replies,
      toolText: tools?.length ? JSON.stringify(tools) : undefined,
      limit: body.max_completion_tokens ?? body.max_tokens,
      topLogprobs: body.logprobs ? (body.top_logprobs ?? 0) : undefined,
      serviceTier: body.service_tier,
    }
  },
  format: {
    idPrefix: 'chatcmpl-',
    objectNames: { whole: 'chat.completion', event: 'chat.completion.chunk' },
    toChoice,
    toLogprobs: toChatLogprobs,
    chunkField: 'delta',
    toOpening: ({ toolCalls }) => `{"role":"assistant","content":${toolCalls.length > 0 ? 'null' : '""'}}`,
    toPieces: toDeltas,
    closing: '{}',
  },
}

export const createChatCompletion = neighbour({
  ...COMPAT_INFERENCE,
  route: 'POST /v1/chat/completions',
  summary: 'Create a chat completion',
  assumptions: [
    'model: name of a deployment or adapter of the account, deploy_id:<id>, or name of a current catalog model',
    'model can also be NAME:VERSION with a version of the model; any other version is 404',
    'the deploy_id of a reference to the catalog means its model',
    'text, answer length and tool calls are generated from seed, model and messages',
    'usage counts the tokens of o200k_base',
    "tool_choice auto: a tool is called if the last message is the user's; the result of a tool is answered with text",
    'tools to a catalog model without the tag tools are 405, images to one without the tag multimodal 400, and the role developer is 422; policies tools_without_tag, images_without_tag and developer_role',
    'tool_choice allowed_tools: only the named tools are called',
    'a custom tool is called with a text; a custom tool with a grammar is 400',
    'the answer is valid under response_format.json_schema or the parameters of the tool, or matches response_format.regex as a whole, except if max_tokens cuts it',
    'no answer can be made for some schemas and expressions, such as those with references to groups: 400',
    'max_completion_tokens takes precedence over max_tokens',
    'temperature, top_p, penalties, logit_bias, seed and user are validated and ignored',
    'max_tokens or max_completion_tokens 0: the prompt is billed, and the answer is empty with the finish reason length',
    'tools[].type defaults to function; response_format without type is json_schema or regex if it has that field, else text',
    'logprobs and top_logprobs are drawn from the seed; they are null beside tool calls',
    'service_tier is repeated in the answer and changes nothing',
    'stream: server-sent events, the last is data: [DONE]; if the instance is lost, the connection breaks',
    'the last chunk with a finish reason has usage, except with stream_options.include_usage false',
  ],
  refusals: TAGGED_REFUSALS,
  needsTokenizer: true,
  body: ChatBody,
  bodyFor: ({ developerRole }) => (developerRole === 'refuse' ? undefined : ChatBodyWithDeveloper),
  returns: ChatCompletion,
  streamEvent: ChatCompletionChunk,
  example: { body: { model: 'acme/assistant', messages: [{ role: 'user', content: 'Hello!' }] } },
  batchProtocol: CHAT_PROTOCOL,
  handle: scope => generateText(scope, scope.body, CHAT_PROTOCOL),
})

function countChatPromptTokens({ messages, tools }: ChatBody): number {
  const definitions = (tools ?? []).map(tool => (tool.type === 'custom' ? tool.custom : tool.function))
  return countPromptTokens(messages, definitions)
}

function createReply(world: World, key: EntityKey, body: ChatBody, bounds: ReplyBounds): Reply {
  const { chance } = world
  const tool = chooseCalledTool(world, key, body)
  if (tool !== undefined) return createToolReply(chance, key, tool, bounds)
  return createFormattedReply(chance, key, body.response_format, bounds)
}

function toChoice(
  { text, toolCalls, finish_reason }: Reply,
  index: number,
  _lead: string,
  tokens: readonly TokenLogprob[] | undefined,
) {
  const calls = toolCalls.map(toToolCall)
  return {
    index,
    message: {
      role: 'assistant' as const,
      content: calls.length > 0 ? null : text,
      refusal: null,
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    logprobs: tokens === undefined ? null : toChatLogprobs(tokens),
    finish_reason,
  }
}

function toToolCall({ id, name, arguments: args, isCustom }: Reply['toolCalls'][number]) {
  return isCustom
    ? { id, type: 'custom' as const, custom: { name, input: args } }
    : { id, type: 'function' as const, function: { name, arguments: args } }
}

/** Yields the JSON of each delta of an answer. */
function* toDeltas(reply: Reply): Generator<string> {
  const { toolCalls } = reply
  for (const piece of reply.pieces()) yield `{"content":${JSON.stringify(piece)}}`
  for (const [index, call] of toolCalls.entries()) {
    yield `{"tool_calls":[${JSON.stringify({ index, ...toToolCall({ ...call, arguments: '' }) })}]}`
    for (const piece of call.arguments.match(/.{1,8}/gsu) ?? []) {
      const delta = call.isCustom ? { custom: { input: piece } } : { function: { arguments: piece } }
      yield `{"tool_calls":[${JSON.stringify({ index, ...delta })}]}`
    }
  }
}
