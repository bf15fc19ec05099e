/** Explains things, requests and journal entries from the journal, the world, and a copy of the world that runs ahead. */

import type { Entry, RequestEntry } from '../../kernel/journal.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { Causes } from './causes.ts'
import type { ExplainedEntry, Explanation, NextEvent } from './explanation.ts'
import { describeFirstCause } from './first-cause.ts'
import { describeEntry } from './kind-sentences.ts'
import { findNextEvent } from './next-event.ts'
import { describeRequest, waitingAnswer } from './request-words.ts'
import { quoteText } from './sentence.ts'
import { findThing, knownIds, type Thing } from './things.ts'

/** The most effects that are listed. */
const MAX_EFFECTS = 20

/**
 * Explains a thing by its id or name, or a journal entry by its position.
 *
 * @param subject an id, a name, or a position as a number or as digits
 * @throws RangeError for an unknown id or position
 */
export function explain(sim: Simulator, subject: string | number): Explanation {
  if (typeof subject !== 'string' && typeof subject !== 'number') {
    throw new RangeError(`Failed to explain ${JSON.stringify(subject)}: it is no id. Give an id, a name or a position.`)
  }
  const causes = new Causes(sim)
  if (typeof subject === 'number' || /^\d+$/.test(subject)) {
    const entry = findEntry(sim, causes, Number(subject))
    return entry.kind === 'request'
      ? explainRequest(sim, causes, entry as RequestEntry)
      : explainEntry(sim, causes, entry)
  }
  const thing = findThing(sim, subject, causes)
  if (thing === undefined) throw unknownIdError(sim, causes, subject)
  return explainThing(sim, causes, thing)
}

function explainRequest(sim: Simulator, causes: Causes, request: RequestEntry): Explanation {
  const chain = causes.chainOf(request)
  const [, cause] = chain
  const answer = waitingAnswer(causes, request)
  // A state that refused this request may change, so that the next one is served.
  const followed = answer ?? (cause !== undefined && request.fields.decidedBy === 'state' ? cause.subject : undefined)
  const next = followed === undefined ? undefined : nextOf(sim, causes, followed)
  return compose(sim, causes, {
    subject: `request ${request.seq}`,
    sentences: describeRequest(sim, causes, request),
    chain,
    own: [request],
    next,
  })
}

function explainEntry(sim: Simulator, causes: Causes, entry: Entry): Explanation {
  return compose(sim, causes, {
    subject: `entry ${entry.seq}`,
    sentences: [`Entry ${entry.seq} of the journal is ${entry.kind}.`, describeEntry(entry)],
    chain: causes.chainOf(entry),
    own: [entry],
    next: nextOf(sim, causes, entry.subject),
  })
}

function explainThing(sim: Simulator, causes: Causes, thing: Thing): Explanation {
  const own = causes.entries.filter(entry => thing.isOwn(entry))
  const deciding = own.findLast(entry => thing.decides?.(entry) ?? true)
  const sentences = [...thing.sentences]
  const { dropped } = sim.world.journal
  if (deciding === undefined) {
    sentences.push('The journal has no entry that decided its state: the world or its journal began with it.')
  }
  if (dropped > 0) sentences.push(`The journal has dropped its oldest ${dropped} entries, so causes may be missing.`)
  return compose(sim, causes, {
    subject: thing.id,
    sentences,
    chain: deciding === undefined ? [] : causes.chainOf(deciding),
    own,
    next: findNextEvent(sim.world, entry => thing.isOwn(entry)),
  })
}

interface Parts {
  readonly subject: string
  readonly sentences: readonly string[]
  readonly chain: readonly Entry[]
  readonly own: readonly Entry[]
  readonly next: NextEvent | undefined
}

function compose(sim: Simulator, causes: Causes, { subject, sentences, chain, own, next }: Parts): Explanation {
  const effects = causes.effectsOf(own)
  const listed = effects.slice(0, MAX_EFFECTS)
  const first = chain.at(-1)
  const all = [...sentences]
  if (first !== undefined) all.push(...describeFirstCause(sim, first))
  if (effects.length > listed.length) {
    all.push(`It had ${effects.length} effects, of which the first ${listed.length} are listed.`)
  }
  if (sim.world.needsTokenizer) {
    all.push('What happens next is unknown, because a batch runs and the tokenizer is not loaded.')
  } else if (next === undefined && first?.kind !== 'request') all.push('Nothing is planned that changes it.')
  const toExplained = (entry: Entry): ExplainedEntry => ({
    seq: entry.seq,
    at: sim.world.clock.iso(entry.time),
    kind: entry.kind,
    subject: entry.subject,
    sentence: describeEntry(entry),
  })
  return {
    subject,
    sentences: all,
    chain: chain.map(toExplained),
    effects: listed.map(toExplained),
    ...(next !== undefined && { next }),
  }
}

/** Returns what happens next to the subject of an entry. */
function nextOf(sim: Simulator, causes: Causes, subject: string): NextEvent | undefined {
  const thing = findThing(sim, subject, causes)
  return findNextEvent(sim.world, entry => thing?.isOwn(entry) ?? entry.subject === subject)
}

function findEntry(sim: Simulator, causes: Causes, seq: number): Entry {
  const entry = causes.at(seq)
  if (entry !== undefined) return entry
  // The journal knows best what is wrong with a position.
  sim.journal.why(seq)
  throw new RangeError(`Failed to explain entry ${seq} of the journal: it is missing. Give another position.`)
}

function unknownIdError(sim: Simulator, causes: Causes, id: string): RangeError {
  const advice = formatSuggestion(id, knownIds(sim, causes), 'Give an id of the world, or a position in the journal.')
  return new RangeError(`Failed to explain ${quoteText(id)}: unknown id. ${advice}`)
}
