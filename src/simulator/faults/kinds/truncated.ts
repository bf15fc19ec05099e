import * as z from 'zod'
import { isStreamed, WireFaultResponse } from '../broken-response.ts'
import { defineFaultKind } from './kind.ts'

/** The default length of a truncated stream, a few events: the length of the whole is not known yet. */
const DEFAULT_STREAM_BYTES = 1_000

/** The connection closes in the middle of the body: after `bytes` bytes, or by default after half of it. */
export const truncated = defineFaultKind({
  schema: z.strictObject({
    kind: z.literal('truncated'),
    bytes: z.int().min(0).optional(),
    /** Over a socket: in the middle of a chunk, where a length would have been announced. */
    chunked: z.boolean().default(false),
  }),
  summary: 'A connection that breaks within the body',
  example: { kind: 'truncated', bytes: 100, chunked: true },
  async act({ bytes, chunked }, hit) {
    const answer = await hit.proceed()
    if (isStreamed(answer))
      return new WireFaultResponse({ kind: 'cut', after: bytes ?? DEFAULT_STREAM_BYTES, chunked }, answer)
    const body = await answer.arrayBuffer()
    // At least one byte is missing.
    const after = Math.max(0, Math.min(bytes ?? Math.floor(body.byteLength / 2), body.byteLength - 1))
    const { status, headers } = answer
    return new WireFaultResponse({ kind: 'cut', after, chunked }, new Response(body, { status, headers }))
  },
})
