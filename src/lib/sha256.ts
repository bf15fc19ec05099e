/** SHA-256 and HMAC-SHA-256 without a promise, for Node and pages. `node:crypto` is not in pages, and Web Crypto is asynchronous. */

const BLOCK_BYTES = 64

/** The fractions of the square roots of the first 8 primes, and of the cube roots of the first 64, in 32 bits. */
const { start, rounds } = constants()

/** Returns the 32 bytes of the hash. */
export function sha256(bytes: Uint8Array): Uint8Array {
  const length = Math.ceil((bytes.length + 9) / BLOCK_BYTES) * BLOCK_BYTES
  const padded = new Uint8Array(length)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setUint32(length - 8, Math.floor((bytes.length * 8) / 2 ** 32))
  view.setUint32(length - 4, bytes.length * 8)
  const state = start.slice()
  const words = new Int32Array(64)
  for (let offset = 0; offset < length; offset += BLOCK_BYTES) compress(state, words, view, offset)
  const hash = new DataView(new ArrayBuffer(32))
  for (const [i, word] of state.entries()) hash.setInt32(i * 4, word)
  return new Uint8Array(hash.buffer)
}

/** Returns the 32 bytes of the keyed hash of RFC 2104. */
export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES)
  block.set(key.length > BLOCK_BYTES ? sha256(key) : key)
  const inner = sha256(concatenate(masked(block, 0x36), message))
  return sha256(concatenate(masked(block, 0x5c), inner))
}

function compress(state: Int32Array, words: Int32Array, view: DataView, offset: number): void {
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(offset + i * 4)
  for (let i = 16; i < 64; i++) {
    const [w15, w2] = [words[i - 15]!, words[i - 2]!]
    const s0 = rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 >>> 3)
    const s1 = rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 >>> 10)
    words[i] = words[i - 16]! + s0 + words[i - 7]! + s1
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
  for (let i = 0; i < 64; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const first = (h + s1 + ((e & f) ^ (~e & g)) + rounds[i]! + words[i]!) | 0
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const second = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0]
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = state[i]! + word
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

function masked(block: Uint8Array, mask: number): Uint8Array {
  return block.map(byte => byte ^ mask)
}

function concatenate(one: Uint8Array, other: Uint8Array): Uint8Array {
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}

function constants(): { readonly start: Int32Array; readonly rounds: Int32Array } {
  const primes: bigint[] = []
  for (let n = 2n; primes.length < 64; n++) if (primes.every(prime => n % prime !== 0n)) primes.push(n)
  const fractions = (degree: bigint) =>
    primes.map(prime => Number(BigInt.asIntN(32, integerRoot(prime << (32n * degree), degree))))
  return { start: Int32Array.from(fractions(2n).slice(0, 8)), rounds: Int32Array.from(fractions(3n)) }
}

/** Returns the whole part of a root, exactly: engines round functions such as `Math.cbrt` differently. */
function integerRoot(value: bigint, degree: bigint): bigint {
  let [low, high] = [0n, 1n << 40n]
  while (low < high) {
    const middle = (low + high + 1n) / 2n
    if (middle ** degree <= value) low = middle
    else high = middle - 1n
  }
  return low
}
