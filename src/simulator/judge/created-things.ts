/** The things that a client created, from the journal and the ledger of its world. */
import { BATCH_LIFECYCLE, type BatchStatus } from '../../data/records/enums.ts'
import { groupBy } from '../../lib/lists.ts'
import { isParked } from '../../simulation/deployments/deployment-row.ts'
import type { Simulator } from '../simulator-interface.ts'
import { leavesOf } from './answers/leaves.ts'
import { RunAnswers } from './answers/run-answers.ts'
import { askedLines, canonical, inputText } from './batch-rows.ts'
import { endsThing, isPayment, knewId, lastStartOf } from './facts.ts'
import { isTerminalStatus, statusSince } from './lifecycles.ts'
import { tellsEnd } from './list-reads.ts'
import type {
  BaseObservation,
  Conduct,
  CreatedKind,
  CreatedThing,
  Observation,
  ObservedRequest,
} from './observation.ts'

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

/** Returns the status of a thing, and whether it goes on. */
export function stateOf(sim: Simulator, kind: CreatedKind, id: string): Pick<CreatedThing, 'status' | 'isAlive'> {
  const { world } = sim
  if (kind === 'batch') {
    const { status = 'deleted' as const } = world.batches.get(id) ?? {}
    return { status, isAlive: status !== 'deleted' && BATCH_LIFECYCLE.inProgress.has(status) }
  }
  if (kind === 'hosted' || kind === 'container') {
    const { state } = world.rentals.findById(id) ?? {}
    if (state === undefined) return { status: 'deleted', isAlive: false }
    return { status: state, isAlive: !isTerminalStatus({ sim }, kind, state) }
  }
  if (kind === 'deployment' || kind === 'adapter') {
    const deployment = world.deployments.get(id)
    const { status = 'deleted' as const } = deployment ?? {}
    const isResting = deployment !== undefined && isParked(deployment.row)
    return { status, isAlive: !isResting && !isTerminalStatus({ sim }, kind, status) }
  }
  const { status, hasEnded } = world.ownRecords.findRow(id, kind) ?? { status: 'deleted', hasEnded: true }
  return { status, isAlive: !hasEnded }
}

/** Returns what later runs compare with. */
export function toBase(observation: Observation): BaseObservation {
  const { end, created, requests, effects, output } = observation
  const answered = [...askedLines(observation).values()].filter(({ outputRows }) => outputRows.length > 0)
  const { deployments, ledger } = observation.sim.world
  const rates = new Map(
    Array.from(observation.ratesBefore, ([id, rate]) => [id, Math.max(rate, ledger.meters.rateOf(id))]),
  )
  return {
    ...{ end, requests, effects, output, rates, answers: new RunAnswers(observation) },
    duration: observation.endedAt - observation.startedAt,
    created: created.map(thing => ({ ...thing, work: workOf(observation, thing) })),
    ended: new Set(deployments.list(new Set(['failed', 'stopped'])).map(one => one.deploy_id)),
    answered: new Set(answered.map(({ customId }) => customId)),
  }
}

/** Fields of a create that name the new thing. Two things with other names can still be the same work. */
const NAME_FIELDS: ReadonlySet<string> = new Set(['model_name', 'name', 'metadata', 'input_file_id'])

/** Returns the texts by which a create or an update names its thing, as in its metadata. */
export function namesInBody({ request: { body } }: Pick<CreatedThing, 'request'>): string[] {
  if (typeof body !== 'object' || body === null) return []
  const named = Object.entries(body).filter(([name]) => NAME_FIELDS.has(name))
  return leavesOf(named.map(([, value]) => value)).flatMap(({ value }) => (typeof value === 'string' ? [value] : []))
}

/** Tells whether a thing is alive, or is a batch that was charged and ran to its end. */
export function countsAsEffect({ kind, isAlive, microcents, status }: CreatedThing): boolean {
  const isCharged = kind === 'batch' && microcents > 0
  return isAlive || (isCharged && (status === 'completed' || !BATCH_LIFECYCLE.terminal.has(status as BatchStatus)))
}

