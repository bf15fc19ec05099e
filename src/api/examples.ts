/** The examples of declarations as requests: what drives every operation of a world once. */
import type { AnyEndpoint, Operations } from './endpoint.ts'

/** Sends a request to the service. */
export type Ask = (request: Request) => Response | Promise<Response>

export interface Address {
  /** As in `http://127.0.0.1:4010`, without a slash at its end. */
  readonly baseUrl: string
  readonly token: string
}

/**
 * The example of an operation as a request; what its declaration wants to come before has been asked then.
 *
 * @throws Error when its example names something that no answer before it has
 * @example const answer = await sim.fetch(await exampleOf(operations, 'getDeployment', sim.fetch, { baseUrl, token }))
 */
export async function exampleOf(
  operations: Operations,
  operation: string,
  ask: Ask,
  address: Address,
): Promise<Request> {
  const endpoint = operations[operation] as AnyEndpoint
  const known = new Map<string, string>()
  for (const earlier of endpoint.example.after ?? []) {
    const answer = await ask(await exampleOf(operations, earlier, ask, address))
    for (const [name, value] of Object.entries((await answer.json()) as object)) known.set(name, String(value))
  }
  const target = targetOf(endpoint).replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = known.get(name)
    if (value !== undefined) return encodeURIComponent(value)
    throw new Error(
      `Failed to make a request of ${operation}: its example does not say what {${name}} is. ` +
        `Give its declaration an example with a target, as in { target: '${endpoint.path.replaceAll(/[{}]/g, '')}' }.`,
    )
  })
  return new Request(`${address.baseUrl}${target}`, {
    method: endpoint.method,
    ...contentOf(endpoint, address.token),
  })
}

/** Path and query of an example. */
export function targetOf({ path, example }: AnyEndpoint): string {
  return example.target ?? path
}

function contentOf({ example, upload, consumes }: AnyEndpoint, token: string): RequestInit {
  const { body, form } = example
  const authorization = `Bearer ${token}`
  if (form !== undefined) {
    const data = new FormData()
    for (const [name, value] of Object.entries(form.fields)) data.set(name, value)
    data.set(upload?.part ?? 'file', new Blob([form.content]), form.filename)
    return { headers: { authorization }, body: data }
  }
  if (body === undefined) return { headers: { authorization } }
  if (consumes === 'form')
    return { headers: { authorization }, body: new URLSearchParams(body as Record<string, string>) }
  return { headers: { authorization, 'content-type': 'application/json' }, body: JSON.stringify(body) }
}
