/**
 * What a recording does not repeat: clients poll, with equal headers, and get equal answers. In the file, the number of an
 * earlier request replaces headers or a body that equal its own.
 */

import type { AnswerContent, AnswerLine, Numbered, RecordedBody, RequestLine } from './lines.ts'

type Fields = Readonly<Record<string, string>>

/** Longest body in characters, and the number of paths, whose repetitions are found. */
const MAX_REPEATED = 16_384
const MAX_PATHS = 256
/** Different headers whose repetitions are found. */
const MAX_HEADERS = 4

/** Finds headers that equal some of the last different ones. */
export class RepeatedHeaders {
  readonly #known: { readonly fields: Fields; readonly reference: string }[] = []
  #next = 0

  /** Returns the text of headers in the line of a request: JSON, or the number of an earlier request. */
  text(request: number, fields: Fields): string {
    const known = this.#known
    for (let i = 0; i < known.length; i++) if (known[i]!.fields === fields) return known[i]!.reference
    for (let i = 0; i < known.length; i++) if (areEqual(known[i]!.fields, fields)) return known[i]!.reference
    known[this.#next] = { fields, reference: String(request) }
    this.#next = (this.#next + 1) % MAX_HEADERS
    return JSON.stringify(fields)
  }
}

function areEqual(one: Fields, other: Fields): boolean {
  let count = 0
  for (const name in one) {
    if (one[name] !== other[name]) return false
    count++
  }
  for (const _ in other) count--
  return count === 0
}

interface KnownPath {
  readonly text: string
  body: string | undefined
  request: number
}

/** Finds answers that equal the last different one of their path. */
export class RepeatedBodies {
  readonly #paths = new Map<string, KnownPath>()

  /** Returns a path as JSON. */
  pathText(path: string): string {
    return this.#get(path).text
  }

  /** Returns the number of the earlier request that got this body; undefined if the body is another one. */
  find(path: string, request: number, body: RecordedBody): number | undefined {
    if (typeof body !== 'string' || body.length > MAX_REPEATED) return undefined
    const known = this.#get(path)
    if (known.body === body) return known.request
    known.body = body
    known.request = request
    return undefined
  }

  #get(path: string): KnownPath {
    let known = this.#paths.get(path)
    if (known === undefined) {
      if (this.#paths.size >= MAX_PATHS) this.#paths.clear()
      known = { text: JSON.stringify(path), body: undefined, request: 0 }
      this.#paths.set(path, known)
    }
    return known
  }
}

/** A line as it is in the file: a number means the headers or the body of that request. */
type WithReferences<Line> = Omit<Line, 'headers' | 'body' | 'answered'> & {
  readonly headers?: Fields | number
  readonly body?: RecordedBody | number
}

type FileLine = Numbered<WithReferences<RequestLine>> & { readonly answered?: WithReferences<AnswerContent> }

/** Reads lines of a file, and puts what is repeated in its place again. */
export class StepReader {
  readonly #fail: (line: number, problem: string) => Error
  readonly #requestHeaders = new Map<number, Fields>()
  readonly #answerHeaders = new Map<number, Fields>()
  readonly #bodies = new Map<number, RecordedBody>()

  /** @param fail creates the error for a number that names no earlier request with such a field */
  constructor(fail: (line: number, problem: string) => Error) {
    this.#fail = fail
  }

  /** Returns the steps of a line: the line of a request can have its answer. */
  read(line: Numbered): Numbered[] {
    if ('answer' in line) return [this.#readAnswer(line)]
    if (!('request' in line)) return [line]
    const { answered, ...rest } = line as unknown as FileLine
    const headers = this.#resolve(rest.headers, this.#requestHeaders, line.request, line.line, 'headers')
    const request = { ...rest, headers } as Numbered<RequestLine>
    if (answered === undefined) return [request]
    const answer = { answer: line.request, at: line.at, ...answered, line: line.line }
    return [request, this.#readAnswer(answer as unknown as Numbered<AnswerLine>)]
  }

  #readAnswer(line: Numbered<AnswerLine>): Numbered<AnswerLine> {
    if (line.headers === undefined) return line
    const headers = this.#resolve(line.headers, this.#answerHeaders, line.answer, line.line, 'headers of an answer')
    if (line.body === undefined) return { ...line, headers }
    const body = this.#resolve(line.body, this.#bodies, line.answer, line.line, 'body of an answer')
    return { ...line, headers, body }
  }

  /** Returns a value, or that of the earlier request that it names. */
  #resolve<Value>(
    value: Value | number | undefined,
    earlier: Map<number, Value>,
    request: number,
    line: number,
    what: string,
  ): Value {
    if (typeof value !== 'number') {
      earlier.set(request, value as Value)
      return value as Value
    }
    const found = earlier.get(value)
    if (found === undefined) throw this.#fail(line, `no line before it has the ${what} of request ${value}`)
    return found
  }
}
