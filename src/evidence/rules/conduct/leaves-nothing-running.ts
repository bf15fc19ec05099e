import { isAbout, thingEvidence } from '../../facts.ts'
import { defineRule } from '../../rule.ts'
import { formatSince, formatUsd, nameRequest, nameThing, operationOf } from '../../words.ts'

/**
 * When the client has ended, nothing that it created goes on: no deployment, adapter, rental or batch. Things that are
 * owned may go on. In a judgement, these are the things that `keep` names.
 */
export const leavesNothingRunning = defineRule({
  summary: 'The client ends what it created.',
  advice: 'Delete or stop in a finally block what you created, and cancel batches. Name what may go on in keep.',
  detail:
    'Deployments, adapters, rentals and batches count. What `keep` names may go on; in `explore`, what the result or the error of the client names.',
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
