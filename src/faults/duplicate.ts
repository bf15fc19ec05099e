import * as z from 'zod'
import { kind } from './kind.ts'

/** The request is carried out twice; the client sees the first answer, or the second. */
export const duplicate = kind({
  schema: z.strictObject({ kind: z.literal('duplicate'), answer: z.enum(['first', 'second']).default('first') }),
  async act({ answer }, hit) {
    const { request } = hit.passage
    const first = await hit.proceed({ request: request.clone() })
    const second = await hit.proceed({ request })
    const [seen, unseen] = answer === 'first' ? [first, second] : [second, first]
    unseen.body?.cancel()
    return seen
  },
})
