import * as z from 'zod'
import { formatDuration, type Micros, micros } from '../../../kernel/duration.ts'
import type { Entry } from '../../../kernel/journal.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { Slices } from '../../../lib/slices.ts'
import { queryInteger, rowsOf } from '../../../service/fields.ts'
import { loadTokenizer } from '../../../service/openai/tokenizer.ts'
import type { World } from '../../../simulation/world.ts'
import { requireWithinMaxAge } from '../../../simulator/clock/moves/arguments.ts'
import { describeEntry } from '../../../simulator/explain/kind-sentences.ts'
import { control, refuseInvalid } from '../endpoint.ts'
import { MINOR_KINDS } from './lives.ts'

const ComingEntries = rowsOf({
  time: z.int().describe('Microseconds since the epoch of the world'),
  at: z.string().describe('The time as ISO 8601'),
  in: z.string().describe('The time from now, as in `2m 5s`'),
  kind: z.string(),
  subject: z.string(),
  sentence: z.string().describe('What happens, in one to three sentences'),
  visible: z.boolean().describe('Whether a client can see its event'),
})

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
    entries: ComingEntries,
  }),
  handle: async ({ query: { by, limit, visible }, sim }) => {
    const { world } = sim
    if (world.needsTokenizer) await loadTokenizer()
    return refuseInvalid(() => lookAheadFrom(world, micros(by), limit, visible === 'true'))
  },
})

/**
 * Runs a copy of the world ahead and returns its journal entries: at most `limit`, and those of 50,000 events. The world
 * does not change. It gives other requests a turn every few milliseconds.
 *
 * @throws RangeError for a time beyond the age of a world
 */
async function lookAheadFrom(world: World, by: Micros, limit: number, isVisibleOnly: boolean) {
  const { clock } = world
  const from = clock.now
  const end = requireWithinMaxAge(from + by)
  const future = world.fork()
  // The copy must not report its errors as errors of the world.
  future.onEventError = () => {}
  const entries: z.input<typeof ComingEntries> = []
  let step: Entry[] = []
  future.journal.listen(entry => step.push(entry))
  let events = 0
  const slices = new Slices()
  const conclude = (stopped_by: 'time' | 'limit' | 'events' | 'nothing', to: Micros) => {
    return { from: clock.iso(from), to: clock.iso(to), stopped_by, events, entries }
  }
  while (events < LIMITS.aheadEvents) {
    const before = future.visibleChanges
    if (!future.next(end)) return conclude(future.agenda.size === 0 ? 'nothing' : 'time', end)
    events++
    const visible = future.visibleChanges !== before
    for (const entry of step) {
      if (isMinor(entry.kind) || (isVisibleOnly && !visible)) continue
      const { time, kind, subject } = entry
      const times = { time, at: clock.iso(time), in: formatDuration(time - from) }
      entries.push({ ...times, kind, subject, sentence: describeEntry(entry), visible })
      if (entries.length >= limit) return conclude('limit', time)
    }
    step = []
    const turn = slices.turnIfDue()
    if (turn) await turn
  }
  return conclude('events', future.clock.now)
}

/** A pulled image is a step within the start of an instance, which a look ahead need not show. */
function isMinor(kind: string): boolean {
  return kind === 'instance.imagePulled' || MINOR_KINDS.test(kind)
}
