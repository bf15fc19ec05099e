import * as z from 'zod'
import { WireFaultResponse } from '../wire-faults.ts'
import { effect, whenDone } from './fields.ts'
import { answerInstead, defineFaultKind } from './kind.ts'

/** The response never arrives, and the connection stays open until the client closes it. */
export const hang = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('hang'), effect }),
  answers: 'late',
  summary: 'No answer, until the client gives up',
  finding: (fault, operation) => `${operation} was never answered${whenDone(fault)}`,
  example: { kind: 'hang', effect: 'done' },
  act: ({ effect }, hit) => answerInstead(effect, hit, 0, () => new WireFaultResponse({ kind: 'hang' })),
})
