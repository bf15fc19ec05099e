import * as z from 'zod'
import { WireFaultResponse } from '../broken-response.ts'
import { effect } from './fields.ts'
import { answerInstead, defineFaultKind } from './kind.ts'

/** No answer ever comes, and the connection stays until the client leaves. */
export const hang = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('hang'), effect }),
  act: ({ effect }, hit) => answerInstead(effect, hit, 0, () => new WireFaultResponse({ kind: 'hang' })),
})
