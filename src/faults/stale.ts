import * as z from 'zod'
import { micros } from '../kernel/duration.ts'
import { duration } from './fields.ts'
import { kind } from './kind.ts'

/** Lists, or with `reads: 'all'` every GET, answer what was so long ago. */
export const stale = kind({
  schema: z.strictObject({
    kind: z.literal('stale'),
    lag: duration,
    reads: z.enum(['lists', 'all']).default('lists'),
  }),
  befalls: ({ reads }, { method, path }) => method === 'GET' && (reads === 'all' || !path.includes('{')),
  befallsOnly: "lists; with reads: 'all' any GET",
  act: ({ lag }, hit) => hit.proceed({ seen: hit.past(micros(lag)) }),
})
