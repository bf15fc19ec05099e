import * as z from 'zod'
import { micros, SECOND } from '../../../kernel/duration.ts'
import { body, createAnswer, headers } from './answer-fields.ts'
import { duration, message } from './fields.ts'
import { defineFaultKind } from './kind.ts'

/** A 429. The header `retry-after` has whole seconds or an HTTP date. Default: 1 second. */
export const rateLimit = defineFaultKind({
  schema: z.strictObject({
    kind: z.literal('rateLimit'),
    retryAfter: duration.optional(),
    as: z.enum(['seconds', 'date']).default('seconds'),
    message: message.default('Too Many Requests'),
    headers: headers.optional(),
    body: body.optional(),
  }),
  summary: '429 with `Retry-After`',
  finding: (_, operation) => `${operation} was answered with 429`,
  example: { kind: 'rateLimit', retryAfter: '30s', as: 'date' },
  lineError: { fields: ['message'], of: ({ message }) => ({ status: 429, message }) },
  act({ retryAfter = '1s', as, message, ...answer }, hit) {
    hit.record(429)
    const { clock } = hit.passage.backend
    // Rounded up, so that a client that waits for the header's time is not too early.
    const seconds = Math.ceil(micros(retryAfter) / SECOND)
    const value = as === 'seconds' ? String(seconds) : new Date((clock.unix() + seconds) * 1000).toUTCString()
    return createAnswer(hit, 429, message, answer, { 'retry-after': value })
  },
})
