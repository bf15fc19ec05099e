import { jsonValue } from '../store/json-text.ts'
import type { TokenCounter } from './world.ts'

/** The most lines a batch may have. */
export const BATCH_LINES_LIMIT = 50_000

/** Why a batch fails its validation, as the record's `errors.data` shows it. */
export interface BatchError {
  readonly code:
    | 'invalid_json'
    | 'invalid_line'
    | 'duplicate_custom_id'
    | 'unknown_model'
    | 'model_mismatch'
    | 'empty_file'
    | 'too_many_lines'
  /** Counted from 0; null for the file as a whole. */
  readonly line: number | null
  readonly message: string
  readonly param: string | null
}

/** What is wrong with the body of a line: the line fails, the batch goes on. */
export interface LineError {
  readonly code: string
  readonly message: string
}

/** A line that will be run. */
export interface BatchLine {
  readonly customId: string
  readonly promptTokens: number
  /** The model and prompt, which the answer is drawn from. */
  readonly prompt: string
  readonly maxTokens: number | undefined
  readonly error: LineError | undefined
}

export interface ReadLines {
  readonly errors: readonly BatchError[]
  readonly lines: readonly BatchLine[]
  readonly model: string
}

export type BatchEndpoint = '/v1/chat/completions' | '/v1/completions'

/** Reads every line of an input file: all that is wrong with it, and what there is to run. */
export function readBatchLines(source: Iterable<string>, endpoint: BatchEndpoint, count: TokenCounter): ReadLines {
  const errors: BatchError[] = []
  const lines: BatchLine[] = []
  const seen = new Map<string, number>()
  let model = ''
  let line = -1
  let requests = 0
  for (const text of source) {
    line++
    // Blank lines between requests are passed over, as every reader of JSON lines does.
    if (text.trim() === '') continue
    if (++requests > BATCH_LINES_LIMIT) {
      return {
        errors: [
          {
            code: 'too_many_lines',
            line: null,
            message: `the file has more than ${BATCH_LINES_LIMIT} lines`,
            param: null,
          },
        ],
        lines: [],
        model,
      }
    }
    const request = parse(text)
    if (request === undefined) {
      errors.push({ code: 'invalid_json', line, message: 'the line is not a JSON object', param: null })
      continue
    }
    const problem = lineProblem(request, endpoint)
    if (problem) {
      errors.push({ code: 'invalid_line', line, ...problem })
      continue
    }
    const customId = request.custom_id as string
    const before = seen.get(customId)
    if (before !== undefined) {
      errors.push({
        code: 'duplicate_custom_id',
        line,
        message: `custom_id ${JSON.stringify(customId)} stands in line ${before} already`,
        param: 'custom_id',
      })
      continue
    }
    seen.set(customId, line)
    const body = request.body as Record<string, unknown>
    const named = body.model as string
    if (model === '') model = named
    else if (named !== model) {
      errors.push({
        code: 'model_mismatch',
        line,
        message: `the line names the model ${JSON.stringify(named)}, an earlier one ${JSON.stringify(model)}`,
        param: 'body.model',
      })
      continue
    }
    lines.push(readBody(customId, body, endpoint, count))
  }
  if (line < 0 || (lines.length === 0 && errors.length === 0)) {
    errors.push({ code: 'empty_file', line: null, message: 'the file has no request', param: null })
  }
  return { errors, lines, model }
}

function parse(text: string): Record<string, unknown> | undefined {
  const value = jsonValue(text)
  return isObject(value) ? value : undefined
}

function lineProblem(
  request: Record<string, unknown>,
  endpoint: BatchEndpoint,
): { message: string; param: string } | undefined {
  if (typeof request.custom_id !== 'string' || request.custom_id === '') {
    return { message: 'custom_id is missing or no text', param: 'custom_id' }
  }
  if (request.method !== 'POST') return { message: 'method is not POST', param: 'method' }
  if (request.url !== endpoint) {
    return { message: `url is ${JSON.stringify(request.url) ?? 'missing'}, the batch runs ${endpoint}`, param: 'url' }
  }
  if (!isObject(request.body)) return { message: 'body is missing or no object', param: 'body' }
  if (typeof request.body.model !== 'string' || request.body.model === '') {
    return { message: 'body.model is missing or no text', param: 'body.model' }
  }
  return undefined
}

function readBody(
  customId: string,
  body: Record<string, unknown>,
  endpoint: BatchEndpoint,
  count: TokenCounter,
): BatchLine {
  const limit = body.max_completion_tokens ?? body.max_tokens
  const problem =
    (endpoint === '/v1/chat/completions' ? messagesProblem(body.messages) : promptProblem(body.prompt)) ??
    (limit === undefined || limit === null || (Number.isInteger(limit) && (limit as number) >= 1)
      ? undefined
      : 'max_tokens: expected an integer of at least 1')
  if (problem !== undefined) {
    const error = { code: 'invalid_request', message: problem }
    return { customId, promptTokens: 0, prompt: '', maxTokens: undefined, error }
  }
  const prompt = JSON.stringify(endpoint === '/v1/chat/completions' ? body.messages : body.prompt)
  const promptTokens =
    endpoint === '/v1/chat/completions'
      ? messageTokens(body.messages as Message[], count)
      : (Array.isArray(body.prompt) ? (body.prompt as string[]) : [body.prompt as string]).reduce(
          (sum, text) => sum + count(text),
          0,
        )
  return { customId, promptTokens, prompt, maxTokens: (limit as number | null) ?? undefined, error: undefined }
}

interface Message {
  readonly role: string
  readonly content?: string | null | readonly { readonly type?: string; readonly text?: string }[]
}

function messagesProblem(messages: unknown): string | undefined {
  if (!Array.isArray(messages) || messages.length === 0) return 'messages: expected a list with at least one message'
  for (const [i, message] of messages.entries()) {
    if (!isObject(message)) return `messages[${i}]: expected an object`
    if (typeof message.role !== 'string') return `messages[${i}].role: expected a text`
    const { content } = message
    if (content !== undefined && content !== null && typeof content !== 'string' && !Array.isArray(content)) {
      return `messages[${i}].content: expected a text or a list of parts`
    }
    if (Array.isArray(content) && !content.every(isObject)) return `messages[${i}].content: expected objects`
  }
  return undefined
}

function promptProblem(prompt: unknown): string | undefined {
  if (typeof prompt === 'string') return undefined
  if (Array.isArray(prompt) && prompt.length > 0 && prompt.every(one => typeof one === 'string')) return undefined
  return 'prompt: expected a text or a list of texts'
}

/**
 * Tokens of a conversation: 3 around each message, 3 that open the answer, and its texts (OpenAI cookbook, "How to count
 * tokens with tiktoken").
 */
export function messageTokens(messages: readonly Message[], count: TokenCounter): number {
  let sum = 3
  for (const { role, content } of messages) {
    sum += 3 + count(role)
    if (typeof content === 'string') sum += count(content)
    else if (Array.isArray(content)) for (const part of content) sum += count(String(part.text ?? ''))
  }
  return sum
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
