/** The things that a client created, from the journal and the ledger of its world. */

import { BATCH_LIFECYCLE } from '../../data/records/enums.ts'
import type { Simulator } from '../simulator-interface.ts'
import { isPayment } from './facts.ts'
import { isTerminalStatus } from './lifecycles.ts'
import type { CreatedKind, CreatedThing, ObservedRequest } from './observation.ts'

const CREATED = /^(deployment|adapter|hosted|container|batch|ownRecord)\.created$/

/** Tells whether a thing is a record of a user's own table. */
export function isOwnRecord({ kind }: CreatedThing): boolean {
  return !CREATED.test(`${kind}.created`)
}

/**
 * Returns the things that requests of the client created, in the order of their creation. Payments are left out.
 *
 * @param bySeq the requests of the client by the position of their journal entry
 */
export function findCreatedThings(sim: Simulator, bySeq: ReadonlyMap<number, ObservedRequest>): CreatedThing[] {
  const costs = new Map<string, number>()
  for (const { subject, microcents } of sim.ledger.entries()) {
    costs.set(subject, (costs.get(subject) ?? 0) - microcents)
  }
  const things: CreatedThing[] = []
  for (const entry of sim.journal.entries()) {
    const noun = CREATED.exec(entry.kind)?.[1]
    const kind = noun === 'ownRecord' ? String(entry.fields?.kind) : noun
    const request = kind === undefined ? undefined : bySeq.get(entry.cause)
    if (kind === undefined || request === undefined || isPayment({ sim }, request, kind)) continue
    const { status, isAlive } = stateOf(sim, kind, entry.subject)
    const microcents = costs.get(entry.subject) ?? 0
    things.push({ kind, id: entry.subject, createdAt: entry.time, request, status, isAlive, microcents })
  }
  return things
}

function stateOf(sim: Simulator, kind: CreatedKind, id: string): Pick<CreatedThing, 'status' | 'isAlive'> {
  const { world } = sim
  if (kind === 'batch') {
    const { status = 'deleted' as const } = world.batches.get(id) ?? {}
    return { status, isAlive: status !== 'deleted' && BATCH_LIFECYCLE.inProgress.has(status) }
  }
  if (kind === 'hosted' || kind === 'container') {
    const ordinal = world.rentals.ordinalOf(id)
    if (ordinal === undefined) return { status: 'deleted', isAlive: false }
    const { state } = world.rentals.read(ordinal)
    return { status: state, isAlive: !isTerminalStatus({ sim }, kind, state) }
  }
  if (kind === 'deployment' || kind === 'adapter') {
    const { status = 'deleted' as const } = world.deployments.get(id) ?? {}
    return { status, isAlive: !isTerminalStatus({ sim }, kind, status) }
  }
  const { status, hasEnded } = world.ownRecords.findRow(id, kind) ?? { status: 'deleted', hasEnded: true }
  return { status, isAlive: !hasEnded }
}
