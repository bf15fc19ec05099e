/** Journal entries as the control plane shows them: without tokens, as objects or in columns. */
import * as z from 'zod'
import type { Entry, EntryFields } from '../kernel/journal.ts'
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
  const { seq, time, kind, cause, fields } = entry
  return {
    seq,
    time,
    at: sim.world.clock.iso(time),
    kind,
    subject: redact(entry.subject),
    cause,
    ...(fields && { fields: redactFields(fields, redact) }),
  }
}

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

/**
 * Writes entries in columns, without tokens.
 *
 * @param redact shortens the tokens in a text
 */
export function toEntryColumns(
  entries: readonly Entry[],
  sim: Simulator,
  redact: (text: string) => string,
): EntryColumns {
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
  const isPlain = hasNoTokens(subjects, fieldsOf, redact)
  return {
    ...{ epoch: sim.world.clock.iso(0), seq: seqs, time: times, kind: kinds, kinds: [...places.keys()] },
    ...{ subject: isPlain ? subjects : subjects.map(redact), cause: causes },
    fields: isPlain ? fieldsOf : redactFieldsOf(fieldsOf, redact),
  }
}

/** Returns whether no text has a token. One search through all of them is faster than one for each. */
function hasNoTokens(
  subjects: readonly string[],
  fieldsOf: Readonly<Record<number, EntryFields>>,
  redact: (text: string) => string,
): boolean {
  const values = Object.values(fieldsOf).flatMap(fields => Object.values(fields))
  const text = [...subjects, ...values.filter(value => typeof value === 'string')].join('\n')
  return redact(text) === text
}

function redactFieldsOf(
  fieldsOf: Readonly<Record<number, EntryFields>>,
  redact: (text: string) => string,
): Record<number, EntryFields> {
  return Object.fromEntries(Object.entries(fieldsOf).map(([place, fields]) => [place, redactFields(fields, redact)]))
}

function redactFields(fields: EntryFields, redact: (text: string) => string): EntryFields {
  const shortened = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'string' ? redact(value) : value,
  ])
  return Object.fromEntries(shortened)
}
