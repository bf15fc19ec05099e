import { formatDuration, type Micros, SECOND } from '../../../../kernel/duration.ts'
import { groupBy } from '../../../../lib/lists.ts'
import { kindFor, requestEvidence, thingPathOf, violationAt } from '../../facts.ts'
import type { Conduct, ObservedRequest } from '../../observation.ts'
import { defineRule } from '../../rule.ts'
import { formatSince, operationOf } from '../../words.ts'

/** Things that a client may ask for one by one at a time. */
const MAX_SINGLE = 4
/** Reads within this time belong together. */
const TOGETHER: Micros = 10 * SECOND

/** The client asks for a list in place of many single things. Five different things of a kind within ten seconds break it. */
export const usesLists = defineRule({
  summary: 'The client reads a list in place of many things one by one.',
  advice: 'Read the list once, and look up what you need in it by id.',
  detail: 'Five different things of a kind within ten seconds break it. Reads of one thing count once, with any query.',
  source: 'Opinion of modelhost-sim: each request counts for the rate limit, and a list is one.',
  place: 'operation',
  check(conduct) {
    const { requests, startedAt } = conduct
    const singles = requests.filter(request => listFor(conduct, request) !== undefined)
    return [...groupBy(singles, ({ operation, start }) => `${start} ${operation}`).values()].flatMap(group => {
      const burst = findBurst(group)
      const [first, last] = [burst?.[0], burst?.at(-1)]
      if (burst === undefined || first === undefined || last === undefined) return []
      const things = new Set(burst.map(thingPathOf)).size
      const time =
        last.sentAt === first.sentAt ? 'at one instant' : `within ${formatDuration(last.sentAt - first.sentAt)}`
      const words =
        `The client read ${things} things one by one with ${operationOf(first)} ${time}, from ` +
        `${formatSince({ startedAt }, first.sentAt)} after the start. One request to ${listFor(conduct, first)} answers all of them.`
      return [violationAt(first, words, { evidence: requestEvidence(...burst.slice(0, MAX_SINGLE), last) })]
    })
  },
})

/** Returns the reads of the first stretch of time in which more things were read than may be. */
function findBurst(reads: readonly ObservedRequest[]): readonly ObservedRequest[] | undefined {
  const paths = new Map(reads.map(read => [read, thingPathOf(read)]))
  for (const [i, { sentAt }] of reads.entries()) {
    const near = reads.slice(i).filter(other => other.sentAt - sentAt <= TOGETHER)
    if (new Set(near.map(read => paths.get(read))).size > MAX_SINGLE) return near
  }
  return undefined
}

/** Returns the list that answers what a read of one thing does; undefined for another operation. */
function listFor(conduct: Conduct, request: ObservedRequest): string | undefined {
  const kind = kindFor(conduct, request, 'read')
  if (kind === undefined) return undefined
  return Object.entries(conduct.sim.api.operations).find(([, { roles }]) => roles.includes(`list ${kind}`))?.[0]
}
