import { attempt } from '../../../lib/attempt.ts'
import { askedLines, hasContent, isNothing } from '../batch-rows.ts'
import {
  endsThing,
  entryEvidence,
  hasBrokenBody,
  isUsable,
  requestEvidence,
  showsEnd,
  statusSince,
  thingEvidence,
  walk,
} from '../facts.ts'
import type { Observation, ObservedRequest } from '../observation.ts'
import { defineRule, type Violation } from '../rule.ts'
import { formatSince, nameRequest, nameThing, operationOf, pathOf, quoteText } from '../words.ts'

/** Fields of a result that tell a failure if they have a value. */
const FAILURE_FIELD = /error|fail|missing|reason|problem|warning|incomplete/i

/** Words of a status that tell a failure, or that the work is not done. */
const FAILURE_WORDS: ReadonlySet<string> = new Set([
  ...['failed', 'expired', 'cancelled', 'cancelling', 'stopped', 'deleted'],
  ...['validating', 'in_progress', 'finalizing', 'initializing', 'downloading', 'deploying'],
])

/** The most places that words name. */
const MAX_NAMED = 3

/**
 * A client that returns normally returns everything, or says in its result what is missing:
 * - Each input line of its batches has an answer or an error in the returned lines, unless the result tells the failure
 *   of the batch. Lines that only the error file has are a case of `batchLines`. Clients that return no lines, also in the
 *   base run, are not judged.
 * - Where a 2xx had an empty, cut or unreadable body and was not read again, the result has every value that the base
 *   run has, or tells a failure that the base run does not.
 * - A deployment, adapter or rental that the result names had not ended, if an answer showed so, or the result tells it.
 */
export const noSilentLoss = defineRule({
  summary: 'A client that returns normally returns a complete result, or says what is missing.',
  advice:
    'Check the length and the content of each 2xx: an empty or cut body is a failed request. Count the rows of a ' +
    'download against request_counts of its batch.',
  check(observation) {
    if (observation.end.kind !== 'returned') return []
    const lost = findLostLines(observation)
    const other = lost === undefined ? findLostValues(observation) : undefined
    return [lost, other, ...findDeadThings(observation)].filter(violation => violation !== undefined)
  },
})

function findLostLines(observation: Observation): Violation | undefined {
  const { lines, base, requests } = observation
  if (lines === undefined && base?.lines === undefined) return undefined
  const present = new Set((lines ?? []).filter(hasContent).map(({ custom_id }) => custom_id))
  const asked = [...askedLines(observation).values()]
  const missing = asked.filter(
    ({ customId, outputRows, errorRows }) =>
      !present.has(customId) && (outputRows.length > 0 || errorRows.length === 0),
  )
  if (missing.length === 0 || tellsFailure(observation)) return undefined
  const batch = missing[0]!.batches.at(-1)!
  const broken = requests.findLast(hasBrokenBody)
  const download = requests.findLast(({ operation }) => operation === 'getFileContent')
  const cause = broken ?? download ?? requests.at(-1)!
  const names = missing.slice(0, MAX_NAMED).map(({ customId }) => quoteText(customId))
  const more = missing.length > MAX_NAMED ? ` and ${missing.length - MAX_NAMED} more` : ''
  const why = broken ? ` The body of ${nameRequest(broken)} was ${bodyWord(broken)}.` : ''
  return {
    words:
      `The client returned normally, but ${missing.length} of the ${asked.length} lines of batch ${batch.id} have ` +
      `neither answer nor error in its result: ${names.join(', ')}${more}.${why}`,
    operation: operationOf(cause),
    subject: batch.id,
    evidence: [...requestEvidence(cause), ...entryEvidence(observation, batch.id)],
  }
}

