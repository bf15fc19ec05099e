/** Hashes in place of credentials: what is kept of a secret that only has to be compared. */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'

const HASH = /^(sha256-[0-9a-f]{32})\.*$/

/** Returns the hash of a credential. That of a hash is the hash itself, also if dots follow it. */
export function hashCredential(credential: string): string {
  const [, known] = HASH.exec(credential) ?? []
  return known ?? `sha256-${bytesToHex(sha256(new TextEncoder().encode(credential))).slice(0, 32)}`
}
