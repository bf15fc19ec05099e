import type { Violation } from './episode.ts'
import type { PlacedRequest } from './generator.ts'

/** Returns a violation with its request as text. */
export function describeViolation({ law, index, operation, message, request }: Violation): string {
  const sent = request === undefined ? '' : `\n  ${describeRequest(request)}`
  return `Violated '${law}' at ${index} (${operation}): ${message}${sent}`
}

/** Returns a request as text of at most 1,500 characters. */
export function describeRequest({ operation, world, sent: { method, target, headers, body } }: PlacedRequest): string {
  const text = body === undefined ? '' : typeof body === 'string' ? body : `${body.length} bytes`
  return `${operation} (world ${world}) ${method} ${target} ${JSON.stringify(headers)} ${text}`.slice(0, 1_500)
}
