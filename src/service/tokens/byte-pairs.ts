/** Byte pair merging in n log n steps. The tokenizer's own merge takes quadratic time. */

/** The used part of a byte pair encoding of gpt-tokenizer. */
export interface BytePairCore {
  /** Matches the pieces that are encoded separately, one after the other. */
  readonly tokenSplitRegex: RegExp
  bytePairEncode(piece: string): number[]
  encodeNative(text: string, allowedSpecial: ReadonlySet<string>): number[]
  bytePairMerge(piece: Uint8Array): number[]
  addToMergeCache(piece: string, tokens: number[]): void
  getBpeRankFromBytes(bytes: Uint8Array): number | undefined
  getBpeRankFromString(text: string): number | undefined
  /** Returns the text of a token, its bytes if they are not whole characters, or undefined if it is unknown. */
  tryDecodeToken(token: number): string | Uint8Array | undefined
}

const decoder = new TextDecoder()

/**
 * Returns the text of tokens, or undefined if a token is unknown. Bytes that are not whole characters give U+FFFD.
 *
 * `decode` of gpt-tokenizer is not used: it keeps the bytes of an incomplete character for its next call.
 */
export function decodeTokenTexts(core: BytePairCore, tokens: readonly number[]): string | undefined {
  let text = ''
  let pendingBytes: number[] = []
  const flush = () => {
    if (pendingBytes.length > 0) text += decoder.decode(Uint8Array.from(pendingBytes))
    pendingBytes = []
  }
  for (const token of tokens) {
    const part = core.tryDecodeToken(token)
    if (part === undefined) return undefined
    if (typeof part === 'string') {
      flush()
      text += part
    } else {
      pendingBytes.push(...part)
    }
  }
  flush()
  return text
}

/**
 * Counts the tokens of a text. Text that spells a special token is plain text.
 *
 * `countNative` of gpt-tokenizer takes twice the time, because it makes an iterator and an array for each piece.
 */
export function countTokensOf(core: BytePairCore, text: string): number {
  const pieces = core.tokenSplitRegex
  pieces.lastIndex = 0
  let tokens = 0
  for (let match = pieces.exec(text); match !== null; match = pieces.exec(text)) {
    const [piece] = match
    tokens += core.getBpeRankFromString(piece) === undefined ? core.bytePairEncode(piece).length : 1
  }
  return tokens
}

/** Up to this length in bytes, the tokenizer's own merge is faster. */
const SHORT_BYTES = 100

/** Returns a view of the encoding that gives the same tokens and merges long pieces in n log n steps. */
export function withFastMerge(core: BytePairCore): BytePairCore {
  const fast: BytePairCore = Object.create(core)
  fast.bytePairMerge = piece => {
    if (piece.length <= SHORT_BYTES) return core.bytePairMerge(piece)
    const isAscii = piece.every(byte => byte < 128)
    const text = isAscii ? new TextDecoder().decode(piece) : ''
    return mergeBytePairs(piece.length, (start, end) =>
      isAscii
        ? core.getBpeRankFromString(text.slice(start, end))
        : core.getBpeRankFromBytes(piece.subarray(start, end)),
    )
  }
  // The cache is bounded by its number of pieces: long ones would take hundreds of megabytes.
  fast.addToMergeCache = (piece, tokens) => {
    if (piece.length <= SHORT_BYTES) core.addToMergeCache(piece, tokens)
  }
  return fast
}

/**
 * Merges neighbours until no pair has a rank: the pair of the lowest rank first, of equal ranks the leftmost.
 *
 * @param rankOf returns the rank of the bytes from `start` to before `end`; undefined if they are not a token. Different
 *   bytes have different ranks.
 * @returns the ranks of the tokens that are left
 */
export function mergeBytePairs(length: number, rankOf: (start: number, end: number) => number | undefined): number[] {
  // Parts are named by their first byte: where the next part begins, where the one before it begins.
  const next = Int32Array.from({ length: length + 1 }, (_, i) => i + 1)
  const previous = Int32Array.from({ length: length + 1 }, (_, i) => i - 1)
  /** Rank of a part together with the next one. An entry of the queue with another rank is out of date. */
  const pairRanks = new Float64Array(length).fill(-1)
  const queue = new NumberQueue()
  const look = (start: number) => {
    const second = next[start]!
    const rank = second < length ? rankOf(start, next[second]!) : undefined
    pairRanks[start] = rank ?? -1
    if (rank !== undefined) queue.push(rank * length + start)
  }
  for (let i = 0; i < length; i++) look(i)
  for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) {
    const start = entry % length
    if (pairRanks[start] !== (entry - start) / length) continue
    const second = next[start]!
    const after = next[second]!
    pairRanks[second] = -1
    next[start] = after
    previous[after] = start
    look(start)
    if (start > 0) look(previous[start]!)
  }
  const tokens: number[] = []
  for (let start = 0; start < length; start = next[start]!) tokens.push(rankOf(start, next[start]!)!)
  return tokens
}

/** A binary heap: the least number comes out first. */
class NumberQueue {
  readonly #heap: number[] = []

  push(value: number): void {
    const heap = this.#heap
    let at = heap.length
    for (let above = (at - 1) >> 1; at > 0 && heap[above]! > value; above = (at - 1) >> 1) {
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = value
  }

  shift(): number | undefined {
    const heap = this.#heap
    const least = heap[0]
    const value = heap.pop()
    if (heap.length === 0 || value === undefined) return least
    let at = 0
    for (let below = 1; below < heap.length; below = 2 * at + 1) {
      if (below + 1 < heap.length && heap[below + 1]! < heap[below]!) below++
      if (heap[below]! >= value) break
      heap[at] = heap[below]!
      at = below
    }
    heap[at] = value
    return least
  }
}
