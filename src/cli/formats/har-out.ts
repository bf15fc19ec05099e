/** Recordings as HAR 1.2, the format of the network panel of browsers. */

import type { Micros } from '../../kernel/duration.ts'
import { VERSION } from '../../lib/version.ts'
import type { RecordedBody } from '../../simulator/history/lines.ts'
import type { RecordedExchange } from '../../simulator/history/timeline.ts'

interface NameValue {
  readonly name: string
  readonly value: string
}

/** An entry of a HAR file, as far as it is used. */
export interface HarEntry {
  readonly startedDateTime: string
  /** Milliseconds. */
  readonly time: number
  readonly request: {
    readonly method: string
    readonly url: string
    readonly headers: readonly NameValue[]
    readonly postData?: { readonly mimeType: string; readonly text?: string; readonly encoding?: string }
    readonly [field: string]: unknown
  }
  readonly response: { readonly status: number; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

export interface Har {
  readonly log: { readonly version: string; readonly entries: readonly HarEntry[]; readonly [field: string]: unknown }
}

/**
 * Returns the requests of a recording as HAR 1.2. It has hashes in place of credentials.
 *
 * @param epochMs time zero of the world in milliseconds since 1970
 * @param baseUrl the address that the requests had, as in `http://sim`
 */
export function toHar(exchanges: readonly RecordedExchange[], epochMs: number, baseUrl: string): Har {
  const entries = exchanges.map(exchange => toEntry(exchange, epochMs, baseUrl))
  return { log: { version: '1.2', creator: { name: 'modelhost-sim', version: VERSION }, pages: [], entries } }
}

function toEntry(exchange: RecordedExchange, epochMs: number, baseUrl: string): HarEntry {
  const { line, body, sentAt, answeredAt = sentAt, endedAt = answeredAt, answer, content } = exchange
  const url = new URL(line.path, baseUrl)
  const mimeType = answer?.headers?.['content-type'] ?? ''
  return {
    startedDateTime: new Date(epochMs + sentAt / 1000).toISOString(),
    time: toMs(endedAt - sentAt),
    request: {
      ...{ method: line.method, url: url.href, httpVersion: 'HTTP/1.1', cookies: [], headers: toList(line.headers) },
      queryString: [...url.searchParams].map(([name, value]) => ({ name, value })),
      ...(hasBody(body) && { postData: { mimeType: line.headers['content-type'] ?? '', ...toText(body) } }),
      ...{ headersSize: -1, bodySize: sizeOf(body) },
    },
    response: {
      ...{ status: answer?.status ?? 0, statusText: '', httpVersion: 'HTTP/1.1', cookies: [] },
      headers: toList(answer?.headers ?? {}),
      content: { size: sizeOf(content), mimeType, ...toText(content) },
      ...{ redirectURL: answer?.headers?.location ?? '', headersSize: -1, bodySize: sizeOf(content) },
      ...(answer?.wire !== undefined && { _error: answer.wire.kind }),
    },
    cache: {},
    timings: { send: 0, wait: toMs(answeredAt - sentAt), receive: toMs(endedAt - answeredAt) },
  }
}

function toList(headers: Readonly<Record<string, string>>): NameValue[] {
  return Object.entries(headers).map(([name, value]) => ({ name, value }))
}

function hasBody(body: RecordedBody | undefined): boolean {
  return body !== undefined && body !== null && body !== ''
}

function toText(body: RecordedBody | undefined): { readonly text?: string; readonly encoding?: string } {
  if (typeof body === 'string') return { text: body }
  return body !== undefined && body !== null && 'base64' in body ? { text: body.base64, encoding: 'base64' } : {}
}

function sizeOf(body: RecordedBody | undefined): number {
  if (body === undefined || body === null) return 0
  if (typeof body === 'string') return new TextEncoder().encode(body).length
  return 'base64' in body ? Math.floor((body.base64.length * 3) / 4) : body.bytes
}

function toMs(span: Micros): number {
  return span / 1000
}
