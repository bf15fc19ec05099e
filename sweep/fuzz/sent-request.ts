/** A whole request. Its path is raw, or parsed by URL, as transports pass it. */
export interface SentRequest {
  readonly method: string
  readonly target: string
  readonly raw: boolean
  readonly headers: readonly [string, string][]
  readonly body: string | Uint8Array<ArrayBuffer> | undefined
}

/** The headers that describe a body, and the body. */
export type Content = [headers: [string, string][], body: SentRequest['body']]
