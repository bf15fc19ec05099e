/** Where a text stops being JSON: lines and columns count from 1. */
export interface JsonFault {
  line: number
  column: number
  /** What could stand there, and what does: `expected ',' or '}', got 'x'`. */
  reason: string
}

export type JsonText = { value: unknown } | { fault: JsonFault }

/**
 * Parses JSON and says where it breaks. Engines word their errors differently and Node 20 leaves the position out of
 * most, so a text that does not parse is walked once more to find the place.
 */
export function parseJsonText(text: string): JsonText {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    const found = findFault(text) ?? { offset: text.length, reason: String(error) }
    const before = text.slice(0, found.offset).split('\n')
    return { fault: { line: before.length, column: before.at(-1)!.length + 1, reason: found.reason } }
  }
}

/** What a text says as JSON; undefined where it is none, which no JSON says. */
export function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What a text says as JSON, or the text itself where it is none. */
export function jsonOrText(text: string): unknown {
  const value = jsonValue(text)
  return value === undefined ? text : value
}

class Fault extends Error {
  readonly offset: number
  readonly reason: string
  constructor(offset: number, reason: string) {
    super(reason)
    this.offset = offset
    this.reason = reason
  }
}

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const STRING = /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y

function findFault(text: string): { offset: number; reason: string } | undefined {
  let at = 0
  const space = () => {
    while (at < text.length && ' \t\r\n'.includes(text[at]!)) at++
  }
  const fail = (expected: string): never => {
    const got = at < text.length ? `'${text[at] === '\n' ? '\\n' : text[at]}'` : 'the end of the file'
    throw new Fault(at, `expected ${expected}, got ${got}`)
  }
  const match = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    if (!pattern.test(text)) return false
    at = pattern.lastIndex
    return true
  }
  const list = (close: string, item: () => void) => {
    at++
    space()
    if (text[at] === close) {
      at++
      return
    }
    for (;;) {
      item()
      space()
      if (text[at] === close) {
        at++
        return
      }
      if (text[at] !== ',') fail(`',' or '${close}'`)
      at++
      space()
    }
  }
  const key = () => {
    if (!match(STRING)) fail('a field name in double quotes')
    space()
    if (text[at] !== ':') fail("':'")
    at++
    value()
  }
  const value = () => {
    space()
    if (text[at] === '{') list('}', key)
    else if (text[at] === '[') list(']', value)
    else if (text[at] === '"') {
      if (!match(STRING)) fail('a string that ends on its line')
    } else if (!match(SCALAR)) fail('a value')
  }
  try {
    value()
    space()
    if (at < text.length) fail('the end of the file')
  } catch (error) {
    if (error instanceof Fault) return { offset: error.offset, reason: error.reason }
    throw error
  }
  return undefined
}
