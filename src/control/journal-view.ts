/** Journal entries as the control plane shows them: without tokens. */
import * as z from 'zod'
import type { Entry } from '../kernel/journal.ts'
import type { Simulator } from '../simulator/simulator.ts'

export const JournalEntrySchema = z.object({
  seq: z.int().describe('Position in the journal'),
  time: z.int().describe('Microseconds since the epoch of the world'),
  at: z.string().describe('The time as ISO 8601'),
  kind: z.string(),
  subject: z.string(),
  cause: z.int().describe('Position of the entry that caused it; 0 if the world began with it'),
  fields: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
})

/** @param redact shortens the tokens in a text */
export function toJournalView(
  entry: Entry,
  sim: Simulator,
  redact: (text: string) => string,
): z.input<typeof JournalEntrySchema> {
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
