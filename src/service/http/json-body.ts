/** The JSON body of a request: its value, or what is wrong with it as an issue of a 422. */
import { parseJsonText } from '../../lib/json-text.ts'
import type { ValidationDetail } from './validation-errors.ts'

/** Deepest nesting of arrays and objects in a request. */
export const MAX_NESTING = 64

export type JsonBody = { value: unknown } | { issue: ValidationDetail }

/** Parses a body; `undefined` is the value of an empty one. */
export function parseJsonBody(text: string): JsonBody {
  if (text.trim() === '') return { value: undefined }
  const excessPosition = findExcessNesting(text)
  if (excessPosition !== undefined) {
    return {
      issue: {
        loc: ['body', String(excessPosition)],
        msg: `JSON decode error: nesting deeper than ${MAX_NESTING}`,
        type: 'json_invalid',
      },
    }
  }
  const parsed = parseJsonText(text)
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

/** Where nesting first goes too deep. On the text and without recursion, so that no body can exhaust the stack. */
function findExcessNesting(text: string): number | undefined {
  let depth = 0
  let inString = false
  for (let position = 0; position < text.length; position++) {
    const unit = text.charCodeAt(position)
    if (inString) {
      if (unit === 0x5c) position++
      else if (unit === 0x22) inString = false
    } else if (unit === 0x22) inString = true
    else if (unit === 0x7b || unit === 0x5b) {
      depth++
      if (depth > MAX_NESTING) return position
    } else if (unit === 0x7d || unit === 0x5d) depth--
  }
  return undefined
}

function toOffset(text: string, line: number, column: number): number {
  let start = 0
  for (let i = 1; i < line; i++) start = text.indexOf('\n', start) + 1
  return start + column - 1
}
