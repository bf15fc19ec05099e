/** The body of a request, read and not yet looked at. */
import { type Asked, headerReader } from './asked.ts'
import { type Fields, Refused } from './endpoint.ts'
import { readForm, readUpload, type Upload, unreadable } from './multipart.ts'

/** Largest JSON body in bytes, where an endpoint declares no other. */
export const MAX_JSON_BYTES = 64 * 1_048_576

export type Payload = { text: string } | { fields: Record<string, string> } | { refused: Refused } | Upload | undefined

/** Reads the body of a request, as its endpoint takes it. */
export async function read(asked: Asked, scope: unknown): Promise<Payload> {
  const { request } = asked
  const { endpoint } = asked.one
  const header = headerReader(asked)
  const encoding = header('content-encoding') ?? 'identity'
  if (encoding !== 'identity') {
    const told = 'Unsupported Media Type: send the body as it is, not compressed'
    return { refused: detail(415, told, { 'accept-encoding': 'identity' }) }
  }
  const contentType = header('content-type')
  if (endpoint.upload !== undefined) {
    const { part, fields, limit, limitFor } = endpoint.upload
    const required = requiredOf((fields ?? {}) as Fields)
    return readUpload(request, contentType, { part, required, limit: limit(scope as never), limitFor })
  }
  if (endpoint.consumes === 'form') return readForm(request, contentType)
  if (/^\s*(multipart\/|application\/x-www-form-urlencoded)/i.test(contentType ?? '')) {
    return { refused: unreadable(['application/json']) }
  }
  const { maxBodyBytes = MAX_JSON_BYTES } = endpoint
  if (Number(header('content-length') ?? 0) > maxBodyBytes) return { refused: detail(413, 'Request Entity Too Large') }
  try {
    // Only a chunked body can be longer than it says.
    if (header('transfer-encoding') !== null) return await readCounted(request, maxBodyBytes)
    const text = await request.text()
    // A request that never crossed a wire has no content-length.
    if (bytesOf(text, maxBodyBytes) > maxBodyBytes) return { refused: detail(413, 'Request Entity Too Large') }
    return { text }
  } catch {
    return { refused: detail(400, 'There was an error parsing the body') }
  }
}

function requiredOf(fields: Fields): string[] {
  return Object.keys(fields).filter(name => !fields[name]!.safeParse(undefined).success)
}

/** Returns how many bytes a text takes in UTF-8, or 0 if they are fewer than `most` in any case. */
function bytesOf(text: string, most: number): number {
  return text.length * 3 <= most ? 0 : new TextEncoder().encode(text).length
}

async function readCounted(request: Request, maxBytes: number): Promise<Payload> {
  const reader = request.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.length
    if (bytes > maxBytes) {
      reader.cancel().catch(() => {})
      return { refused: detail(413, 'Request Entity Too Large') }
    }
    text += decoder.decode(value, { stream: true })
  }
  return { text: text + decoder.decode() }
}

function detail(status: number, message: string, headers?: Readonly<Record<string, string>>): Refused {
  return new Refused(status, message, headers, { detail: message })
}
