import * as z from 'zod'
import { WireFaultResponse } from '../wire-faults.ts'
import { effect } from './fields.ts'
import { answerInstead, defineFaultKind } from './kind.ts'

/** The connection is reset: before the work, or with `effect: 'done'` after it, so that only the response is lost. */
export const reset = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('reset'), effect }),
  summary: 'A connection reset',
  finding: ({ effect }, operation) =>
    effect === 'done'
      ? `the connection was reset after ${operation} had been carried out`
      : `the connection was reset before ${operation} was carried out`,
  example: { kind: 'reset', effect: 'done' },
  act: ({ effect }, hit) => answerInstead(effect, hit, 0, () => new WireFaultResponse({ kind: 'reset' })),
})
