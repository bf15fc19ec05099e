import { MICROCENTS_PER_USD } from '../../../simulation/account/money.ts'
import { postingEvidence, violationAt } from '../facts.ts'
import type { CreatedThing, Observation } from '../observation.ts'
import { defineRule } from '../rule.ts'
import { formatSince, formatUsd, nameThing } from '../words.ts'

/**
 * The client spends at most a number of US dollars: the rent of what it created until it ended, all tokens of its
 * batches, and the tokens and units of its other requests. What a thing costs after the end of the client is for its
 * owner, or a case of `noLeak`. Without a limit the rule holds.
 */
export const spendsAtMost = defineRule({
  summary: 'The client spends no more than its limit.',
  advice: 'Look at what runs before you create more, set max_instances, and stop retrying work that is charged.',
  place: 'operation',
  premise: ({ settings }) => settings.spendsAtMost !== undefined,
  otherwise: 'no limit is set',
  check(observation) {
    const { settings, endedAt, created } = observation
    const limit = settings.spendsAtMost
    if (limit === undefined) return []
    const shares = created.map(thing => ({ thing, microcents: costOf(observation, thing) }))
    const requests = costOfRequests(observation)
    const total = shares.reduce((sum, { microcents }) => sum + microcents, requests)
    if (total <= limit * MICROCENTS_PER_USD) return []
    const most = shares.toSorted((a, b) => b.microcents - a.microcents)[0]
    const share = most ? ` ${nameThing(most.thing)} cost ${formatUsd(most.microcents)} of it.` : ''
    const words =
      `The client spent ${formatUsd(total)} in ${formatSince(observation, endedAt)}, more than its limit of ` +
      `${formatUsd(limit * MICROCENTS_PER_USD)}.${share}`
    const evidence = most ? postingEvidence(observation, most.thing.id) : []
    return [violationAt(most?.thing.request, words, { subject: most?.thing.id, evidence })]
  },
})

/** The rent until the client ended; for a batch, all that it was charged. */
function costOf({ sim, startedAt, endedAt }: Observation, { id, kind, microcents }: CreatedThing): number {
  if (kind === 'batch') return microcents
  const usages = sim.world.ledger.meters.meteredUsage(startedAt, endedAt)
  return usages.reduce((sum, usage) => (usage.id === id ? sum + usage.microcents : sum), 0)
}

/** The cost of tokens and units of requests, without those of batches. */
function costOfRequests({ sim, startedAt, endedAt }: Observation): number {
  return sim.ledger
    .entries({ from: startedAt, to: endedAt })
    .filter(({ kind, subject }) => (kind === 'tokens' || kind === 'units') && !sim.world.batches.get(subject))
    .reduce((sum, { microcents }) => sum - microcents, 0)
}
