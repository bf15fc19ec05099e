import * as z from 'zod'
import { defineFaultKind } from './kind.ts'

/** A response with an empty body, and with the usual status and content type. */
export const empty = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('empty') }),
  summary: 'Status and content type as usual, `Content-Length: 0`, no body',
  finding: (_, operation) => `the answer to ${operation} had an empty body`,
  example: { kind: 'empty' },
  async act(_, hit) {
    const answer = await hit.proceed()
    if (answer.body === null) {
      hit.missed()
      return answer
    }
    answer.body.cancel()
    const headers = new Headers(answer.headers)
    // A server adds the header itself; in a process it would be missing.
    headers.set('content-length', '0')
    return new Response('', { status: answer.status, headers })
  },
})
