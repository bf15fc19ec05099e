/** The place where a text is invalid JSON. Lines and columns count from 1. */
export interface JsonSyntaxProblem {
  line: number
  column: number
  /** The expected and the actual text: `expected ',' or '}', got 'x'`. */
  reason: string
}

export type JsonParseResult = { value: unknown } | { fault: JsonSyntaxProblem }

/**
 * Parses JSON, and reports the place of an error. The errors of engines differ, and most errors of Node 20 have no
 * position. So an invalid text is read a second time to find the place. A byte order mark at the start is ignored.
 *
 * @param hasUniqueKeys whether a key that an object has twice is an error. Then each text is read a second time
 */
export function parseJsonText(text: string, hasUniqueKeys = false): JsonParseResult {
  if (text.startsWith('\ufeff')) return parseJsonText(text.slice(1), hasUniqueKeys)
  let value: unknown
  let problem: { offset: number; reason: string } | undefined
  try {
    value = JSON.parse(text)
    if (hasUniqueKeys) problem = findSyntaxFault(text, hasUniqueKeys)
  } catch (error) {
    problem = findSyntaxFault(text, hasUniqueKeys) ?? { offset: text.length, reason: String(error) }
  }
  if (problem === undefined) return { value }
  const linesBefore = text.slice(0, problem.offset).split('\n')
  return { fault: { line: linesBefore.length, column: linesBefore.at(-1)!.length + 1, reason: problem.reason } }
}

/** Returns the value of a JSON text; undefined if it is invalid JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns whether a value is an object, and neither a list nor null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the object of a JSON text; undefined if it is invalid JSON or another value. */
export function tryParseRecord(text: string): Record<string, unknown> | undefined {
  const value = tryParseJson(text)
  return isRecord(value) ? value : undefined
}

/** Returns the value of a JSON text, or the text itself if it is invalid JSON. */
export function parseJsonOrText(text: string): unknown {
  const value = tryParseJson(text)
  return value === undefined ? text : value
}

class JsonSyntaxFault extends Error {
  readonly offset: number
  readonly reason: string
  constructor(offset: number, reason: string) {
    super(reason)
    this.offset = offset
    this.reason = reason
  }
}

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** Returns the position after a string of JSON; undefined for no string. A pattern would overflow the stack. */
function findStringEnd(text: string, start: number): number | undefined {
  if (text[start] !== '"') return undefined
  let position = start + 1
  while (text[position] !== '"') {
    if (text[position] === '\\') {
      ESCAPE.lastIndex = position
      if (!ESCAPE.test(text)) return undefined
      position = ESCAPE.lastIndex
    } else if (text.charCodeAt(position) >= 0x20) position++
    else return undefined
  }
  return position + 1
}

/** Returns the first fault of a text, and its offset; undefined for valid JSON. */
export function findSyntaxFault(text: string, hasUniqueKeys: boolean): { offset: number; reason: string } | undefined {
  let position = 0
  const skipSpace = () => {
    while (position < text.length && ' \t\r\n'.includes(text[position]!)) position++
  }
  const fail = (expected: string): never => {
    const got = position < text.length ? `'${text[position] === '\n' ? '\\n' : text[position]}'` : 'the end of the file'
    throw new JsonSyntaxFault(position, `expected ${expected}, got ${got}`)
  }
  const readString = (expected: string) => {
    position = findStringEnd(text, position) ?? fail(expected)
  }
  const readScalar = () => {
    SCALAR.lastIndex = position
    if (!SCALAR.test(text)) fail('a value')
    position = SCALAR.lastIndex
  }
  const readList = (close: string, item: () => void) => {
    position++
    skipSpace()
    if (text[position] === close) {
      position++
      return
    }
    for (;;) {
      item()
      skipSpace()
      if (text[position] === close) {
        position++
        return
      }
      if (text[position] !== ',') fail(`',' or '${close}'`)
      position++
      skipSpace()
    }
  }
  const readField = (keys: Set<string>) => {
    const start = position
    readString('a field name in double quotes')
    if (hasUniqueKeys) {
      // Escapes can write one key in two ways.
      const key = JSON.stringify(JSON.parse(text.slice(start, position)))
      if (keys.has(key)) throw new JsonSyntaxFault(start, `the key ${key} is there twice`)
      keys.add(key)
    }
    skipSpace()
    if (text[position] !== ':') fail("':'")
    position++
    readValue()
  }
  const readValue = () => {
    skipSpace()
    if (text[position] === '{') {
      const keys = new Set<string>()
      readList('}', () => readField(keys))
    } else if (text[position] === '[') readList(']', readValue)
    else if (text[position] === '"') readString('a string that ends on its line')
    else readScalar()
  }
  try {
    readValue()
    skipSpace()
    if (position < text.length) fail('the end of the file')
  } catch (error) {
    if (error instanceof JsonSyntaxFault) return { offset: error.offset, reason: error.reason }
    // Lists within lists overflow the stack at about 10,000 levels.
    if (error instanceof RangeError) return undefined
    throw error
  }
  return undefined
}
