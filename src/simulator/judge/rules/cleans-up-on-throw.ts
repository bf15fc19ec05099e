import { thingsLeftBehind } from '../created-things.ts'
import { isAbout, requestEvidence, thingEvidence, violationAt } from '../facts.ts'
import { defineRule } from '../rule.ts'
import { formatCost, formatSince, nameRequest, nameThing, quoteText } from '../words.ts'

/**
 * A client that throws leaves nothing alive that it could have deleted, because it had read the id, unless the error
 * names the id. What it could not know is a case of `noLeak`. A batch that was charged and whose end was not read counts
 * as alive, because it may end at any moment.
 */
export const cleansUpOnThrow = defineRule({
  summary: 'A client that throws deletes what it created, or names it in the error.',
  advice:
    'Delete deployments and rentals, and cancel batches, in a finally block that retries. If that fails, put the id ' +
    'into the error, so that the caller can do it.',
  premise: ({ end, created }) => end.kind === 'threw' && created.length > 0,
  otherwise: 'it never threw after it had created something',
  check(observation) {
    const { end, requests, endedAt } = observation
    if (end.kind !== 'threw') return []
    const message = end.error instanceof Error ? end.error.message : end.error
    return thingsLeftBehind(observation)
      .filter(({ reason }) => reason === 'given up')
      .map(({ thing }) => {
        const last = requests.findLast(request => isAbout(request, thing.id)) ?? thing.request
        const words =
          `The client threw ${quoteText(message)} after ${formatSince(observation, endedAt)} and did not delete what it had created. ` +
          `${nameThing(thing)} has cost ${formatCost(observation, thing)}, and the error does not name it. ` +
          `Its last request about it was ${nameRequest(last)}.`
        return violationAt(requests.at(-1) ?? last, words, {
          subject: thing.id,
          evidence: [...requestEvidence(last), ...thingEvidence(observation, thing)],
        })
      })
  },
})
