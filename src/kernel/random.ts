/**
 * Random numbers. No other file makes them.
 *
 * Every draw is a pure function of (seed, key of the entity, purpose, index): a counter-based generator, no shared
 * stream. If one fault or one deployment is removed, every other draw stays the same.
 */

import { exp, ln, normalQuantile } from './exact-math.ts'

/** The purpose of a draw. `purpose('…')` creates it once. */
export type Purpose = number

/** Identifies an entity to chance: 64 bits drawn from its kind, its natural name and a count. A word may have a sign. */
export interface EntityKey {
  readonly hi: number
  readonly lo: number
}

/** Returns a draw with six digits, for the journal. It stays below the chance that it was below. */
export function roundDown(draw: number): number {
  return Math.floor(draw * 1e6) / 1e6
}

/** Returns the purpose of a name. Equal names are equal purposes. */
export function purpose(name: string): Purpose {
  return hash32(name, 0x51ed270b)
}

/** Returns a 32-bit hash of a text (murmur3 over UTF-16 units). */
export function hash32(text: string, seed = 0): number {
  let h = seed
  for (let i = 0; i < text.length; i++) h = mixWord(h, text.charCodeAt(i))
  return finalizeHash(h ^ text.length)
}

/** Computes `hash32` of texts by two seeds in one pass, without an object for each text: a journal hashes many. */
export class TextHasher {
  readonly #hiSeed: number
  readonly #loSeed: number
  /** The hashes of the last text, as signed integers. */
  hi = 0
  lo = 0

  constructor(hiSeed: number, loSeed: number) {
    this.#hiSeed = hiSeed
    this.#loSeed = loSeed
  }

  /** Hashes a text to `hi` and `lo`. */
  hash(text: string): void {
    // Plain numbers: an object between two steps costs more than a step.
    let hi = this.#hiSeed
    let lo = this.#loSeed
    const { length } = text
    for (let i = 0; i < length; i++) {
      const scrambled = scrambleWord(text.charCodeAt(i))
      hi = mixScrambled(hi, scrambled)
      lo = mixScrambled(lo, scrambled)
    }
    this.hi = finalizeHash(hi ^ length) | 0
    this.lo = finalizeHash(lo ^ length) | 0
  }
}

/** Returns `hash32` of a text by two seeds. It takes one pass, because prompts are long. */
export function hash32Pair(text: string, hi: number, lo: number): EntityKey {
  const hasher = new TextHasher(hi, lo)
  hasher.hash(text)
  return { hi: hasher.hi >>> 0, lo: hasher.lo >>> 0 }
}

/** Returns the hashes of the texts with a zero between them, without joining them. */
function hashJoinedPair(first: string, second: string, third: string, seeds: EntityKey): EntityKey {
  let { hi, lo } = seeds
  for (let part = 0; part < 3; part++) {
    const text = part === 0 ? first : part === 1 ? second : third
    if (part > 0) {
      hi = mixScrambled(hi, 0)
      lo = mixScrambled(lo, 0)
    }
    for (let i = 0; i < text.length; i++) {
      const scrambled = scrambleWord(text.charCodeAt(i))
      hi = mixScrambled(hi, scrambled)
      lo = mixScrambled(lo, scrambled)
    }
  }
  const length = first.length + second.length + third.length + 2
  // Engines keep a signed integer in its field, and a larger one in a box.
  return { hi: finalizeHash(hi ^ length) | 0, lo: finalizeHash(lo ^ length) | 0 }
}

/** The longest text whose list of letters is kept. */
const MAX_KEPT = 128

function mixWord(h: number, value: number): number {
  return mixScrambled(h, scrambleWord(value))
}

function scrambleWord(value: number): number {
  const k = Math.imul(value, 0xcc9e2d51)
  return Math.imul((k << 15) | (k >>> 17), 0x1b873593)
}

function mixScrambled(h: number, scrambled: number): number {
  const mixed = h ^ scrambled
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0
}

