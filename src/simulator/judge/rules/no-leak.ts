import { thingsLeftBehind } from '../created-things.ts'
import { thingEvidence, violationAt } from '../facts.ts'
import { defineRule } from '../rule.ts'
import { describeEnd, formatCost, formatSince, nameRequest, nameThing, operationOf, startSentence } from '../words.ts'

/**
 * Nothing that the client created goes on to cost money without a client that knows its id. A thing counts while it is
 * alive. A batch counts too if it was charged and its end was not read. A thing is owned if the result or the error of
 * the client names it.
 *
 * Two cases belong to other rules, so that one fact is reported once. `cleansUpOnThrow`: the client threw, and had read
 * the id. `idempotentRestart`: an earlier start created the thing. While a client waits, the things that it knows are
 * no leak: `settles` reports the wait.
 */
export const noLeak = defineRule({
  summary: 'Nothing that the client created costs money without an owner.',
  advice:
    'After a create without an answer, look for the thing by its name before another create. Repeat a stop or a delete ' +
    'until the service confirms it. Return the id of what you keep.',
  premise: ({ created }) => created.length > 0,
  otherwise: 'it creates nothing that costs money; what it raises is a case of cleansUpOnThrow',
  check(observation) {
    return thingsLeftBehind(observation)
      .filter(({ reason }) => reason === 'leaked')
      .map(({ thing }) => {
        const { id, request, isAlive } = thing
        const state = isAlive ? 'goes on' : 'was charged, and its end was not read'
        const how =
          observation.end.kind === 'returned' ? 'without naming it in its result' : 'without having read its id'
        const words =
          `${nameThing(thing)} ${state}: ${formatCost(observation, thing)}. ` +
          `${startSentence(nameRequest(request))} created it ${formatSince(observation, request.sentAt)} after the start. ` +
          `${describeEnd(observation)} ${how}.`
        // One look by name finds what it created, whatever happened to the answer.
        const cause = observation.end.kind === 'threw' ? operationOf(request) : undefined
        return violationAt(request, words, { subject: id, cause, evidence: thingEvidence(observation, thing) })
      })
  },
})
