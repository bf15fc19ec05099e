import { tryParseJson } from '../../lib/json-text.ts'

/** The maximum number of lines of a batch. */
export const MAX_BATCH_LINES = 50_000

/** A validation error of a batch, as `errors.data` of its record shows it. */
export interface BatchError {
  readonly code:
    | 'invalid_json'
    | 'invalid_line'
    | 'duplicate_custom_id'
    | 'unknown_model'
    | 'model_mismatch'
    | 'empty_file'
    | 'too_many_lines'
  /** The line number from 0; null for the whole file. */
  readonly line: number | null
  readonly message: string
  readonly param: string | null
}

/** A line with a valid form. Its body is validated when the batch is answered. */
export interface LineRequest {
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

/** Receives each line with a valid form. Its results are discarded if the file has errors. */
export type OnLine = (request: LineRequest, model: string) => void

export type BatchEndpoint = '/v1/chat/completions' | '/v1/completions'

/** Reads each line of an input file in order, without keeping it. */
export function readBatchLines(source: Iterable<string>, endpoint: BatchEndpoint, onLine: OnLine): InputSummary {
  const errors: BatchError[] = []
  const linesByCustomId = new Map<string, number>()
  let model = ''
  let line = -1
  let count = 0
  for (const text of source) {
    line++
    // Blank lines between requests are ignored, as in other readers of JSON lines.
    if (text.trim() === '') continue
    if (++count > MAX_BATCH_LINES) {
      return {
        errors: [
          {
            code: 'too_many_lines',
            line: null,
            message: `the file has more than ${MAX_BATCH_LINES} lines`,
            param: null,
          },
        ],
        model,
      }
    }
    const request = parseLine(text)
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
    const previousLine = linesByCustomId.get(customId)
    if (previousLine !== undefined) {
      errors.push({
        code: 'duplicate_custom_id',
        line,
        message: `custom_id ${shown(customId)} is already used in line ${previousLine}`,
        param: 'custom_id',
      })
      continue
    }
    linesByCustomId.set(customId, line)
    const body = request.body as Record<string, unknown>
    const modelName = body.model as string
    if (model === '') model = modelName
    else if (modelName !== model) {
      errors.push({
        code: 'model_mismatch',
        line,
        message: `the line names the model ${shown(modelName)}, an earlier one ${shown(model)}`,
        param: 'body.model',
      })
      continue
    }
    onLine({ customId, body, parsed: undefined }, model)
  }
  if (line < 0 || (linesByCustomId.size === 0 && errors.length === 0)) {
    errors.push({ code: 'empty_file', line: null, message: 'the file has no request', param: null })
  }
  return { errors, model }
}

function parseLine(text: string): Record<string, unknown> | undefined {
  const value = tryParseJson(text)
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
    return { message: `url is ${shown(request.url)}, the batch runs ${endpoint}`, param: 'url' }
  }
  if (!isObject(request.body)) return { message: 'body is missing or no object', param: 'body' }
  if (typeof request.body.model !== 'string' || request.body.model === '') {
    return { message: 'body.model is missing or no text', param: 'body.model' }
  }
  return undefined
}

/** The maximum number of characters that a message quotes from a value. */
const MOST_QUOTED = 200

/** Returns a value as a message shows it: a text in quotes and cut short, the type of an array or an object. */
function shown(value: unknown): string {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'an array'
  if (isObject(value)) return 'an object'
  if (typeof value !== 'string' || value.length <= MOST_QUOTED) return JSON.stringify(value)
  return `${JSON.stringify(value.slice(0, MOST_QUOTED))}…`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
