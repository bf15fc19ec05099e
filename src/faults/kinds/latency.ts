import * as z from 'zod'
import { micros } from '../../kernel/duration.ts'
import { WireFaultResponse } from '../broken-response.ts'
import { duration } from './fields.ts'
import { defineFaultKind } from './kind.ts'

/** The work is done on arrival, the answer comes `delay` later, and up to `jitter` more, evenly drawn. */
export const latency = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('latency'), delay: duration, jitter: duration.default(0) }),
  async act({ delay, jitter }, hit) {
    const by = micros(delay) + Math.floor(micros(jitter) * hit.draw())
    return new WireFaultResponse({ kind: 'delayed', delay: by }, await hit.proceed())
  },
})
