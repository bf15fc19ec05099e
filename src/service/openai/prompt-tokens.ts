/** Counts the tokens of a chat's prompt: what a request is billed as `prompt_tokens`. */

import * as z from 'zod'
import { integer } from '../fields.ts'
import { countTokens } from './tokenizer.ts'

interface PromptToolCall {
  readonly function?: { readonly name: string; readonly arguments: string } | undefined
  readonly custom?: { readonly name: string; readonly input: string } | undefined
}

export interface PromptMessage {
  readonly role: string
  readonly content?: string | readonly { readonly text?: string | undefined }[] | null | undefined
  readonly tool_calls?: readonly PromptToolCall[] | null | undefined
}

/** @param tools definitions of functions and custom tools */
export function countPromptTokens(messages: readonly PromptMessage[], tools: readonly object[]): number {
  const calls = messages.flatMap(({ tool_calls }) => tool_calls ?? [])
  return (
    countMessageTokens(messages) +
    calls.reduce((sum, toolCall) => sum + countTokens(toolCallText(toolCall)), 0) +
    tools.reduce((sum, tool) => sum + countTokens(JSON.stringify(tool)), 0)
  )
}

/**
 * Counts the tokens of a conversation: its texts, 3 for each message, and 3 for the start of the answer (OpenAI cookbook,
 * "How to count tokens with tiktoken").
 */
function countMessageTokens(messages: readonly PromptMessage[]): number {
  let sum = 3
  for (const { role, content } of messages) {
    sum += 3 + countTokens(role)
    if (typeof content === 'string') sum += countTokens(content)
    else if (Array.isArray(content)) for (const part of content) sum += countTokens(part.text ?? '')
  }
  return sum
}

function toolCallText({ function: functionCall, custom }: PromptToolCall): string {
  return `${functionCall?.name ?? ''}${functionCall?.arguments ?? ''}${custom?.name ?? ''}${custom?.input ?? ''}`
}

export const TokenArray = z.array(integer({ min: 0 })).min(1)

/** Returns the input as a list, each entry a text or an array of tokens. */
export function toInputList(input: string | string[] | number[] | number[][]): readonly (string | number[])[] {
  if (typeof input === 'string') return [input]
  return typeof input[0] === 'number' ? [input as number[]] : (input as (string | number[])[])
}
