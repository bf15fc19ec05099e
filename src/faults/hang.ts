import * as z from 'zod'
import { BrokenAnswer } from './broken.ts'
import { effect } from './fields.ts'
import { inPlace, kind } from './kind.ts'

/** No answer ever comes, and the connection stays until the client leaves. */
export const hang = kind({
  schema: z.strictObject({ kind: z.literal('hang'), effect }),
  act: ({ effect }, hit) => inPlace(effect, hit, 0, () => new BrokenAnswer({ kind: 'hang' })),
})
