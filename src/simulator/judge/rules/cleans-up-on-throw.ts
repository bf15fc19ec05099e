import { thingsLeftBehind } from '../created-things.ts'
import { leftEffects } from '../effects.ts'
import { entryEvidence, isAbout, requestEvidence, thingEvidence, violationAt } from '../facts.ts'
import { defineRule } from '../rule.ts'
import { formatCost, formatSince, formatUsd, nameRequest, nameThing, quoteText } from '../words.ts'

/**
 * A client that throws leaves nothing alive that it could have deleted, because it had read the id, unless the error
 * names the id. What it could not know is a case of `noLeak`. A batch that was charged and whose end was not read counts
 * as alive, because it may end at any moment. The same goes for what it raised or changed, and for things without a price,
 * if the client sets them back or deletes them without faults.
 */
export const cleansUpOnThrow = defineRule({
  summary: 'A client that throws deletes what it created and resets what it usually resets, or names it in the error.',
  advice:
    'Delete deployments and rentals, cancel batches, and set back what you raised, in a finally block that retries. If ' +
    'that fails, put the id into the error, so that the caller can do it.',
  premise: ({ end, created, effects }) => end.kind === 'threw' && (created.length > 0 || effects.size > 0),
  otherwise: 'it never threw after it had created or changed something',
  check(observation) {
    const { end, requests, endedAt } = observation
    if (end.kind !== 'threw') return []
    const message = end.error instanceof Error ? end.error.message : end.error
    const threw = `The client threw ${quoteText(message)} after ${formatSince(observation, endedAt)}`
    const raised = leftEffects(observation).map(({ effect, rate, usual }) => {
      const last = requests.findLast(request => isAbout(request, effect.id)) ?? effect.request
      const { what, name, value } = effect
      const isRaised = rate !== undefined && usual !== undefined
      const did =
        value === undefined ? 'delete what it had created' : `set back what it had ${isRaised ? 'raised' : 'changed'}`
      const now = isRaised
        ? `${effect.id} costs ${formatUsd(rate)} an hour in place of ${formatUsd(usual)}, and the error does not name it.`
        : `Without faults it does so with ${what}${name === '' ? '' : ` '${name}'`}.`
      const words = `${threw} and did not ${did}. ${now} Its last request about it was ${nameRequest(last)}.`
      const evidence = [...requestEvidence(effect.request, last), ...entryEvidence(observation, effect.id)]
      return violationAt(requests.at(-1), words, { subject: effect.id, evidence })
    })
    const left = thingsLeftBehind(observation)
      .filter(({ reason }) => reason === 'given up')
      .map(({ thing }) => {
        const last = requests.findLast(request => isAbout(request, thing.id)) ?? thing.request
        const words =
          `${threw} and did not delete what it had created. ` +
          `${nameThing(thing)} has cost ${formatCost(observation, thing)}, and the error does not name it. ` +
          `Its last request about it was ${nameRequest(last)}.`
        return violationAt(requests.at(-1) ?? last, words, {
          subject: thing.id,
          evidence: [...requestEvidence(last), ...thingEvidence(observation, thing)],
        })
      })
    return [...left, ...raised]
  },
})
