/** Received requests as the control plane shows them: without credentials, and with short bodies. */
import * as z from 'zod'
import { DECIDERS } from '../../kernel/journal.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { ReceivedRequest } from '../../simulator/exchanges/request-log.ts'
import type { Simulator } from '../../simulator/simulator.ts'

export const RequestSchema = z.object({
  seq: z.int().describe('Position of its entry in the journal'),
  operation: z.string().describe("'' for an unknown path"),
  method: z.string(),
  path: z.string().describe('Path and query'),
  sentAt: z.string().describe('When it took its step in the world, ISO 8601'),
  at: z.string().describe('When it was answered, ISO 8601'),
  status: z.int().describe('0: a fault left the client without a response'),
  decidedBy: z.enum(DECIDERS),
  reason: z.string().optional().describe('The fault rule, or the words of the refusal'),
  retryAfter: z.number().optional().describe('Seconds that the answer asked the client to wait'),
  client: z.string().describe("The id of its API token; '' for none"),
  subjects: z.array(z.string()).describe('Ids of things that it names, then of those that it created or changed'),
  body: z.unknown().optional().describe('JSON or text, without credentials'),
  unread: z.array(z.string()).optional().describe('Fields that nothing reads. Only with strict requests'),
})

type RequestView = z.input<typeof RequestSchema>

/**
 * Returns a request as JSON. Its credentials are hidden when the JSON is sent.
 *
 * @param maxBody the longest body in characters of JSON. A longer one becomes a text that is cut
 */
export function toRequestView(
  request: ReceivedRequest,
  sim: Simulator,
  maxBody: number = LIMITS.listedBody,
): RequestView {
  const { seq, operation, method, path, sentAt, at, status, decidedBy, reason, retryAfter, client, subjects } = request
  const { body, unread } = request
  // Assigned one by one: spreads of parts would take most of the time of a page's request.
  const view = { seq, operation, method, path, sentAt, at, status, decidedBy } as RequestView
  if (reason !== undefined) view.reason = reason
  if (retryAfter !== undefined) view.retryAfter = retryAfter
  view.client = client
  view.subjects = [...subjects]
  if (body !== undefined) view.body = toBodyView(body, sim, maxBody)
  if (unread !== undefined) view.unread = [...unread]
  return view
}

function toBodyView(body: unknown, { world }: Simulator, maxLength: number): unknown {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  if (text.length <= maxLength) return body
  // The end of a credential that is cut off would not be found.
  const hidden = world.apiTokens.hideSecrets(text)
  return hidden.length <= maxLength ? hidden : `${hidden.slice(0, maxLength)}…`
}
