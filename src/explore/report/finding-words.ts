/** A finding in plain words: what happened, because of what, until when the client could be saved, and what to do. */

import type { ObservedRequest } from '../../evidence/observation.ts'
import { formatDuration, type Micros } from '../../kernel/duration.ts'
import { formatCount } from '../../lib/format-count.ts'
import type { Plan } from '../plan/plan.ts'
import type { BrokenInvariant } from '../run/run-result.ts'
import type { Inevitability } from '../shrink/inevitability.ts'
import { describeItem, nameOperation } from './item-words.ts'

export interface FindingStory {
  readonly violation: Pick<BrokenInvariant, 'invariant' | 'words'>
  readonly plan: Plan
  /** The requests of a run with this plan. */
  readonly requests: readonly ObservedRequest[]
  /** Whether every item of the plan is known to be necessary. */
  readonly isMinimal: boolean
  readonly inevitability?: Inevitability | undefined
}

/** Returns the advice of an invariant; undefined for one of the user's own. */
export type AdviceOf = (invariant: string) => string | undefined

/** The parts of the paragraph about a finding. Each consists of whole sentences. */
export interface FindingWords {
  readonly what: string
  /** The requests of the client, in short. */
  readonly requests: string
  readonly cause: string
  /** Empty if it is unknown. */
  readonly inevitable: string
  readonly necessary: string
  /** Empty for an invariant without advice. */
  readonly advice: string
}

/** Returns the words of a finding. */
export function describeFinding(story: FindingStory, adviceOf: AdviceOf = () => undefined): FindingWords {
  const { violation, plan, requests, inevitability } = story
  const advice = adviceOf(violation.invariant)
  return {
    what: `The invariant ${violation.invariant} does not hold. ${asSentence(violation.words)}`,
    requests: describeRequests(requests),
    cause: describeCause(plan, requests),
    inevitable: inevitability === undefined || plan.length === 0 ? '' : describeInevitability(inevitability, requests),
    necessary: describeNecessity(story),
    advice: advice === undefined ? '' : `What to do: ${asSentence(advice)}`,
  }
}

/** Returns the words of a finding as one paragraph. */
export function toParagraph(words: FindingWords): string {
  const { what, requests, cause, inevitable, necessary, advice } = words
  return [what, cause, requests, inevitable, necessary, advice].filter(part => part !== '').join(' ')
}

function describeCause(plan: Plan, requests: readonly ObservedRequest[]): string {
  const [only, ...others] = plan.map(item => describeItem(item, requests))
  if (only === undefined) return 'It happens without any fault.'
  if (others.length === 0) return `The cause: ${asSentence(only, false)}`
  return `The causes: ${[only, ...others].map((cause, i) => `(${i + 1}) ${cause}`).join('; ')}.`
}

function describeInevitability(
  { afterRequest, method, exceptions }: Inevitability,
  requests: readonly ObservedRequest[],
): string {
  const request = requests.find(({ index }) => index === afterRequest)
  const moment =
    request === undefined
      ? 'Nothing could save the client, even if the service had recovered before its first request.'
      : `After request ${afterRequest} (${nameOperation(request)}, at ${formatTime(request.sentAt)}) nothing could save ` +
        'the client, even if the service recovered.'
  const [first] = exceptions
  const more = exceptions.length > 1 ? `, or before ${exceptions.length - 1} more of the earlier ones,` : ''
  const exception = first === undefined ? '' : ` A recovery just before request ${first}${more} did not help either.`
  return `${moment}${exception}${method === 'each' ? '' : ' Not every request was tested for this.'}`
}

function describeNecessity({ plan, isMinimal }: FindingStory): string {
  if (plan.length === 0) return ''
  if (!isMinimal) return 'Some of these faults may be unnecessary, because the runs for shrinking were used up.'
  return plan.length === 1
    ? 'Without this fault, the client passes.'
    : `Without any one of these ${plan.length} faults, the client passes.`
}

/** Requests of one operation in a row, with the same end. */
interface RequestGroup {
  readonly operation: string
  readonly end: string
  readonly first: ObservedRequest
  last: ObservedRequest
  count: number
}

/** Groups that are listed at the begin and at the end of a long list. */
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
  if (groups.length === 0) return 'The client sent no request.'
  const texts = groups.map(describeGroup)
  const hidden = texts.length - 2 * LISTED_GROUPS
  const listed =
    hidden > 1 ? [...texts.slice(0, LISTED_GROUPS), `(${hidden} more)`, ...texts.slice(-LISTED_GROUPS)] : texts
  const count = requests.length === 1 ? '1 request' : `${formatCount(requests.length)} requests`
  return `The client sent ${count}: ${listed.join('; ')}.`
}

function describeGroup({ operation, end, first, last, count }: RequestGroup): string {
  const [from, to] = [formatTime(first.sentAt), formatTime(last.sentAt)]
  if (count === 1) return `${operation} at ${from}: ${end}`
  return `${operation} ${count} times ${from === to ? `at ${from}` : `from ${from} to ${to}`}: ${end}`
}

function describeEnd({ outcome, status, readError }: ObservedRequest): string {
  if (outcome === 'unanswered') return 'no answer'
  if (outcome === 'failed') return 'no connection'
  return readError === undefined ? `${status}` : `${status} with an unreadable body`
}

function formatTime(time: Micros): string {
  return time === 0 ? '0s' : formatDuration(time)
}

/** Returns a text with a full stop, and with a capital letter unless it follows a colon. */
function asSentence(text: string, isStart = true): string {
  const begin = isStart ? `${text.slice(0, 1).toUpperCase()}${text.slice(1)}` : text
  return /[.!?]$/.test(begin) ? begin : `${begin}.`
}
