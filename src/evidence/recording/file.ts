/** Recordings as text: one JSON object a line. Each line has a checksum of itself and of all lines before it. */

import { tryParseJson } from '../../lib/json-text.ts'
import { quote } from '../../lib/quote.ts'
import { VERSION } from '../../version.ts'
import { createCrc32 } from './crc32.ts'
import {
  type AnswerContent,
  type AnswerLine,
  type HeaderLine,
  type Numbered,
  RECORDING_VERSION,
  type RecordedBody,
  type RequestLine,
  type StepLines,
} from './lines.ts'

/** A recording cannot be read or replayed. */
export class RecordingError extends RangeError {
  override readonly name = 'RecordingError'
}

const SUM = /,"sum":"([0-9a-f]{8})"\}$/

/** Characters of lines that wait for a flush. More are written at once. */
const MAX_PENDING = 65_536
/** Longest body in characters, and the number of paths, whose repetitions are found. */
const MAX_REPEATED = 16_384
const MAX_PATHS = 256

/** An answer whose body is that of an earlier request. */
type RepeatedAnswer = Omit<AnswerContent, 'body'> & { readonly same: number }

/** Writes lines with their checksums. */
export class LineWriter {
  readonly #write: (text: string) => void
  readonly #onPending: () => void
  readonly #crc32 = createCrc32()
  #sum = 0
  /** Lines that are not written so far. */
  #pending = ''
  /** The last different body of a path, and the request that got it. */
  readonly #bodies = new Map<string, { readonly request: number; readonly body: string }>()
  /** The line of a request, which its answer may still join. */
  #held: RequestLine | undefined

  /**
   * @param write writes whole lines
   * @param onPending called when there is something to flush, once for each flush
   */
  constructor(write: (text: string) => void, onPending: () => void = () => {}) {
    this.#write = write
    this.#onPending = onPending
  }

  /** Adds a line. If nothing comes between a request and its answer, they are one line of the file. */
  add(line: HeaderLine | StepLines): void {
    const held = this.#held
    if (held !== undefined && 'answer' in line && isNextOf(held, line)) {
      const { answer: _answer, at: _at, ...content } = line
      this.#held = undefined
      this.#put({ ...held, answered: this.#withoutRepetition(held, content) })
      return
    }
    this.#putHeld()
    if (this.#pending === '') this.#onPending()
    if ('request' in line) this.#held = line
    else this.#put(line)
  }

  /** Writes everything that was added. */
  flush(): void {
    this.#putHeld()
    const text = this.#pending
    this.#pending = ''
    if (text !== '') this.#write(text)
  }

  #putHeld(): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#put(held)
  }

  /** Returns an answer that names an earlier one of its path in place of an equal body: clients poll. */
  #withoutRepetition({ request, path }: RequestLine, content: AnswerContent): AnswerContent | RepeatedAnswer {
    const { body } = content
    if (typeof body !== 'string' || body.length > MAX_REPEATED) return content
    const before = this.#bodies.get(path)
    if (before?.body === body) {
      const { body: _, ...others } = content
      return { ...others, same: before.request }
    }
    if (this.#bodies.size >= MAX_PATHS) this.#bodies.clear()
    this.#bodies.set(path, { request, body })
    return content
  }

  #put(line: object): void {
    const text = JSON.stringify(line)
    this.#sum = this.#crc32(text, this.#sum)
    this.#pending += `${text.slice(0, -1)},"sum":"${formatSum(this.#sum)}"}\n`
    if (this.#pending.length < MAX_PENDING) return
    this.#write(this.#pending)
    this.#pending = ''
  }
}

/** Returns whether an answer came at the position of its request. */
function isNextOf({ request, at }: RequestLine, answer: AnswerLine): boolean {
  return answer.answer === request && answer.at[0] === at[0] && answer.at[1] === at[1]
}

/** Formats a checksum as 8 hexadecimal digits. */
function formatSum(sum: number): string {
  return (sum >>> 0).toString(16).padStart(8, '0')
}

