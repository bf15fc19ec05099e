import * as z from 'zod'
import { BrokenAnswer } from './broken.ts'
import { kind } from './kind.ts'

/** The head comes at once, the body at this rate. */
export const slowBody = kind({
  schema: z.strictObject({ kind: z.literal('slowBody'), bytesPerSecond: z.number().min(0.001).max(1e9) }),
  async act({ bytesPerSecond }, hit) {
    return new BrokenAnswer({ kind: 'slow', bytesPerSecond }, await hit.proceed())
  },
})
