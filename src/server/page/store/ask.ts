/** Typed requests to the control plane. A route is the method and the path of an operation: `GET /_sim/clock`. */

import { parseJsonOrText } from '../../../lib/json-text.ts'
import { shellQuote } from '../../../lib/quote.ts'
import type { AnswersByRoute, ControlRoute, FieldsByRoute } from '../../control/client/index.ts'

export type { AnswersByRoute, ControlRoute, FieldsByRoute }

/** An answer that is not a success. The message is that of the simulator. */
export class AskError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'AskError'
    this.status = status
  }
}

/** A request as it goes to the simulator. */
export interface EncodedRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** JSON. */
  readonly body?: string
}

/** Puts the fields of a request into its path, its query or its body. */
export function encodeRequest(route: string, fields: Readonly<Record<string, unknown>> = {}): EncodedRequest {
  const [method, template] = route.split(' ') as [string, string]
  const rest = { ...fields }
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(rest[name])
    delete rest[name]
    return encodeURIComponent(value)
  })
  const sent = Object.entries(rest).filter(([, value]) => value !== undefined)
  if (method === 'GET' || method === 'DELETE') {
    const query = new URLSearchParams(sent.map(([name, value]) => [name, String(value)]))
    return { method, path: query.size === 0 ? path : `${path}?${query}` }
  }
  return { method, path, ...(sent.length > 0 && { body: JSON.stringify(Object.fromEntries(sent)) }) }
}

/** Reads an answer as JSON, or as text if it has no JSON. Throws AskError if it is not a success. */
export async function readAnswer(response: Response): Promise<unknown> {
  const body = parseJsonOrText(await response.text())
  if (!response.ok) throw new AskError(response.status, messageOf(body) ?? `The answer is ${response.status}.`)
  return body
}

/** Returns the words of a refusal, whichever shape it has. */
function messageOf(body: unknown): string | undefined {
  if (typeof body === 'string') return body === '' ? undefined : body
  if (typeof body !== 'object' || body === null) return undefined
  const { error, detail, message, msg } = body as Record<string, unknown>
  if (typeof message === 'string') return message
  if (typeof msg === 'string') return msg
  if (Array.isArray(detail)) return detail.map(messageOf).filter(Boolean).join(' ')
  return messageOf(error ?? detail)
}

/**
 * Returns the command line that sends a request.
 *
 * @param address of the server, as in `127.0.0.1:4010`
 */
export function asCurl({ method, path, body }: EncodedRequest, address: string): string {
  const flags = [
    ...(method === 'GET' || (method === 'POST' && body !== undefined) ? [] : [`-X ${method}`]),
    ...(body === undefined ? [] : [`--json ${shellQuote(body)}`]),
  ]
  return ['curl', ...flags, shellQuote(address + path)].join(' ')
}

/** Where the page runs: beside a server, with the simulator in the page, or as a saved file that runs the world again. */
type Home = 'server' | 'page' | 'file'

/** How the page talks to a simulator. */
export interface Connection {
  readonly home: Home
  /**
   * Sends a request to the service or the control plane, as `fetch` does.
   *
   * @param path of the server, with its query: `/_sim/clock`, `/_sim/worlds/w1/deploy/list`
   */
  send(path: string, init?: RequestInit): Promise<Response>
}

/** The control token of this tab. Only a server that other machines can reach requires one. */
const TOKEN_KEY = 'modelhost-sim control token'
const TOKEN_HEADER = 'x-sim-control-token'

export class HttpConnection implements Connection {
  readonly home = 'server'

  send(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    const token = sessionStorage.getItem(TOKEN_KEY)
    // A request to the service of a world has a token of the service, which the control token must not replace.
    if (token !== null) headers.set(TOKEN_HEADER, token)
    return fetch(path, { ...init, headers })
  }

  /** Keeps the control token until the tab is closed. */
  useToken(token: string): void {
    sessionStorage.setItem(TOKEN_KEY, token)
  }
}
