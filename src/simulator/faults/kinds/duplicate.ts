import * as z from 'zod'
import { defineFaultKind } from './kind.ts'

/** The request is executed twice; the client gets the first or the second response. */
export const duplicate = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('duplicate'), answer: z.enum(['first', 'second']).default('first') }),
  answers: 'another',
  summary: 'One of two answers to a request that is carried out twice',
  finding: (_, operation) => `${operation} was carried out twice`,
  example: { kind: 'duplicate', answer: 'second' },
  async act({ answer }, hit) {
    const { request } = hit.passage
    const first = await hit.proceed({ request: request.clone() })
    const second = await hit.proceed({ request })
    const [returned, discarded] = answer === 'first' ? [first, second] : [second, first]
    discarded.body?.cancel()
    return returned
  },
})
