import { LIMITS } from '../lib/limits.ts'
import { widened } from '../lib/lists.ts'
import { type Archive, forkState } from './archive.ts'
import type { Micros } from './duration.ts'
import type { Entry, EntryFields } from './entry.ts'
import { EntryRing, type EntryShape, hashOfName, NO_FIELDS } from './entry-ring.ts'
import { type Giver, ORIGIN } from './journal-origin.ts'
import { TextHasher } from './random.ts'
import type { Row } from './row.ts'

export type { Entry, EntryFields } from './entry.ts'

/**
 * What decided the answer to a request: a fault rule, a limit, the state of account or fleet, or the rule of a scripted
 * answer. `none`: the request alone, as in a success or a 422.
 */
export const DECIDERS = ['fault', 'limit', 'state', 'rule', 'none'] as const
export type DecidedBy = (typeof DECIDERS)[number]

/** The entry of a request. Its outcome is known when the request has ended. */
export interface RequestEntry extends Entry {
  readonly kind: 'request'
  readonly fields: { operation: string; status: number; decidedBy: DecidedBy }
}

/** What is known of a kind of entries, so that each entry needs one look-up. */
interface KindTally {
  readonly number: number
  readonly name: string
  readonly hash: number
  /** Number of events. Requests and undigested entries do not count. */
  count: number
  /** The shape of the fields of the last entry, which the next one probably has too. */
  shape: EntryShape
}

/** The journal that a fork came from: its name, and its newest entry at the fork. A reference would keep it in memory. */
interface Origin {
  readonly name: symbol
  readonly last: number
  readonly origin: Origin | undefined
}

/**
 * The record of the events of one world with their causes. It keeps the newest entries, and a digest of all.
 *
 * The digest: each subject keeps a running hash of its own events (time, kind, id, fields). The digest is the sum of
 * these hashes modulo 2^128. It depends on the order of the events of one subject, but not on the order of the
 * subjects.
 */
export class Journal {
  /** Position of the entry that causes the present events. */
  cause = 0
  /** What causes the next command: the position of an entry, or one of `ORIGIN`. */
  origin: number = ORIGIN.program
  /** The number of the kind of the last event. Kinds are numbered from 0, in the order of their first entry. */
  lastKindNumber = 0

  readonly limit: number
  #next = 1
  /** Entries before the first one of this journal. */
  #skipped = 0
  #forkedFrom: Origin | undefined
  readonly #name = Symbol()
  /** The kept entries. The entry at position n has the place (n - 1 - skipped) % limit. */
  readonly #ring: EntryRing
  #d0 = 0
  #d1 = 0
  #d2 = 0
  #d3 = 0
  /** The words of the present event that its subject's hash takes up. */
  #words = new Int32Array(64)
  #wordCount = 0
  readonly #kinds = new Map<string, KindTally>()
  /** The names of the kinds by their numbers. */
  readonly #kindNames: string[] = []
  readonly #hasher = new TextHasher(0x6a09e667, 0x3c6ef372)
  #watchers: readonly ((seq: number) => void)[] = []

  /** @param limit number of kept entries. The digest and the counts are of all entries. */
  constructor(limit = LIMITS.journalEntries) {
    this.limit = limit
    this.#ring = new EntryRing(limit)
  }

  /** Records an event of a subject, and updates the hash of the subject and the digest. */
  record(row: Row, time: Micros, kind: string, fields?: EntryFields): number {
    const { id, h0, h1, h2, h3 } = row
    const tally = this.#kindOf(kind)
    tally.count++
    this.lastKindNumber = tally.number
    const seq = this.#next++
    const place = this.#placeOf(seq)
    this.#ring.put(place, time, tally.number, id, this.cause)
    this.#wordCount = 0
    // The hash of a slot that is used again starts from zero, so the first event adds the id.
    if (h0 === 0 && h1 === 0 && h2 === 0 && h3 === 0) this.#addText(id)
    this.#addWord(time | 0)
    this.#addWord(Math.floor(time / 4_294_967_296))
    this.#addWord(tally.hash)
    if (fields !== undefined) this.#recordFields(place, tally, fields)
    this.#hashWords(row)
    for (const watcher of this.#watchers) watcher(seq)
    return seq
  }

  /** Records an entry that is not an event of a subject. It is neither digested nor counted. */
  recordUndigested(time: Micros, kind: string, subject: string, fields?: EntryFields): number {
    return this.#push(time, kind, subject, this.origin, fields)
  }

