import { comparisonOf } from '../answers/comparison.ts'
import { countsAsEffect, effectsInBase, thingsLeftBehind } from '../created-things.ts'
import { missingEffects } from '../effects.ts'
import { endsThing, knewId, requestEvidence, thingEvidence, violationAt } from '../facts.ts'
import { readsResults } from '../list-reads.ts'
import type { CreatedThing, Observation } from '../observation.ts'
import { defineRule, type Violation } from '../rule.ts'
import { formatCost, formatSince, kindWord, nameRequest, nameThing, quoteText, startSentence } from '../words.ts'
import { tellsOfLoss } from './done-as-said.ts'
import { extraEffectsOf } from './no-double.ts'

/** The last words of journal kinds of failures, after which a client may end otherwise than in the base run. */
const FAILURE =
  /\.(?:crashed|lost|failed|down|preempted|preemptionNoticed|drained|degraded|stockedOut|soldOut|throttled|slowed|filled|frozen|limited|suspended|revoked|expired)$/

const NO_OLD_VALUE =
  'the service does not keep the old value of a setting, so a client that starts again cannot set it back'

/**
 * A client that crashed and started again does its work once:
 * - It takes over what an earlier start created. It leaves nothing of that behind that costs money without an owner, and
 *   there are no more things alive or charged of a kind than in the base run.
 * - It makes what the base run makes, or its result tells that something is missing.
 * - It returns if the base run returns, and sets back what the base run sets back.
 *
 * The last two are judged only if no fault met the restarted client, and no failure the world.
 *
 * Things that the restarted client created itself are cases of `noLeak` and `cleansUpOnThrow`.
 */
export const idempotentRestart = defineRule({
  summary: 'A client that crashed and starts again continues its work, does all of it, and does nothing twice.',
  advice:
    'At its start, look for what an earlier start created: by a name, a file name or metadata that follow from the job. ' +
    'Record a step as done only after the service has answered.',
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
    const finders = isExcused ? [] : [findOtherEnd, findOtherSettings, findMissing]
    return [...left, ...extraEffectsOf(observation), ...finders.flatMap(find => find(observation) ?? [])]
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
function extraThings(observation: Observation): CreatedThing[] {
  const { base, created, crashes, end, owned, requests } = observation
  if (base === undefined) return []
  // A batch whose results a later start has read is continued by the next one, as with the lines that failed.
  const isContinued = (thing: CreatedThing) =>
    requests.some(one => one.start > thing.request.start && readsResults(observation, one, thing))
  const isCounted = (thing: CreatedThing) => countsAsEffect(thing) && !isContinued(thing)
  const effects = created.filter(thing => isCounted(thing) && !(end.kind === 'threw' && owned.has(thing.id)))
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

/** Tells whether a fault met the restarted client, or a failure the world. */
function isDisturbed({ requests, crashes, sim, endedAt }: Observation): boolean {
  if (requests.some(({ start, fault }) => start > crashes && fault !== undefined)) return true
  return sim.journal.entries().some(({ kind, time }) => FAILURE.test(kind) && time <= endedAt)
}

/** Returns the settings that the base run changes and sets back, and that have another value after the restart. */
function findOtherSettings(observation: Observation): Violation[] {
  const { end, base, effects } = observation
  if (base === undefined || end.kind !== 'returned' || isDisturbed(observation)) return []
  return [...base.effects].flatMap(([key, usual]) => {
    const now = effects.get(key)
    if (now === undefined || usual.changes < 2 || now.value === usual.value) return []
    const words =
      `After the crash and a new start, the client left ${usual.what} at ${quoteText(now.value)}, and without faults at ` +
      `${quoteText(usual.value)}. ${startSentence(nameRequest(now.request))} set it last.`
    return [violationAt(now.request, words, { subject: now.id, maySurface: NO_OLD_VALUE })]
  })
}

/** Returns what the client makes without faults, and has not made after the restart although its result is as usual. */
function findMissing(observation: Observation): Violation[] {
  const { base, requests, crashes } = observation
  const comparison = comparisonOf(observation)
  if (base === undefined || comparison === undefined || isDisturbed(observation)) return []
  const [lost] = missingEffects(observation, base.effects).filter(({ isLess }) => isLess)
  if (lost === undefined || tellsOfLoss(observation, comparison)) return []
  const { effect, words } = lost
  const last = requests.findLast(({ start }) => start <= crashes)
  const said = `The client crashed after ${last ? nameRequest(last) : 'its start'}. Its new start returned as without faults, but ${words}.`
  return [violationAt(last, said, { operation: effect.request.operation, subject: effect.id })]
}

function findOtherEnd(observation: Observation): Violation | undefined {
  const { end, base, requests, crashes } = observation
  if (base?.end.kind !== 'returned' || end.kind !== 'threw') return undefined
  if (isDisturbed(observation) || hadGivenUp(observation)) return undefined
  const ofLastStart = requests.filter(({ start }) => start > crashes)
  const refused = ofLastStart.findLast(({ status }) => status >= 400)
  const message = end.error instanceof Error ? end.error.message : end.error
  const last = refused ?? ofLastStart.at(-1)
  const words =
    `Without faults, the client returns. After the crash and a new start it threw ${quoteText(message)}` +
    `${last ? `; ${refused ? 'it had been refused' : 'its last request was'} ${nameRequest(last)}` : ''}.`
  return violationAt(last, words)
}
