import * as z from 'zod'
import { WireFaultResponse } from '../wire-faults.ts'
import { defineFaultKind } from './kind.ts'

/** The head arrives at once, the body at this rate. */
export const slowBody = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('slowBody'), bytesPerSecond: z.number().min(0.001).max(1e9) }),
  answers: 'late',
  summary: 'The head at once, the body slowly',
  finding: (_, operation) => `the answer to ${operation} arrived slowly`,
  example: { kind: 'slowBody', bytesPerSecond: 100 },
  async act({ bytesPerSecond }, hit) {
    const answer = await hit.proceed()
    if (answer.body !== null) return new WireFaultResponse({ kind: 'slow', bytesPerSecond }, answer)
    hit.missed()
    return answer
  },
})
