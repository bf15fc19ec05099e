import * as z from 'zod'
import { formatDuration, micros } from '../../../kernel/duration.ts'
import { duration } from './fields.ts'
import { defineFaultKind } from './kind.ts'

/** Lists, or with `reads: 'all'` every GET, return the data of `lag` ago. */
export const stale = defineFaultKind({
  schema: z.strictObject({
    kind: z.literal('stale'),
    lag: duration,
    reads: z.enum(['lists', 'all']).default('lists'),
  }),
  answers: 'late',
  summary: 'An answer about the past',
  finding: ({ lag }, operation) => `${operation} was answered with data of ${formatDuration(micros(lag))} before`,
  example: { kind: 'stale', lag: '5s', reads: 'all' },
  appliesTo: ({ reads }, { method, path }) => method === 'GET' && (reads === 'all' || !path.includes('{')),
  scope: "lists, or with reads: 'all' to GETs",
  act: ({ lag }, hit) => hit.proceed({ handlerBackend: hit.worldBefore(micros(lag)) }),
})
