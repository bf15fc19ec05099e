import * as z from 'zod'
import { micros, SECOND } from '../../kernel/duration.ts'
import { duration, message } from './fields.ts'
import { defineFaultKind } from './kind.ts'

/** A 429; `retryAfter` in whole seconds or as the HTTP date of that moment, or without it no such header. */
export const rateLimit = defineFaultKind({
  schema: z.strictObject({
    kind: z.literal('rateLimit'),
    retryAfter: duration.optional(),
    as: z.enum(['seconds', 'date']).default('seconds'),
    message: message.default('Too Many Requests'),
  }),
  act({ retryAfter, as, message }, hit) {
    hit.record(429)
    if (retryAfter === undefined) return hit.passage.refuse(429, message)
    const { clock } = hit.passage.backend
    // Rounded up: a client that waits as long as it is told must not come too early.
    const seconds = Math.ceil(micros(retryAfter) / SECOND)
    const value = as === 'seconds' ? String(seconds) : new Date((clock.unix() + seconds) * 1000).toUTCString()
    return hit.passage.refuse(429, message, { 'retry-after': value })
  },
})
