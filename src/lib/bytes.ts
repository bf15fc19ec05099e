/** Returns how many bytes pieces have together. */
export function byteLengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

/** Returns the bytes of pieces in one array. */
export function concatBytes(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(byteLengthOf(pieces))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}

/** Bytes that are converted at once, because a call takes a limited number of arguments. */
const PIECE_BYTES = 32_766

/** Returns bytes as standard base64. */
export function encodeBase64(bytes: Uint8Array): string {
  // Native code where there is Node: 100 times as fast.
  if (typeof Buffer === 'function') return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')
  let encoded = ''
  // A piece of a multiple of three bytes has no padding.
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    encoded += btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE_BYTES)))
  }
  return encoded
}

/** Returns the bytes of standard base64. Throws DOMException for other text. */
export function decodeBase64(encoded: string): Uint8Array<ArrayBuffer> {
  const binary = atob(encoded)
  // `Uint8Array.from` with a callback takes 20 times as long.
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at)
  return bytes
}

/** Returns the base64url text of bytes, without padding. */
export function toBase64url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** Returns the bytes of a base64 or base64url text; undefined for another text. */
export function fromBase64url(text: string): Uint8Array | undefined {
  if (!/^[\w+/-]*={0,2}$/.test(text)) return undefined
  try {
    return decodeBase64(text.replaceAll('-', '+').replaceAll('_', '/'))
  } catch {
    return undefined
  }
}
