/** The JSON body of a request: its value, or what is wrong with it as an issue of a 422. */
import { parseJsonText } from '../store/json-text.ts'
import type { Detail } from './validation.ts'

/** Deepest nesting of arrays and objects in a request. */
export const MAX_NESTING = 64

export type JsonBody = { value: unknown } | { issue: Detail }

/** Parses a body; `undefined` is the value of an empty one. */
export function parseBody(text: string): JsonBody {
  if (text.trim() === '') return { value: undefined }
  const deep = tooDeep(text)
  if (deep !== undefined) {
    return {
      issue: {
        loc: ['body', String(deep)],
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
      loc: ['body', String(offset(text, line, column))],
      msg: `JSON decode error: ${reason}`,
      type: 'json_invalid',
    },
  }
}

/** Where nesting first goes too deep. On the text and without recursion, so that no body can exhaust the stack. */
function tooDeep(text: string): number | undefined {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (inString) {
      if (unit === 0x5c) at++
      else if (unit === 0x22) inString = false
    } else if (unit === 0x22) inString = true
    else if (unit === 0x7b || unit === 0x5b) {
      depth++
      if (depth > MAX_NESTING) return at
    } else if (unit === 0x7d || unit === 0x5d) depth--
  }
  return undefined
}

function offset(text: string, line: number, column: number): number {
  let start = 0
  for (let i = 1; i < line; i++) start = text.indexOf('\n', start) + 1
  return start + column - 1
}
