import { formatDuration, type Micros } from '../../../kernel/duration.ts'
import { requestEvidence, violationAt } from '../facts.ts'
import type { ObservedRequest } from '../observation.ts'
import { keyOfRequest } from '../retries.ts'
import { defineRule, type Violation } from '../rule.ts'
import { formatSince, nameRequest, operationOf, startSentence } from '../words.ts'

/** The clocks of clients count milliseconds. */
const TOLERANCE: Micros = 1_000

/**
 * After a 429 or 503 with `Retry-After`, the client sends no request to the same operation before that time has passed.
 * Requests that were under way already do not count, nor does a restarted client, which cannot know of the answer.
 *
 * A client with several tasks waits in each of them. It has some if another request was under way, if the next request is a
 * retry of another one, or if this one was itself a retry. Then only the same request has to wait.
 */
export const honoursRetryAfter = defineRule({
  summary: 'The client waits as long as Retry-After asks.',
  advice: 'Read Retry-After of each 429 and 503, as seconds or as a date, and wait at least that long.',
  detail:
    'After a 429 or 503 with `Retry-After`, no request to the same operation may come before that time has passed. Requests that were under way do not count. A client can have several tasks. If other requests were under way, or the rejected request was itself a retry, only the rejected request has to wait.',
  source: 'RFC 9110, section 10.2.3: the header says how long the client ought to wait before it asks again.',
  place: 'operation',
  premise: ({ requests }) => requests.some(({ retryAfter }) => retryAfter !== undefined),
  otherwise: 'no answer asked for a wait, or it sleeps in real time',
  check({ requests, startedAt }) {
    const violations: Violation[] = []
    for (const [i, limited] of requests.entries()) {
      const { retryAfter, endedAt, status, start } = limited
      if (retryAfter === undefined || endedAt === undefined || (status !== 429 && status !== 503)) continue
      const operation = operationOf(limited)
      // Several requests can be sent at the very instant of the answer, before the client has it.
      const sent = limited.lastSentByEnd ?? i + 1
      const isEarly = (next: ObservedRequest) =>
        next.start === start &&
        next.sentAt >= endedAt &&
        next.sentAt + TOLERANCE < endedAt + retryAfter &&
        operationOf(next) === operation
      const [first, ...others] = requests.slice(sent).filter(isEarly)
      if (first === undefined) continue
      const key = keyOfRequest(limited)
      const isOfTask = (next: ObservedRequest) => keyOfRequest(next) === key
      const keys = new Set([key, keyOfRequest(first)])
      const isUnderWay = ({ lastSentByEnd, endedAt = Infinity }: ObservedRequest) =>
        lastSentByEnd === undefined ? endedAt > limited.sentAt : lastSentByEnd > i
      const hasTasks = requests
        .slice(0, sent)
        .some((one, n) => one.start === start && (n > i || (n < i && (isUnderWay(one) || keys.has(keyOfRequest(one))))))
      const early = isOfTask(first) || !hasTasks ? first : others.find(isOfTask)
      if (early === undefined) continue
      const words =
        `${startSentence(nameRequest(limited))} was answered ${formatSince({ startedAt }, endedAt)} after the start, and asked for ` +
        `a wait of ${formatDuration(retryAfter)}. The client sent ${nameRequest(early)} ` +
        `${early.sentAt === endedAt ? 'at once' : `after ${formatDuration(early.sentAt - endedAt)}`}.`
      violations.push(violationAt(limited, words, { cause: 'wait', evidence: requestEvidence(limited, early) }))
    }
    return violations.slice(0, 1)
  },
})
