import * as z from 'zod'
import { BrokenAnswer } from './broken.ts'
import { effect } from './fields.ts'
import { inPlace, kind } from './kind.ts'

/** The connection is reset: before the work, or, with `effect: 'done'`, when it is done and only the answer is lost. */
export const reset = kind({
  schema: z.strictObject({ kind: z.literal('reset'), effect }),
  act: ({ effect }, hit) => inPlace(effect, hit, 0, () => new BrokenAnswer({ kind: 'reset' })),
})
