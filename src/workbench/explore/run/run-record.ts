/** Takes from a finished world what explore needs of a run. */

import type { Entry } from '../../../kernel/journal.ts'
import type { Observation, ObservedRequest } from '../../../simulator/judge/observation.ts'
import type { AppliedPlan } from './applied-plan.ts'
import type { Boundary } from './runner.ts'
import type { NamedViolation } from './verdict.ts'

const THINGS = /^(deployment|adapter|instance|hosted|container|batch)\./

/** Returns the changes of the things that the client created, started or set, and of their instances, in order. */
export function findBoundaries(entries: readonly Entry[], observation: Observation): Boundary[] {
  const { sim, created, effects } = observation
  const changed = [...effects.values()].filter(({ value }) => value !== undefined)
  const things = new Set([...created, ...changed].map(({ id }) => id))
  const deployments = new Map<string, string>()
  /** The nodes of instances and containers. */
  const nodes = new Map<string, string>()
  const counts = new Map<string, number>()
  const boundaries: Boundary[] = []
  for (const { kind, subject, fields } of entries) {
    if (!THINGS.test(kind)) continue
    const deployment = fields?.deployment
    if (kind === 'instance.pending' && typeof deployment === 'string' && things.has(deployment)) {
      deployments.set(subject, deployment)
    }
    if (!deployments.has(subject) && !things.has(subject)) continue
    if (/^(instance|container)\.placed$/.test(kind)) nodes.set(subject, String(fields?.node))
    const key = `${kind} ${subject}`
    const nth = (counts.get(key) ?? 0) + 1
    counts.set(key, nth)
    const gpu = sim.world.deployments.get(deployments.get(subject) ?? subject)?.row.gpu
    const node = nodes.get(subject)
    const file = kind === 'batch.completed' ? sim.world.batches.get(subject)?.toRecord().output_file_id : undefined
    boundaries.push({
      ...{ kind, subject, nth },
      ...(node !== undefined && { node }),
      ...(gpu !== undefined && gpu !== null && { gpu }),
      ...(typeof fields?.lines === 'number' && { lines: fields.lines }),
      ...(file != null && { file }),
    })
  }
  return boundaries
}

/** Returns the features of a run: which kinds of entries caused which, and which answers followed which. */
export function findFeatures(entries: readonly Entry[], requests: readonly ObservedRequest[]): ReadonlySet<string> {
  const features = new Set<string>()
  const kinds = new Map<number, string>()
  for (const { seq, kind, cause } of entries) {
    kinds.set(seq, kind)
    const parent = kinds.get(cause)
    if (parent !== undefined) features.add(`${parent} > ${kind}`)
  }
  let before = 'start'
  for (const { operation, outcome, status } of requests) {
    const answer = `${operation} ${outcome === 'answered' ? status : outcome}`
    features.add(`${before} > ${answer}`)
    before = answer
  }
  return features
}

/**
 * Returns the items of the plan that a violation follows from, as far as the causes in the journal and the requests in
 * its evidence tell. It is a guess: shrinking tries it first.
 */
export function findLineage(
  { evidence, subject }: NamedViolation,
  { sim, requests }: Observation,
  entries: readonly Entry[],
  plan: AppliedPlan,
): ReadonlySet<number> {
  const items = new Set<number>()
  const add = (position: number | undefined) => {
    if (position !== undefined) items.add(position)
  }
  const addRequest = ({ fault }: ObservedRequest) => fault !== undefined && add(plan.positionOfRule(fault.rule))
  const addEntry = (entry: Entry) => {
    for (const { kind, subject } of sim.journal.why(entry.seq)) {
      if (kind === 'fault.hit') add(plan.positionOfRule(subject))
    }
  }
  for (const fact of evidence) {
    if (fact.kind === 'request') addRequest(fact.request)
    else if (fact.kind === 'entry') addEntry(fact.entry)
  }
  for (const entry of entries) if (subject !== undefined && entry.subject === subject) addEntry(entry)
  const last = requests.at(-1)
  if (last !== undefined) addRequest(last)
  return items
}
