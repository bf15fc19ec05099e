import { repeatedEffects } from '../equal-creates.ts'
import { requestEvidence, thingEvidence } from '../facts.ts'
import type { CreatedThing, Observation } from '../observation.ts'
import { defineRule, type Violation } from '../rule.ts'
import { formatSince, formatUsd, kindWord, nameRequest, operationOf, startSentence } from '../words.ts'

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
  check(observation) {
    return repeatedEffects(observation).map(group => toViolation(observation, group))
  },
})

function toViolation(observation: Observation, group: readonly CreatedThing[]): Violation {
  const [first, ...others] = group as [CreatedThing, ...CreatedThing[]]
  const last = others.at(-1)!
  const extra = others.reduce((sum, { microcents }) => sum + microcents, 0)
  return {
    words:
      `Equal creates took effect ${group.length} times: ${group.map(({ id }) => id).join(' and ')}. ` +
      `${startSentence(nameRequest(first.request))} created the first ${kindWord(first.kind)}, and ${nameRequest(last.request)} ` +
      `another one ${formatSince(observation, last.request.sentAt)} after the start, for ${formatUsd(extra)} so far.`,
    operation: operationOf(last.request),
    subject: last.id,
    evidence: [...requestEvidence(first.request), ...thingEvidence(observation, last)],
  }
}
