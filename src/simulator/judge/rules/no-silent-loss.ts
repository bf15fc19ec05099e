import { groupBy } from '../../../lib/lists.ts'
import { comparisonOf, tellsLoss } from '../answers/comparison.ts'
import { formatPlace } from '../answers/leaves.ts'
import { badEndsOf, lossesOf } from '../answers/losses.ts'
import { isAbout, requestEvidence, thingEvidence, violationAt } from '../facts.ts'
import { statusSince } from '../lifecycles.ts'
import type { Loss, Observation, ObservedRequest } from '../observation.ts'
import { defineRule, type Violation } from '../rule.ts'
import { formatSince, nameRequest, nameThing, operationOf, quoteText } from '../words.ts'

/** The most places that words name. */
const MAX_NAMED = 3

/**
 * A client that returns normally returns every value that it returns without faults, or tells near the place what is
 * missing. A value counts if its source is known: answers that have it, are a part of it or contain it. It can be lost
 * only if a source was not answered whole, also later, or if a thing ended badly. Another whole answer to the same
 * question, or to one that is asked in its place, makes up for it.
 *
 * What a retry mangles is lost, too: half of a text before all of it, or a row twice. The order of values is not judged.
 *
 * A deployment, adapter, rental or batch that failed, expired or was cancelled is not returned as if it were done.
 */
export const noSilentLoss = defineRule({
  summary: 'A client that returns normally returns a complete result, or says what is missing.',
  advice:
    'Check that each answer came whole before you use it, and ask again if not. Say in the result what is missing, at ' +
    'the place where it is missing.',
  premise: observation => lossesOf(observation).isJudged || badEndsOf(observation).length > 0,
  otherwise: 'no run that returned had lost an answer whose values can be read in its result',
  check(observation) {
    const unsaid = lossesOf(observation).losses.filter(({ verdict }) => verdict === 'unsaid')
    const lost = [...groupBy(unsaid, ({ cause }) => operationOf(cause)).values()].map(losses =>
      toViolation(observation, losses),
    )
    return lost.length > 0 ? lost : findBadEnds(observation)
  },
})

function toViolation(observation: Observation, losses: readonly Loss[]): Violation {
  const [{ cause, usual, instead }] = losses as [Loss]
  const questions = [...(comparisonOf(observation)?.answers.questions.values() ?? [])]
  const isRetried = questions.some(({ failed, open }) => failed === cause && open === undefined)
  const places = losses.slice(0, MAX_NAMED).map(loss => formatPlace(loss.place))
  const more = losses.length > MAX_NAMED ? ` and ${losses.length - MAX_NAMED} more places` : ''
  const words =
    `The client returned normally, but lost a value at ${places.join(', ')}${more}: ${instead} is there in place of ` +
    `${typeof usual === 'number' ? usual : quoteText(usual)}, and nothing near it says so. Its source, ${nameRequest(cause)}, ${lossWord(cause)}, ` +
    `${formatSince(observation, cause.sentAt)} after the start.${isRetried ? ' A later request was answered whole.' : ''}`
  return violationAt(cause, words)
}

/** Says how the client lost an answer. */
function lossWord({ outcome, fault, status, readError, read }: ObservedRequest): string {
  if (outcome !== 'answered' || status >= 400) return 'was not answered'
  if (readError !== undefined) return read === undefined ? 'had an unreadable body' : 'was cut'
  return fault === undefined ? 'showed an end without success' : 'was not answered whole'
}

function findBadEnds(observation: Observation): Violation[] {
  const { base, created, owned, learned } = observation
  const comparison = observation.tells === true ? undefined : comparisonOf(observation)
  if (comparison === undefined) return []
  const bad = badEndsOf(observation)
  if (bad.length === 0) return []
  const { answers, tellers, isUsual } = comparison
  const isSaid = tellers.some(teller => tellsLoss(teller, learned))
  return bad.flatMap(({ thing, shownBy }) => {
    const isMadeUp = answers.newQuestions.some(({ last }) => last.index > shownBy.index && !isAbout(last, thing.id))
    // A restarted client asks about the new thing as it asks about the first one without faults. An earlier start can have
    // made it.
    const endedAt = statusSince(observation, thing) ?? Number.POSITIVE_INFINITY
    const isReplaced = created.some(
      ({ kind, status, request }) =>
        kind === thing.kind &&
        (request.index > shownBy.index || (request.start < shownBy.start && request.sentAt >= endedAt)) &&
        base?.created.some(one => one.kind === kind && one.status === status),
    )
    if (isSaid || isMadeUp || !(owned.has(thing.id) || (isUsual() && !isReplaced))) return []
    const words =
      `The client returned ${thing.id} as if it were done. ${nameThing(thing)} had ended, and ` +
      `${nameRequest(shownBy)} had shown it ${formatSince(observation, shownBy.sentAt)} after the start.`
    return [
      violationAt(shownBy, words, {
        subject: thing.id,
        evidence: [...requestEvidence(shownBy), ...thingEvidence(observation, thing)],
      }),
    ]
  })
}