function findLostValues(observation: Observation): Violation | undefined {
  const { requests, end, base } = observation
  if (end.kind !== 'returned' || base?.end.kind !== 'returned') return undefined
  const broken = requests.findLast(
    request =>
      hasBrokenBody(request) &&
      !requests.some(
        later => later.index > request.index && operationPath(later) === operationPath(request) && isUsable(later),
      ),
  )
  if (broken === undefined) return undefined
  const { result: usual } = base.end
  const lost = attempt(() => lostPlaces(usual, end.result)) ?? []
  if (lost.length === 0 || tellsFailure(observation)) return undefined
  const places = lost.slice(0, MAX_NAMED).join(', ')
  return {
    words:
      `The client returned normally, but its result lacks ${places === '' ? 'a value' : places}, which it has without ` +
      `faults. The body of ${nameRequest(broken)} was ${bodyWord(broken)}, ` +
      `${formatSince(observation, broken.sentAt)} after the start, and the client did not repeat the request.`,
    operation: operationOf(broken),
    evidence: requestEvidence(broken),
  }
}

function findDeadThings(observation: Observation): Violation[] {
  const { created, owned, requests } = observation
  const dead = created.filter(thing => owned.has(thing.id) && !thing.isAlive && thing.kind !== 'batch')
  if (dead.length === 0 || tellsFailure(observation)) return []
  return dead.flatMap(thing => {
    const endedAt = statusSince(observation, thing)
    const telling = requests.find(request => showsEnd(request, thing, endedAt))
    if (telling === undefined || requests.some(request => endsThing(request, thing.id))) return []
    return [
      {
        words:
          `The client returned ${thing.id} as if it were there. ${nameThing(thing)} had ended, and ` +
          `${nameRequest(telling)} had shown it ${formatSince(observation, telling.sentAt)} after the start.`,
        operation: operationOf(telling),
        subject: thing.id,
        evidence: [...requestEvidence(telling), ...thingEvidence(observation, thing)],
      },
    ]
  })
}

/** Tells whether the result tells a failure that the result of the base run does not. Lines of batches do not count. */
function tellsFailure({ end, base }: Observation): boolean {
  if (end.kind !== 'returned') return true
  const usual = new Set(base?.end.kind === 'returned' ? failuresIn(base.end.result) : [])
  return failuresIn(end.result).some(failure => !usual.has(failure))
}

function failuresIn(result: unknown): string[] {
  const failures: string[] = []
  walk(result, (value, key) => {
    if (typeof value === 'object' && value !== null && 'custom_id' in value) return false
    if (typeof value === 'string' && FAILURE_WORDS.has(value)) failures.push(value)
    else if (FAILURE_FIELD.test(key) && !isEmpty(value)) failures.push(key)
    return undefined
  })
  return failures
}

/** Returns the places at which the base run has a value and this run has none. */
function lostPlaces(usual: unknown, result: unknown, place = '', depth = 0): string[] {
  if (isEmpty(usual)) return []
  if (isEmpty(result)) return [place]
  if (typeof usual !== 'object' || usual === null || typeof result !== 'object' || result === null || depth > 5)
    return []
  const names = Array.isArray(usual) && Array.isArray(result) && result.length < usual.length ? [`${place}[]`] : []
  const lost = Object.entries(usual).flatMap(([name, value]) =>
    lostPlaces(value, (result as Record<string, unknown>)[name], place === '' ? name : `${place}.${name}`, depth + 1),
  )
  return lost.length > 0 ? lost : names
}

function isEmpty(value: unknown): boolean {
  if (isNothing(value) || value === false || value === 0) return true
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && value !== null && !(value instanceof Error) && Object.keys(value).length === 0
}

function operationPath(request: ObservedRequest): string {
  return `${operationOf(request)} ${pathOf(request)}`
}

function bodyWord({ fault }: ObservedRequest): string {
  switch (fault?.kind) {
    case 'empty':
      return 'empty'
    case 'truncated':
      return 'cut'
    case 'html':
      return 'an HTML page'
    default:
      return 'unreadable'
  }
}
