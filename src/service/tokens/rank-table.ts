/** The ranks of a byte pair encoding in a few megabytes: as strings in a Map they take sixty. */

/** The share of the slots that is taken is below a half, so that most look-ups end at once. */
const SLOTS = 2 ** 19

/** Tokens by their ranks, and ranks by the bytes of tokens. */
export class RankTable {
  /** The bytes of all tokens, by rank. */
  readonly #bytes: Uint8Array<ArrayBuffer>
  /** Where the bytes of a rank begin; those of the next begin where they end. */
  readonly #starts: Uint32Array
  /** Rank + 1 by the hash of the bytes; 0 for a free slot. A taken slot is followed by the next. */
  readonly #slots = new Int32Array(SLOTS)
  #scratch = new Uint8Array(256)

  /** @param ranks the length of each token, one byte each by rank, then the bytes of all tokens */
  constructor(ranks: Uint8Array<ArrayBuffer>) {
    let count = 0
    for (let used = 0; count + used < ranks.length; ) used += ranks[count++]!
    this.#bytes = ranks.subarray(count)
    this.#starts = new Uint32Array(count + 1)
    for (let rank = 0, end = 0; rank < count; rank++) {
      const start = end
      end += ranks[rank]!
      this.#starts[rank + 1] = end
      let slot = hashOf(this.#bytes, start, end)
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
    return start === undefined || end === undefined ? undefined : this.#bytes.subarray(start, end)
  }
}

const utf8 = new TextEncoder()

/** Returns the first slot of some bytes: FNV-1a, with its upper bits folded in. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
  return ((hash ^ (hash >>> 16)) >>> 0) % SLOTS
}
