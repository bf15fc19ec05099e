import { MINUTE, type Micros } from '../../../../kernel/duration.ts'
import { requestEvidence, violationAt } from '../../facts.ts'
import type { ObservedRequest } from '../../observation.ts'
import { isRead, isRetryable, isSuccessfulWrite, repeatedRequests } from '../../retries.ts'
import { defineRule } from '../../rule.ts'
import { formatSince, nameRequest, startSentence } from '../../words.ts'

/** Equal refusals of a write, and of a read, which may show a new thing late. */
const MAX_REFUSALS = { write: 1, read: 2 }
/** A refusal by the state of the account or the fleet may be over after this time. */
const STATE_LASTS: Micros = MINUTE

/**
 * The client does not repeat a request that was refused for its own sake: with a 4xx other than 408, 409, 423, 425 and
 * 429. A read may be repeated once, because lists show a new thing late. A further try is right after a successful write
 * of the client, or a minute after a refusal by the state of the account or the fleet.
 */
export const noRepeatedRefusal = defineRule({
  summary: 'The client does not repeat a refused request unchanged.',
  advice:
    'Treat a 4xx other than 408, 409, 423, 425 and 429 as an error of the request: correct the request, or give up.',
  detail:
    'Refusals with 408, 409, 423, 425 and 429 do not count, because time can end their reason: a 423 says that a model still starts. A write may be refused once. A read may be refused twice, because lists show a new thing late. The client may try again after a successful write of its own. If the state of the account or the fleet was the reason, it may try again after a minute.',
  source: 'RFC 9110, section 15.5.1: the server will not process the request because of an error of the client.',
  place: 'operation',
  check({ requests, startedAt }) {
    const writes = requests.filter(isSuccessfulWrite)
    return repeatedRequests(requests).flatMap(group => {
      const run = longestRun(group, writes)
      const [first, last] = [run[0], run.at(-1)]
      if (first === undefined || last === undefined) return []
      if (run.length <= (isRead(first) ? MAX_REFUSALS.read : MAX_REFUSALS.write)) return []
      const words =
        `${startSentence(nameRequest(first))}, sent ${formatSince({ startedAt }, first.sentAt)} after the start, was ` +
        `refused. The client sent it unchanged ${run.length === 2 ? 'once' : `${run.length - 1} times`} more, and got ` +
        `${first.status} each time. The last one was ${nameRequest(last)}.`
      return [
        violationAt(first, words, {
          cause: 'retry',
          evidence: requestEvidence(...run.slice(0, 3), ...(run.length > 3 ? [last] : [])),
        }),
      ]
    })
  },
})

/** Returns the longest run of equal refusals for which nothing speaks that the next try could succeed. */
function longestRun(group: readonly ObservedRequest[], writes: readonly ObservedRequest[]): readonly ObservedRequest[] {
  let longest: ObservedRequest[] = []
  let run: ObservedRequest[] = []
  for (const request of group) {
    const last = run.at(-1)
    if (last !== undefined && (last.status !== request.status || mayHaveChanged(last, request, writes))) run = []
    if (!isRefusal(request)) {
      run = []
      continue
    }
    run.push(request)
    if (run.length > longest.length) longest = run
  }
  return longest
}

function isRefusal(request: ObservedRequest): boolean {
  const { outcome, status } = request
  return outcome === 'answered' && status >= 400 && status < 500 && !isRetryable(request)
}

function mayHaveChanged(last: ObservedRequest, next: ObservedRequest, writes: readonly ObservedRequest[]): boolean {
  const { decidedBy } = last
  if ((decidedBy === 'state' || decidedBy === 'limit') && next.sentAt - last.sentAt >= STATE_LASTS) return true
  return writes.some(({ index }) => index > last.index && index < next.index)
}
