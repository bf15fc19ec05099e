/** Explains things, requests and journal entries from the journal, the world, and a copy of the world that runs ahead. */

import { DAY, formatDuration } from '../../kernel/duration.ts'
import type { Entry, RequestEntry } from '../../kernel/journal.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { LIMITS } from '../../lib/limits.ts'
import { quote } from '../../lib/quote.ts'
import { formatCount } from '../../lib/text/numbers.ts'
import { drawBatchWait, weatherPack } from '../../simulation/account/chaos-draws.ts'
import type { World } from '../../simulation/world.ts'
import { hideSecretsIn } from '../requests/secrets.ts'
import type { Simulator } from '../simulator.ts'
import { Causes } from './causes.ts'
import type { ExplainedEntry, Explanation, NextEvent, Thing } from './explanation.ts'
import { describeFirstCause } from './first-cause.ts'
import { describeEntry } from './kind-sentences.ts'
import { describeRequest, waitingAnswer } from './request-words.ts'
import { formatValue, quoteText, toFuture } from './sentence.ts'
import { findThing, knownIds } from './things.ts'
import { describeWaiting } from './waits.ts'

/** The most effects that are listed. */
const MAX_EFFECTS = 20
/** How many of the nearest and of the first entries of a long chain are listed. */
const LISTED_CAUSES = { nearest: 15, first: 5 } as const

/**
 * Explains a thing by its id or name, or a journal entry by its position.
 *
 * @param subject an id, a name, a position as a number or as digits, `entry 12` or `request 4`
 * @throws RangeError for an unknown id or position
 */
export function explain(sim: Simulator, subject: string | number): Explanation {
  return hideSecretsIn(sim, explainSubject(sim, subject))
}

function explainSubject(sim: Simulator, subject: string | number): Explanation {
  if (typeof subject !== 'string' && typeof subject !== 'number') {
    throw new RangeError(`Failed to explain ${quote(subject)}: it is not an id. Give an id, a name or a position.`)
  }
  const causes = new Causes(sim)
  const position = typeof subject === 'number' ? subject : positionOf(sim, subject)
  if (position !== undefined) {
    const entry = findEntry(sim, causes, position)
    return entry.kind === 'request'
      ? explainRequest(sim, causes, entry as RequestEntry)
      : explainEntry(sim, causes, entry)
  }
  const thing = findThing(sim, String(subject), causes)
  if (thing === undefined) throw unknownIdError(sim, causes, String(subject))
  return explainThing(sim, causes, thing)
}

/** Returns the position that a subject is: digits, `entry 12` or `request 4`. Undefined: it is an id or a name. */
function positionOf({ requestLog }: Simulator, subject: string): number | undefined {
  const [, word, digits] = /^(entry |request |)(\d+)$/.exec(subject) ?? []
  if (word !== 'request ') return digits === undefined ? undefined : Number(digits)
  const found = [...requestLog.numbers].find(([, number]) => number === Number(digits))
  if (found !== undefined) return found[0]
  const { dropped, total } = requestLog
  const advice = total === dropped ? 'Send a request first.' : `Give one of ${dropped + 1} to ${total}.`
  throw new RangeError(
    `Failed to explain ${quote(subject)}: the requests that are listed have no such number. ${advice}`,
  )
}

function explainRequest(sim: Simulator, causes: Causes, request: RequestEntry): Explanation {
  const chain = causes.chainOf(request)
  const [, cause] = chain
  const answer = waitingAnswer(causes, request)
  // A state that refused this request may change, so that the next one is served.
  const followed = answer ?? (cause !== undefined && request.fields.decidedBy === 'state' ? cause.subject : undefined)
  const ahead = followed === undefined ? {} : lookAheadOf(sim, causes, followed)
  const number = sim.requestLog.numbers.get(request.seq)
  return compose(sim, causes, {
    subject: number === undefined ? `entry ${request.seq}` : `request ${number}`,
    sentences: describeRequest(sim, causes, request),
    chains: [chain],
    own: [request],
    ahead,
  })
}

function explainEntry(sim: Simulator, causes: Causes, entry: Entry): Explanation {
  return compose(sim, causes, {
    subject: `entry ${entry.seq}`,
    sentences: [
      `Entry ${entry.seq} of the journal is ${entry.kind}.`,
      describeEntry(entry),
      ...describeWaiting(sim.world, entry, causes.entries),
    ],
    chains: [causes.chainOf(entry)],
    own: [entry],
    ahead: lookAheadOf(sim, causes, entry.subject),
  })
}

