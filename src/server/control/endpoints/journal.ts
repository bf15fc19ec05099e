import * as z from 'zod'
import { nearestWord } from '../../../lib/did-you-mean.ts'
import { queryInteger } from '../../../service/fields.ts'
import { refuse } from '../../../service/refusals.ts'
import { JOURNAL_KINDS } from '../../../simulation/journal-kinds.ts'
import { control } from '../endpoint.ts'
import { JournalEntrySchema, toJournalView } from '../journal-view.ts'

export const getJournal = control({
  route: 'GET /_sim/journal',
  summary: 'List journal entries, oldest first: those `after` a position, of a `kind`, at most `limit`',
  example: { target: '/_sim/journal?kind=deployment.running&limit=5' },
  refusals: { 400: 'a kind that looks like a typo of a known kind' },
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
  handle: ({ query: { after, limit, kind }, sim }) => {
    const { world } = sim
    const { last, dropped, counts } = world.journal
    if (kind !== undefined && !counts.has(kind)) assertKnownKind(kind, [...counts.keys(), ...JOURNAL_KINDS])
    const entries = world.journalEntries(after).filter(entry => kind === undefined || entry.kind === kind)
    return { entries: entries.slice(0, limit).map(entry => toJournalView(entry, sim)), last, dropped }
  },
})

export const getDigest = control({
  route: 'GET /_sim/digest',
  summary: 'Return the digest of all events. It is equal for equal seeds, fixtures and requests',
  returns: z.object({ digest: z.string(), now: z.string() }),
  handle: ({ sim }) => ({ digest: sim.digest, now: sim.clock.iso }),
})

/** Rejects a probable typo of a known kind. An unknown kind that is not a typo may be an event that has not fired yet. */
function assertKnownKind(kind: string, known: readonly string[]): void {
  const suggestion = known.includes(kind) ? undefined : nearestWord(kind, known)
  if (suggestion === undefined) return
  refuse(400, `Failed to read the journal: unknown kind '${kind}'. Did you mean '${suggestion}'?`)
}
