/** Requests to the control plane of a running server. */

/** A running server. */
export interface ServerAddress {
  /** As in `http://127.0.0.1:4010`. */
  readonly url: string
  /** What its control plane asks for where it listens beyond loopback. */
  readonly controlToken?: string | undefined
}

/** The connection broke before there was a whole answer; what was asked may have been done. */
export class BrokenConnection extends Error {
  override readonly name = 'BrokenConnection'
  readonly broken = true
}

/** Nobody answered at an address, or somebody else did. */
export class NoServerError extends Error {}

/** What goes to and fro between a stage and its server. */
export class ControlClient {
  readonly #root: string
  /** What the server asks of who commands it. */
  readonly headers: Readonly<Record<string, string>>

  constructor(root: string, controlToken: string | undefined) {
    this.#root = root
    this.headers = controlToken === undefined ? {} : { 'x-sim-control-token': controlToken }
  }

  /** Asks the control plane. Throws RangeError with what it says to a refusal. */
  // biome-ignore lint/suspicious/noExplicitAny: each path answers what its declaration says
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