  /** Records a request. Its outcome is added at its end. Requests are not digested. */
  recordRequest(time: Micros, operation: string, subject: string, cause = 0): RequestEntry {
    const fields = { operation, status: 0, decidedBy: 'none' as const }
    const seq = this.#push(time, 'request', subject, cause, fields)
    return { seq, time, kind: 'request', subject, cause, fields }
  }

  /** 32 hexadecimal digits: equal for equal seeds, fixtures and requests. */
  get digest(): string {
    return [this.#d3, this.#d2, this.#d1, this.#d0].map(limb => (limb >>> 0).toString(16).padStart(8, '0')).join('')
  }

  /** Number of events by kind. */
  get counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { name, count } of this.#kinds.values()) if (count > 0) counts.set(name, count)
    return counts
  }

  /** Position of the newest entry. */
  get last(): number {
    return this.#next - 1
  }

  /** Entries that were dropped because the journal is full. */
  get dropped(): number {
    return this.#skipped + Math.max(0, this.last - this.#skipped - this.limit)
  }

  /** Returns the newest entry of `other` when this journal was forked from it, also by way of other forks. Default: 0. */
  lastBeforeFork(other: Journal): number {
    let origin = this.#forkedFrom
    while (origin !== undefined && origin.name !== other.#name) origin = origin.origin
    return origin?.last ?? 0
  }

  /** The kept entries after a position, up to another (default: the newest), oldest first. */
  entries(after = 0, last = this.last): Entry[] {
    const first = Math.max(after, this.dropped) + 1
    const length = Math.max(0, Math.min(last, this.last) + 1 - first)
    return Array.from({ length }, (_, i) => this.read(first + i))
  }

  /** Returns the entry at a position, which has to be a kept one. */
  read(seq: number): Entry {
    return this.#ring.read(this.#placeOf(seq), seq, this.#kindNames)
  }

  /**
   * Returns the entry and its chain of causes, the nearest cause first.
   *
   * @throws RangeError if the journal has no such entry, or has dropped it
   */
  chain(seq: number): Entry[] {
    const chain: Entry[] = []
    let entry = this.#at(seq)
    if (entry === undefined) throw this.#unknownEntryError(seq)
    while (entry) {
      chain.push(entry)
      entry = entry.cause > 0 && entry.cause < entry.seq ? this.#at(entry.cause) : undefined
    }
    return chain
  }

  /** Returns who gave the command that an entry records; undefined if it records no command, or if an entry caused it. */
  giverOf(seq: number): Giver | undefined {
    const cause = this.#at(seq) === undefined ? 0 : this.#ring.causeAt(this.#placeOf(seq))
    return cause === ORIGIN.program ? 'program' : cause === ORIGIN.weather ? 'weather' : undefined
  }

  /** Numbers the next entry as if `last` entries had come before. Only for a journal without entries. */
  continueAfter(last: number): void {
    this.#skipped = last
    this.#next = last + 1
  }

  /** Copies the entries of another journal that follow its own, up to a position. The digest does not change. */
  copyEntries(other: Journal, last: number): void {
    if (this.last === 0) this.continueAfter(Math.min(other.dropped, last))
    for (let seq = this.#next; seq <= Math.min(last, other.last); seq++) {
      const { time, kind, subject, fields } = other.read(seq)
      this.#push(time, kind, subject, other.#ring.causeAt(other.#placeOf(seq)), fields)
    }
  }

  /** Calls `listener` with every entry from now on. Returns a function that removes it. */
  listen(listener: (entry: Entry) => void): () => void {
    return this.watch(seq => listener(this.read(seq)))
  }

  /**
   * Calls `watcher` with the position of every entry from now on. Returns a function that removes it. Unlike `listen`, it
   * makes no object for an entry.
   */
  watch(watcher: (seq: number) => void): () => void {
    this.#watchers = [...this.#watchers, watcher]
    return () => {
      this.#watchers = this.#watchers.filter(other => other !== watcher)
    }
  }

  /** Archives the digest and the counts, without entries. A fork has the same. */
  archive(archive: Archive): void {
    this.#d0 = archive.value(this.#d0)
    this.#d1 = archive.value(this.#d1)
    this.#d2 = archive.value(this.#d2)
    this.#d3 = archive.value(this.#d3)
  }

  /** Returns an empty journal that continues this digest. */
  fork(limit = this.limit): Journal {
    const copy = new Journal(limit)
    forkState([this], [copy])
    // A simulator continues in a fork of the fork.
    copy.#forkedFrom =
      this.last === 0 ? this.#forkedFrom : { name: this.#name, last: this.last, origin: this.#forkedFrom }
    return copy
  }

  #at(seq: number): Entry | undefined {
    return Number.isInteger(seq) && seq > this.dropped && seq < this.#next ? this.read(seq) : undefined
  }

