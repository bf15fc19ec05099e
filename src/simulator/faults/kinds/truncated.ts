import * as z from 'zod'
import { truncateBody, withBody } from '../body-streams.ts'
import { isStreamed, WireFaultResponse } from '../wire-faults.ts'
import { ENDS } from './fields.ts'
import { defineFaultKind } from './kind.ts'

/** The default length of a truncated stream, a few events: the length of the whole is not known yet. */
const DEFAULT_STREAM_BYTES = 1_000

/** The body ends too early: after `bytes` bytes, or by default after half of it. */
export const truncated = defineFaultKind({
  schema: z.strictObject({
    kind: z.literal('truncated'),
    bytes: z.int().min(0).optional(),
    /** `close`: in order, as with a length that is too small. `silence`: the connection stays open. */
    end: z.enum(['reset', 'close', 'silence']).default('reset'),
    /** Over a socket: in the middle of a chunk, where a length would have been announced. */
    chunked: z.boolean().default(false),
  }),
  summary: 'A body that ends too early: the connection breaks, closes in order, or stays open',
  finding: ({ end = 'reset' }, operation) => `${ENDS[end]} within the answer to ${operation}`,
  example: { kind: 'truncated', bytes: 100, chunked: true },
  async act({ bytes, end, chunked }, hit) {
    const answer = await hit.proceed()
    const headers = new Headers(answer.headers)
    if (end === 'close') headers.delete('content-length')
    if (isStreamed(answer)) {
      const after = bytes ?? DEFAULT_STREAM_BYTES
      if (end === 'reset') return new WireFaultResponse({ kind: 'cut', after, chunked }, answer)
      const part = withBody(answer, truncateBody(answer.body!, after, true), headers)
      return end === 'close' ? part : new WireFaultResponse({ kind: 'silent' }, part)
    }
    const body = await answer.arrayBuffer()
    if (body.byteLength === 0) {
      hit.missed()
      return withBody(answer, null, headers)
    }
    // At least one byte is missing.
    const half = bytes ?? (end === 'close' ? middleOfRow(body) : Math.floor(body.byteLength / 2))
    const after = Math.max(0, Math.min(half, body.byteLength - 1))
    if (end === 'reset') return new WireFaultResponse({ kind: 'cut', after, chunked }, withBody(answer, body, headers))
    const part = withBody(answer, body.slice(0, after), headers)
    return end === 'close' ? part : new WireFaultResponse({ kind: 'silent' }, part)
  },
})

/** Returns half of the length of a body, or a little less: rows that are whole would look like a shorter file. */
function middleOfRow(body: ArrayBuffer): number {
  const bytes = new Uint8Array(body)
  let at = Math.floor(bytes.length / 2)
  while (at > 0 && /[}\n]/.test(String.fromCharCode(bytes[at - 1]!))) at--
  return at
}
