/** What a command printed, up to a bound. */

import { StringDecoder } from 'node:string_decoder'
import { LIMITS } from '../../../lib/limits.ts'

const LINE_CHARACTERS = 200
/** Lines of a stack, and those of what was raised before, are indented or end with a colon. */
const ERROR_LINE = /^(?=\S).*(?:error|exception|panic).*[^:]$/i
/** The last error of Python: what it raised follows the indented lines. */
const TRACEBACK = /[\s\S]*Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(?<raised>\S.*)/

export type StreamName = 'stdout' | 'stderr'

/** The text of both streams of a command, in the order in which it came, and that of its results. */
export class OutputLog {
  readonly #decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') }
  all = ''
  stdout = ''
  stderr = ''

  add(stream: StreamName, bytes: Buffer): void {
    // Read all the same: a process whose output is not read would wait for its reader.
    if (this.all.length >= LIMITS.commandOutput) return
    const text = this.#decoders[stream].write(bytes).slice(0, LIMITS.commandOutput - this.all.length)
    this.all += text
    this[stream] += text
  }

  /** Returns the first and the last lines that were printed: Node prints an error first, and Python last. */
  excerpt(count: number): string {
    const lines = this.all.trim().split('\n')
    const half = Math.ceil(count / 2)
    const hidden = lines.length - 2 * half
    const shown = hidden > 1 ? [...lines.slice(0, half), `… ${hidden} more lines …`, ...lines.slice(-half)] : lines
    return shown.map(line => (line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS)}…` : line)).join('\n')
  }

  /** Returns the line that names the error with which the command ended: `''` if it printed nothing. */
  get errorLine(): string {
    const text = this.stderr.trim() || this.all.trim()
    const raised = TRACEBACK.exec(text)?.groups?.raised
    const lines = text.split('\n')
    return raised ?? lines.findLast(line => ERROR_LINE.test(line)) ?? lines.at(-1)!
  }
}
