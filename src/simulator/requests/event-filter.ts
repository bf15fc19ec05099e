/** Which live events a reader gets. */

import type { Entry } from '../../kernel/journal.ts'
import { nearestWord } from '../../lib/did-you-mean.ts'
import { globOf } from '../../lib/glob.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { JOURNAL_KINDS } from '../../simulation/journal-kinds.ts'
import type { ReceivedRequest } from '../exchanges/request-log.ts'
import type { Simulator } from '../simulator-interface.ts'

/** Which events are read. Default: all. */
export interface EventFilter {
  /** A kind of journal entry, or `request` for requests. `*` is any text, as in `deployment.*`. */
  readonly kind?: string | readonly string[] | undefined
  /** The id of a thing. `*` is any text. Requests are those about it. */
  readonly subject?: string | readonly string[] | undefined
}

/** A filter that was checked. */
export interface CompiledEventFilter {
  matchesEntry(entry: Entry): boolean
  matchesRequest(request: ReceivedRequest): boolean
}

const CONTEXT = 'Failed to read events'

/**
 * Checks a filter.
 *
 * @throws RangeError for an unknown field, and for a kind that looks like a typo of a known one
 * @internal
 */
export function compileEventFilter({ world }: Simulator, filter: EventFilter): CompiledEventFilter {
  assertKnownKeys(filter, ['kind', 'subject'], CONTEXT, { noun: 'field' })
  const known = ['request', ...world.journal.counts.keys(), ...JOURNAL_KINDS]
  const kinds = toTests(filter.kind)
  for (const kind of [filter.kind ?? []].flat()) {
    if (known.some(globOf(kind))) continue
    const suggestion = nearestWord(kind, known)
    const advice = suggestion === undefined ? 'docs/journal.md lists the kinds.' : `Did you mean '${suggestion}'?`
    throw new RangeError(`${CONTEXT}: unknown kind '${kind}'. ${advice}`)
  }
  const subjects = toTests(filter.subject)
  const hasRequests = kinds === undefined || kinds('request')
  return {
    matchesEntry: ({ kind, subject }) =>
      kind !== 'request' && (kinds === undefined || kinds(kind)) && (subjects === undefined || subjects(subject)),
    matchesRequest: request => hasRequests && (subjects === undefined || request.subjects.some(subjects)),
  }
}

function toTests(patterns: string | readonly string[] | undefined): ((text: string) => boolean) | undefined {
  if (patterns === undefined) return undefined
  const globs = [patterns].flat().map(globOf)
  return text => globs.some(glob => glob(text))
}