function explainThing(sim: Simulator, causes: Causes, thing: Thing): Explanation {
  const own = causes.entries.filter(entry => thing.isOwn(entry))
  const deciding = own.findLast(entry => thing.decides?.(entry) ?? true)
  const sentences = [...thing.sentences]
  // What it waits for can have another cause than its state: GPUs out of stock after its node crashed.
  const { began } = thing
  const beginning = began === undefined ? undefined : causes.entries.findLast(entry => began(entry))
  const chains = [beginning, deciding].flatMap(entry => (entry === undefined ? [] : [causes.chainOf(entry)]))
  if (chains.length === 0) {
    sentences.push('The journal has no entry that decided its state: the world or its journal began with it.')
  }
  const { dropped } = sim.world.journal
  if (dropped > 0) sentences.push(`The journal has dropped its oldest ${dropped} entries, so causes may be missing.`)
  return compose(sim, causes, {
    subject: thing.id,
    sentences,
    chains,
    own,
    ahead: lookAheadOfThing(sim, thing),
  })
}

interface Parts {
  readonly subject: string
  readonly sentences: readonly string[]
  /** Each with an entry that decided, and its causes. An entry can be in several of them. */
  readonly chains: readonly (readonly Entry[])[]
  readonly own: readonly Entry[]
  readonly ahead: LookAhead
}

function compose(sim: Simulator, causes: Causes, { subject, sentences, chains, own, ahead }: Parts): Explanation {
  const effects = causes.effectsOf(own)
  const listed = effects.slice(0, MAX_EFFECTS)
  const chain = joinChains(chains)
  const all = [...sentences, ...describeDraws(sim.world, chain), ...describeFirstCauses(sim, chains)]
  const listedChain = shorten(chain)
  if (listedChain.length < chain.length) {
    all.push(`The chain has ${chain.length} entries, of which ${listedChain.length} are listed.`)
  }
  if (effects.length > listed.length) {
    all.push(`It had ${effects.length} effects, of which the first ${listed.length} are listed.`)
  }
  if (ahead.sentence !== undefined) all.push(ahead.sentence)
  return {
    subject,
    sentences: all,
    chain: listedChain.map(entry => toExplained(sim, entry)),
    effects: listed.map(entry => toExplained(sim, entry)),
    ...(ahead.next !== undefined && { next: ahead.next }),
  }
}

/** Returns an entry with its sentences. */
export function toExplained({ world }: Simulator, entry: Entry): ExplainedEntry {
  const { seq, time, kind, subject } = entry
  return { seq, at: world.clock.iso(time), kind, subject, sentence: describeEntry(entry) }
}

/** Returns the entries of all chains, the newest first. */
function joinChains(chains: readonly (readonly Entry[])[]): readonly Entry[] {
  if (chains.length <= 1) return chains[0] ?? []
  return [...new Set(chains.flat())].sort((a, b) => b.seq - a.seq)
}

/** Says who or what began each chain. */
function describeFirstCauses(sim: Simulator, chains: readonly (readonly Entry[])[]): string[] {
  const firsts = [...new Set(chains.flatMap(chain => chain.at(-1) ?? []))]
  const [nearest = [], ...others] = firsts.map(first => describeFirstCause(sim, first))
  const further = others
    .filter(sentences => sentences.join() !== nearest.join())
    .flatMap(sentences => sentences.map(text => text.replace('The chain begins', 'A second chain begins')))
  return [...nearest, ...further]
}

/** Leaves out entries that repeat the one before, as the progress of a batch does. The last one stays. */
export function withoutRepeats(chain: readonly Entry[]): Entry[] {
  return chain.filter(({ kind, subject }, i) => {
    const nearer = chain[i - 1]
    return i === chain.length - 1 || nearer?.kind !== kind || nearer.subject !== subject
  })
}

/** Returns a chain without repetitions, and without the middle of a long one. */
function shorten(chain: readonly Entry[]): Entry[] {
  const changes = withoutRepeats(chain)
  const { nearest, first } = LISTED_CAUSES
  return changes.length <= nearest + first ? changes : [...changes.slice(0, nearest), ...changes.slice(-first)]
}

/** Returns what happens next to the subject of an entry. */
function lookAheadOf(sim: Simulator, causes: Causes, subject: string): LookAhead {
  const thing = findThing(sim, subject, causes)
  return thing === undefined ? lookAhead(sim.world, entry => entry.subject === subject) : lookAheadOfThing(sim, thing)
}

/** Returns what happens next to a thing. */
function lookAheadOfThing({ world }: Simulator, thing: Thing): LookAhead {
  return thing.isOver === true ? { sentence: NOTHING_PLANNED } : lookAhead(world, entry => thing.isOwn(entry))
}

