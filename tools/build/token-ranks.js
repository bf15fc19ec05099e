// The ranks of o200k_base as the package has them: bytes in place of Base64 take half of the space, and less time to read.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/**
 * Returns the length of each token, one byte each by rank, then the bytes of all tokens.
 *
 * @throws if the ranks of gpt-tokenizer have a gap
 */
export function packRanks() {
  const path = createRequire(import.meta.url).resolve('gpt-tokenizer/data/o200k_base.tiktoken')
  // Each line has a token in Base64, a space and its rank. A run from the source waits, so nothing makes strings of them.
  const file = readFileSync(path)
  const values = new Uint8Array(256)
  for (let i = 0; i < BASE64.length; i++) values[BASE64.charCodeAt(i)] = i
  const bytes = Buffer.alloc(file.length)
  const lengths = []
  let used = 0
  for (let at = 0; at < file.length; at++) {
    const start = used
    for (let bits = 0, pending = 0; file[at] !== 0x20; at++) {
      if (file[at] === 0x3d) continue
      pending = ((pending << 6) | values[file[at]]) & 0xffff
      bits += 6
      if (bits < 8) continue
      bits -= 8
      bytes[used++] = pending >> bits
    }
    let rank = 0
    for (at++; at < file.length && file[at] !== 0x0a; at++) rank = rank * 10 + file[at] - 0x30
    if (rank !== lengths.length)
      throw new Error(`Failed to pack the ranks: ${path} has ${rank} after ${lengths.length - 1}.`)
    lengths.push(used - start)
  }
  return Buffer.concat([Uint8Array.from(lengths), bytes.subarray(0, used)])
}
