/** Public keys of SSH, as the line of a `.pub` file: a type, the key in base64, and a comment. */

/** A valid public key. */
export interface SshPublicKey {
  readonly type: string
  /** The key itself in base64. Two keys with the same type and base64 are the same key, whatever their comments. */
  readonly base64: string
  readonly comment: string
}

/** A public key, or the reason why a text is not a public key. */
export type ParsedSshKey = { readonly key: SshPublicKey } | { readonly problem: string }

/** The fields of a key after its type: the name of a curve, a number, a point of so many bytes, or any text. */
type Field = { readonly curve: string } | { readonly bytes: number } | 'exponent' | 'modulus' | 'application'

const RSA_BITS = { min: 1_024, max: 16_384 } as const
/** The first byte of a point of a curve that is written with both coordinates. */
const UNCOMPRESSED_POINT = 4

const FIELDS: Readonly<Record<string, readonly Field[]>> = {
  'ssh-ed25519': [{ bytes: 32 }],
  'ssh-rsa': ['exponent', 'modulus'],
  'ecdsa-sha2-nistp256': [{ curve: 'nistp256' }, { bytes: 65 }],
  'ecdsa-sha2-nistp384': [{ curve: 'nistp384' }, { bytes: 97 }],
  'ecdsa-sha2-nistp521': [{ curve: 'nistp521' }, { bytes: 133 }],
  'sk-ssh-ed25519@openssh.com': [{ bytes: 32 }, 'application'],
  'sk-ecdsa-sha2-nistp256@openssh.com': [{ curve: 'nistp256' }, { bytes: 65 }, 'application'],
}

/** The types of keys that are valid. */
export const SSH_KEY_TYPES: readonly string[] = Object.keys(FIELDS)

/**
 * Reads one public key. Spaces and line ends around it are ignored. The base64 must hold what its type needs (RFC 4253,
 * 5656 and 8709), and nothing else.
 *
 * @example parseSshPublicKey('ssh-ed25519 AAAAC3Nza… dev@acme') // { key: { type: 'ssh-ed25519', … } }
 */
export function parseSshPublicKey(text: string): ParsedSshKey {
  const line = text.trim()
  if (line.includes('PRIVATE KEY'))
    return { problem: 'it is a private key; give the public key, the file that ends with .pub' }
  if (/[\r\n]/.test(line)) return { problem: 'it has several lines; give one key' }
  const [, type = '', base64 = '', comment = ''] = /^(\S+)[ \t]+(\S+)(?:[ \t]+(.*))?$/.exec(line) ?? []
  if (type === '') return { problem: 'expected a type and a key in base64, as in the file that ends with .pub' }
  const fields = Object.hasOwn(FIELDS, type) ? FIELDS[type] : undefined
  if (fields === undefined) return { problem: `unsupported key type; use ${SSH_KEY_TYPES.join(', ')}` }
  const bytes = decodeBase64(base64)
  if (bytes === undefined) return { problem: 'the key is not valid base64' }
  const problem = findProblem(type, fields, bytes)
  return problem === undefined ? { key: { type, base64, comment } } : { problem }
}

/** Returns type and base64 of a valid key. They are equal for the same key with another comment. */
export function sshKeyIdentity(line: string): string {
  return line
    .trim()
    .split(/[ \t]+/, 2)
    .join(' ')
}

function findProblem(type: string, fields: readonly Field[], bytes: Uint8Array): string | undefined {
  const parts = splitParts(bytes)
  if (parts === undefined) return 'the key is incomplete'
  const [name, ...values] = parts
  if (name === undefined || toText(name) !== type) return `the key is not of the type ${type}`
  if (values.length !== fields.length)
    return `a key of the type ${type} has ${fields.length + 1} parts, not ${parts.length}`
  for (const [i, field] of fields.entries()) {
    const problem = findFieldProblem(field, values[i]!)
    if (problem !== undefined) return problem
  }
  return undefined
}

function findFieldProblem(field: Field, value: Uint8Array): string | undefined {
  if (field === 'application') return value.length > 0 ? undefined : 'the application of the key is empty'
  if (field === 'exponent' || field === 'modulus') return findNumberProblem(field, value)
  if ('curve' in field) return toText(value) === field.curve ? undefined : `the key is not of the curve ${field.curve}`
  if (value.length !== field.bytes) return `the key has ${value.length} bytes instead of ${field.bytes}`
  if (field.bytes > 32 && value[0] !== UNCOMPRESSED_POINT) return 'the point of the key is compressed'
  return undefined
}

/** Checks a number of an RSA key: positive, with no more leading zeros than the sign needs. */
function findNumberProblem(field: 'exponent' | 'modulus', value: Uint8Array): string | undefined {
  const [first = 0, second = 0] = value
  const isCanonical = value.length > 0 && first < 0x80 && !(first === 0 && second < 0x80)
  const isOdd = ((value.at(-1) ?? 0) & 1) === 1
  if (!isCanonical || !isOdd) return `the ${field} of the key is invalid`
  if (field === 'exponent') return value.length === 1 && first === 1 ? 'the exponent of the key is invalid' : undefined
  const bits = first === 0 ? (value.length - 1) * 8 : (value.length - 1) * 8 + (32 - Math.clz32(first))
  if (bits >= RSA_BITS.min && bits <= RSA_BITS.max) return undefined
  return `an RSA key has ${RSA_BITS.min} to ${RSA_BITS.max} bits, not ${bits}`
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

function decodeBase64(base64: string): Uint8Array | undefined {
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined
  return Uint8Array.from(atob(base64), character => character.charCodeAt(0))
}

function toText(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.subarray(0, 64))
}
