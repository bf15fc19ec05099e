/** Counts and writes the lines of JSONL files. */
import { ByteHash } from '../../kernel/random.ts'
import type { FileContent } from './files.ts'

export function countLines(chunks: readonly Uint8Array[]): number {
  let lines = 0
  let lastByte = 10
  for (const chunk of chunks) {
    for (let index = chunk.indexOf(10); index >= 0; index = chunk.indexOf(10, index + 1)) lines++
    lastByte = chunk.at(-1) ?? lastByte
  }
  // The last line counts even without a line feed.
  return lastByte === 10 ? lines : lines + 1
}

/** Collects lines into chunks of bytes and updates their hash. */
export class JsonlWriter {
  readonly #encoder = new TextEncoder()
  readonly #hash = new ByteHash()
  readonly #chunks: Uint8Array[] = []
  readonly #quotedLines: number[] = []
  #lineCount = 0
  #text = ''
  #bytes = 0

  /** @param isQuoted whether messages in the line are texts of the user */
  push(line: string, isQuoted = false): void {
    if (isQuoted) this.#quotedLines.push(this.#lineCount)
    this.#lineCount++
    this.#text += `${line}\n`
    if (this.#text.length > 65_536) this.#flush()
  }

  finish(): FileContent {
    this.#flush()
    return {
      ...{ chunks: this.#chunks, bytes: this.#bytes, hash: this.#hash.digest() },
      ...(this.#quotedLines.length > 0 && { quotedLines: this.#quotedLines }),
    }
  }

  #flush(): void {
    if (this.#text === '') return
    const chunk = this.#encoder.encode(this.#text)
    this.#hash.update(chunk)
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    this.#text = ''
  }
}
