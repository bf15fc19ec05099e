import { SECOND } from '../../../kernel/duration.ts'
import { groupBy } from '../../../lib/lists.ts'
import { kindFor, requestEvidence, thingPathOf, violationAt } from '../facts.ts'
import type { Conduct, ObservedRequest } from '../observation.ts'
import { isSuccessfulWrite, splitAtWrites } from '../retries.ts'
import { defineRule } from '../rule.ts'
import { formatSince, pathOf, shortenPath } from '../words.ts'

/** Reads of one thing in a second of the world that are advised. */
export const DEFAULT_POLLS_AT_MOST = 1
/** Reads beyond the rate that are not polling: reads before a write that fails, and a repetition after a broken connection. */
const BURST = 3

/**
 * The client reads one thing at most N times a second of the world. A thing is a path with the query parameters that the
 * service reads, so the pages of a list are different things. Any run of reads may have three more than the rate allows,
 * because a look before a write, or after a broken connection, does no harm: at one a second, five reads within a second
 * break the rule, and so do seven within three. After a successful write of the client to the thing, or to what it lists,
 * its reads are counted from 0.
 */
export const pollsAtMost = defineRule({
  summary: 'The client does not read one thing more often than its limit.',
  advice: 'Sleep between two polls, 5 to 60 seconds for what takes minutes, and between two retries.',
  detail:
    'A thing is a path with the query parameters that the service reads, so each page of a list is a thing. A query parameter that nothing reads, such as `_`, makes no other thing. The advised rate is one a second, and `pollsAtMost` sets another. Beyond that rate, a client may read three more times at once. If the client writes successfully to a thing, the count of its reads of this thing starts again. If it writes to an entry of a list, the count for that list starts again.',
  source:
    'Opinion of modelhost-sim: what takes minutes shows no more if it is read more often. The setting pollsAtMost is the ' +
    'advised rate.',
  place: 'operation',
  premise: ({ requests }) => requests.some(({ method }) => method === 'GET'),
  otherwise: 'it reads nothing, or sleeps in real time',
  check(conduct) {
    const { requests, settings, startedAt } = conduct
    const limit = settings.pollsAtMost
    const reads = groupBy(
      requests.filter(({ method }) => method === 'GET'),
      request => `${request.start} ${thingPathOf(request)}${readQueryOf(conduct, request)}`,
    )
    for (const group of reads.values()) {
      // Most reads are few enough without a look at the writes between them.
      const runs = findExcess(group, limit) === undefined ? [] : splitAtWrites(group, writesTo(conduct, group[0]!))
      const excess = runs.map(run => findExcess(run, limit)).find(run => run !== undefined)
      if (excess === undefined) continue
      const [first, last] = [excess[0]!, excess.at(-1)!]
      const words =
        `The client read ${shortenPath(pathOf(first) + readQueryOf(conduct, first))} ${excess.length} times within ${formatSince({ startedAt: first.sentAt }, last.sentAt)}, ` +
        `from ${formatSince({ startedAt }, first.sentAt)} after the start: its limit is ${limit} a second.`
      return [violationAt(first, words, { cause: 'pause', evidence: requestEvidence(first, last) })]
    }
    return []
  },
})

/** Returns the query of a request without the parameters that nothing reads, with a `?`; `''` if nothing is left. */
function readQueryOf({ sim }: Conduct, { operation, method, path }: ObservedRequest): string {
  const begin = path.indexOf('?')
  if (begin < 0) return ''
  if (operation === '') return path.slice(begin)
  const unread = new Set(sim.api.findUnreadFields(sim.world, { method, target: path, text: undefined }))
  const query = new URLSearchParams(path.slice(begin))
  const parts = [...query].filter(([name]) => !unread.has(`query ${name}`))
  parts.sort(([one], [other]) => (one < other ? -1 : Number(one > other)))
  return parts.length === 0 ? '' : `?${new URLSearchParams(parts)}`
}

/** Returns the successful writes of a client to what it reads: to this path, below or above it, or to what it lists. */
function writesTo(conduct: Conduct, read: ObservedRequest): ObservedRequest[] {
  const path = thingPathOf(read)
  const listed = kindFor(conduct, read, 'list')
  return conduct.requests.filter(one => {
    if (one.start !== read.start || !isSuccessfulWrite(one)) return false
    const own = thingPathOf(one)
    const isListed =
      listed !== undefined && kindFor(conduct, one, 'create', 'update', 'delete', 'start', 'stop') === listed
    return isListed || `${own}/`.startsWith(`${path}/`) || path.startsWith(`${own}/`)
  })
}

/** Returns the first run of reads that exceeds the rate: a bucket of `limit + BURST` tokens that fills at the rate. */
function findExcess(reads: readonly ObservedRequest[], limit: number): readonly ObservedRequest[] | undefined {
  const capacity = Math.max(limit, 1) + BURST
  let tokens = capacity
  let runStart = 0
  for (const [i, { sentAt }] of reads.entries()) {
    if (i > 0) tokens = Math.min(capacity, tokens + ((sentAt - reads[i - 1]!.sentAt) / SECOND) * limit)
    if (tokens >= capacity) runStart = i
    tokens -= 1
    if (tokens < -1e-9) return reads.slice(runStart, i + 1)
  }
  return undefined
}
