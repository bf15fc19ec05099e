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
 * position. So an invalid text is read a second time to find the place.
 */
export function parseJsonText(text: string): JsonParseResult {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    const problem = findSyntaxFault(text) ?? { offset: text.length, reason: String(error) }
    const linesBefore = text.slice(0, problem.offset).split('\n')
    return { fault: { line: linesBefore.length, column: linesBefore.at(-1)!.length + 1, reason: problem.reason } }
  }
}

/** Returns the value of a JSON text; undefined if it is invalid JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
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
const STRING = /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y

function findSyntaxFault(text: string): { offset: number; reason: string } | undefined {
  let position = 0
  const skipSpace = () => {
    while (position < text.length && ' \t\r\n'.includes(text[position]!)) position++
  }
  const fail = (expected: string): never => {
    const got = position < text.length ? `'${text[position] === '\n' ? '\\n' : text[position]}'` : 'the end of the file'
    throw new JsonSyntaxFault(position, `expected ${expected}, got ${got}`)
  }
  const match = (pattern: RegExp): boolean => {
    pattern.lastIndex = position
    if (!pattern.test(text)) return false
    position = pattern.lastIndex
    return true
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
  const readField = () => {
    if (!match(STRING)) fail('a field name in double quotes')
    skipSpace()
    if (text[position] !== ':') fail("':'")
    position++
    readValue()
  }
  const readValue = () => {
    skipSpace()
    if (text[position] === '{') readList('}', readField)
    else if (text[position] === '[') readList(']', readValue)
    else if (text[position] === '"') {
      if (!match(STRING)) fail('a string that ends on its line')
    } else if (!match(SCALAR)) fail('a value')
  }
  try {
    readValue()
    skipSpace()
    if (position < text.length) fail('the end of the file')
  } catch (error) {
    if (error instanceof JsonSyntaxFault) return { offset: error.offset, reason: error.reason }
    throw error
  }
  return undefined
}
