import type { BatchStatus, ContainerState, HostedState } from '../../../../data/records/enums.ts'
import { endsThing, isAbout, thingEvidence, violationAt } from '../../facts.ts'
import type { Conduct, CreatedThing } from '../../observation.ts'
import { defineRule } from '../../rule.ts'
import { formatSince, formatUsd, nameRequest, nameThing } from '../../words.ts'

/** Statuses of a thing between the request that ends it and its end. */
const ENDING: ReadonlySet<string> = new Set<BatchStatus | HostedState | ContainerState>([
  ...(['cancelling', 'stopping', 'shutting_down'] as const),
])

/**
 * When the client has ended, nothing that it created goes on: no deployment, adapter, rental or batch. Things that are
 * owned may go on. In a judgement, these are the things that `keep` names. A thing whose end has begun does not go on.
 */
export const leavesNothingRunning = defineRule({
  summary: 'The client ends what it created.',
  advice:
    'In a finally block, delete or stop what you created, and cancel batches. Put the ids of things that may go on into keep.',
  detail:
    'Deployments, adapters, rentals and batches count. A batch that is being cancelled does not count, nor does a rental that shuts down. Things whose ids are in `keep` may go on. In `explore`, these are the things whose ids are in the result or the error of the client.',
  source: 'Convention of clouds that charge by time: what runs is charged until its owner ends it.',
  check(conduct) {
    return conduct.created
      .filter(({ id, isAlive, status }) => isAlive && !ENDING.has(status) && !conduct.owned.has(id))
      .filter(thing => !isRecordEnding(conduct, thing))
      .map(thing => {
        const { request, id, microcents } = thing
        const last = conduct.requests.findLast(other => isAbout(other, id))
        const lastWords =
          last === undefined
            ? 'No later request names its id.'
            : `The last request about it was ${nameRequest(last)}, ${formatSince(conduct, last.sentAt)} after the start.`
        const words =
          `${nameThing(thing)} goes on: ${formatUsd(microcents)} so far. It was created by ${nameRequest(request)} ` +
          `${formatSince(conduct, request.sentAt)} after the start. ${lastWords}`
        return violationAt(request, words, { subject: id, evidence: thingEvidence(conduct, thing) })
      })
  },
})

/** Tells whether the client ended a record, and its end is planned. */
function isRecordEnding(conduct: Conduct, { id, kind }: CreatedThing): boolean {
  const { later = [], happened = 0 } = conduct.sim.world.ownRecords.findRow(id, kind) ?? {}
  const endsLater = later.slice(happened).some(({ hasEnded }) => hasEnded)
  return endsLater && conduct.requests.some(request => endsThing(conduct, request, id))
}
