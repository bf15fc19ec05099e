/** Headers of a recorded request that a test of it sends again. */

import { hashCredential } from '../../../lib/text/secrets.ts'
import type { RequestLine } from '../lines.ts'

/** Headers that the answer can depend on. */
const KEPT = /^(content-type|content-encoding|idempotency-key|x-sim-.*|accept|.*api-key)$/
/** Of these, headers of the control plane and of replays. */
const OWN = /^x-sim-(control-token|replay|client)$/

/**
 * Returns the headers that a request has beside those of each request: the first API token of the world, and the
 * content type of JSON. `null` leaves out one of these.
 *
 * @param token the first API token of the world
 * @param isJson whether the body is sent as JSON
 */
export function keptHeaders(
  { method, headers: recorded }: Pick<RequestLine, 'method' | 'headers'>,
  { token, isJson }: { readonly token: string; readonly isJson: boolean },
): Record<string, string | null> {
  const kept: Record<string, string | null> = {}
  const { authorization } = recorded
  if (authorization !== `Bearer ${hashCredential(token)}`) kept.authorization = authorization ?? null
  for (const [name, value] of Object.entries(recorded)) {
    if (!KEPT.test(name) || OWN.test(name)) continue
    if (name === 'accept' && !value.includes('event-stream')) continue
    if (name === 'content-type' && (method === 'GET' || method === 'HEAD')) continue
    if (name === 'content-type' && isJson && value === 'application/json') continue
    kept[name] = value
  }
  if (isJson && recorded['content-type'] === undefined) kept['content-type'] = null
  return kept
}