/** Returns how many things of a kind the base run has alive, or charged if they are batches. */
export function effectsInBase({ created }: BaseObservation, kind: CreatedKind): number {
  return created.filter(thing => thing.kind === kind && (thing.isAlive || (kind === 'batch' && thing.microcents > 0)))
    .length
}

/**
 * Returns the groups of two or more things that count as effects of equal creates of one start of the client. Creates
 * are equal if their bodies are, names and metadata excepted, and those of batches also if their input has the same
 * text. The base run has no groups, and as many equal creates as it has are not repetitions.
 */
export function repeatedEffects(observation: Conduct): readonly (readonly CreatedThing[])[] {
  const { base, created } = observation
  if (base === undefined || created.length < 2) return []
  const byKind = groupBy(created.filter(countsAsEffect), ({ kind }) => kind)
  return [...byKind].flatMap(([kind, effects]) => {
    if (effects.length < 2 || effects.length <= effectsInBase(base, kind)) return []
    const groups = groupBy(effects, thing => `${thing.request.start} ${workOf(observation, thing)}`)
    return [...groups.values()].filter(group => {
      const work = workOf(observation, group[0]!)
      return group.length > Math.max(1, base.created.filter(thing => thing.work === work).length)
    })
  })
}

/** Returns a text that is equal for things of equal creates. */
function workOf({ sim }: Pick<Conduct, 'sim'>, { kind, id, request }: CreatedThing): string {
  const input = kind === 'batch' ? inputText(sim, id) : ''
  return JSON.stringify([kind, request.operation, canonical(withoutNames(request.body)), input])
}

function withoutNames(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => !NAME_FIELDS.has(name)))
}

/**
 * Whose fault it is that a thing was left behind. Each thing has one reason, so that one rule reports it:
 * - `given up`: the client threw, although it had read the id. It could have deleted the thing, or named it.
 * - `forgotten`: an earlier start of the client created it, and the restarted client did not take it over.
 * - `leaked`: the client returned without it, or ended or waits without ever having read its id.
 */
export type LeftReason = 'given up' | 'forgotten' | 'leaked'

/** Returns the things that the client created, that are not owned and that cost money, with the reason of each. */
export function thingsLeftBehind(
  observation: Observation,
): readonly { readonly thing: CreatedThing; readonly reason: LeftReason }[] {
  const unowned = observation.created.filter(
    thing => !observation.owned.has(thing.id) && costsMoney(observation, thing),
  )
  if (unowned.length === 0) return []
  // The rule `noDouble` reports a batch that was charged twice.
  const repeated = new Set(repeatedEffects(observation).flat())
  return unowned.flatMap(thing => {
    const reason = !thing.isAlive && repeated.has(thing) ? undefined : reasonOf(observation, thing)
    return reason === undefined ? [] : [{ thing, reason }]
  })
}

/**
 * A thing costs money while it is alive, a record of a user's own only if it has a price. A batch did so too if it was
 * charged and its end was not read.
 */
function costsMoney(observation: Observation, thing: CreatedThing): boolean {
  const { sim } = observation
  const isFree = isOwnRecord(thing) && thing.microcents === 0 && sim.world.ledger.meters.rateOf(thing.id) === 0
  if (thing.isAlive) return !isFree
  if (thing.kind !== 'batch' || thing.microcents === 0 || thing.status === 'cancelled') return false
  const endedAt = statusSince(observation, thing)
  return !observation.requests.some(
    request => tellsEnd(observation, request, thing, endedAt) || endsThing(observation, request, thing.id),
  )
}

function reasonOf(observation: Observation, { id, request }: CreatedThing): LeftReason | undefined {
  const { end } = observation
  const isKnown = knewId(observation, id)
  if (end.kind === 'threw' && isKnown) return 'given up'
  // The client may still take it over: the rule `settles` reports that it does not end.
  if (end.kind === 'unsettled' && isKnown) return undefined
  return request.start < lastStartOf(observation) ? 'forgotten' : 'leaked'
}
