/** A whole request. Its path is raw, or parsed by URL, as transports pass it. */
export interface SentRequest {
  readonly method: string
  readonly target: string
  readonly raw: boolean
  readonly headers: readonly [string, string][]
  readonly body: string | Uint8Array<ArrayBuffer> | undefined
}

/** Returns a request as a transport passes it to a world: the request, and its path and query. */
export function toRequest({ method, target, raw, headers, body }: SentRequest): { request: Request; path: string } {
  const init = { method, headers: [...headers], ...(body !== undefined && { body }) }
  const request = new Request(raw ? 'http://sim/' : `http://sim${target}`, init)
  return { request, path: raw ? target : request.url.slice('http://sim'.length).split('#', 1)[0]! }
}

/** The headers that describe a body, and the body. */
export type Content = [headers: [string, string][], body: SentRequest['body']]
