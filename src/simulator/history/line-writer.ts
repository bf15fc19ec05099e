/** Writes the lines of a recording: one JSON object a line, with a checksum of itself and of all lines before it. */
import type { AnswerLine, HeaderLine, RequestLine, StepLines } from './lines.ts'
import { RepeatedBodies, RepeatedHeaders } from './repetitions.ts'

/** Characters of lines that wait for a flush. More are written at once. */
const MAX_PENDING = 65_536

export class LineWriter {
  readonly #write: (text: string) => void
  readonly #onPending: () => unknown
  readonly #crc32 = createCrc32()
  #sum = 0
  /** Lines that are not written so far. */
  #pending = ''
  /** The line of a request, which its answer may still join. */
  #held: RequestLine | undefined
  readonly #bodies = new RepeatedBodies()
  readonly #requestHeaders = new RepeatedHeaders()
  readonly #answerHeaders = new RepeatedHeaders()

  /**
   * @param write writes whole lines
   * @param onPending called when there is something to flush, once for each flush
   */
  constructor(write: (text: string) => void, onPending: () => unknown = () => {}) {
    this.#write = write
    this.#onPending = onPending
  }

  /** Adds a line. If nothing comes between a request and its answer, they are one line of the file. */
  add(line: HeaderLine | StepLines): void {
    const held = this.#held
    if (held !== undefined) {
      this.#held = undefined
      if ('answer' in line && isNextOf(held, line)) {
        this.#put(`${this.#requestText(held)},"answered":{${this.#answerText(line, held.path)}}}`)
        return
      }
      this.#put(`${this.#requestText(held)}}`)
    }
    if (this.#pending === '') this.#onPending()
    if ('request' in line) this.#held = line
    else if ('answer' in line) {
      const { answer, at } = line
      this.#put(`{"answer":${answer},"at":[${at[0]},${at[1]}],${this.#answerText(line, undefined)}}`)
    } else this.#put(JSON.stringify(line))
  }

  /** Writes everything that was added. */
  flush(): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#put(`${this.#requestText(held)}}`)
    const text = this.#pending
    this.#pending = ''
    if (text !== '') this.#write(text)
  }

  /** Returns the line of a request without its last brace. Clients poll, so its texts are mostly known. */
  #requestText({ request, at, method, path, headers, body, address, arrived, look }: RequestLine): string {
    let text = `{"request":${request},"at":[${at[0]},${at[1]}],"method":${method === 'GET' ? '"GET"' : JSON.stringify(method)}`
    text += `,"path":${this.#bodies.pathText(path)},"headers":${this.#requestHeaders.text(request, headers)}`
    if (body !== undefined) text += `,"body":${JSON.stringify(body)}`
    if (address !== undefined) text += `,"address":${JSON.stringify(address)}`
    if (arrived) text += ',"arrived":true'
    if (look) text += ',"look":true'
    return text
  }

  /**
   * Returns the fields of an answer.
   *
   * @param path that of its request, if the answer is part of its line
   */
  #answerText(
    { answer, status, headers, body, streamed, now, wire, sent }: AnswerLine,
    path: string | undefined,
  ): string {
    let text = `"status":${status}`
    if (now !== undefined) text += `,"now":${now}`
    if (headers !== undefined) text += `,"headers":${this.#answerHeaders.text(answer, headers)}`
    if (body !== undefined) {
      const earlier = path === undefined ? undefined : this.#bodies.find(path, answer, body)
      text += `,"body":${earlier ?? JSON.stringify(body)}`
    }
    if (streamed) text += ',"streamed":true'
    if (wire !== undefined) text += `,"wire":${JSON.stringify(wire)}`
    if (sent !== undefined) text += `,"sent":${JSON.stringify(sent)}`
    return text
  }

  #put(text: string): void {
    this.#sum = this.#crc32(text, this.#sum)
    this.#pending += `${text.slice(0, -1)},"sum":"${formatCrc32(this.#sum)}"}\n`
    if (this.#pending.length < MAX_PENDING) return
    this.#write(this.#pending)
    this.#pending = ''
  }
}

/** Returns whether an answer came at the position of its request. */
function isNextOf({ request, at }: RequestLine, answer: AnswerLine): boolean {
  return answer.answer === request && (answer.at === at || (answer.at[0] === at[0] && answer.at[1] === at[1]))
}

/** The checksum CRC-32 of text in UTF-8. */

/** Returns the CRC-32 of a text, continued from that of the text before it. The first one continues from 0. */
export type Crc32 = (text: string, before: number) => number

/** Returns the fastest form of the checksum: Node has it in native code. */
export function createCrc32(): Crc32 {
  const { crc32 } = (globalThis.process?.getBuiltinModule?.('node:zlib') ?? {}) as { readonly crc32?: Crc32 }
  return crc32 ?? portableCrc32
}

/** Returns the same where there is no Node. */
export function portableCrc32(text: string, before: number): number {
  let crc = ~before
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Formats a checksum as 8 hexadecimal digits. */
export function formatCrc32(sum: number): string {
  return HEX[sum >>> 24]! + HEX[(sum >>> 16) & 255]! + HEX[(sum >>> 8) & 255]! + HEX[sum & 255]!
}
