/** Received requests as the control plane shows them: without credentials, and with short bodies. */
import * as z from 'zod'
import { hideSecrets, hideSecretsInText } from '../evidence/requests/secrets.ts'
import { DECIDERS } from '../kernel/journal.ts'
import { LIMITS } from '../limits/limits.ts'
import type { ReceivedRequest } from '../simulator/requests/request-log.ts'

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
 * Returns a request as JSON. Credentials are hidden, and tokens of the account shortened.
 *
 * @param redact shortens the tokens in a text
 * @param maxBody the longest body in characters of JSON. A longer one becomes a text that is cut
 */
export function toRequestView(
  request: ReceivedRequest,
  redact: (text: string) => string,
  maxBody: number = LIMITS.listedBody,
): RequestView {
  const { seq, operation, method, path, sentAt, at, status, decidedBy, reason, retryAfter, client, subjects } = request
  const { body, unread } = request
  // Assigned one by one: spreads of parts would take most of the time of a page's request.
  const view = { seq, operation, method, path: redact(path), sentAt, at, status, decidedBy } as RequestView
  if (reason !== undefined) view.reason = redact(reason)
  if (retryAfter !== undefined) view.retryAfter = retryAfter
  view.client = client
  view.subjects = subjects.map(redact)
  if (body !== undefined) view.body = toBodyView(body, redact, maxBody)
  if (unread !== undefined) view.unread = unread.map(redact)
  return view
}

/** Returns requests as `toRequestView` does. One search for tokens in many short texts is faster than one in each. */
export function toRequestViews(
  requests: readonly ReceivedRequest[],
  redact: (text: string) => string,
): readonly RequestView[] {
  const texts = requests.flatMap(({ path, reason = '', subjects, unread = [] }) => [
    path,
    reason,
    ...subjects,
    ...unread,
  ])
  const text = texts.join('\n')
  const isPlain = redact(text) === text
  return requests.map(request => toRequestView(request, isPlain && request.body === undefined ? asItIs : redact))
}

function asItIs(text: string): string {
  return text
}

function toBodyView(body: unknown, redact: (text: string) => string, maxLength: number): unknown {
  if (typeof body === 'string') return cut(redact(hideSecretsInText(body)), maxLength)
  const text = redact(JSON.stringify(hideSecrets(body)))
  return text.length <= maxLength ? JSON.parse(text) : cut(text, maxLength)
}

function cut(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`
}
