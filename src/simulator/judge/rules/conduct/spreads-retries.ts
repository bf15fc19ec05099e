import type { Micros } from '../../../../kernel/duration.ts'
import { groupBy } from '../../../../lib/lists.ts'
import { requestEvidence, violationAt } from '../../facts.ts'
import type { ObservedRequest } from '../../observation.ts'
import { retryChains } from '../../retries.ts'
import { defineRule } from '../../rule.ts'
import { formatSince } from '../../words.ts'

/** The clocks of clients count milliseconds. */
const SAME_INSTANT: Micros = 1_000
/** Equal instants of two clients that are not a coincidence. */
const MIN_EQUAL = 2

interface Retry {
  readonly request: ObservedRequest
  readonly client: string
}

/** Retries of different clients fall on different instants. Two clients that twice retry at the same instant break the rule. */
export const spreadsRetries = defineRule({
  summary: 'The retries of different clients fall on different instants.',
  advice: 'Add a random share of the pause to each pause. Draw it again for each retry.',
  detail: 'Two clients that retry twice at the same millisecond break it.',
  source:
    "AWS Builders' Library, Timeouts, retries, and backoff with jitter: without jitter, clients that failed together come " +
    'back together.',
  sees: 'all',
  place: 'operation',
  check({ requests, startedAt }) {
    const clients = groupBy(requests, ({ client = '' }) => client)
    const retries = [...clients].map(([client, own]) => {
      return retryChains(own).flatMap(chain => chain.slice(1).map((request): Retry => ({ request, client })))
    })
    return retries.flatMap((some, i) =>
      retries.slice(i + 1).flatMap(others => {
        const together = findTogether(some, others)
        if (together.length < MIN_EQUAL) return []
        const [first, last] = [together[0]!, together.at(-1)!]
        const [one, other] = first.map(({ client }) => client || 'without a token')
        const words =
          `The clients ${one} and ${other} retried at the same instant ${together.length} times, first ` +
          `${formatSince({ startedAt }, first[0].request.sentAt)} after the start and last ` +
          `${formatSince({ startedAt }, last[0].request.sentAt)} after it.`
        return [
          violationAt(first[0].request, words, {
            evidence: requestEvidence(
              ...together.slice(0, MIN_EQUAL + 1).flatMap(pair => pair.map(({ request }) => request)),
            ),
          }),
        ]
      }),
    )
  },
})

/** Returns pairs of retries of two clients at the same instant. Each retry is in one pair at most. */
function findTogether(some: readonly Retry[], others: readonly Retry[]): (readonly [Retry, Retry])[] {
  const free = new Set(others)
  return some.flatMap(retry => {
    for (const other of free) {
      if (Math.abs(other.request.sentAt - retry.request.sentAt) > SAME_INSTANT) continue
      free.delete(other)
      return [[retry, other] as const]
    }
    return []
  })
}
