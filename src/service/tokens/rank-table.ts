/** The ranks of a byte pair encoding in a few megabytes: as strings in a Map they take sixty. */

const SPACE = 0x20
const NEWLINE = 0x0a
const PADDING = 0x3d
const ZERO = 0x30
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** The share of the slots that is taken is below a half, so that most look-ups end at once. */
const SLOTS = 2 ** 19

/** Tokens by their ranks, and ranks by the bytes of tokens. A rank without a token is a hole. */
export class RankTable {
  /** The bytes of all tokens, by rank. */
  readonly #bytes: Uint8Array<ArrayBuffer>
  /** Where the bytes of a rank begin; those of the next begin where they end. */
  readonly #starts: Uint32Array
  /** Rank + 1 by the hash of the bytes; 0 for a free slot. A taken slot is followed by the next. */
  readonly #slots = new Int32Array(SLOTS)
  #scratch = new Uint8Array(256)

  /** @param file lines of a token in Base64, a space and its rank, ascending: the format of tiktoken */
  constructor(file: Uint8Array) {
    const { bytes, starts } = readTokens(file)
    this.#bytes = bytes
    this.#starts = starts
    for (let rank = 0; rank + 1 < starts.length; rank++) {
      if (starts[rank] === starts[rank + 1]) continue
      let slot = hashOf(bytes, starts[rank]!, starts[rank + 1]!)
      while (this.#slots[slot] !== 0) slot = (slot + 1) % SLOTS
      this.#slots[slot] = rank + 1
    }
  }

  /** Returns the rank of the token with these bytes; undefined if they are not one token. */
  rankOf(bytes: Uint8Array, start = 0, end = bytes.length): number | undefined {
    for (let slot = hashOf(bytes, start, end); ; slot = (slot + 1) % SLOTS) {
      const rank = this.#slots[slot]! - 1
      if (rank < 0) return undefined
      if (this.#isEqual(rank, bytes, start, end)) return rank
    }
  }

  #isEqual(rank: number, bytes: Uint8Array, start: number, end: number): boolean {
    const own = this.#starts[rank]!
    if (this.#starts[rank + 1]! - own !== end - start) return false
    for (let i = start; i < end; i++) if (this.#bytes[own + i - start] !== bytes[i]) return false
    return true
  }

  /** Returns the rank of the token with this text; undefined if it is not one token. */
  rankOfText(text: string): number | undefined {
    if (text.length * 3 > this.#scratch.length) this.#scratch = new Uint8Array(text.length * 3)
    const scratch = this.#scratch
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit > 127) return this.#rankOfWide(text)
      scratch[i] = unit
    }
    return this.rankOf(scratch, 0, text.length)
  }

  #rankOfWide(text: string): number | undefined {
    // The bytes of half a character are those of U+FFFD, which is a token.
    if (!text.isWellFormed()) return undefined
    return this.rankOf(this.#scratch, 0, utf8.encodeInto(text, this.#scratch).written)
  }

  /** Returns the bytes of a token; undefined for an unknown rank. */
  bytesOf(rank: number): Uint8Array<ArrayBuffer> | undefined {
    const [start, end] = [this.#starts[rank], this.#starts[rank + 1]]
    return start === undefined || end === undefined || start === end ? undefined : this.#bytes.subarray(start, end)
  }
}

const utf8 = new TextEncoder()

/** Returns the number after the last rank of a file: the ranks ascend. */
function rankLimit(file: Uint8Array): number {
  let end = file.length
  while (end > 0 && file[end - 1] === NEWLINE) end--
  let rank = 0
  for (let at = file.lastIndexOf(SPACE, end) + 1; at < end; at++) rank = rank * 10 + file[at]! - ZERO
  return rank + 1
}

/** Returns the bytes of all tokens, and where those of each rank begin. Holes have no bytes. */
function readTokens(file: Uint8Array): { bytes: Uint8Array<ArrayBuffer>; starts: Uint32Array } {
  const values = new Uint8Array(256)
  for (let i = 0; i < BASE64.length; i++) values[BASE64.charCodeAt(i)] = i
  // Four characters of Base64 are three bytes, and the lines have spaces and ranks beside them.
  const bytes = new Uint8Array(Math.ceil((file.length * 3) / 4))
  const starts = new Uint32Array(rankLimit(file) + 1)
  let count = 0
  let used = 0
  for (let at = 0; at < file.length; at++) {
    const start = used
    for (let bits = 0, pending = 0; file[at] !== SPACE; at++) {
      if (file[at] === PADDING) continue
      pending = ((pending << 6) | values[file[at]!]!) & 0xffff
      bits += 6
      if (bits < 8) continue
      bits -= 8
      bytes[used++] = pending >> bits
    }
    let rank = 0
    for (at++; at < file.length && file[at] !== NEWLINE; at++) rank = rank * 10 + file[at]! - ZERO
    while (count <= rank) starts[count++] = start
  }
  starts[count++] = used
  return { bytes: bytes.subarray(0, used), starts: starts.subarray(0, count) }
}

/** Returns the first slot of some bytes: FNV-1a, with its upper bits folded in. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
  return ((hash ^ (hash >>> 16)) >>> 0) % SLOTS
}
