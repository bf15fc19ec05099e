import {
  entryEvidence,
  hasRole,
  isUsable,
  kindFor,
  postingEvidence,
  requestEvidence,
  violationAt,
} from '../../facts.ts'
import type { Conduct, ObservedRequest } from '../../observation.ts'
import { repeatedRequests } from '../../retries.ts'
import { defineRule } from '../../rule.ts'
import { formatSince, formatUsd, kindWord, nameRequest, startSentence } from '../../words.ts'

/** What shows whether a create took effect. */
const LOOKS = ['list', 'read', 'show'] as const

/**
 * After a create whose outcome is unknown, the client looks before it sends the same create again. The outcome is unknown
 * after a lost answer and after a 5xx. A 503 with `Retry-After` says that nothing was done, unless something was.
 */
export const looksBeforeCreate = defineRule({
  summary: 'The client looks whether a create took effect before it repeats it.',
  advice:
    'After a lost answer or a 5xx, read the list first. Look for the name, or for a batch for its input_file_id or ' +
    'metadata. Create again only if it is missing.',
  detail:
    'The outcome is unknown after a lost answer and after a 5xx. A 503 with `Retry-After` says that nothing was done, so it counts only if the create took effect. Creates of deployments, adapters, batches, rentals, tokens and SSH keys count, and payments. Two creates are equal if their bodies are equal.',
  source:
    'RFC 9110, section 9.2.2: a client should not retry a method that is not idempotent on its own, unless it can tell ' +
    'that the first request was never applied.',
  place: 'operation',
  check(conduct) {
    const creates = conduct.requests.filter(request => kindFor(conduct, request, 'create', 'pay') !== undefined)
    return repeatedRequests(creates).flatMap(group => {
      const blind = group.findIndex((next, i) => i > 0 && isBlind(conduct, group[i - 1]!, next))
      return blind < 0 ? [] : [toViolation(conduct, group[blind - 1]!, group[blind]!)]
    })
  },
})

/** Tells whether `next` repeats a create of unknown outcome, without a read in between that shows the outcome. */
function isBlind(conduct: Conduct, failed: ObservedRequest, next: ObservedRequest): boolean {
  const { requests, created } = conduct
  const kind = kindFor(conduct, failed, 'create', 'pay')
  const { outcome, status, retryAfter } = failed
  if (outcome === 'answered' && status < 500) return false
  const wasRefused = status === 503 && retryAfter !== undefined
  if (wasRefused && !created.some(({ request }) => request === failed)) return false
  return !requests.some(
    look =>
      LOOKS.some(verb => hasRole(conduct, look, `${verb} ${kind}`)) &&
      isUsable(look) &&
      look.sentAt >= (failed.endedAt ?? failed.sentAt) &&
      look.sentAt <= next.sentAt &&
      look.index > failed.index &&
      look.index < next.index,
  )
}

function toViolation(conduct: Conduct, failed: ObservedRequest, next: ObservedRequest) {
  const { created } = conduct
  const first = created.find(({ request }) => request === failed)
  const second = created.find(({ request }) => request === next)
  const had = first === undefined ? '' : ` The first one had taken effect: it created ${first.id}.`
  const again =
    first && second
      ? ` The second one created another ${kindWord(second.kind)}, ${second.id}, for ${formatUsd(second.microcents)} so far.`
      : ''
  const words =
    `${startSentence(nameRequest(failed))}, sent ${formatSince(conduct, failed.sentAt)} after the start, left its outcome unknown. ` +
    `The client sent the same create again with ${nameRequest(next)}, and had not looked in between.${had}${again}`
  return violationAt(failed, words, {
    subject: second?.id ?? first?.id,
    evidence: [
      ...requestEvidence(failed, next),
      ...[first, second].flatMap(thing =>
        thing === undefined
          ? []
          : [...entryEvidence(conduct, thing.id).slice(0, 1), ...postingEvidence(conduct, thing.id)],
      ),
    ],
  })
}
