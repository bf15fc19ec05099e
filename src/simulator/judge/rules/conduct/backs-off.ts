import { formatDuration, type Micros, SECOND } from '../../../../kernel/duration.ts'
import { requestEvidence, violationAt } from '../../facts.ts'
import type { ObservedRequest } from '../../observation.ts'
import { pausesOf, retryChains } from '../../retries.ts'
import { defineRule } from '../../rule.ts'
import { formatSince, nameRequest, startSentence } from '../../words.ts'

const MILLISECOND: Micros = 1_000
/** Retries in a row from which on pauses show a rule of their client. */
const MIN_RETRIES = 3
/** How much longer a pause may be than another one that counts as equal. */
const EQUAL = 1.3
/** Shorter pauses do not count as pauses. */
const NO_PAUSE: Micros = 10 * MILLISECOND
/** A client that waits this long between two requests does no harm, whatever its pauses do. */
const LONG_PAUSE: Micros = 30 * SECOND

/**
 * The pauses between retries grow. Three or more retries of one request at equal pauses break the rule, and so do four or
 * more whose pauses only shrink. Pauses of 30 seconds and more do no harm. Where an answer asked for a wait and the client
 * waited that long, its pause is that of the service.
 */
export const backsOff = defineRule({
  summary: 'The client waits longer before each further retry.',
  advice: 'Double the pause with each retry, add a random share to it, and stop after a number of retries.',
  detail:
    'Three or more retries of one request at equal pauses break it, and so do four or more whose pauses only shrink. Pauses are equal if the longest is at most 1.3 times the shortest. If every pause is 30 seconds or more, or one was as long as `Retry-After` asked, the retries are not judged.',
  source:
    "AWS Builders' Library, Timeouts, retries, and backoff with jitter: retries back off exponentially, to a limit.",
  place: 'operation',
  check({ requests, startedAt }) {
    return retryChains(requests).flatMap(chain => {
      const pauses = pausesOf(chain)
      const how = describePauses(chain, pauses)
      if (how === undefined) return []
      const [first, last] = [chain[0]!, chain.at(-1)!]
      const words =
        `${startSentence(nameRequest(first))} was sent again ${pauses.length} times, from ` +
        `${formatSince({ startedAt }, first.sentAt)} after the start, ${how}. The last one was ${nameRequest(last)}.`
      return [
        violationAt(first, words, { cause: 'pause', evidence: requestEvidence(...chain.slice(0, MIN_RETRIES + 2)) }),
      ]
    })
  },
})

/** Says how the pauses do not grow; undefined if they do, or do no harm. */
function describePauses(chain: readonly ObservedRequest[], pauses: readonly Micros[]): string | undefined {
  if (pauses.length < MIN_RETRIES || pauses.some((pause, i) => isAskedFor(pause, chain[i]!))) return undefined
  const [min, max] = [Math.min(...pauses), Math.max(...pauses)]
  if (min >= LONG_PAUSE) return undefined
  if (max <= NO_PAUSE) return 'without a pause'
  if (max <= min * EQUAL) return `with equal pauses of ${formatDuration(pauses[0]!)}`
  const shrinks = pauses.every((pause, i) => i === 0 || pause <= pauses[i - 1]!)
  if (!shrinks || pauses.length <= MIN_RETRIES) return undefined
  return `with pauses that shrink from ${formatDuration(max)} to ${formatDuration(min)}`
}

/** Tells whether a pause is the wait that the failure before it asked for. */
function isAskedFor(pause: Micros, { retryAfter }: ObservedRequest): boolean {
  return retryAfter !== undefined && retryAfter > 0 && pause + MILLISECOND >= retryAfter
}
