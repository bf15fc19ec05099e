import { hideSecrets } from '../lib/text/secrets.ts'
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

/** Formats a time for a trace: seconds since the epoch of the world, with six decimals. */
export function formatSeconds(time: Micros): string {
  const seconds = Math.floor(time / 1_000_000)
  return `${seconds}.${String(time - seconds * 1_000_000).padStart(6, '0')}`
}

/** Formats an entry as a line of a trace: seconds, kind, subject, then the fields by name. */
export function formatTraceLine(entry: Entry): string {
  let line = `${formatSeconds(entry.time)} ${entry.kind} ${entry.subject}`
  for (const name of Object.keys(entry.fields ?? {}).sort())
    line += ` ${name}=${formatFieldValue(entry.fields![name]!)}`
  return hideSecrets(line)
}

function formatFieldValue(value: string | number | boolean | null): string {
  return typeof value === 'string' && (value === '' || /[\s"=]/.test(value)) ? JSON.stringify(value) : String(value)
}
