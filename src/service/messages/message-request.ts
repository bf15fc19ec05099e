/** The request for text of a body of messages: its prompt, its tools, and the answer that it gets. */
import { type EntityKey, purpose } from '../../kernel/random.ts'
import type { JsonSchema } from '../../lib/json-schema/document.ts'
import type { World } from '../../simulation/world.ts'
import type { ApiScope } from '../api-scope.ts'
import {
  chooseTool,
  createDrawnReply,
  createScriptedReply,
  createToolReply,
  type Reply,
  type ReplyBounds,
  replyKey,
  type Tool,
} from '../openai/answers.ts'
import { messageText } from '../openai/chat-tools.ts'
import type { TextRequest } from '../openai/generation.ts'
import { countPromptTokens, type PromptMessage } from '../openai/prompt-tokens.ts'
import { requireTags } from '../openai/request-lifecycle.ts'
import { rejectInput } from '../refusals.ts'
import type { MessageBody, Thinking, ToolSpec } from './message-schema.ts'

const SIGNATURE_DRAW = purpose('answer.signature')
const SIGNATURE_LETTERS = 64

/**
 * Returns the request for text of a body. `name` is the full name of the model. Rejects with 422 if `tool_choice` does not
 * fit the tools.
 */
export function createMessageRequest(
  body: MessageBody,
  { world, findScriptedAnswer }: Pick<ApiScope, 'world' | 'findScriptedAnswer'>,
  name: string,
): TextRequest {
  validateTools(body)
  const { model, stop_sequences, max_tokens, tools } = body
  const blocks = body.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  requireTags(world, model, { tools: !!tools?.length, multimodal: blocks.some(({ type }) => type === 'image') })
  const messages = toPromptMessages(body)
  const promptTokens = countInputTokens(messages, body.tools)
  const prompt = JSON.stringify(messages)
  const key = replyKey(world.chance, name, prompt, 0)
  const lastText = toText(messages.at(-1)!)
  return {
    model,
    prompt,
    promptTokens,
    longestPromptTokens: promptTokens,
    toolText: tools?.length ? JSON.stringify(tools) : undefined,
    keys: [key],
    limit: max_tokens,
    stop: stop_sequences,
    replies: bounds => {
      const scriptedAnswer = findScriptedAnswer(model, lastText)
      if (scriptedAnswer !== undefined) return [createScriptedReply(world.chance, key, scriptedAnswer, bounds)]
      const createAnswer = (answerBounds: ReplyBounds) => createReply(world, key, body, lastText, answerBounds)
      if (!isThinking(body.thinking)) return [createAnswer(bounds)]
      const thinkingKey = replyKey(world.chance, name, `${prompt}\u0000thinking`, 0)
      return [createThoughtfulReply(world, thinkingKey, body.thinking?.budget_tokens, bounds, createAnswer)]
    },
  }
}

/** Returns the signature of the thinking of an answer. */
export function drawSignature({ chance }: World, key: EntityKey): string {
  return chance.letters(SIGNATURE_LETTERS, key, SIGNATURE_DRAW)
}

/** Rejects with 422 if `tool_choice` needs tools, or names a tool that `tools` does not have. */
function validateTools({ tools, tool_choice: choice }: MessageBody): void {
  if (!choice || choice.type === 'none' || choice.type === 'auto') return
  if (!tools?.length) rejectInput(['body', 'tool_choice'], 'Value error, tool_choice needs tools to choose among')
  if (choice.type === 'any' || tools.some(tool => tool.name === choice.name)) return
  const names = tools.map(tool => tool.name).join(', ')
  rejectInput(
    ['body', 'tool_choice', 'tool', 'name'],
    `Value error, there is no tool ${choice.name}: tools has ${names}`,
  )
}

function isThinking(thinking: Thinking | null | undefined): boolean {
  if (!thinking) return false
  return thinking.type === undefined ? (thinking.enabled ?? true) : thinking.type !== 'disabled'
}

function createReply(world: World, key: EntityKey, body: MessageBody, lastText: string, bounds: ReplyBounds): Reply {
  const { chance } = world
  const tool = chooseCalledTool(world, key, body, lastText)
  return tool === undefined ? createDrawnReply(chance, key, bounds) : createToolReply(chance, key, tool, bounds)
}

/**
 * Returns the tool that this answer calls; undefined if the answer is text. Under `auto` that is a tool only if the last
 * message is the user's and has no result of a tool.
 */
