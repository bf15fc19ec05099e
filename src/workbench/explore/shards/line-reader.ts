/** Reads the lines of large files. */

import { closeSync, openSync, readSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'

const CHUNK_BYTES = 1 << 20

export interface TextLine {
  readonly text: string
  /** The number of bytes of the file up to the end of this line. */
  readonly end: number
  /** False for a last line without its line break: its writer was killed. */
  readonly isComplete: boolean
}

/**
 * Reads a file line by line, in little memory.
 *
 * @throws the error of the file system
 */
export function* readLines(path: string): Generator<TextLine> {
  const file = openSync(path, 'r')
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES)
    const decoder = new StringDecoder('utf8')
    let [rest, end] = ['', 0]
    for (let size = readSync(file, chunk); size > 0; size = readSync(file, chunk)) {
      const lines = (rest + decoder.write(chunk.subarray(0, size))).split('\n')
      rest = lines.pop()!
      for (const text of lines) {
        end += Buffer.byteLength(text) + 1
        yield { text, end, isComplete: true }
      }
    }
    if (rest !== '') yield { text: rest, end: end + Buffer.byteLength(rest), isComplete: false }
  } finally {
    closeSync(file)
  }
}
