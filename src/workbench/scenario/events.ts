/** Patterns of journal events, for assertions about them. */

import type { Entry, EntryFields } from '../../kernel/journal.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { differences } from '../../lib/differences.ts'
import type { OpenName } from '../../lib/fields.ts'
import { parseRange } from '../../lib/number-ranges.ts'
import { JOURNAL_KINDS, type JournalKindName } from '../../simulation/journal-kinds.ts'

/**
 * An event of the journal: its kind, as in `'instance.lost'`, or also its subject and fields. Fields that are missing
 * in the pattern match any value.
 *
 * @example { kind: 'deployment.running', subject: deploy_id }
 * @example { kind: 'instance.placed', fields: { node: 'h100-1' } }
 */
export type EventPattern =
  | OpenName<JournalKindName>
  | {
      readonly kind: OpenName<JournalKindName>
      /** Wire id or name of the subject. */
      readonly subject?: string | RegExp | undefined
      readonly fields?: { readonly [name: string]: string | number | boolean | null | RegExp } | undefined
    }

/** A range of a count: `3`, `'1..3'`, `'2..'`, `'..4'`, or the bounds. */
export type CountRange = number | string | { readonly min?: number | undefined; readonly max?: number | undefined }

/** Matches the events of a pattern. */
export interface EventMatcher {
  /** The pattern as a text: the kind, then subject and fields. */
  readonly name: string
  matches(entry: Entry): boolean
}

/** @throws RangeError for an unknown journal kind, with the nearest known one */
export function eventMatcher(pattern: EventPattern): EventMatcher {
  const { kind, subject, fields } = typeof pattern === 'string' ? { kind: pattern } : pattern
  if (!(JOURNAL_KINDS as readonly string[]).includes(kind)) {
    const fallback = 'Run with a failing check to see what happens, or read the trace.'
    const advice = formatSuggestion(String(kind), JOURNAL_KINDS, fallback)
    throw new RangeError(`Failed to name an event: nothing is called '${kind}' in the journal. ${advice}`)
  }
  return {
    name: [kind, subject, ...Object.entries(fields ?? {}).map(([name, value]) => `${name}=${value}`)]
      .filter(part => part !== undefined)
      .join(' '),
    matches: entry =>
      entry.kind === kind &&
      (subject === undefined || differences(entry.subject, subject).length === 0) &&
      (fields === undefined || differences((entry.fields ?? {}) as EntryFields, fields).length === 0),
  }
}

/** @throws RangeError for an invalid range */
export function countBounds(range: CountRange): { readonly min: number; readonly max: number } {
  const bounds = boundsOf(range)
  if (bounds !== undefined) return bounds
  throw new RangeError(
    `Failed to read the range ${JSON.stringify(range)}: no counts. Give 3, '1..3', '2..', '..4' or { min, max }.`,
  )
}

/** Returns whether a value is a range of a count. */
export function isCountRange(value: unknown): value is number | string {
  return (typeof value === 'number' || typeof value === 'string') && boundsOf(value) !== undefined
}

function boundsOf(range: CountRange): { readonly min: number; readonly max: number } | undefined {
  const exact = typeof range === 'string' && /^\d+$/.test(range) ? Number(range) : range
  const ends = typeof exact === 'string' ? parseRange(exact) : exact
  if (ends === undefined) return undefined
  const { min = 0, max = Number.POSITIVE_INFINITY } = typeof ends === 'number' ? { min: ends, max: ends } : ends
  const areCounts = [min, max].every(count => count === Number.POSITIVE_INFINITY || Number.isSafeInteger(count))
  return areCounts && min >= 0 && min <= max ? { min, max } : undefined
}

/** Formats a range as a text. */
export function formatCountRange({ min, max }: { readonly min: number; readonly max: number }): string {
  if (min === max) return `${min}`
  if (max === Number.POSITIVE_INFINITY) return `${min} or more`
  return min === 0 ? `${max} or fewer` : `${min} to ${max}`
}
