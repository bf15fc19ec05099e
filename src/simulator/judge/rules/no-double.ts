import { repeatedEffects } from '../created-things.ts'
import { extraEffects } from '../effects.ts'
import { kindFor, requestEvidence, thingEvidence, violationAt } from '../facts.ts'
import type { CreatedThing, Observation } from '../observation.ts'
import { defineRule, type Violation } from '../rule.ts'
import { formatSince, formatUsd, kindWord, nameRequest, startSentence } from '../words.ts'

/**
 * Equal creates have one effect. Things count if they are alive, or are batches that were charged and not cancelled: the
 * rent of a deleted deployment ends, but a batch is paid for. Creates are equal if their bodies are, names and metadata
 * excepted. Batches are equal if their input files have the same text.
 *
 * What the client does without faults is intended, so as many things of the kind as in the base run are allowed. Things
 * of different starts belong to `idempotentRestart`.
 */
export const noDouble = defineRule({
  summary: 'The same create does not take effect twice.',
  advice:
    'Before you repeat a create without an answer, look whether the first one took effect: by name, or for a batch by ' +
    'its input_file_id or metadata.',
  premise: ({ created, base }) => created.length > 0 || (base?.effects.size ?? 0) > 0,
  otherwise: 'it creates nothing',
  check(observation) {
    const things = repeatedEffects(observation).map(group => toViolation(observation, group))
    return observation.crashes > 0 ? things : [...things, ...extraEffectsOf(observation)]
  },
})

/** Returns the payments, tokens and keys that took effect more often than without faults. */
export function extraEffectsOf(observation: Observation): Violation[] {
  const { effects, base, requests, crashes, sim } = observation
  // A client cannot prevent that the service carries out one request twice.
  if (base === undefined || requests.some(({ fault }) => fault?.kind === 'duplicate')) return []
  return extraEffects(effects, base.effects).map(({ what, name, made, deleted, request, usual }) => {
    const isFunds = what === 'funds'
    const payee = kindFor(observation, request, 'pay')
    const isPaid = isFunds || payee !== undefined
    const now = isPaid ? `${what} took effect` : `${what} '${name}' is there`
    const word = isFunds ? `$${made / 100} were paid` : `${now} ${made - deleted} times`
    const expected = isFunds ? `$${usual / 100}` : usual
    const words = `${word}, and without faults ${expected}. ${startSentence(nameRequest(request))} did it again.`
    const maySurface = 'the service has no list of payments, so a client that starts again cannot find its own'
    const isListed = !isFunds && Object.values(sim.api.operations).some(({ roles }) => roles.includes(`list ${payee}`))
    return violationAt(request, words, isPaid && !isListed && crashes > 0 ? { maySurface } : {})
  })
}

function toViolation(observation: Observation, group: readonly CreatedThing[]): Violation {
  const [first, ...others] = group as [CreatedThing, ...CreatedThing[]]
  const last = others.at(-1)!
  // A client that waits or looks needs more than an instant.
  const isAtOnce =
    last.request.index === first.request.index + 1 &&
    last.request.sentAt === (first.request.endedAt ?? first.request.sentAt)
  const below = isAtOnce
    ? ' It came at the same instant: a loop of the client or a transport below it may repeat a POST.'
    : ''
  const extra = others.reduce((sum, { microcents }) => sum + microcents, 0)
  const words =
    `Equal creates took effect ${group.length} times: ${group.map(({ id }) => id).join(' and ')}. ` +
    `${startSentence(nameRequest(first.request))} created the first ${kindWord(first.kind)}, and ${nameRequest(last.request)} ` +
    `another one ${formatSince(observation, last.request.sentAt)} after the start, for ${formatUsd(extra)} so far.${below}`
  return violationAt(last.request, words, {
    subject: last.id,
    evidence: [...requestEvidence(first.request), ...thingEvidence(observation, last)],
  })
}
