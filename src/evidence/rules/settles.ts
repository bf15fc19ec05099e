import { formatDuration } from '../../kernel/duration.ts'
import { requestEvidence } from '../facts.ts'
import { defineRule } from '../rule.ts'
import { formatSince, formatUsd, nameRequest, operationOf } from '../words.ts'

/**
 * The client ends within the bound. It breaks the rule if it still waits at the bound, or if it ended later. The things
 * whose ids it knows are no leak meanwhile, but the words tell what they cost.
 */
export const settles = defineRule({
  summary: 'The client ends within a bounded time, whatever happens.',
  advice:
    'Give each request a timeout, such as AbortSignal.timeout(30_000), and each wait a limit after which the client ' +
    'gives up and cleans up.',
  check(observation) {
    const { end, requests, settings, startedAt, endedAt, created } = observation
    const isLate = endedAt - startedAt > settings.settles
    if (end.kind !== 'unsettled' && !isLate) return []
    const waiting = requests.findLast(({ outcome }) => outcome === 'unanswered')
    const request = end.kind === 'unsettled' ? (waiting ?? requests.at(-1)) : requests.at(-1)
    const bound = formatDuration(settings.settles)
    const how =
      end.kind === 'unsettled'
        ? `The client did not end within ${bound}: it waits for ${end.waitsFor}.`
        : `The client ended after ${formatSince(observation, endedAt)}, later than the bound of ${bound}.`
    const last = request
      ? ` Its last request was ${nameRequest(request)}, sent ${formatSince(observation, request.sentAt)} after its start.`
      : ' It sent no request.'
    const alive = end.kind === 'unsettled' ? created.filter(({ isAlive }) => isAlive) : []
    const cost = alive.reduce((sum, { microcents }) => sum + microcents, 0)
    const costs =
      alive.length === 0 ? '' : ` Meanwhile ${alive.map(({ id }) => id).join(', ')} cost ${formatUsd(cost)}.`
    return [
      {
        words: how + last + costs,
        operation: request ? operationOf(request) : '',
        subject: alive[0]?.id,
        evidence: request ? requestEvidence(request) : [],
      },
    ]
  },
})