/** The content of a recording. */
export interface ParsedRecording {
  readonly header: HeaderLine
  readonly lines: readonly Numbered[]
  /** Why the recording has no end, with the last complete line; undefined if it is complete. */
  readonly cut: string | undefined
}

/**
 * Reads a recording.
 *
 * @param what names it in errors, as in `'run.ndjson'`
 * @throws RecordingError for another format or version, and for a line that was changed, moved or removed
 */
export function parseRecording(text: string, what: string): ParsedRecording {
  const rows = text.split('\n')
  const rest = rows.pop()!
  const fail = (line: number, problem: string, remedy: string) =>
    new RecordingError(`Failed to read the recording ${what}: line ${line}: ${problem}. ${remedy}`)
  if (rows.length === 0) {
    throw fail(1, 'no complete line is there', 'Give a file that serve --record or sim.record() wrote.')
  }
  const crc32 = createCrc32()
  let sum = 0
  const parsed: object[] = []
  for (const [index, row] of rows.entries()) {
    const line = index + 1
    const content = parseRow(row)
    if (index === 0) assertFormat(content, problem => fail(1, problem.problem, problem.remedy))
    const found = SUM.exec(row)
    if (content === undefined || found === null) {
      const problem = content === undefined ? 'it is no JSON object' : 'its checksum "sum" is missing'
      throw fail(line, problem, 'The file was changed by hand. Give the file as it was recorded.')
    }
    sum = crc32(`${row.slice(0, found.index)}}`, sum)
    if (formatSum(sum) !== found[1]) {
      throw fail(
        line,
        'its checksum does not fit: this line was changed, or a line before it was added, removed or moved',
        'Give the file as it was recorded.',
      )
    }
    parsed.push(content)
  }
  const [header, ...steps] = parsed as [HeaderLine, ...StepLines[]]
  const bodies = new Map<number, RecordedBody | undefined>()
  const lines = steps.flatMap((step, index) => toSteps({ ...step, line: index + 2 }, bodies))
  const last = steps.at(-1)
  const hasEnd = last !== undefined && 'digest' in last
  if (hasEnd && rest === '') return { header, lines, cut: undefined }
  const place = rest === '' ? `after line ${rows.length}` : `in line ${rows.length + 1}`
  return { header, lines, cut: `the recording is cut off ${place}: its line with the digest is missing` }
}

/**
 * Returns the steps of a line: the line of a request can have its answer.
 *
 * @param bodies the bodies of such answers so far, by request
 */
function toSteps(line: Numbered, bodies: Map<number, RecordedBody | undefined>): Numbered[] {
  if (!('answered' in line) || line.answered === undefined) return [line]
  const { answered, ...request } = line
  const { same, ...content } = answered as AnswerContent & Partial<RepeatedAnswer>
  const answer = same === undefined ? content : { ...content, body: bodies.get(same) }
  bodies.set(line.request, answer.body)
  return [request, { answer: line.request, at: line.at, ...answer, line: line.line } as Numbered]
}

function parseRow(row: string): object | undefined {
  const value = tryParseJson(row)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
}

/** Rejects a first line that is no header, or that another version wrote. */
function assertFormat(
  header: Partial<HeaderLine> | undefined,
  fail: (problem: { problem: string; remedy: string }) => Error,
): void {
  if (header?.recording === undefined) {
    throw fail({
      problem: 'it is no header of a recording',
      remedy: 'Give a file that serve --record or sim.record() wrote.',
    })
  }
  if (header.recording !== RECORDING_VERSION) {
    throw fail({
      problem: `it has the format ${quote(header.recording)}, and modelhost-sim ${VERSION} reads the format ${RECORDING_VERSION}`,
      remedy: 'Use the version that wrote it, or record again.',
    })
  }
  if (header.version !== VERSION) {
    throw fail({
      problem: `it was recorded with modelhost-sim ${String(header.version)}, and this is ${VERSION}, where the same seed may bring about something else`,
      remedy: 'Use that version, or record again.',
    })
  }
}