/** Returns the entry at a position. @throws RangeError if the journal has none there */
export function findEntry(sim: Simulator, causes: Causes, seq: number): Entry {
  if (!Number.isInteger(seq)) {
    throw new RangeError(`Failed to explain entry ${seq} of the journal: a position is a whole number. Give one.`)
  }
  // The journal knows best what is wrong with a position.
  return causes.at(seq) ?? sim.world.journal.chain(seq)[0]!
}

/** Returns the error about an unknown id, with the nearest known one. */
export function unknownIdError(sim: Simulator, causes: Causes, id: string): RangeError {
  const advice = formatSuggestion(id, knownIds(sim, causes), 'Give an id of the world, or a position in the journal.')
  return new RangeError(`Failed to explain ${quoteText(id)}: unknown id. ${advice}`)
}

/** Returns the sentences about the draws that decided the entries of a chain: of each kind, those of the nearest entry. */
function describeDraws(world: World, chain: readonly Entry[]): readonly string[] {
  const nearest = new Map<string, readonly string[]>()
  for (const entry of chain) {
    if (!nearest.has(entry.kind)) nearest.set(entry.kind, describeDrawsOf(world, entry))
  }
  return [...new Set([...nearest.values()].flat())]
}

function describeDrawsOf(world: World, { kind, subject, fields }: Entry): readonly string[] {
  const { draw } = fields ?? {}
  if (kind === 'batch.waiting' || kind === 'batch.capacityCame') return describeBatchWait(world, subject)
  const pack = weatherPack(world)
  if (pack === undefined || draw === undefined) return []
  if (kind === 'topup.declined') {
    return [
      `The card is good. The draw weather.topupDeclined was ${draw}, below its chance of ${toChance(pack.topupDeclined)}.`,
    ]
  }
  if (kind === 'topup.begun') {
    return [
      `The draw weather.topupDelayed was ${draw}, below its chance of ${toChance(pack.topupDelayed)}. ` +
        `The draw weather.topupDelay gave a delay of ${formatDuration(Number(fields?.delay_us))}.`,
    ]
  }
  return []
}

/** The journal has the class of the wait. Its draws are functions of the seed and the batch. */
function describeBatchWait(world: World, id: string): readonly string[] {
  const row = [...world.batches.entries()].find(([, batch]) => batch.id === id)?.[1]
  if (row === undefined) return []
  const { wait, duration, drawn } = drawBatchWait(world, row.key)
  if (drawn === undefined) return []
  const length =
    wait === 'forever'
      ? 'The batch waits until it expires.'
      : `The draw weather.batchWaits gave a wait of ${formatDuration(duration)}.`
  const share = `whose chance is ${toChance(drawn.share)}`
  return [
    `The draw weather.batchWait of ${formatValue(id)} was ${drawn.draw}. It gave the class ${wait}, ${share}. ${length}`,
  ]
}

/** Formats a probability with at most three digits. */
function toChance(probability: number): string {
  return String(Number(probability.toPrecision(3)))
}

/** How far ahead it looks. */
const HORIZON = 30 * DAY
/** What it costs at most: the copy of a fleet of 1,000 GPUs takes up to a tenth of a millisecond for an event. */
const MAX_EVENTS = LIMITS.explainEvents
/** What it says of a thing whose state is final. */
const NOTHING_PLANNED = 'Nothing is planned that changes it.'

/** What a look ahead found: the next event, or how far it looked. */
interface LookAhead {
  readonly next?: NextEvent
  /** Says that it found nothing, and up to when. */
  readonly sentence?: string
}

/**
 * Looks for the next journal entry that matches, by running a copy of the world ahead: at most 30 days and 1,500 events.
 * What happens follows from the seed, so the copy does what the world will do.
 */
function lookAhead(world: World, matches: (entry: Entry) => boolean): LookAhead {
  if (world.needsTokenizer) {
    return { sentence: 'What happens next is unknown, because a batch runs and the tokenizer is not loaded.' }
  }
  const { clock } = world
  // The copy must not report its errors as errors of the world.
  const future = world.fork()
  future.onEventError = () => {}
  let found: Entry | undefined
  future.journal.listen(entry => {
    if (found === undefined && matches(entry)) found = entry
  })
  const limit = clock.now + HORIZON
  let events = 0
  while (found === undefined && events < MAX_EVENTS && future.next(limit)) events++
  if (found !== undefined) {
    const { time } = found
    const sentence = toFuture(describeEntry(found))
    return { next: { at: clock.iso(time), in: formatDuration(time - clock.now), sentence } }
  }
  if (future.agenda.size === 0) return { sentence: NOTHING_PLANNED }
  if (events < MAX_EVENTS) return { sentence: `Nothing is planned that changes it up to ${clock.iso(limit)}.` }
  const sentence = `The next ${formatCount(events)} events of the world, up to ${clock.iso(future.clock.now)}, do not change it.`
  return { sentence }
}
