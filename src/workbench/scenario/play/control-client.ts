/** Requests to the control plane of a running server. */

/** A running server. */
export interface ServerAddress {
  /** As in `http://127.0.0.1:4010`. */
  readonly url: string
  /** Token of its control plane, which a server beyond loopback requires. */
  readonly controlToken?: string | undefined
}

/** The connection broke before the whole answer. The server may have executed the request. */
export class BrokenConnection extends Error {
  override readonly name = 'BrokenConnection'
  readonly broken = true
}

/** No server answered at an address, or another kind of server. */
export class NoServerError extends Error {}

/** Sends requests to the control plane of a server. */
export class ControlClient {
  readonly #root: string
  /** Headers of each request to the control plane. */
  readonly headers: Readonly<Record<string, string>>

  constructor(root: string, controlToken: string | undefined) {
    this.#root = root
    this.headers = controlToken === undefined ? {} : { 'x-sim-control-token': controlToken }
  }

  /** Sends a request to the control plane. Throws RangeError with the message of a refusal. */
  // biome-ignore lint/suspicious/noExplicitAny: the declaration of each path has the type
  async request(method: string, path: string, body?: unknown): Promise<any> {
    const headers = { ...this.headers, ...(body !== undefined && { 'content-type': 'application/json' }) }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await fetch(`${this.#root}${path}`, init).catch(error => {
      throw new NoServerError(`no server answers there (${reasonOf(error)})`)
    })
    const text = await response.text()
    if (response.ok) return JSON.parse(text)
    const message = errorMessageIn(text)
    if (message === undefined) throw new NoServerError(`what answers there has no ${path} (${response.status})`)
    throw new RangeError(message)
  }
}

export function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return (cause as { code?: string } | undefined)?.code ?? message
}

function errorMessageIn(text: string): string | undefined {
  try {
    const { error, detail } = JSON.parse(text)
    if (typeof error === 'string') return error
    return Array.isArray(detail) ? detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ') : undefined
  } catch {
    return undefined
  }
}
