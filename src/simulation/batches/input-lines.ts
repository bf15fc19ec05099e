import type { ModelTask } from '../../data/records/enums.ts'
import { isRecord, tryParseRecord } from '../../lib/json-text.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { Steps } from '../../lib/slices.ts'

/** A validation error of a batch, as `errors.data` of its record shows it. */
export interface BatchError {
  readonly code:
    | 'invalid_json'
    | 'internal_error'
    | 'invalid_line'
    | 'duplicate_custom_id'
    | 'unknown_model'
    | 'model_mismatch'
    | 'too_many_lines'
  /** The line number from 0; null for the whole file. */
  readonly line: number | null
  readonly message: string
  readonly param: string | null
}

/** A line with a valid form. */
export interface LineRequest {
  /** The line number from 0. */
  readonly line: number
  readonly customId: string
  readonly body: Readonly<Record<string, unknown>>
  /** The parsed body; undefined before it is parsed. */
  readonly parsed: unknown
}

/** The errors of a file, and the model of its lines. */
export interface InputSummary {
  readonly errors: readonly BatchError[]
  readonly model: string
}

/** A body that its endpoint rejects. It fails the whole batch. */
export interface InvalidBody {
  /** The rejected field, as in `body.max_tokens`. */
  readonly invalidField: string
  readonly message: string
}

/**
 * Receives each line with a valid form. Returns the problem of its body. Its results are discarded if the file has
 * errors.
 */
export type OnLine = (request: LineRequest, model: string) => InvalidBody | undefined

export const BATCH_ENDPOINTS = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings'] as const
export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number]

/** Returns the task of the models that a batch of an endpoint can use. */
export function taskOf(endpoint: BatchEndpoint): ModelTask {
  return endpoint === '/v1/embeddings' ? 'embeddings' : 'text-generation'
}

/** Returns a line with neutral names. */
export type TranslateLine = (line: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>

/**
 * Reads each line of an input file in order, without keeping it. It can pause before each line.
 *
 * @param isUtf8 tells whether the file is UTF-8
 * @param translate Default: the lines have neutral names
 */
export function* readBatchLines(
  source: Iterable<string>,
  endpoint: BatchEndpoint,
  onLine: OnLine,
  isUtf8: () => boolean,
  translate?: TranslateLine,
): Steps<InputSummary> {
  const errors: BatchError[] = []
  const linesByCustomId = new Map<string, number>()
  let model = ''
  let line = -1
  let count = 0
  for (const text of source) {
    yield
    line++
    // Blank lines between requests are ignored, as in other readers of JSON lines.
    if (text.trim() === '') continue
    if (++count > LIMITS.batchLines) {
      const message = `the file has more than ${LIMITS.batchLines} lines`
      return { errors: [{ code: 'too_many_lines', line: null, message, param: null }], model }
    }
    if (text.includes('\ufffd') && !isUtf8()) {
      errors.push({ code: 'invalid_json', line, message: 'the line is not UTF-8', param: null })
      continue
    }
    const parsed = tryParseRecord(text)
    if (parsed === undefined) {
      errors.push({ code: 'invalid_json', line, message: 'the line is not a JSON object', param: null })
      continue
    }
    const request = translate?.(parsed) ?? parsed
    const problem = lineProblem(request, endpoint)
    if (problem) {
      errors.push(toInvalidLine(endpoint, line, problem))
      continue
    }
    const customId = request.custom_id as string
    const previousLine = linesByCustomId.get(customId)
    if (previousLine !== undefined) {
      const message = `custom_id ${shown(customId)} is already used in line ${previousLine}`
      errors.push({ code: 'duplicate_custom_id', line, message, param: 'custom_id' })
      continue
    }
    linesByCustomId.set(customId, line)
    const body = request.body as Record<string, unknown>
    const modelName = body.model as string
    if (model === '') model = modelName
    else if (modelName !== model) {
      const message = `the line names the model ${shown(modelName)}, an earlier one ${shown(model)}`
      errors.push({ code: 'model_mismatch', line, message, param: 'body.model' })
      continue
    }
    const invalidBody = onLine({ line, customId, body, parsed: undefined }, model)
    if (invalidBody) errors.push(toInvalidLine(endpoint, line, invalidBody))
  }
  if (line < 0 || (linesByCustomId.size === 0 && errors.length === 0)) {
    errors.push({ code: 'invalid_json', line: null, message: 'input file is empty', param: null })
  }
  return { errors, model }
}

/** Returns the error of a line with a rejected field. */
export function toInvalidLine(
  endpoint: BatchEndpoint,
  line: number,
  { invalidField, message }: InvalidBody,
): BatchError {
  return { code: 'invalid_line', line, message, param: `${endpoint}.${invalidField}` }
}

function lineProblem(request: Readonly<Record<string, unknown>>, endpoint: BatchEndpoint): InvalidBody | undefined {
  if (typeof request.custom_id !== 'string' || request.custom_id === '') {
    return { message: 'custom_id is missing or no text', invalidField: 'custom_id' }
  }
  if (request.method !== 'POST') return { message: 'method is not POST', invalidField: 'method' }
  if (request.url !== endpoint) {
    return { message: `url is ${shown(request.url)}, the batch runs ${endpoint}`, invalidField: 'url' }
  }
  if (!isRecord(request.body)) return { message: 'body is missing or no object', invalidField: 'body' }
  if (typeof request.body.model !== 'string' || request.body.model === '') {
    return { message: 'body.model is missing or no text', invalidField: 'body.model' }
  }
  return undefined
}

/** Returns a value as a message shows it: a text in quotes and cut short, the type of an array or an object. */
function shown(value: unknown): string {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'an array'
  if (isRecord(value)) return 'an object'
  if (typeof value !== 'string' || value.length <= LIMITS.lineErrorCharacters) return JSON.stringify(value)
  return `${JSON.stringify(value.slice(0, LIMITS.lineErrorCharacters))}…`
}
