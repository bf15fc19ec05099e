/** Options of webhooks. */

/** Where results of native inference may be posted, and by what. */
export interface WebhookOptions {
  /** Hosts beside loopback addresses, each with an optional port: `hooks.example`, `hooks.example:8080`. Default: none. */
  readonly allow?: readonly string[] | undefined
  /** Sends one result. Default: the global `fetch`. */
  readonly deliver?: DeliverWebhook | undefined
}

/**
 * Sends one result to its address. A status of 2xx accepts it. Any other status, and a rejection, are failures.
 *
 * @param init `signal` is aborted after 10 real seconds, and when the world is replaced
 */
export type DeliverWebhook = (url: string, init: WebhookInit) => Promise<{ readonly status: number }>

/** A request to a webhook, in the form that `fetch` takes. */
export interface WebhookInit {
  readonly method: 'POST'
  readonly headers: Readonly<Record<string, string>>
  /** JSON. */
  readonly body: string
  readonly redirect: 'manual'
  readonly signal: AbortSignal
}
