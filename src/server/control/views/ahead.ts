import * as z from 'zod'
import { formatDuration, micros } from '../../../kernel/duration.ts'
import { queryInteger } from '../../../service/fields.ts'
import { loadTokenizer } from '../../../service/openai/tokenizer.ts'
import { control, refuseInvalid } from '../endpoint.ts'
import { lookAheadFrom } from './ahead-entries.ts'

export const getAhead = control({
  route: 'GET /_sim/ahead',
  summary:
    'List what will happen next without a further request or command: a copy of the world runs ahead by a duration ' +
    '(`1h`), for at most `limit` journal entries. With `visible`, entries that no client can see are left out. The ' +
    'world does not change',
  example: { target: '/_sim/ahead?by=1h&limit=20' },
  refusals: { 400: 'an invalid duration' },
  query: {
    by: z.string().default('1h'),
    limit: queryInteger({ min: 1, max: 1000 }).default(50),
    visible: z.enum(['true', 'false']).default('false'),
  },
  returns: z.object({
    from: z.string(),
    to: z.string().describe('How far it looked, ISO 8601'),
    stopped_by: z
      .enum(['time', 'limit', 'events', 'nothing'])
      .describe('The end of the time, enough entries, 50,000 events, or nothing more is planned'),
    events: z.int().describe('Events of the copy'),
    entries: z.array(
      z.object({
        time: z.int().describe('Microseconds since the epoch of the world'),
        at: z.string().describe('The time as ISO 8601'),
        in: z.string().describe('The time from now, as in `2m 5s`'),
        kind: z.string(),
        subject: z.string(),
        sentence: z.string().describe('What happens, in one to three sentences'),
        visible: z.boolean().describe('Whether a client can see its event'),
      }),
    ),
  }),
  handle: async ({ query: { by, limit, visible }, sim }) => {
    const { world } = sim
    if (world.needsTokenizer) await loadTokenizer()
    const { from, to, stoppedBy, events, entries } = await refuseInvalid(() =>
      lookAheadFrom(world, { by: micros(by), limit, isVisibleOnly: visible === 'true' }),
    )
    const { clock } = world
    return {
      ...{ from: clock.iso(from), to: clock.iso(to), stopped_by: stoppedBy, events },
      entries: entries.map(({ time, ...entry }) => ({
        ...{ time, at: clock.iso(time), in: formatDuration(time - from), ...entry },
      })),
    }
  },
})