function finalizeHash(value: number): number {
  let h = value
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

const KEY_SEEDS: EntityKey = { hi: 0x243f6a88, lo: 0x85a308d3 | 0 }
const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const HEX = '0123456789abcdef'

/**
 * The random numbers of one world.
 *
 * @example
 * const chance = new Chance('1')
 * const key = chance.key('deployment', 'acme/chat', 0)
 * chance.unit(key, purpose('download'), 0) // the same number at every call
 */
export class Chance {
  readonly seed: string
  /** Whether something may depend on the seed: a draw was made, or a thing of the world keeps this chance. */
  isUsed = false
  readonly #hi: number
  readonly #lo: number
  readonly #words = new Uint32Array(4)
  readonly #codes = new Map<number, number[]>()

  constructor(seed: string | number) {
    this.seed = String(seed)
    this.#hi = hash32(this.seed, 0x2545f491)
    this.#lo = hash32(this.seed, 0x9e3779b9)
  }

  /** Returns the key of the n-th entity of this kind and natural name. */
  key(kind: string, name: string, nth = 0): EntityKey {
    const count = String(nth)
    return hashJoinedPair(kind, name, count, KEY_SEEDS)
  }

  /** Returns a number in [0, 1) with 53 bits. */
  unit(key: EntityKey, purpose: Purpose, index = 0): number {
    this.#draw(key, purpose, index)
    return ((this.#words[0]! >>> 5) * 67_108_864 + (this.#words[1]! >>> 6)) / 9_007_199_254_740_992
  }

  /** Returns an integer in [0, below). */
  integer(below: number, key: EntityKey, purpose: Purpose, index = 0): number {
    return Math.floor(this.unit(key, purpose, index) * below)
  }

  /** Returns a lognormal number by its median and the sigma of its logarithm. */
  lognormal(median: number, sigma: number, key: EntityKey, purpose: Purpose, index = 0): number {
    return median * exp(sigma * normalQuantile(this.unit(key, purpose, index)))
  }

  /** Returns an exponential number by its mean. */
  exponential(mean: number, key: EntityKey, purpose: Purpose, index = 0): number {
    return -mean * ln(1 - this.unit(key, purpose, index))
  }

  /** Returns letters and digits, for an id. */
  letters(length: number, key: EntityKey, purpose: Purpose): string {
    return this.#text(BASE62, length, key, purpose)
  }

  /** Returns hexadecimal digits, for a version. */
  hex(length: number, key: EntityKey, purpose: Purpose): string {
    return this.#text(HEX, length, key, purpose)
  }

  #text(alphabet: string, length: number, key: EntityKey, purpose: Purpose): string {
    const words = this.#words
    const codes = this.#codesOf(length)
    for (let i = 0; i < length; i++) {
      if ((i & 3) === 0) this.#draw(key, purpose, i >> 2)
      codes[i] = alphabet.charCodeAt(Math.floor((words[i & 3]! / 4_294_967_296) * alphabet.length))
    }
    // In one step. A text that grows by single letters is a rope, which the first read has to flatten.
    return String.fromCharCode.apply(undefined, codes)
  }

  /** Returns the list for the letters of a text of this length. Each text overwrites the one before. */
  #codesOf(length: number): number[] {
    if (length > MAX_KEPT) return new Array<number>(length)
    let codes = this.#codes.get(length)
    if (codes === undefined) {
      codes = new Array<number>(length).fill(0)
      this.#codes.set(length, codes)
    }
    return codes
  }

  #draw(key: EntityKey, purpose: Purpose, index: number): void {
    this.isUsed = true
    philox(this.#words, key.lo, key.hi, purpose, index >>> 0, this.#lo, this.#hi)
  }
}

/**
 * Philox4x32-10, a counter-based generator (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011):
 * four 32-bit words into `out`, from a counter of four words and a key of two.
 */
export function philox(
  out: Uint32Array,
  counter0: number,
  counter1: number,
  counter2: number,
  counter3: number,
  key0: number,
  key1: number,
): void {
  let c0 = counter0
  let c1 = counter1
  let c2 = counter2
  let c3 = counter3
  let k0 = key0
  let k1 = key1
  for (let round = 0; round < 10; round++) {
    const high0 = multiplyHigh(0xd2511f53, c0)
    const low0 = Math.imul(0xd2511f53, c0)
    const high1 = multiplyHigh(0xcd9e8d57, c2)
    const low1 = Math.imul(0xcd9e8d57, c2)
    c0 = (high1 ^ c1 ^ k0) >>> 0
    c1 = low1 >>> 0
    c2 = (high0 ^ c3 ^ k1) >>> 0
    c3 = low0 >>> 0
    k0 = (k0 + 0x9e3779b9) >>> 0
    k1 = (k1 + 0xbb67ae85) >>> 0
  }
  out[0] = c0
  out[1] = c1
  out[2] = c2
  out[3] = c3
}

function multiplyHigh(a: number, b: number): number {
  const aHigh = a >>> 16
  const aLow = a & 0xffff
  const bHigh = b >>> 16
  const bLow = b & 0xffff
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16)
  const carry = aLow * bHigh + (middle & 0xffff)
  return aHigh * bHigh + (middle >>> 16) + (carry >>> 16)
}

/** Returns the hash of bytes in pieces. */
export function hashBytes(...pieces: readonly Uint8Array[]): string {
  const hash = new ByteHash()
  for (const piece of pieces) hash.update(piece)
  return hash.digest()
}

/** A running 64-bit hash of bytes, to name a file by its content. Not for security. */
export class ByteHash {
  #hi = 0x243f6a88
  #lo = 0x85a308d3
  #length = 0
  #pending = 0
  #pendingBytes = 0

  /** Adds bytes. How they are divided into calls does not matter. */
  update(bytes: Uint8Array): void {
    this.#length += bytes.length
    let at = 0
    while (this.#pendingBytes > 0 && at < bytes.length) this.#push(bytes[at++]!)
    const end = bytes.length - ((bytes.length - at) & 3)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let hi = this.#hi
    let lo = this.#lo
    for (; at < end; at += 4) {
      const value = view.getInt32(at, true)
      hi = mixWord(hi, value)
      lo = Math.imul(lo ^ value, 0x01000193) ^ (lo >>> 15)
    }
    this.#hi = hi
    this.#lo = lo
    while (at < bytes.length) this.#push(bytes[at++]!)
  }

  /** Returns the hash as 16 hexadecimal digits. */
  digest(): string {
    const hi = finalizeHash(mixWord(this.#hi, this.#pending) ^ this.#length)
    const lo = finalizeHash(mixWord(this.#lo, this.#pending) ^ this.#length)
    return hi.toString(16).padStart(8, '0') + lo.toString(16).padStart(8, '0')
  }

  #push(byte: number): void {
    this.#pending |= byte << (8 * this.#pendingBytes)
    this.#pendingBytes++
    if (this.#pendingBytes === 4) {
      this.#hi = mixWord(this.#hi, this.#pending)
      this.#lo = Math.imul(this.#lo ^ this.#pending, 0x01000193) ^ (this.#lo >>> 15)
      this.#pending = 0
      this.#pendingBytes = 0
    }
  }
}
