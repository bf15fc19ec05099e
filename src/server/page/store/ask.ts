/** Typed requests to the control plane. A route is the method and the path of an operation: `GET /_sim/clock`. */

import { parseJsonOrText } from '../../../lib/json-text.ts'
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