function chooseCalledTool(
  { chance }: World,
  key: EntityKey,
  { tools, tool_choice, messages }: MessageBody,
  lastText: string,
): Tool | undefined {
  const choice = tool_choice?.type ?? 'auto'
  if (!tools?.length || choice === 'none') return undefined
  if (tool_choice?.type === 'tool') return toTool(tools.find(({ name }) => name === tool_choice.name)!)
  if (choice === 'auto' && !isQuestion(messages.at(-1)!)) return undefined
  return chooseTool(chance, key, tools.map(toTool), lastText)
}

function isQuestion({ role, content }: MessageBody['messages'][number]): boolean {
  return role === 'user' && (typeof content === 'string' || content.every(({ type }) => type !== 'tool_result'))
}

function toTool({ name, input_schema }: ToolSpec): Tool {
  return { name, parameters: input_schema as JsonSchema }
}

/** Returns an answer after its thinking. Both together keep to the limit, and the thinking to its budget. */
function createThoughtfulReply(
  { chance }: World,
  key: EntityKey,
  budget: number | null | undefined,
  bounds: ReplyBounds,
  createAnswer: (bounds: ReplyBounds) => Reply,
): Reply {
  const { limit } = bounds
  const thinkingLimit = Math.min(budget ?? Number.POSITIVE_INFINITY, limit ?? Number.POSITIVE_INFINITY)
  const thinking = createDrawnReply(chance, key, {
    limit: thinkingLimit === Number.POSITIVE_INFINITY ? undefined : thinkingLimit,
    stop: [],
  })
  if (thinking.tokens === limit) {
    return { ...NO_ANSWER, tokens: thinking.tokens, thinking }
  }
  const answer = createAnswer({ ...bounds, limit: limit === undefined ? undefined : limit - thinking.tokens })
  const { text, toolCalls, finish_reason, stopText } = answer
  return {
    text,
    toolCalls,
    finish_reason,
    stopText,
    thinking,
    tokens: thinking.tokens + answer.tokens,
    isDrawn: false,
    pieces: () => answer.pieces(),
  }
}

/** What remains of an answer whose thinking took all tokens. */
const NO_ANSWER = { text: '', toolCalls: [], finish_reason: 'length', isDrawn: false, pieces: () => [] } as const

function toText({ content }: PromptMessage): string {
  return messageText({ content: content as string | { type: string; text?: string }[] })
}

interface PromptBlock {
  readonly type: string
  readonly [field: string]: unknown
}

type Content = string | readonly PromptBlock[]

/** What of a request its prompt follows from. */
export interface PromptFields {
  readonly messages: readonly { readonly role: string; readonly content: Content }[]
  readonly system?: Content | null | undefined
  readonly tools?: readonly PromptTool[] | null | undefined
}

interface PromptTool {
  readonly name: string
  readonly description?: string | null | undefined
  readonly input_schema?: Readonly<Record<string, unknown>> | undefined
}

/** Returns the messages of a prompt. The system prompt comes first; results of tools are messages of their own. */
export function toPromptMessages({ messages, system }: Pick<PromptFields, 'messages' | 'system'>): PromptMessage[] {
  const systemMessages = system ? [{ role: 'system', content: system }] : []
  return [...systemMessages, ...messages].flatMap(toMessagesOfChat)
}

/** Counts the tokens of a prompt: what a request is billed as `input_tokens`. */
export function countInputTokens(prompt: readonly PromptMessage[], tools: PromptFields['tools']): number {
  const definitions = (tools ?? []).map(({ name, description, input_schema }) => ({
    name,
    ...(description != null && { description }),
    parameters: input_schema ?? {},
  }))
  return countPromptTokens(prompt, definitions)
}

function toMessagesOfChat({ role, content }: PromptFields['messages'][number]): PromptMessage[] {
  if (typeof content === 'string') return [{ role, content }]
  const results = content
    .filter(({ type }) => type === 'tool_result')
    .map(block => ({ role: 'tool', content: extractText(block.content) }))
  const texts = content.flatMap(({ text }) => (typeof text === 'string' ? [{ text }] : []))
  const tool_calls = content
    .filter(({ type }) => type === 'tool_use')
    .map(({ name, input }) => ({
      function: { name: String(name ?? ''), arguments: JSON.stringify(input ?? {}) },
    }))
  if (results.length > 0 && texts.length === 0 && tool_calls.length === 0) return results
  // A text and a single block of it are the same prompt.
  const chatContent = texts.length === 1 ? texts[0]!.text : texts
  return [...results, { role, content: chatContent, ...(tool_calls.length > 0 && { tool_calls }) }]
}

/** Returns the texts of a content, a line each. Images have no text. */
function extractText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.flatMap(block => (typeof block?.text === 'string' ? [block.text] : [])).join('\n')
}
