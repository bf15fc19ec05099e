import { isAbout, thingEvidence } from '../../facts.ts'
import { defineRule } from '../../rule.ts'
import { formatSince, formatUsd, nameRequest, nameThing, operationOf } from '../../words.ts'

/**
 * When the client has ended, nothing that it created goes on: no deployment, adapter, rental or batch. Things that are
 * owned may go on. In a judgement, these are the things that `keep` names.
 */
export const leavesNothingRunning = defineRule({
  summary: 'The client ends what it created.',
  advice:
    'In a finally block, delete or stop what you created, and cancel batches. Put the ids of things that may go on into keep.',
  detail:
    'Deployments, adapters, rentals and batches count. Things whose ids are in `keep` may go on. In `explore`, these are the things whose ids are in the result or the error of the client.',
  source: 'Convention of clouds that charge by time: what runs is charged until its owner ends it.',
  check(conduct) {
    return conduct.created
      .filter(({ id, isAlive }) => isAlive && !conduct.owned.has(id))
      .map(thing => {
        const { request, id, microcents } = thing
        const last = conduct.requests.findLast(other => isAbout(other, id))
        const lastWords =
          last === undefined
            ? 'No request has named it since.'
            : `The last request about it was ${nameRequest(last)}, ${formatSince(conduct, last.sentAt)} after the start.`
        return {
          words:
            `${nameThing(thing)} goes on: ${formatUsd(microcents)} so far. It was created by ${nameRequest(request)} ` +
            `${formatSince(conduct, request.sentAt)} after the start. ${lastWords}`,
          operation: operationOf(request),
          subject: id,
          evidence: thingEvidence(conduct, thing),
        }
      })
  },
})
