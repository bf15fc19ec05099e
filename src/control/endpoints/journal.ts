import * as z from 'zod'
import type { Entry } from '../../kernel/journal.ts'
import { nearestWord } from '../../lib/did-you-mean.ts'
import { queryInteger } from '../../service/fields.ts'
import { refuse } from '../../service/refusals.ts'
import { JOURNAL_KINDS } from '../../simulation/journal-kinds.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { CONTROL_PROVENANCE, control } from '../endpoint.ts'
import { tokenRedactor } from '../token-redactor.ts'

const JournalEntry = z.object({
  seq: z.int().describe('Position in the journal'),
  time: z.int().describe('Microseconds since the epoch of the world'),
  at: z.string().describe('The time as ISO 8601'),
  kind: z.string(),
  subject: z.string(),
  cause: z.int().describe('Position of the entry that caused it; 0 if the world began with it'),
  fields: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
})

export const getJournal = control({
  ...CONTROL_PROVENANCE,
  route: 'GET /_sim/journal',
  summary: 'List journal entries, oldest first: those after a position, of a kind, at most limit',
  example: { target: '/_sim/journal?kind=deployment.running&limit=5' },
  refusals: { 400: 'a kind that looks like a typo of a known kind' },
  query: {
    after: queryInteger({ min: 0 }).default(0),
    limit: queryInteger({ min: 0 }).default(1000),
    kind: z.string().optional(),
  },
  returns: z.object({
    entries: z.array(JournalEntry),
    last: z.int().describe('Position of the newest entry'),
    dropped: z.int().describe('Number of entries that the journal has dropped'),
  }),
  handle: ({ query: { after, limit, kind }, sim }) => {
    const { world } = sim
    const { last, dropped, counts } = world.journal
    if (kind !== undefined && !counts.has(kind)) assertKnownKind(kind, [...counts.keys(), ...JOURNAL_KINDS])
    const entries = world.journalEntries(after).filter(entry => kind === undefined || entry.kind === kind)
    const redact = tokenRedactor(sim)
    return { entries: entries.slice(0, limit).map(entry => toJournalEntry(entry, sim, redact)), last, dropped }
  },
})

export const getDigest = control({
  ...CONTROL_PROVENANCE,
  route: 'GET /_sim/digest',
  summary: 'Return the digest of all events. It is equal for equal seeds, fixtures and requests',
  returns: z.object({ digest: z.string(), now: z.string() }),
  handle: ({ sim }) => ({ digest: sim.digest, now: sim.clock.iso }),
})

/** Rejects a probable typo of a known kind. An unknown kind that is no typo may be an event that has not fired yet. */
function assertKnownKind(kind: string, known: readonly string[]): void {
  const suggestion = known.includes(kind) ? undefined : nearestWord(kind, known)
  if (suggestion === undefined) return
  refuse(400, `Failed to read the journal: unknown kind '${kind}'. Did you mean '${suggestion}'?`)
}

function toJournalEntry(entry: Entry, sim: Simulator, redact: (text: string) => string): z.input<typeof JournalEntry> {
  const { seq, time, kind, cause } = entry
  const fields = Object.entries(entry.fields ?? {}).map(([name, value]) => [
    name,
    typeof value === 'string' ? redact(value) : value,
  ])
  return {
    seq,
    time,
    at: sim.world.clock.iso(time),
    kind,
    subject: redact(entry.subject),
    cause,
    ...(entry.fields && { fields: Object.fromEntries(fields) }),
  }
}
