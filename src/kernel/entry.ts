import type { Micros } from './duration.ts'

/** The fields of an event, for people and traces. */
export type EntryFields = Readonly<Record<string, string | number | boolean | null>>

/** An entry of the journal: an event of a subject, or a request. */
export interface Entry {
  /** Position in the journal of this world, from 1. Never part of the digest. */
  readonly seq: number
  /** Microseconds since the epoch of the world. */
  readonly time: Micros
  /** Past tense, as in `instance.ready`; `request` for a request. */
  readonly kind: string
  /** Wire id or name of the subject, or method and path of a request. */
  readonly subject: string
  /** Position of the entry that caused this one. 0: the world began with it. */
  readonly cause: number
  readonly fields: EntryFields | undefined
}
