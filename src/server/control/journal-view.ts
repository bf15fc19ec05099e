/** Journal entries as the control plane shows them: as objects or in columns. */
import * as z from 'zod'
import type { Entry, EntryFields } from '../../kernel/journal.ts'
import { describeEntry } from '../../simulator/explain/kind-sentences.ts'
import type { Simulator } from '../../simulator/simulator.ts'

export const JournalEntrySchema = z.object({
  seq: z.int().describe('Position in the journal'),
  time: z.int().describe('Microseconds since the epoch of the world'),
  at: z.string().describe('The time as ISO 8601'),
  kind: z.string(),
  subject: z.string(),
  cause: z.int().describe('Position of the entry that caused it; 0 if the world began with it'),
  fields: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
})

export function toJournalView(
  { seq, time, kind, subject, cause, fields }: Entry,
  sim: Simulator,
): z.input<typeof JournalEntrySchema> {
  return { seq, time, at: sim.world.clock.iso(time), kind, subject, cause, ...(fields && { fields }) }
}

/** A journal entry with what happened, in one to three sentences. */
export const DescribedEntrySchema = JournalEntrySchema.extend({ sentence: z.string() })

export function toDescribedEntry(entry: Entry, sim: Simulator): z.input<typeof DescribedEntrySchema> {
  return { ...toJournalView(entry, sim), sentence: describeEntry(entry) }
}

/** A journal entry by what happened. */
export const EntrySentenceSchema = z.object({
  seq: z.int().describe('Position in the journal'),
  at: z.string().describe('The time as ISO 8601'),
  kind: z.string(),
  subject: z.string(),
  sentence: z.string().describe('What happened, in one to three sentences'),
})

/** The data of the event `entries`. Each list has one item for each entry, in the order of entries. */
export interface EntryColumns {
  /** When the world began, ISO 8601. */
  readonly epoch: string
  /** Positions in the journal. The first is whole, each further one is the difference from the one before. */
  readonly seq: readonly number[]
  /** Microseconds since the epoch. The first is whole, each further one is the difference from the one before. */
  readonly time: readonly number[]
  /** Places in `kinds`. */
  readonly kind: readonly number[]
  readonly kinds: readonly string[]
  readonly subject: readonly string[]
  /** Positions of the entries that caused them; 0 if the world began with it. */
  readonly cause: readonly number[]
  /** The fields of those entries that have some, by the place of the entry in the lists, from 0. */
  readonly fields: Readonly<Record<number, EntryFields>>
}

/** Writes entries in columns. */
export function toEntryColumns(entries: readonly Entry[], sim: Simulator): EntryColumns {
  const seqs: number[] = []
  const times: number[] = []
  const kinds: number[] = []
  const subjects: string[] = []
  const causes: number[] = []
  const fieldsOf: Record<number, EntryFields> = {}
  const places = new Map<string, number>()
  let lastSeq = 0
  let lastTime = 0
  for (const { seq, time, kind, subject, cause, fields } of entries) {
    let place = places.get(kind)
    if (place === undefined) {
      place = places.size
      places.set(kind, place)
    }
    if (fields !== undefined) fieldsOf[seqs.length] = fields
    seqs.push(seq - lastSeq)
    times.push(time - lastTime)
    kinds.push(place)
    subjects.push(subject)
    causes.push(cause)
    lastSeq = seq
    lastTime = time
  }
  return {
    ...{ epoch: sim.world.clock.iso(0), seq: seqs, time: times, kind: kinds, kinds: [...places.keys()] },
    ...{ subject: subjects, cause: causes, fields: fieldsOf },
  }
}
