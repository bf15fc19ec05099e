import { formatDuration } from '../../../kernel/duration.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { formatCount } from '../../../lib/text/numbers.ts'
import { lastStartOf, requestEvidence, violationAt } from '../facts.ts'
import type { ClientEnd, Observation } from '../observation.ts'
import { defineRule, type Violation } from '../rule.ts'
import { formatSince, formatUsd, nameRequest, operationOf, startSentence, untilJudged } from '../words.ts'

/** The `readError` of a request that only the limit of the platform for an answer ended, as in Node's fetch. */
const PLATFORM_TIMEOUT = 'UND_ERR_HEADERS_TIMEOUT'
const NO_TIMEOUT = 'noTimeout'
const LONGER = ' If the client has a longer limit of its own, try a longer --command-timeout.'

/**
 * The client ends within the bound, and so does each of its requests by its own limit:
 * - It breaks the rule if it still waits at the bound, or if it ended later. The things whose ids it knows are not a leak
 *   meanwhile, but the words tell what they cost.
 * - It breaks the rule if a request without an answer ended only because the platform gave up, after 300 seconds. Other
 *   platforms and other libraries have no such limit, and the same client waits there for ever. This is one root cause,
 *   whatever the operation: such a client gives none of its requests a timeout. The same holds for a command that still
 *   waits for an answer at its bound of real time.
 */
export const settles = defineRule({
  summary: 'The client ends within a bounded time, under every fault.',
  advice:
    'Give each request a timeout, such as AbortSignal.timeout(30_000) or curl -m 30, and each wait a limit ' +
    'after which the client gives up and cleans up. A command that measures its limit by the real clock does not see ' +
    'simulated time: let it add up its sleeps.',
  check(observation) {
    const late = findLateEnd(observation) ?? findUnlimitedRequest(observation)
    return late === undefined ? [] : [late]
  },
})

function findLateEnd(observation: Observation): Violation | undefined {
  const { end, requests, settings, startedAt, endedAt, created } = observation
  const isLate = endedAt - startedAt > settings.settles
  if (end.kind !== 'unsettled' && !isLate) return undefined
  const waiting = requests.findLast(({ outcome, readError }) => outcome === 'unanswered' && readError === undefined)
  const request = end.kind === 'unsettled' ? (waiting ?? requests.at(-1)) : requests.at(-1)
  const bound = formatDuration(settings.settles)
  const how =
    end.kind === 'unsettled'
      ? `The client did not end within ${end.bound ?? formatSince(observation, endedAt)}: ${describeState(end)}.`
      : `The client ended after ${formatSince(observation, endedAt)}, later than the bound of ${bound}.`
  const last = request
    ? ` Its last request was ${nameRequest(request)}, sent ${formatSince(observation, request.sentAt)} after its start.`
    : ' It sent no request.'
  const alive = end.kind === 'unsettled' ? created.filter(({ isAlive }) => isAlive) : []
  const cost = alive.reduce((sum, { microcents }) => sum + microcents, 0)
  const costs =
    alive.length === 0
      ? ''
      : ` Meanwhile ${alive.map(({ id }) => id).join(', ')} cost ${formatUsd(cost)}${untilJudged(observation)}.`
  const longer = longerBound(observation, waiting !== undefined || request?.readError !== undefined)
  const root = waitsForEver(observation) ? { rootCause: NO_TIMEOUT } : {}
  return violationAt(request, how + last + costs + longer, { subject: alive[0]?.id, ...root })
}

/** Names the setting of a longer bound for a client that waits, and may have a longer limit of its own. */
function longerBound({ end, settings }: Observation, isWaiting: boolean): string {
  if (end.kind !== 'unsettled') return ''
  // A client that has its answers and asks on would ask on under a longer bound, too.
  if (end.bound !== undefined) return isWaiting ? LONGER : ''
  if (end.waitsFor !== 'time') return ''
  const longer = formatDuration(2 * settings.settles)
  return ` If the client has a longer limit of its own, allow it, as in invariants: { settles: '${longer}' }.`
}

/** Tells whether a command ended at its bound of real time because of the first request that had no answer. */
function waitsForEver({ end, requests, crashes }: Observation): boolean {
  const first = requests.find(({ outcome, start }) => outcome === 'unanswered' && start === lastStartOf({ crashes }))
  // If the bound itself cut an answer that was on its way, no fault kept it back.
  return end.kind === 'unsettled' && !!end.bound && first?.fault !== undefined && first === requests.at(-1)
}

function describeState({ waitsFor }: Extract<ClientEnd, { kind: 'unsettled' }>): string {
  if (waitsFor !== undefined) return `it waits for ${waitsFor}`
  return `it sent more than ${formatCount(LIMITS.flowRequests)} requests, the limit of a run`
}

function findUnlimitedRequest(observation: Observation): Violation | undefined {
  const request = observation.requests.find(({ readError }) => readError === PLATFORM_TIMEOUT)
  if (request === undefined) return undefined
  return {
    words:
      `${startSentence(nameRequest(request))}, sent ${formatSince(observation, request.sentAt)} after the start, had no ` +
      'timeout: the platform gave up after 5m, and the client would have waited on.',
    operation: operationOf(request),
    rootCause: NO_TIMEOUT,
    evidence: requestEvidence(request),
  }
}
