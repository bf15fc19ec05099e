import * as z from 'zod'
import { fieldsOf, given } from '../../../lib/fields.ts'
import { splitCommas } from '../../../lib/text/words.ts'
import { queryInteger } from '../../../service/fields.ts'
import { ServerSentEvents } from '../../../service/results.ts'
import { compileKinds, EventReader } from '../../../simulator/requests/event-reader.ts'
import { control, refuseInvalid } from '../endpoint.ts'
import { createEventStream } from '../event-stream.ts'
import { JournalEntrySchema, toJournalView } from '../event-views.ts'

export const getJournal = control({
  route: 'GET /_sim/journal',
  summary:
    'List journal entries, oldest first: those `after` a position, at most `limit`. `kind` can be a list ' +
    'with commas, and `*` is any text',
  example: { target: '/_sim/journal?kind=deployment.running&limit=5' },
  refusals: { 400: 'an unknown kind' },
  query: {
    after: queryInteger({ min: 0 }).default(0),
    limit: queryInteger({ min: 0 }).default(1000),
    kind: z.string().optional(),
  },
  returns: z.object({
    entries: z.array(JournalEntrySchema),
    last: z.int().describe('Position of the newest entry'),
    dropped: z.int().describe('Number of entries that the journal has dropped'),
  }),
  handle: async ({ query: { after, limit, kind }, sim }) => {
    const { last, dropped } = sim.world.journal
    const isOfKind = await refuseInvalid(() => compileKinds(sim, splitCommas(kind), 'Failed to read the journal'))
    const entries = sim.world.journal.entries(after).filter(entry => isOfKind?.(entry.kind) ?? true)
    return { entries: entries.slice(0, limit).map(entry => toJournalView(entry, sim)), last, dropped }
  },
})

export const getDigest = control({
  route: 'GET /_sim/digest',
  summary: 'Return the digest of all events. It is equal for equal seeds, fixtures and requests',
  returns: z.object({ digest: z.string(), now: z.string() }),
  handle: ({ sim }) => ({ digest: sim.digest, now: sim.clock.iso }),
})

export const watchEvents = control({
  route: 'GET /_sim/events',
  summary:
    'Stream journal entries and answered requests as server-sent events. `kind` and `subject` can be lists with ' +
    'commas, and `*` is any text. `kind=request` gives requests alone. `after` is `now`, `start` or the id of an ' +
    'event; a header `Last-Event-ID` takes precedence. With `follow=false`, the stream ends after what is kept. With ' +
    '`form=columns`, many entries make one event `entries`, which is less work: docs/requests.md describes it',
  example: { target: '/_sim/events?after=start&follow=false&kind=deployment.*,request' },
  refusals: { 400: 'an unknown kind, or an invalid position', 429: 'the world has 100 readers' },
  produces: 'text/event-stream; charset=utf-8',
  query: {
    ...fieldsOf(z.string().optional(), 'kind', 'subject', 'after'),
    follow: z.enum(['true', 'false']).default('true'),
    form: z.enum(['objects', 'columns']).default('objects'),
  },
  returns: z.string(),
  handle: async ({ query: { kind, subject, after, follow, form }, request, sim, eventTexts }) => {
    const start = request.headers.get('last-event-id') ?? after
    const options = {
      ...{ follow: follow === 'true', isGrouped: form === 'columns' },
      ...given({ kind: splitCommas(kind), subject: splitCommas(subject), after: start }),
    }
    const reader = await refuseInvalid(() => new EventReader(sim, options))
    return new ServerSentEvents(createEventStream(sim, reader, eventTexts()))
  },
})
