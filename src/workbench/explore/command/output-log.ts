/** What a command printed, up to a bound. */

import { StringDecoder } from 'node:string_decoder'
import { LIMITS } from '../../../lib/limits.ts'

export type StreamName = 'stdout' | 'stderr'

/** The text of both streams of a command, in the order in which it came, and that of its results. */
export class OutputLog {
  readonly #decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') }
  all = ''
  stdout = ''

  add(stream: StreamName, bytes: Buffer): void {
    // Read all the same: a process whose output is not read would wait for its reader.
    if (this.all.length >= LIMITS.commandOutput) return
    const text = this.#decoders[stream].write(bytes).slice(0, LIMITS.commandOutput - this.all.length)
    this.all += text
    if (stream === 'stdout') this.stdout += text
  }

  /** Returns the last lines that were printed, for an error message. */
  lastLines(count: number): string {
    const lines = this.all.trimEnd().split('\n')
    return lines.slice(-count).join('\n').slice(-1000)
  }
}
