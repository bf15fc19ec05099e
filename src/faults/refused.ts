import * as z from 'zod'
import { BrokenAnswer } from './broken.ts'
import { kind } from './kind.ts'

/** Nobody listens there. */
export const refused = kind({
  schema: z.strictObject({ kind: z.literal('refused') }),
  act(_, hit) {
    hit.record(0)
    return new BrokenAnswer({ kind: 'refused' })
  },
})
