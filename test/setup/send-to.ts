import type { Simulator } from '../../src/simulator/simulator.ts'

type Target = Pick<Simulator, 'fetch' | 'token'>

export interface Answered {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever the service answers
  readonly body: any
  readonly headers: Headers
}

type Part = string | Uint8Array | Blob
type Refusing = Response | Pick<Answered, 'status' | 'body'>

/**
 * Sends a request such as `POST /deploy/llm` to a simulator with its token, and a body as JSON or as the form that it
 * is. `init` has what else a request has, and headers in place of the usual ones.
 */
export function sendTo(sim: Target, request: string, body?: unknown, init: RequestInit = {}): Promise<Response> {
  const [method, path] = request.split(/ (.*)/s) as [string, string]
  const isJson = body !== undefined && !(body instanceof FormData || body instanceof URLSearchParams)
  return sim.fetch(`http://sim${path}`, {
    method,
    ...(body !== undefined && { body: isJson ? JSON.stringify(body) : (body as BodyInit) }),
    ...init,
    headers: {
      authorization: `Bearer ${sim.token}`,
      ...(isJson && { 'content-type': 'application/json' }),
      ...(init.headers as Record<string, string>),
    },
  })
}

/** Sends a request as `sendTo` does. Returns status and headers, and the JSON or the text of the answer. */
export async function askTo(sim: Target, request: string, body?: unknown, init?: RequestInit): Promise<Answered> {
  const answer = await sendTo(sim, request, body, init)
  const { status, headers } = answer
  const text = await answer.text()
  const isJson = headers.get('content-type')?.startsWith('application/json') && text !== ''
  return { status, headers, body: isJson ? JSON.parse(text) : text }
}

/** Returns a form of texts and files; of a list, each with the same name. A file without a name gets that of its field. */
export function formOf(fields: Readonly<Record<string, Part | readonly Part[]>>): FormData {
  const form = new FormData()
  for (const [name, parts] of Object.entries(fields))
    for (const part of [parts].flat() as Part[])
      form.append(name, part instanceof Uint8Array ? new File([part as Uint8Array<ArrayBuffer>], name) : part)
  return form
}

/** Returns the status and the message of a refusal in any error shape; of an invalid body the places and their types. */
export async function refusalOf(answer: Promise<Refusing> | Refusing): Promise<[number, string]> {
  const got = await answer
  const { error, detail } = 'json' in got ? ((await got.json()) as Answered['body']) : got.body
  const issues = Array.isArray(detail) && detail.map(({ loc, type }) => `${loc.join('/')} ${type}`).join(', ')
  return [got.status, issues || (error?.message ?? error ?? detail?.error ?? detail)]
}
