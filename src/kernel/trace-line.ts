import { hideSecrets } from '../lib/text/secrets.ts'
import type { Micros } from './duration.ts'
import type { Entry } from './journal.ts'

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
