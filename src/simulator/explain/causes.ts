/** Causes and effects in a journal: the recorded cause of an entry, or a nearer one that follows from other entries. */

import type { Entry, RequestEntry } from '../../kernel/journal.ts'
import { groupBy } from '../../lib/lists.ts'
import type { ReceivedRequest } from '../exchanges/request-log.ts'
import type { Simulator } from '../simulator.ts'
import { findDecidingEntry, type KeptEntries } from './first-cause.ts'

/** The most entries that are read for a nearer cause of the same moment. */
const MAX_SIBLINGS = 200
/** Kinds that end the answer to a request to a model with an error. */
const END_OF_ANSWER = /^inference\.(?:broken|turnedAway|cutOff)$/

interface DeploymentName {
  readonly id: string
  readonly model: string
}

/**
 * The entries that the journal of a simulator has kept, with their causes. It reads the journal once: thousands of
 * requests can be refused, and each of them looks for its cause.
 */
export class Causes implements KeptEntries {
  readonly entries: readonly Entry[]
  readonly #sim: Simulator
  readonly #first: number
  readonly #bySubject: ReadonlyMap<string, readonly Entry[]>
  readonly #requests = new Map<number, ReceivedRequest>()
  readonly #routeWords = new Map<string, ReadonlySet<string>>()
  readonly #known = new Map<number, Entry | undefined>()
  #ends: readonly Entry[] | undefined
  #deployments: ReadonlyMap<string, readonly DeploymentName[]> | undefined

  constructor(sim: Simulator) {
    this.#sim = sim
    this.entries = sim.journal.entries()
    this.#first = this.entries[0]?.seq ?? 1
    this.#bySubject = groupBy(this.entries, ({ subject }) => subject)
    for (const request of sim.requests) this.#requests.set(request.seq, request)
  }

