import type { Simulator } from '../../src/simulator/simulator.ts'

/**
 * Sends a request such as `POST /deploy/llm` to a simulator with its token, and a body as JSON. `init` has what else a
 * request has, and headers in place of the usual ones.
 */
export function sendTo(
  sim: Pick<Simulator, 'fetch' | 'token'>,
  request: string,
  body?: unknown,
  init: RequestInit = {},
): Promise<Response> {
  const [method, path] = request.split(/ (.*)/s) as [string, string]
  return sim.fetch(`http://sim${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...init,
    headers: {
      authorization: `Bearer ${sim.token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(init.headers as Record<string, string>),
    },
  })
}
