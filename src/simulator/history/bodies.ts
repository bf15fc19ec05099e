/** Bodies as values of a recording. */

import { hashBytes } from '../../kernel/random.ts'
import { decodeBase64, encodeBase64 } from '../../lib/bytes.ts'
import { LIMITS } from '../../lib/limits.ts'
import { hashCredential, hideSecrets } from '../../lib/text/secrets.ts'
import type { RecordedBody } from './lines.ts'

const utf8 = new TextEncoder()
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns bytes as text if they are UTF-8, otherwise as Base64. */
export function encodeBytes(bytes: Uint8Array): RecordedBody {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return { base64: encodeBase64(bytes) }
  }
}

/** Returns the bytes of an answer; of a long answer, their number and their checksum with hashes as credentials. */
export function encodeAnswer(bytes: Uint8Array): RecordedBody {
  const body = encodeBytes(bytes)
  if (bytes.length <= LIMITS.recordedAnswerBytes) return body
  const recorded = typeof body === 'string' ? utf8.encode(hideSecrets(body, hashCredential)) : bytes
  return { bytes: recorded.length, digest: hashBytes(recorded) }
}

/** Returns the same for an answer that is text. */
export function encodeAnswerText(text: string): RecordedBody {
  // A UTF-16 unit has at most three bytes.
  if (text.length * 3 <= LIMITS.recordedAnswerBytes) return text
  const bytes = utf8.encode(text)
  return bytes.length > LIMITS.recordedAnswerBytes ? encodeAnswer(bytes) : text
}

/** Returns the bytes of a recorded request; undefined without a body. */
export function decodeBody(body: RecordedBody | undefined): Uint8Array<ArrayBuffer> | string | undefined {
  if (body === undefined || body === null || typeof body === 'string') return body ?? undefined
  return 'base64' in body ? decodeBase64(body.base64) : undefined
}