  #unknownEntryError(seq: number): RangeError {
    const problem = `Failed to explain entry ${seq} of the journal`
    const { last, dropped } = this
    if (last === 0) return new RangeError(`${problem}: the journal is empty. Advance time first, or use the service.`)
    if (Number.isInteger(seq) && seq >= 1 && seq <= dropped) {
      return new RangeError(`${problem}: the oldest ${dropped} entries are dropped. Set a higher journalLimit.`)
    }
    return new RangeError(
      `${problem}: entries have the numbers ${dropped + 1} to ${last}. Give the seq of one of them.`,
    )
  }

  #push(time: Micros, kind: string, subject: string, cause: number, fields: EntryFields | undefined): number {
    const seq = this.#next++
    const place = this.#placeOf(seq)
    this.#ring.put(place, time, this.#kindOf(kind).number, subject, cause)
    if (fields !== undefined) this.#ring.keepFields(place, fields)
    for (const watcher of this.#watchers) watcher(seq)
    return seq
  }

  #placeOf(seq: number): number {
    return (seq - 1 - this.#skipped) % this.limit
  }

  #kindOf(name: string): KindTally {
    return this.#kinds.get(name) ?? this.#addKind(name)
  }

  #addKind(name: string): KindTally {
    const tally = { number: this.#kindNames.length, name, hash: hashOfName(name), count: 0, shape: NO_FIELDS }
    this.#kindNames.push(name)
    this.#kinds.set(name, tally)
    return tally
  }

  /** Adds the fields to the hash of the subject, and writes their values. */
  #recordFields(place: number, tally: KindTally, fields: EntryFields): void {
    let { shape } = tally
    let count = 0
    for (const name in fields) {
      // The fields before this one have the same names in both shapes.
      if (shape.names[count] !== name) shape = this.#ring.shapes.of(fields)
      const value = fields[name]!
      this.#addWord(shape.hashes[count]!)
      this.#ring.putValue(place, count, value)
      count++
      if (typeof value === 'number') {
        this.#addWord(value | 0)
        if (!Number.isInteger(value) || value > 0x7fffffff || value < -0x80000000) this.#addText(String(value))
      } else if (typeof value === 'string') this.#addText(value)
      else this.#addText(String(value))
    }
    if (count !== shape.names.length) shape = this.#ring.shapes.of(fields)
    tally.shape = shape
    this.#ring.endFields(place, shape, fields)
  }

  #addText(text: string): void {
    const hasher = this.#hasher
    hasher.hash(text)
    this.#addWord(hasher.hi)
    this.#addWord(hasher.lo)
  }

  #addWord(word: number): void {
    if (this.#wordCount === this.#words.length) this.#words = widened(this.#words, this.#words.length * 2)
    this.#words[this.#wordCount++] = word
  }

  /** Adds the words of an event to the hash of its subject, and replaces that hash in the digest. */
  #hashWords(row: Row): void {
    const { h0, h1, h2, h3 } = row
    const words = this.#words
    const count = this.#wordCount
    // Plain numbers in one loop: each word would wait for fields that the last one has written.
    let a = h0
    let b = h1
    let c = h2
    let d = h3
    for (let i = 0; i < count; i++) {
      a = (rotateLeft(Math.imul(a ^ words[i]!, 0x239b961b), 15) + b) | 0
      b = (rotateLeft(Math.imul(b ^ a, 0xab0e9789), 17) + c) | 0
      c = (rotateLeft(Math.imul(c ^ b, 0x38b34ae5), 19) + d) | 0
      d = (rotateLeft(Math.imul(d ^ c, 0xa1e38b93), 18) + a + 0x561ccd1b) | 0
    }
    row.h0 = a
    row.h1 = b
    row.h2 = c
    row.h3 = d
    // The last hash leaves the digest, and the present one joins it.
    const sum0 = (this.#d0 >>> 0) - (h0 >>> 0) + (a >>> 0)
    const sum1 = (this.#d1 >>> 0) - (h1 >>> 0) + (b >>> 0) + carryOf(sum0)
    const sum2 = (this.#d2 >>> 0) - (h2 >>> 0) + (c >>> 0) + carryOf(sum1)
    this.#d0 = sum0 | 0
    this.#d1 = sum1 | 0
    this.#d2 = sum2 | 0
    this.#d3 = (this.#d3 - h3 + d + carryOf(sum2)) | 0
  }
}

/** Returns what a sum of words carries to the next one: -1, 0 or 1. Processors guess comparisons of hashes wrong. */
function carryOf(sum: number): number {
  return Math.floor(sum / 4_294_967_296)
}

function rotateLeft(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits))
}
