import * as z from 'zod'
import { formatDuration, micros } from '../../../kernel/duration.ts'
import { WireFaultResponse } from '../wire-faults.ts'
import { duration } from './fields.ts'
import { defineFaultKind } from './kind.ts'

/** The work is done at once. The response arrives after `delay` and an evenly distributed part of `jitter`. */
export const latency = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('latency'), delay: duration, jitter: duration.default(0) }),
  answers: 'late',
  summary: 'Its answer, late; the work is done on arrival',
  finding: ({ delay }, operation) => `the answer to ${operation} came ${formatDuration(micros(delay))} late`,
  example: { kind: 'latency', delay: '2s', jitter: '3s' },
  async act({ delay, jitter }, hit) {
    const by = micros(delay) + Math.floor(micros(jitter) * hit.draw())
    return new WireFaultResponse({ kind: 'delayed', delay: by }, await hit.proceed())
  },
})
