/** The prompt of messages in the form of a chat, which both the requests and the count of tokens use. */
import { countPromptTokens, type PromptMessage } from '../openai/prompt-tokens.ts'

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
