import { groupBy } from '../group-by.ts'
import { canonical, inputText } from '../batch-rows.ts'
import { requestEvidence, thingEvidence } from '../facts.ts'
import { countsAsEffect, effectsInBase } from '../left-behind.ts'
import type { CreatedThing, Observation } from '../observation.ts'
import { defineRule, type Violation } from '../rule.ts'
import { formatSince, formatUsd, kindWord, nameRequest, operationOf, startSentence } from '../words.ts'

/** Fields of a create that name the new thing. Two things with other names can still be the same work. */
const NAME_FIELDS: ReadonlySet<string> = new Set(['model_name', 'name', 'metadata'])

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
    const { base, created } = observation
    if (base === undefined) return []
    const effects = created.filter(countsAsEffect)
    const groups = groupBy(effects, thing => keyOf(observation, thing))
    return [...groups.values()].flatMap(group => {
      const { kind } = group[0]!
      const present = effects.filter(thing => thing.kind === kind).length
      if (group.length < 2 || present <= effectsInBase(base, kind)) return []
      return [toViolation(observation, group)]
    })
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

function keyOf(observation: Observation, { kind, id, request }: CreatedThing): string {
  const { operation, body, start } = request
  const work = kind === 'batch' ? inputText(observation, id) : undefined
  return JSON.stringify([kind, operation, start, work ?? canonical(withoutNames(body))])
}

function withoutNames(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => !NAME_FIELDS.has(name)))
}
