/** A finding in plain words: what happened, because of what, until when the client could be saved, and what to do. */

import { formatDuration, type Micros } from '../../../kernel/duration.ts'
import { quote } from '../../../lib/quote.ts'
import { formatCount } from '../../../lib/text/numbers.ts'
import type { ObservedRequest } from '../../../simulator/judge/observation.ts'
import { shortenPath } from '../../../simulator/judge/words.ts'
import type { InputValues } from '../input.ts'
import type { Plan } from '../plan/plan.ts'
import type { BrokenInvariant } from '../run/runner.ts'
import type { Inevitability } from '../shrink/shrink.ts'
import { describeItem, type FindingWords, nameOperation, WITHOUT_FAULT } from './item-words.ts'

export interface FindingStory {
  readonly violation: Pick<BrokenInvariant, 'invariant' | 'words'>
  readonly plan: Plan
  /** The requests of a run with this plan. */
  readonly requests: readonly ObservedRequest[]
  /** Whether every item of the plan is known to be necessary; undefined if that was not tried. */
  readonly isMinimal: boolean | undefined
  readonly inevitability?: Inevitability | undefined
  /** The inputs of the flow that it takes; undefined for the simplest ones. */
  readonly inputs?: InputValues | undefined
  /** What was left out of the world of the flow. */
  readonly leftOut?: readonly string[] | undefined
}

/** Returns what an invariant asks for and what helps if it is broken; undefined for one of the user's own. */
export type MeaningOf = (invariant: string) => { readonly summary: string; readonly advice: string } | undefined

/** Returns the words of a finding. */
export function describeFinding(story: FindingStory, meaningOf: MeaningOf = () => undefined): FindingWords {
  const { violation, plan, requests, inevitability, inputs, leftOut = [] } = story
  const meaning = meaningOf(violation.invariant)
  return {
    invariant: violation.invariant,
    what: asSentence(violation.words),
    expected: meaning === undefined ? '' : asSentence(meaning.summary),
    also: [],
    causes: plan.map(item => asSentence(describeItem(item, requests))),
    inputs: inputs === undefined ? '' : describeInputs(inputs),
    requests: describeRequests(requests),
    tooLateFrom: inevitability === undefined || plan.length === 0 ? '' : describeMoment(inevitability, requests),
    necessary: describeNecessity(story),
    leftOut: leftOut.length === 0 ? '' : `It also happens without ${listed(leftOut)}.`,
    advice: meaning === undefined ? '' : asSentence(meaning.advice),
  }
}

/** Returns the words of a finding as one paragraph. */
export function toParagraph(words: FindingWords): string {
  const { invariant, what, expected, also, causes, inputs, requests, tooLateFrom, necessary, leftOut, advice } = words
  const parts = [
    `The invariant ${invariant} does not hold. ${what}`,
    also.length === 0 ? '' : `Also at: ${also.join(', ')}.`,
    expected === '' ? '' : `Expected: ${expected}`,
    causes.length === 0 ? WITHOUT_FAULT : `${causes.length === 1 ? 'Cause' : 'Causes'}: ${numbered(causes)}`,
    inputs === '' ? '' : `Inputs: ${inputs}`,
    `Requests: ${requests}`,
    tooLateFrom === '' ? '' : `Too late after: ${tooLateFrom}`,
    necessary,
    leftOut === '' ? '' : `Left out of the world: ${leftOut}`,
    advice === '' ? '' : `What to do: ${advice}`,
  ]
  return parts.filter(part => part !== '').join(' ')
}

function describeInputs(inputs: InputValues): string {
  return `${Object.entries(inputs)
    .map(([name, value]) => `${name} is ${quote(value)}`)
    .join(', ')}.`
}

function listed(parts: readonly string[]): string {
  return parts.length === 1 ? parts[0]! : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

function numbered(causes: readonly string[]): string {
  return causes.length === 1 ? causes[0]! : causes.map((cause, i) => `(${i + 1}) ${cause}`).join(' ')
}

function describeMoment(
  { afterRequest, method, exceptions }: Inevitability,
  requests: readonly ObservedRequest[],
): string {
  const request = requests.find(({ index }) => index === afterRequest)
  const moment =
    request === undefined
      ? 'the start, even if the service recovers before the first request.'
      : `request ${afterRequest} (${nameOperation(request)}, at ${formatTime(request.sentAt)}), even if the service recovers after it.`
  const [first] = exceptions
  const more = exceptions.length > 1 ? `, or before ${exceptions.length - 1} more of the earlier ones,` : ''
  const exception = first === undefined ? '' : ` A recovery just before request ${first}${more} does not help either.`
  return `${moment}${exception}${method === 'each' ? '' : ' Not every request was tested for this.'}`
}

function describeNecessity({ plan, isMinimal }: FindingStory): string {
  if (plan.length === 0 || isMinimal === undefined) return ''
  if (!isMinimal && plan.length > 1)
    return 'Some of these faults may be unnecessary, because the runs for shrinking were used up.'
  return plan.length === 1
    ? 'Without this fault, this finding does not occur.'
    : `Without any one of these ${plan.length} faults, this finding does not occur.`
}

/** Requests of one operation in a row, with the same end. */
interface RequestGroup {
  readonly operation: string
  readonly end: string
  readonly first: ObservedRequest
  last: ObservedRequest
  count: number
}

/** Groups that are listed at the start and at the end of a long list. */
const LISTED_GROUPS = 5

/** Returns the requests in short: those in a row that are equal for the reader are one. */
function describeRequests(requests: readonly ObservedRequest[]): string {
  const groups: RequestGroup[] = []
  for (const request of requests) {
    const operation = nameOperation(request)
    const end = describeEnd(request)
    const open = groups.at(-1)
    if (open !== undefined && open.operation === operation && open.end === end) {
      open.last = request
      open.count++
    } else groups.push({ operation, end, first: request, last: request, count: 1 })
  }
  if (groups.length === 0) return 'The client sent none.'
  const texts = groups.map(describeGroup)
  const hidden = texts.length - 2 * LISTED_GROUPS
  const listed =
    hidden > 1 ? [...texts.slice(0, LISTED_GROUPS), `${hidden} others`, ...texts.slice(-LISTED_GROUPS)] : texts
  return `${formatCount(requests.length)} in all: ${listed.join(', then ')}.`
}

function describeGroup({ operation, end, first, last, count }: RequestGroup): string {
  const [from, to] = [formatTime(first.sentAt), formatTime(last.sentAt)]
  if (count === 1) return `${operation} at ${from} (${end})`
  return `${operation} ${count} times ${from === to ? `at ${from}` : `from ${from} to ${to}`} (${end})`
}

function describeEnd({ outcome, status, readError, path }: ObservedRequest): string {
  if (outcome === 'unanswered') return 'no answer'
  if (outcome === 'failed') return 'no connection'
  // The path of what is not there says which id the client had.
  const text = status === 404 ? `${status}, ${shortenPath(path)}` : `${status}`
  return readError === undefined ? text : `${text} with an unreadable body`
}

function formatTime(time: Micros): string {
  return time === 0 ? '0s' : formatDuration(time)
}

/** Returns a text with a full stop and a capital letter. The name of an operation stays as it is. */
function asSentence(text: string): string {
  const begin = /^[a-z]+ /.test(text) ? `${text.slice(0, 1).toUpperCase()}${text.slice(1)}` : text
  return /[.!?]$/.test(begin) ? begin : `${begin}.`
}
