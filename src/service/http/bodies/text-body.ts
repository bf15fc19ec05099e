/** Reads the body of a request that is text in UTF-8. */

import { concatBytes } from '../../../lib/bytes.ts'
import { attempt } from '../../../lib/errors.ts'
import { RefusalError } from '../../refusals.ts'

/** Reads the text of a body. Refuses one that is too large, is not UTF-8, or breaks off. `bytes` are not UTF-8. */
export async function readText(
  request: Request,
  maxBytes: number,
): Promise<{ text: string } | { refused: RefusalError; bytes?: Uint8Array }> {
  try {
    // The text of a request in process was never bytes.
    const body = request instanceof Request ? await readLimited(request, maxBytes) : await (request as Request).text()
    const isText = typeof body === 'string'
    if (body === undefined || (isText && bytesOf(body, maxBytes) > maxBytes))
      return { refused: createDetailRefusal(413, 'Request Entity Too Large') }
    if (isText) return { text: body }
    const text = attempt(() => new TextDecoder('utf-8', { fatal: true }).decode(body))
    return text === undefined
      ? { refused: createDetailRefusal(400, 'The body is not UTF-8: send its text in UTF-8'), bytes: body }
      : { text }
  } catch {
    return { refused: createDetailRefusal(400, 'There was an error parsing the body') }
  }
}

/** Returns how many bytes a text takes in UTF-8, or 0 if the limit is certainly not reached. */
export function bytesOf(text: string, most: number): number {
  return text.length * 3 <= most ? 0 : new TextEncoder().encode(text).length
}

/** Returns the bytes of a body; undefined if there are more than `maxBytes`. */
async function readLimited(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  const reader = request.body?.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.length
    if (bytes > maxBytes) {
      reader.cancel().catch(() => {})
      return undefined
    }
    chunks.push(value)
  }
  return concatBytes(chunks)
}

export function createDetailRefusal(
  status: number,
  message: string,
  headers?: Readonly<Record<string, string>>,
): RefusalError {
  return new RefusalError(status, message, headers, { detail: message })
}
