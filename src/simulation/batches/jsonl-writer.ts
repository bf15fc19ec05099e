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

const FLUSHED_CHARACTERS = 65_536
/** Spare room for lines that are longer than the first ones. Memory that nothing writes to is not resident. */
const SPARE_ROOM = 1.05

/** Collects lines into chunks of bytes and updates their hash. */
export class JsonlWriter {
  readonly #encoder = new TextEncoder()
  readonly #hash = new ByteHash()
  readonly #chunks: Uint8Array[] = []
  readonly #expectedLines: number
  #lineCount = 0
  #text = ''
  #bytes = 0
  #block = new Uint8Array(0)
  #used = 0

  /** @param expectedLines about how many lines will come, so that they are one chunk. Default: 0, many chunks */
  constructor(expectedLines = 0) {
    this.#expectedLines = expectedLines
  }

  push(line: string): void {
    this.#lineCount++
    this.#text += `${line}\n`
    if (this.#text.length > FLUSHED_CHARACTERS) this.#flush()
  }

  finish(): FileContent {
    this.#flush()
    this.#closeBlock()
    return { chunks: this.#chunks, bytes: this.#bytes, hash: this.#hash.digest() }
  }

  #flush(): void {
    let text = this.#text
    this.#text = ''
    while (text !== '') {
      const { read, written } = this.#encoder.encodeInto(text, this.#block.subarray(this.#used))
      this.#hash.update(this.#block.subarray(this.#used, this.#used + written))
      this.#used += written
      this.#bytes += written
      text = text.slice(read)
      if (text !== '') this.#openBlock(text.length)
    }
  }

  /** Begins a block for the lines to come, as long as those so far on average. A character has up to three bytes. */
  #openBlock(characters: number): void {
    this.#closeBlock()
    const lines = Math.max(0, this.#expectedLines - this.#lineCount)
    const perLine = (this.#bytes + characters) / this.#lineCount
    this.#block = new Uint8Array(Math.max(3 * characters, Math.ceil((characters + lines * perLine) * SPARE_ROOM)))
  }

  #closeBlock(): void {
    const [block, used] = [this.#block, this.#used]
    if (used > 0) this.#chunks.push(2 * used < block.length ? block.slice(0, used) : block.subarray(0, used))
    this.#used = 0
  }
}
