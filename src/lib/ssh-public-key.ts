/** Public keys of SSH, as the line of a `.pub` file: a type, the key in base64, and a comment. */
import { decodeBase64 } from './bytes.ts'

/** The types of keys that are valid, each with the parts of its key (RFC 4253, 5656 and 8709). The type is the first one. */
const PARTS: Readonly<Record<string, number>> = {
  'ssh-ed25519': 2,
  'ssh-rsa': 3,
  'ecdsa-sha2-nistp256': 3,
  'ecdsa-sha2-nistp384': 3,
  'ecdsa-sha2-nistp521': 3,
  'sk-ssh-ed25519@openssh.com': 3,
  'sk-ecdsa-sha2-nistp256@openssh.com': 4,
}

export const SSH_KEY_TYPES: readonly string[] = Object.keys(PARTS)

/**
 * Returns why a text is not a public key; undefined if it is one. Spaces and line ends around it are ignored. The base64
 * must hold all parts that its type has. What is in the parts is not checked.
 *
 * @example findSshKeyProblem('ssh-ed25519 AAAAC3Nza… dev@acme') // undefined
 */
export function findSshKeyProblem(text: string): string | undefined {
  const line = text.trim()
  if (line.includes('PRIVATE KEY')) return 'it is a private key; give the public key, the file that ends with .pub'
  if (/[\r\n]/.test(line)) return 'it has several lines; give one key'
  const [, type = '', base64 = ''] = /^(\S+)[ \t]+(\S+)(?:[ \t]+.*)?$/.exec(line) ?? []
  if (type === '') return 'expected a type and a key in base64, as in the file that ends with .pub'
  if (!SSH_KEY_TYPES.includes(type)) return `unsupported key type; use ${SSH_KEY_TYPES.join(', ')}`
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return 'the key is not valid base64'
  return findPartsProblem(type, decodeBase64(base64))
}

/** Returns type and base64 of a valid key. They are equal for the same key with another comment. */
export function sshKeyIdentity(line: string): string {
  return line
    .trim()
    .split(/[ \t]+/, 2)
    .join(' ')
}

function findPartsProblem(type: string, bytes: Uint8Array): string | undefined {
  const parts = splitParts(bytes)
  if (parts === undefined || parts.some(({ length }) => length === 0)) return 'the key is incomplete'
  if (String.fromCharCode(...(parts[0] ?? []).slice(0, 64)) !== type) return `the key is not of the type ${type}`
  const count = PARTS[type]
  return parts.length === count ? undefined : `a key of the type ${type} has ${count} parts, not ${parts.length}`
}

/** Returns the parts of a key, each after its length in four bytes. Undefined: a part is cut. */
function splitParts(bytes: Uint8Array): Uint8Array[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const parts: Uint8Array[] = []
  let at = 0
  while (at < bytes.length) {
    if (at + 4 > bytes.length) return undefined
    const end = at + 4 + view.getUint32(at)
    if (end > bytes.length) return undefined
    parts.push(bytes.subarray(at + 4, end))
    at = end
  }
  return parts
}
