import type { EntryFields } from '../../kernel/journal.ts'
import {
  createDifference,
  type Difference,
  differences,
  formatJsonValue,
  isSecretPath,
  joinPath,
  truncate,
} from '../../lib/differences.ts'
import { acceptCopies } from '../../lib/errors.ts'
import { HIDDEN } from '../../lib/text/secrets.ts'
import { Refusal } from '../../service/client/refusal.ts'

/** An expected value: the fields to compare, a pattern for a text, or a whole list. */
export type Expected<T> = T extends string
  ? T | RegExp
  : T extends readonly (infer Item)[]
    ? readonly Expected<Item>[]
    : T extends object
      ? { readonly [K in keyof T]?: Expected<T[K]> | undefined }
      : T

/**
 * Compares a value with an expectation. Fields that are missing in the expectation are ignored. Lists have their full
 * length.
 *
 * @param what name of the check in the report
 * @throws CheckError with each path that differs, and the expected and the found value
 * @example check(await api.getDeployment({ deploy_id }), { status: 'running', instances: { running: 1 } })
 */
export type Check = <T>(actual: T, expected: NoInfer<Expected<T>>, what?: string) => void

/**
 * Expects a refusal of a call, and returns that refusal.
 *
 * @param message a part of the service's message, or a pattern for it
 * @throws CheckError if the call succeeds, or another refusal comes
 * @example await expectRefusal(api.createLlmDeployment({ … }), 403, /over the GPU limit/)
 */
export type ExpectRefusal = (call: Promise<unknown>, status: number, message?: string | RegExp) => Promise<Refusal>

/** A failed check. */
export class CheckError extends Error {
  override readonly name = 'CheckError'
  readonly differences: readonly Difference[]
  /** The value that was checked. */
  readonly actual: unknown

  constructor(what: string, differences: readonly Difference[], actual: unknown) {
    const lines = differences.map(
      ({ path, expected, found }) => `\n  ${path === '' ? '' : `${path}: `}expected ${expected}, found ${found}`,
    )
    super(`${what} does not hold:${lines.join('')}`)
    this.differences = differences
    this.actual = actual
  }
}
acceptCopies(CheckError, 'CheckError')

/** Longest text of a value in a trace. */
const MAX_TRACED_CHARS = 80

/** Returns an expectation as the fields of a trace line: its leaves by path; `is` for a plain value. */
export function flattenExpected(expected: unknown): EntryFields {
  const fields: Record<string, string | number | boolean | null> = {}
  collectLeaves(expected, '', fields)
  return fields
}

/**
 * Returns the differences between a refusal and its expectation.
 *
 * @throws the error itself if it is not a refusal
 */
export function findRefusalDifferences(
  error: unknown,
  status: number,
  message: string | RegExp | undefined,
): Difference[] {
  if (!(error instanceof Refusal)) throw error
  const refusalText = refusalMessage(error.body)
  const found = differences(error.status, status, 'status')
  if (typeof message === 'string' && !refusalText.includes(message)) {
    found.push(createDifference('message', `text with ${formatJsonValue(message)}`, refusalText))
  } else if (message instanceof RegExp) found.push(...differences(refusalText, message, 'message'))
  // If the status differs, the message explains why.
  if (found.length === 1 && found[0]!.path === 'status') {
    return [{ ...found[0]!, found: `${error.status} ${formatJsonValue(refusalText)}` }]
  }
  return found
}

/** Returns the message of a refusal in any of its formats. */
function refusalMessage(body: unknown): string {
  if (typeof body === 'string') return body
  if (typeof body !== 'object' || body === null) return String(body)
  const { error, detail } = body as { error?: unknown; detail?: unknown }
  if (typeof error === 'string') return error
  if (typeof detail === 'string') return detail
  if (Array.isArray(detail)) return detail.map(({ loc, msg }) => `${(loc ?? []).join('.')}: ${msg}`).join('; ')
  if (typeof detail === 'object' && detail !== null) return refusalMessage(detail)
  return JSON.stringify(body)
}

function collectLeaves(value: unknown, path: string, fields: Record<string, string | number | boolean | null>): void {
  const isObject = typeof value === 'object' && value !== null && !(value instanceof RegExp || value instanceof Date)
  if (isObject && Object.keys(value).length > 0) {
    for (const [key, item] of Object.entries(value)) {
      collectLeaves(item, Array.isArray(value) ? `${path}[${key}]` : joinPath(path, key), fields)
    }
    return
  }
  fields[path === '' ? 'is' : path] =
    typeof value === 'number' || typeof value === 'boolean' || value === null
      ? value
      : isSecretPath(path)
        ? HIDDEN
        : truncate(typeof value === 'string' ? value : formatJsonValue(value), MAX_TRACED_CHARS)
}

/**
 * Parses the records of a JSON Lines text, as in the output and error files of a batch.
 *
 * @throws SyntaxError with the number of an invalid line
 * @example jsonLines(await api.getFileContent({ file_id })).map(line => line.custom_id)
 */
// biome-ignore lint/suspicious/noExplicitAny: the caller knows the type of a line
export function jsonLines(text: string): any[] {
  return text.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return []
    try {
      return [JSON.parse(line)]
    } catch (error) {
      throw new SyntaxError(`Failed to read line ${i + 1}: ${(error as Error).message}. It should be a JSON value.`)
    }
  })
}
