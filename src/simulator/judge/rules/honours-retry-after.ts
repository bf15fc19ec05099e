import { formatDuration, type Micros } from '../../../kernel/duration.ts'
import { once } from '../../../lib/once.ts'
import { isUsable, requestEvidence, thingPathOf, violationAt } from '../facts.ts'
import type { ObservedRequest } from '../observation.ts'
import { isRead, isSuccessfulWrite, keyOfQuestion, keyOfRequest } from '../retries.ts'
import { defineRule } from '../rule.ts'
import { formatSince, nameRequest, operationOf, startSentence } from '../words.ts'

/** The clocks of clients count milliseconds. */
const TOLERANCE: Micros = 1_000

/**
 * After a 429 or 503 with `Retry-After`, the client sends no request of the same kind before that time has passed: to the
 * same operation, about the same thing and the same model. If a write succeeded meanwhile, the client went on to another
 * step, and only a repeated write has to wait. Requests that were under way already do not count, nor does a restarted
 * client, which cannot know of the answer.
 *
 * A client with several tasks waits in each of them. It has some if two requests were under way at once, also without
 * faults, if the next request is a retry of another one, or if this one was itself a retry. Then only the same request has
 * to wait, and each task that can send it has a first request of its own.
 */
export const honoursRetryAfter = defineRule({
  summary: 'The client waits as long as Retry-After asks.',
  advice: 'Read Retry-After of each 429 and 503, as seconds or as a date, and wait at least that long.',
  detail:
    'After a 429 or 503 with `Retry-After`, a request to the same operation, thing and model has to wait that long. Requests that were under way do not count. If another write succeeded meanwhile, only a repetition of a rejected write has to wait. A client has several tasks if two requests were under way at once, in this run or without faults, or if the rejected request was itself a retry. Then only a repetition of the rejected request has to wait. In `explore`, each task that sends this request without faults may send it once before it waits. The same holds for each task if the request is a read that never occurs without faults. If another request of a task failed and its wait is over, that task may send once more. If the client repeats the rejected request after the wait, an equal request at the time of the run without faults belongs to another task.',
  source: 'RFC 9110, section 10.2.3: the header says how long the client ought to wait before it asks again.',
  place: 'operation',
  premise: ({ requests }) => requests.some(({ retryAfter }) => retryAfter !== undefined),
  otherwise: 'no answer asked for a wait, or it sleeps in real time',
  check({ requests, startedAt, base }) {
    const tasksOf = once(() => Math.max(mostAtOnce(requests), mostAtOnce(base?.requests ?? [])))
    for (const [i, limited] of requests.entries()) {
      const { retryAfter, endedAt, status, start } = limited
      if (retryAfter === undefined || endedAt === undefined || (status !== 429 && status !== 503)) continue
      const until = endedAt + retryAfter
      const target = targetOf(limited)
      const key = keyOfRequest(limited)
      const isOfTask = (next: ObservedRequest) => keyOfRequest(next) === key
      // Several requests can be sent at the very instant of the answer, before the client has it.
      const sent = limited.lastSentByEnd ?? i + 1
      const nextWrite = requests.findIndex((one, n) => n >= sent && isSuccessfulWrite(one))
      const isNextStep = (next: ObservedRequest, n: number) =>
        nextWrite >= 0 && nextWrite < n && (isRead(limited) || !isOfTask(next))
      const isEarly = (next: ObservedRequest, n: number) =>
        n >= sent &&
        next.start === start &&
        next.sentAt >= endedAt &&
        next.sentAt + TOLERANCE < until &&
        targetOf(next) === target &&
        !isNextStep(next, n)
      const [first, ...others] = requests.filter(isEarly)
      if (first === undefined) continue
      const keys = new Set([key, keyOfRequest(first)])
      const tasks = tasksOf()
      // A client may have gone on beside a request without an end.
      const isOpen = (one: ObservedRequest) => one.start === start && one.endedAt === undefined
      const hasTasks = tasks > 1 || requests.slice(0, i).some(one => isOpen(one) || keys.has(keyOfRequest(one)))
      const equal = requests.filter(isOfTask)
      const asking = base === undefined ? 1 : tasksThatAsk(base.requests, limited, tasks)
      const kin = asking > 1 ? requests.filter(one => one.start === start) : equal
      const usual = new Set(base?.requests.flatMap(one => (isEqual(one, limited) ? one.sentAt : [])))
      // Who sends it again after its wait, at no usual time, has waited in a task of its own, unless a crash came before.
      const hasWaited = equal.some(({ sentAt }) => sentAt + TOLERANCE >= until && !usual.has(sentAt))
      const mayWait = hasWaited || requests.some(one => one.start > start && one.sentAt < until)
      const isOwn = (next: ObservedRequest) =>
        isOfTask(next) && !(mayWait && usual.has(next.sentAt)) && !isOfOtherTask(kin, limited, asking, next)
      const early = !isOfTask(first) && !hasTasks ? first : [first, ...others].find(isOwn)
      if (early === undefined) continue
      const words =
        `${startSentence(nameRequest(limited))} was answered ${formatSince({ startedAt }, endedAt)} after the start, and asked for ` +
        `a wait of ${formatDuration(retryAfter)}. The client sent ${nameRequest(early)} ` +
        `${early.sentAt === endedAt ? 'at once' : `after ${formatDuration(early.sentAt - endedAt)}`}.`
      return [violationAt(limited, words, { cause: 'wait', evidence: requestEvidence(limited, early) })]
    }
    return []
  },
})