  /** Returns the entry at a position; undefined if the journal has no such entry, or has dropped it. */
  at(seq: number): Entry | undefined {
    return this.entries[seq - this.#first]
  }

  /** The subjects of the journal, requests left out. */
  get subjects(): string[] {
    return [...this.#bySubject].filter(([, entries]) => entries[0]!.kind !== 'request').map(([subject]) => subject)
  }

  /** Returns the entries of a subject, oldest first. */
  of(subject: string): readonly Entry[] {
    return this.#bySubject.get(subject) ?? []
  }

  routeWords(operation: string): ReadonlySet<string> {
    const known = this.#routeWords.get(operation)
    if (known !== undefined) return known
    const { operations } = this.#sim.api
    const template = Object.hasOwn(operations, operation) ? operations[operation]!.path : ''
    const words = new Set(template.split('/').filter(segment => !segment.includes('{')))
    this.#routeWords.set(operation, words)
    return words
  }

  deploymentsOf(modelName: string): Iterable<string> {
    this.#deployments ??= groupBy(this.#deploymentNames(), ({ model }) => model)
    return (this.#deployments.get(modelName) ?? []).map(({ id }) => id)
  }

  *#deploymentNames(): Generator<DeploymentName> {
    for (const [, { id, plan }] of this.#sim.world.deployments.entries()) yield { id, model: plan.modelName }
    for (const { kind, subject, fields } of this.entries) {
      if (kind === 'deployment.created') yield { id: subject, model: String(fields?.model_name) }
    }
  }

  /** Returns what the simulator kept of a request, if it is among the newest. */
  received(seq: number): ReceivedRequest | undefined {
    return this.#requests.get(seq)
  }

  /** Returns the cause of an entry: an earlier one, or for a request to a model, the end of its answer. */
  causeOf(entry: Entry): Entry | undefined {
    if (!this.#known.has(entry.seq)) this.#known.set(entry.seq, this.#findCause(entry))
    return this.#known.get(entry.seq)
  }

  /** Returns an entry and its causes, the nearest first. */
  chainOf(entry: Entry): Entry[] {
    const chain = new Set<Entry>()
    for (let next: Entry | undefined = entry; next !== undefined && !chain.has(next); next = this.causeOf(next)) {
      chain.add(next)
    }
    return [...chain]
  }

  /** Returns the entries that some entries caused, directly or not, oldest first. */
  effectsOf(causes: Iterable<Entry>): Entry[] {
    const reached = new Set<number>()
    let first = Number.POSITIVE_INFINITY
    for (const { seq } of causes) {
      reached.add(seq)
      if (seq < first) first = seq
    }
    if (reached.size === 0) return []
    const own = new Set(reached)
    const late: Entry[] = []
    const position = first - this.#first
    for (let i = position + 1; i < this.entries.length; i++) {
      const entry = this.entries[i]!
      const cause = this.causeOf(entry)
      if (cause === undefined) continue
      if (cause.seq > entry.seq) late.push(entry)
      else if (reached.has(cause.seq)) reached.add(entry.seq)
    }
    if ([...reached].some(seq => END_OF_ANSWER.test(this.at(seq)!.kind))) {
      for (const entry of this.entries.slice(0, position)) if (entry.kind === 'request') late.push(entry)
    }
    // The answers to requests that waited have no effects.
    for (const entry of late) if (reached.has(this.causeOf(entry)?.seq ?? 0)) reached.add(entry.seq)
    return [...reached]
      .filter(seq => !own.has(seq))
      .sort((a, b) => a - b)
      .map(seq => this.at(seq)!)
  }

  #findCause(entry: Entry): Entry | undefined {
    if (entry.kind === 'request') {
      const request = entry as RequestEntry
      const received = this.received(entry.seq)
      const cause = this.at(entry.cause) ?? this.#endOfAnswer(request, received)
      return cause ?? findDecidingEntry(this, this.#sim, request, received)
    }
    if (entry.kind === 'fault.hit' || entry.kind === 'fault.removed') {
      const added = this.of(entry.subject).findLast(({ kind, seq }) => kind === 'fault.added' && seq < entry.seq)
      if (entry.kind === 'fault.hit') return added
    }
    const cause = entry.cause < entry.seq ? this.at(entry.cause) : undefined
    return cause === undefined ? undefined : (this.#nearerCause(entry, cause) ?? cause)
  }

  /** Returns the entry that ended the answer to a request to a model with an error. */
  #endOfAnswer({ seq, fields }: RequestEntry, received: ReceivedRequest | undefined): Entry | undefined {
    const { reason } = received ?? {}
    if (fields.status < 400 || received === undefined || reason === undefined) return undefined
    const { clock } = this.#sim.world
    this.#ends ??= this.entries.filter(({ kind }) => END_OF_ANSWER.test(kind))
    const ends = this.#ends.filter(
      end => end.seq > seq && reason.endsWith(String(end.fields?.reason)) && clock.iso(end.time) <= received.at,
    )
    const waited = ends.find(({ subject }) => this.of(subject)[0]!.cause === seq)
    // The journal has no entry for the start of an answer without a wait. Equal reasons have equal causes.
    return waited ?? ends.find(({ subject }) => this.of(subject).length === 1)
  }

  /** Returns the newest entry with the same cause at the same time that led to this one, before it. */
  #nearerCause(entry: Entry, cause: Entry): Entry | undefined {
    for (let seq = entry.seq - 1; seq > cause.seq && seq > entry.seq - MAX_SIBLINGS; seq--) {
      const sibling = this.at(seq)
      if (sibling === undefined || sibling.time !== entry.time) return undefined
      if (sibling.cause === cause.seq && this.#leadsTo(sibling, entry)) return sibling
    }
    return undefined
  }

  /** Returns the node on which an instance or a container was at an entry, if the journal has that. */
  #nodeOf({ subject, seq }: Entry): unknown {
    return this.of(subject).findLast(entry => entry.seq < seq && entry.kind.endsWith('.placed'))?.fields?.node
  }

  /** Tells whether one of two entries with a common cause led to the other. */
  #leadsTo(earlier: Entry, later: Entry): boolean {
    if (earlier.subject === later.subject || earlier.kind === 'request') return false
    const reason = String(later.fields?.reason ?? '')
    const isLoss = /^instance\.(?:lost|crashed)$/.test(earlier.kind)
    switch (later.kind.split('.', 1)[0]) {
      case 'deployment':
        // The status of a deployment follows from its instances.
        return /^instance\.(?!pending)/.test(earlier.kind) && earlier.subject.startsWith(`${later.subject}-`)
      case 'inference': {
        const deployment = this.of(later.subject)[0]?.fields?.deployment
        if (earlier.kind.startsWith('deployment.')) return earlier.subject === deployment
        return isLoss && reason !== '' && earlier.fields?.reason === reason
      }
      case 'instance':
      case 'hosted':
      case 'container':
        // A lost instance is replaced.
        if (later.kind === 'instance.pending') {
          return isLoss && earlier.subject.startsWith(`${later.fields?.deployment}-`)
        }
        return isOfMachine(earlier) && (isNamed(earlier, reason) || this.#nodeOf(later) === earlier.subject)
      default:
        return false
    }
  }
}

/** Tells whether an entry is about a node or a part of it. */
function isOfMachine({ kind }: Entry): boolean {
  return /^(?:node|gpu|disk)\./.test(kind)
}

/** Tells whether a reason names the subject of an entry. */
function isNamed({ subject }: Entry, reason: string): boolean {
  return reason.split(/[\s:,]/).includes(subject)
}
