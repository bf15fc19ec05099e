/** Returns the base64url text of bytes, without padding. */
export function toBase64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

/** Returns the bytes of a base64 or base64url text; undefined for another text. */
export function fromBase64url(text: string): Uint8Array | undefined {
  if (!/^[\w+/-]*={0,2}$/.test(text)) return undefined
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), character => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
