/** The JSON body of a request: its value, or what is wrong with it as an issue of a 422. */
import { parseJsonText } from '../../../lib/json-text.ts'
import { LIMITS } from '../../../lib/limits.ts'
import type { ValidationDetail } from '../validation-errors.ts'

export type JsonBody = { value: unknown } | { issue: ValidationDetail }

/**
 * Parses a body; `undefined` is the value of an empty one.
 *
 * @param maxValues the maximum number of its JSON values. Each can be invalid, and an error costs far more than a value.
 * @param hasUniqueKeys whether a key that an object has twice is an error
 */
export function parseJsonBody(text: string, maxValues = LIMITS.bodyValues, hasUniqueKeys = false): JsonBody {
  if (text.trim() === '') return { value: undefined }
  const excess = findExcess(text, maxValues)
  if (excess !== undefined) {
    const { position, problem } = excess
    return {
      issue: { loc: ['body', String(position)], msg: `JSON decode error: ${problem}`, type: 'json_invalid' },
    }
  }
  const parsed = parseJsonText(text, hasUniqueKeys)
  if ('value' in parsed) return parsed
  const { line, column, reason } = parsed.fault
  return {
    issue: {
      loc: ['body', String(toOffset(text, line, column))],
      msg: `JSON decode error: ${reason}`,
      type: 'json_invalid',
    },
  }
}

/** Tells whether a text is nested deeper than a JSON body can be. A visit of its value could exhaust the stack. */
export function isTooDeep(text: string): boolean {
  return findExcess(text, Number.POSITIVE_INFINITY) !== undefined
}

/**
 * Returns where nesting first goes too deep, or the first value too many is. It reads the text without recursion, so that
 * no body can exhaust the stack.
 */
function findExcess(text: string, maxValues: number): { position: number; problem: string } | undefined {
  let depth = 0
  let valueCount = 1
  let inString = false
  for (let position = 0; position < text.length; position++) {
    const unit = text.charCodeAt(position)
    if (inString) {
      if (unit === 0x5c) position++
      else if (unit === 0x22) inString = false
    } else if (unit === 0x22) inString = true
    else if (unit === 0x7b || unit === 0x5b) {
      depth++
      valueCount++
      if (depth > LIMITS.bodyDepth) return { position, problem: `nesting deeper than ${LIMITS.bodyDepth}` }
    } else if (unit === 0x7d || unit === 0x5d) depth--
    else if (unit === 0x2c) valueCount++
    if (valueCount > maxValues) return { position, problem: `more than ${maxValues} values` }
  }
  return undefined
}

function toOffset(text: string, line: number, column: number): number {
  let start = 0
  for (let i = 1; i < line; i++) start = text.indexOf('\n', start) + 1
  return start + column - 1
}
