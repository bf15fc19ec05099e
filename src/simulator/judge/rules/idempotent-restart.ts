import { countsAsEffect, effectsInBase, thingsLeftBehind } from '../created-things.ts'
import { endsThing, knewId, requestEvidence, thingEvidence, violationAt } from '../facts.ts'
import type { CreatedThing, Observation } from '../observation.ts'
import { defineRule, type Violation } from '../rule.ts'
import { formatCost, formatSince, kindWord, nameRequest, nameThing, quoteText } from '../words.ts'
import { extraEffectsOf } from './no-double.ts'

/** The last words of journal kinds of failures, after which a client may end otherwise than in the base run. */
const FAILURE =
  /\.(?:crashed|lost|failed|down|preempted|preemptionNoticed|drained|degraded|stockedOut|soldOut|throttled|slowed|filled|frozen|limited|suspended|revoked|expired)$/

/**
 * A client that crashed and started again does its work once:
 * - It takes over what an earlier start created. It leaves nothing of that behind that costs money without an owner, and
 *   there are no more things alive or charged of a kind than in the base run.
 * - It returns if the base run returns. This is judged only if no fault met the restarted client, and no failure the world.
 *
 * Things that the restarted client created itself are cases of `noLeak` and `cleansUpOnThrow`.
 */
export const idempotentRestart = defineRule({
  summary: 'A client that crashed and starts again continues its work, and does not do it twice.',
  advice:
    'At its start, look for what an earlier start created: by a name, a file name or metadata that follow from the job.',
  premise: ({ crashes, base }) => crashes > 0 && (base?.effects.size ?? 0) > 0,
  otherwise: 'it changes nothing, or no crash was tried',
  check(observation) {
    if (observation.crashes === 0) return []
    // Who finds its thing stopped, cancelled or deleted by another user may begin again, or give up.
    const isExcused = isEndedByOthers(observation)
    const behind = new Map(thingsLeftBehind(observation).map(({ thing, reason }) => [thing, reason]))
    // What it took over, and left when it threw, is a case of `cleansUpOnThrow`.
    const isGivenUp = (thing: CreatedThing) => behind.get(thing) === 'given up' && !nextOf(observation, thing)
    const extra = isExcused ? [] : extraThings(observation).filter(thing => !isGivenUp(thing))
    const forgotten = [...behind].flatMap(([thing, reason]) => (reason === 'forgotten' ? [thing] : []))
    const left = [...new Set([...forgotten, ...extra])].map(thing => toViolation(observation, thing))
    const otherEnd = isExcused ? undefined : findOtherEnd(observation)
    return [...left, ...extraEffectsOf(observation), ...(otherEnd === undefined ? [] : [otherEnd])]
  },
})

/** Returns what a later start created of the kind; undefined for nothing. */
function nextOf({ created }: Observation, { kind, request }: CreatedThing): CreatedThing | undefined {
  return created.find(other => other.kind === kind && other.request.start > request.start)
}

function toViolation(observation: Observation, thing: CreatedThing): Violation {
  const { request, kind, id } = thing
  const next = nextOf(observation, thing)
  const left = knewId(observation, id) ? 'had read its id, and did not end it' : 'did not take it over'
  const did = next ? `created ${next.id} by ${nameRequest(next.request)}` : left
  const words =
    `${nameThing(thing)} was created by ${nameRequest(request)} before the crash, ` +
    `${formatSince(observation, request.sentAt)} after the first start. The restarted client ${did}. The ${kindWord(kind)} has cost ` +
    `${formatCost(observation, thing)}.`
  return violationAt(next?.request ?? request, words, {
    subject: id,
    evidence: [...(next ? requestEvidence(next.request) : []), ...thingEvidence(observation, thing)],
  })
}

/**
 * Returns the oldest things of earlier starts by which there are more than in the base run. What the error of the client
 * names it took over, and could not end.
 */
function extraThings({ base, created, crashes, end, owned }: Observation): CreatedThing[] {
  if (base === undefined) return []
  const effects = created.filter(thing => countsAsEffect(thing) && !(end.kind === 'threw' && owned.has(thing.id)))
  const kinds = [...new Set(effects.map(({ kind }) => kind))]
  return kinds.flatMap(kind => {
    const present = effects.filter(thing => thing.kind === kind)
    const ofEarlierStarts = present.filter(({ request }) => request.start <= crashes)
    return ofEarlierStarts.slice(0, Math.max(0, present.length - effectsInBase(base, kind)))
  })
}

/** Tells whether a command ended a thing or lowered a limit. Its entry has no cause. What a request or an event does has one. */
function isEndedByOthers({ sim, endedAt }: Observation): boolean {
  const ends =
    /^(?:limit\.set|(?:batch|deployment|file|adapter)\.(?:stopped|cancelling|cancelled|failed|expired|deleted))$/
  return sim.journal.entries().some(({ kind, cause, time }) => cause <= 0 && ends.test(kind) && time <= endedAt)
}

/** Tells whether an earlier start ended what it does not end without faults: it was cleaning up. */
function hadGivenUp({ sim, base, created, requests, crashes }: Observation): boolean {
  const ended = created.filter(({ id }) => requests.some(one => one.start <= crashes && endsThing({ sim }, one, id)))
  return ended.some(
    ({ kind, status }) => base?.created.some(one => one.kind === kind && one.status === status) !== true,
  )
}

function findOtherEnd(observation: Observation): Violation | undefined {
  const { end, base, requests, crashes, sim, endedAt } = observation
  if (base?.end.kind !== 'returned' || end.kind !== 'threw') return undefined
  const ofLastStart = requests.filter(({ start }) => start > crashes)
  if (ofLastStart.some(({ fault }) => fault !== undefined) || hadGivenUp(observation)) return undefined
  if (sim.journal.entries().some(({ kind, time }) => FAILURE.test(kind) && time <= endedAt)) return undefined
  const refused = ofLastStart.findLast(({ status }) => status >= 400)
  const message = end.error instanceof Error ? end.error.message : end.error
  const last = refused ?? ofLastStart.at(-1)
  const words =
    `Without faults, the client returns. After the crash and a new start it threw ${quoteText(message)}` +
    `${last ? `; ${refused ? 'it had been refused' : 'its last request was'} ${nameRequest(last)}` : ''}.`
  return violationAt(last, words)
}
