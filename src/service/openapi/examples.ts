/** The examples of declarations as requests. They call every operation once. */
import type { AnyEndpoint, Operations } from '../endpoint.ts'

/** Sends a request to the service. */
export type SendRequest = (request: Request) => Response | Promise<Response>

export interface ServiceAddress {
  /** As in `http://127.0.0.1:4010`, without a slash at its end. */
  readonly baseUrl: string
  readonly token: string
}

/**
 * Creates the example request of an operation. Sends the prerequisites of the example first, for the ids in their answers.
 *
 * @throws Error if the example has a path parameter that no answer has
 * @example const answer = await sim.fetch(await exampleOf(operations, 'getDeployment', sim.fetch, { baseUrl, token }))
 */
export async function createExampleRequest(
  operations: Operations,
  operation: string,
  send: SendRequest,
  address: ServiceAddress,
): Promise<Request> {
  const endpoint = operations[operation] as AnyEndpoint
  const responseFields = new Map<string, string>()
  for (const prerequisite of endpoint.example.prerequisites ?? []) {
    const response = await send(await createExampleRequest(operations, prerequisite, send, address))
    for (const [name, value] of Object.entries((await response.json()) as object))
      responseFields.set(name, String(value))
  }
  const target = exampleTarget(endpoint).replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = responseFields.get(name)
    if (value !== undefined) return encodeURIComponent(value)
    throw new Error(
      `Failed to create a request of ${operation}: its example has no value for {${name}}. ` +
        `Give its declaration an example with a target, as in { target: '${endpoint.path.replaceAll(/[{}]/g, '')}' }.`,
    )
  })
  return new Request(`${address.baseUrl}${target}`, {
    method: endpoint.method,
    ...exampleContent(endpoint, address.token),
  })
}

/** Returns path and query of an example. */
export function exampleTarget({ path, example }: AnyEndpoint): string {
  return example.target ?? path
}

function exampleContent({ example, upload, consumes }: AnyEndpoint, token: string): RequestInit {
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
