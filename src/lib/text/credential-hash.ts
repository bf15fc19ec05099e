/** Hashes in place of credentials: a recording has them, and a world takes them in place of the credentials. */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'

/** Each hash in a text. */
export const CREDENTIAL_HASH = /sha256-[0-9a-f]{32}/g
const HASH = /^(sha256-[0-9a-f]{32})\.*$/

/**
 * Returns the hash of a credential. That of a hash is the hash itself, also if dots follow it. The answer to a scoped
 * token tells which part of it is invalid, so only its signature is hashed.
 */
export function hashCredential(credential: string): string {
  const [, known] = HASH.exec(credential) ?? []
  if (known !== undefined) return known
  const [, readable, signature] = /^(jwt:(?:[^.]*\.[^.]*\.)?)([^.]*)$/.exec(credential) ?? []
  if (readable !== undefined) return readable + hashCredential(signature!)
  return `sha256-${bytesToHex(sha256(new TextEncoder().encode(credential))).slice(0, 32)}`
}

/** Tells whether a credential is this one, or one of them is the hash of the other. */
export function isCredential(known: string, sent: string): boolean {
  return sent === known || ((HASH.test(sent) || HASH.test(known)) && hashCredential(sent) === hashCredential(known))
}