/** Returns how many requests of a start were under way at once at most: so many tasks the client has. */
function mostAtOnce(requests: readonly ObservedRequest[]): number {
  let most = 0
  let open: readonly ObservedRequest[] = []
  for (const next of requests) {
    const isUnderWay = ({ start, lastSentByEnd, endedAt = 0 }: ObservedRequest) =>
      start === next.start && (lastSentByEnd === undefined ? endedAt > next.sentAt : lastSentByEnd >= next.index)
    open = [...open.filter(isUnderWay), next]
    most = Math.max(most, open.length)
  }
  return most
}

/** Returns what a request asks for: its operation, its thing and its model. */
function targetOf(request: ObservedRequest): string {
  const { model } = (request.body ?? {}) as { readonly model?: unknown }
  return JSON.stringify([operationOf(request), thingPathOf(request), model])
}

function isEqual(one: ObservedRequest, limited: ObservedRequest): boolean {
  return one.path === limited.path && keyOfQuestion(one) === keyOfQuestion(limited)
}

/** Returns how many tasks can ask the question of a request: as many as at once without faults. If none does, each can read. */
function tasksThatAsk(usual: readonly ObservedRequest[], limited: ObservedRequest, tasks: number): number {
  const equal = usual.filter(one => isEqual(one, limited))
  if (equal.length === 0) return isRead(limited) ? tasks : 1
  return tasks > 1 ? equal.filter(({ sentAt }) => sentAt === equal[0]!.sentAt).length : 1
}

/**
 * Tells whether one of several equal requests can be the first of another task, or can be sent for an earlier one than the
 * last, which failed and has waited. A task may send it after another request of its own failed.
 *
 * @param tasks how many tasks can send it
 */
function isOfOtherTask(
  kin: readonly ObservedRequest[],
  limited: ObservedRequest,
  tasks: number,
  next: ObservedRequest,
): boolean {
  const key = keyOfRequest(limited)
  let failed: { readonly key: string; readonly until: Micros }[] = []
  let tries = 0
  for (const one of kin) {
    const own = keyOfRequest(one)
    const over = failed.filter(({ until }) => until <= one.sentAt + TOLERANCE)
    const due = over.find(other => other.key === own) ?? (own === key ? over[0] : undefined)
    if (one === next) return due !== undefined || tries < tasks
    // Who asked before and has its answer can ask again.
    const isDone = one.sentAt < limited.sentAt && isUsable(one)
    if (own === key && due === undefined && !isDone) tries++
    const { sentAt, endedAt = sentAt, retryAfter = 0 } = one
    failed = failed
      .filter(other => other !== due)
      .concat(isUsable(one) ? [] : { key: own, until: endedAt + retryAfter })
  }
  return false
}
