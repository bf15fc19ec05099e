import { attempt } from '../../../lib/errors.ts'
import { tryParseJson } from '../../../lib/json-text.ts'
import { comparisonOf } from '../answers/comparison.ts'
import { isDigest } from '../answers/leaves.ts'
import { violationAt } from '../facts.ts'
import type { Observation } from '../observation.ts'
import { defineRule } from '../rule.ts'
import { nameRequest, quoteText } from '../words.ts'

/** How deep a result is compared. */
const MAX_DEPTH = 12
/** The end of a line, or a list or an object of JSON in it. Other brackets, as in `[info]`, begin with a word. */
const LINE_OR_JSON = /\n+|([[{](?=["{[]).*[\]}])/
const LONG_WORD = /[\w+/=:-]{22,}/g
/** How long something took, and the world in a token of a server. */
const TIMING =
  /\d+(?:\.\d+)?(?=\s?(?:[mnµu]?s|m?secs?|(?:milli)?seconds?|min|minutes?|h|hours?)\b)|(?<=(?:\b|_)ms\W{1,3}|Ms\W{1,3}|(?:[Tt]ime|[Ss]econds|[Dd]uration|[Ee]lapsed)\W{1,3})\d+(?:\.\d+)?|(?<=\.w)\d+\b/g

/**
 * A client whose answers all have another form that the interface allows ends as it does without. More fields, other
 * numbers and another order of lists and lines do not count: some forms have them.
 */
export const acceptsVariations = defineRule({
  summary: 'The client reads each form of an answer that the interface allows.',
  advice:
    'Split a stream at the blank lines of its whole text, and leave comments out. An event may have no choices. Read ' +
    'fields by their names, rows by their ids, and Retry-After as seconds or as a date.',
  place: 'operation',
  premise: ({ requests, base }) => base?.end.kind === 'returned' && areOnlyVaried(requests),
  otherwise: 'no answer was varied',
  check(observation) {
    const { requests, end, base } = observation
    const varied = requests.findLast(({ fault }) => fault?.kind === 'variation')
    if (varied === undefined || base?.end.kind !== 'returned' || !areOnlyVaried(requests)) return []
    const { result } = base.end
    if (end.kind === 'returned' && (attempt(() => contains(plain(end.result), plain(result))) ?? true)) return []
    if (repeatsFields(observation)) return []
    const ends = { returned: 'had another result', unsettled: 'did not end', threw: 'threw' }
    const how = end.kind === 'threw' ? `threw ${quoteText(String(end.error))}` : ends[end.kind]
    const words = `The client ${how}, because ${nameRequest(varied)} was answered in another form that the interface allows.`
    return [violationAt(varied, words)]
  },
})

/** Tells whether answers had another form, and no other fault. */
function areOnlyVaried(requests: Observation['requests']): boolean {
  const faults = requests.flatMap(({ fault }) => fault ?? [])
  return faults.length > 0 && faults.every(({ kind }) => kind === 'variation')
}

/** Tells whether a client repeats new fields of an answer in its next question: from there on, it asks for other answers. */
function repeatsFields(observation: Observation): boolean {
  const { questions, newQuestions } = comparisonOf(observation)?.answers ?? {}
  const [first] = newQuestions ?? []
  const usual = [...(observation.base?.answers.questions ?? [])]
  const unasked = usual.flatMap(([key, { last }]) => (questions?.has(key) === false ? last : []))
  return unasked.some(
    ({ path, body }) =>
      body !== undefined && path === first?.last.path && contains(plain(first.last.body), plain(body)),
  )
}

/**
 * Returns a value in which equal contents are equal: sets and maps as objects, texts of JSON and JSON in lines parsed, lines
 * as a list without an order, one mark for all digests, and one for all times in texts.
 */
function plain(value: unknown, depth = 0): unknown {
  if (value instanceof Uint8Array) return plain(new TextDecoder().decode(value), depth)
  if (typeof value === 'string') {
    const parsed = tryParseJson(value)
    if (typeof parsed === 'object') return plain(parsed, depth + 1)
    const pieces = value.split(LINE_OR_JSON).filter(Boolean)
    if (pieces.length > 1) return { count: `${pieces.length}`, pieces: pieces.map(piece => plain(piece, depth + 1)) }
    return value.replace(LONG_WORD, word => (isDigest(word) ? 'a digest' : word)).replace(TIMING, '0')
  }
  // Each run has functions of its own.
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
  if (Array.isArray(value) || value instanceof Set) return Array.from(value, entry => plain(entry, depth + 1))
  const entries: Iterable<[unknown, unknown]> = value instanceof Map ? value : Object.entries(value)
  return Object.fromEntries(Array.from(entries, ([key, inner]) => [String(key), plain(inner, depth + 1)]))
}

/** Tells whether a value has all that another one has. */
function contains(value: unknown, part: unknown): boolean {
  if (typeof part === 'number') return typeof value === 'number' && Number.isNaN(value) === Number.isNaN(part)
  if (typeof part !== 'object' || part === null) return value === part
  if (typeof value !== 'object' || value === null) return false
  if (!Array.isArray(part)) {
    return Object.entries(part).every(([key, inner]) => contains((value as Record<string, unknown>)[key], inner))
  }
  // From the end, since removing the last entry of a long list moves no other.
  const rest = Object.values(value)
  return part.toReversed().every(inner => {
    const at = rest.findLastIndex(entry => contains(entry, inner))
    return at >= 0 && rest.splice(at, 1).length > 0
  })
}
