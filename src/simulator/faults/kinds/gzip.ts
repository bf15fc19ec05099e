import { gzipSync } from 'fflate/browser'
import * as z from 'zod'
import { isStreamed } from '../wire-faults.ts'
import { defineFaultKind } from './kind.ts'

/** A compressed body that the client did not ask for. Clients that decode by themselves do not notice it. */
export const gzip = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('gzip') }),
  summary: 'A body in gzip, also without `Accept-Encoding`',
  finding: (_, operation) => `the answer to ${operation} was compressed`,
  example: { kind: 'gzip' },
  async act(_, hit) {
    const answer = await hit.proceed()
    if (answer.body === null || isStreamed(answer)) {
      hit.missed()
      return answer
    }
    const headers = new Headers(answer.headers)
    const bytes = gzipSync(new Uint8Array(await answer.arrayBuffer()), { mtime: 0 })
    headers.set('content-encoding', 'gzip')
    headers.set('content-length', String(bytes.length))
    return new Response(bytes, { status: answer.status, headers })
  },
})
