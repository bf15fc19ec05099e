import * as z from 'zod'
import { defineFaultKind } from './kind.ts'

/** The answer with nothing in it, though its status and content type are as ever. */
export const empty = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('empty') }),
  async act(_, hit) {
    const answer = await hit.proceed()
    answer.body?.cancel()
    const headers = new Headers(answer.headers)
    // As a server says it; in a process nobody would.
    headers.set('content-length', '0')
    return new Response('', { status: answer.status, headers })
  },
})
