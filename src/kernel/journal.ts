import type { Micros } from './duration.ts'
import { hash32 } from './random.ts'
import type { Row } from './table.ts'

/** What an event carries, for people and traces. */
export type Fields = Readonly<Record<string, string | number | boolean | null>>

/** Something that happened: an event of a thing, or a request that entered a door. */
export interface Entry {
  /** Position in the journal of this world, from 1. Never part of the digest. */
  readonly seq: number
  /** Microseconds since the epoch of the world. */
  readonly time: Micros
  /** Past tense, as in `instance.ready`; `request` for a request. */
  readonly kind: string
  /** Wire id or name of the thing; method and path of a request. */
  readonly subject: string
  /** The entry that caused this one; 0 when the world began with it. */
  readonly cause: number
  readonly fields: Fields | undefined
}

/** A request's entry: its outcome is known only when it is over. */
export interface RequestEntry extends Entry {
  readonly kind: 'request'
  readonly fields: { operation: string; status: number }
}

const kindHashes = hashCache()
const fieldHashes = hashCache()

/**
 * What happened in one world, newest kept, with its causes, and the digest of all of it.
 *
 * The digest: each thing keeps a running hash of its own events (time, kind, id, fields), and the digest is the sum of
 * these modulo 2^128. So the order of independent things does not show, and the order of one thing's events does.
 */
export class Journal {
  /** The entry that what happens now is caused by. */
  cause = 0

  readonly limit: number
  #ring: Entry[] = []
  #start = 0
  #next = 1
  #d0 = 0
  #d1 = 0
  #d2 = 0
  #d3 = 0
  #counts = new Map<string, number>()
  #listeners: readonly ((entry: Entry) => void)[] = []

  /** @param limit how many entries are kept; the digest and the counts are of all. */
  constructor(limit = 20_000) {
    this.limit = limit
  }

  /** Records an event of a thing; its hash and the digest follow. */
  happened(row: Row, time: Micros, kind: string, fields?: Fields): number {
    const before0 = row.h0
    const before1 = row.h1
    const before2 = row.h2
    const before3 = row.h3
    absorbEvent(row, time, kind, fields)
    this.#subtract(before0, before1, before2, before3)
    this.#add(row.h0, row.h1, row.h2, row.h3)
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1)
    return this.#push({ seq: this.#next++, time, kind, subject: row.id, cause: this.cause, fields })
  }

  /** Records what is told and is nobody's event: it is neither digested nor counted. */
  noted(time: Micros, kind: string, subject: string, fields?: Fields): number {
    return this.#push({ seq: this.#next++, time, kind, subject, cause: 0, fields })
  }

  /** Records a request; its outcome is filled in when it is over. Requests are not digested. */
  requested(time: Micros, operation: string, subject: string, cause = 0): RequestEntry {
    const entry: RequestEntry = {
      seq: this.#next++,
      time,
      kind: 'request',
      subject,
      cause,
      fields: { operation, status: 0 },
    }
    this.#push(entry)
    return entry
  }

  /** 32 hexadecimal digits: equal for equal seeds, fixtures and requests. */
  get digest(): string {
    return [this.#d3, this.#d2, this.#d1, this.#d0].map(limb => (limb >>> 0).toString(16).padStart(8, '0')).join('')
  }

  /** How many events there were, by kind. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  /** Position of the newest entry. */
  get last(): number {
    return this.#next - 1
  }

  /** Entries that were dropped because the journal is full. */
  get dropped(): number {
    return this.#next - 1 - this.#ring.length
  }

  /** The kept entries after a position, oldest first. */
  entries(after = 0): Entry[] {
    const ordered = [...this.#ring.slice(this.#start), ...this.#ring.slice(0, this.#start)]
    return after <= 0 ? ordered : ordered.filter(entry => entry.seq > after)
  }

  /** Why: the entry and what led to it, nearest cause first. */
  chain(seq: number): Entry[] {
    const chain: Entry[] = []
    let entry = this.#at(seq)
    while (entry) {
      chain.push(entry)
      entry = entry.cause > 0 && entry.cause < entry.seq ? this.#at(entry.cause) : undefined
    }
    return chain
  }

  /** Calls `listener` with every entry from now on; returns the way to stop it. */
  listen(listener: (entry: Entry) => void): () => void {
    this.#listeners = [...this.#listeners, listener]
    return () => {
      this.#listeners = this.#listeners.filter(other => other !== listener)
    }
  }

  /** An empty journal that goes on with this one's digest. */
  fork(): Journal {
    const copy = new Journal(this.limit)
    copy.#d0 = this.#d0
    copy.#d1 = this.#d1
    copy.#d2 = this.#d2
    copy.#d3 = this.#d3
    return copy
  }

  #at(seq: number): Entry | undefined {
    const offset = seq - 1 - this.dropped
    if (offset < 0 || offset >= this.#ring.length) return undefined
    return this.#ring[(this.#start + offset) % this.#ring.length]
  }

  #push(entry: Entry): number {
    if (this.#ring.length < this.limit) this.#ring.push(entry)
    else {
      this.#ring[this.#start] = entry
      this.#start = (this.#start + 1) % this.limit
    }
    for (const listener of this.#listeners) listener(entry)
    return entry.seq
  }

  #add(a: number, b: number, c: number, d: number): void {
    const sum0 = (this.#d0 >>> 0) + (a >>> 0)
    const sum1 = (this.#d1 >>> 0) + (b >>> 0) + (sum0 > 0xffffffff ? 1 : 0)
    const sum2 = (this.#d2 >>> 0) + (c >>> 0) + (sum1 > 0xffffffff ? 1 : 0)
    this.#d0 = sum0 | 0
    this.#d1 = sum1 | 0
    this.#d2 = sum2 | 0
    this.#d3 = (this.#d3 + d + (sum2 > 0xffffffff ? 1 : 0)) | 0
  }

  #subtract(a: number, b: number, c: number, d: number): void {
    const rest0 = (this.#d0 >>> 0) - (a >>> 0)
    const rest1 = (this.#d1 >>> 0) - (b >>> 0) - (rest0 < 0 ? 1 : 0)
    const rest2 = (this.#d2 >>> 0) - (c >>> 0) - (rest1 < 0 ? 1 : 0)
    this.#d0 = rest0 | 0
    this.#d1 = rest1 | 0
    this.#d2 = rest2 | 0
    this.#d3 = (this.#d3 - d - (rest2 < 0 ? 1 : 0)) | 0
  }
}

/** An entry as a line of a trace: seconds, kind, subject, then the fields by name. */
export function traceLine(entry: Entry): string {
  const seconds = Math.floor(entry.time / 1_000_000)
  const fraction = String(entry.time - seconds * 1_000_000).padStart(6, '0')
  let line = `${seconds}.${fraction} ${entry.kind} ${entry.subject}`
  for (const name of Object.keys(entry.fields ?? {}).sort()) line += ` ${name}=${shown(entry.fields![name]!)}`
  return line
}

function shown(value: string | number | boolean | null): string {
  return typeof value === 'string' && (value === '' || /[\s"=]/.test(value)) ? JSON.stringify(value) : String(value)
}

function absorbEvent(row: Row, time: Micros, kind: string, fields: Fields | undefined): void {
  // A slot that is used again by another thing starts from zero; its id goes in with the first event.
  if (row.h0 === 0 && row.h1 === 0 && row.h2 === 0 && row.h3 === 0) absorbText(row, row.id)
  absorb(row, time | 0)
  absorb(row, Math.floor(time / 4_294_967_296))
  absorb(row, kindHashes(kind))
  if (fields === undefined) return
  for (const name in fields) {
    absorb(row, fieldHashes(name))
    const value = fields[name]!
    if (typeof value === 'number') {
      absorb(row, value | 0)
      if (!Number.isInteger(value) || value > 0x7fffffff || value < -0x80000000) absorbText(row, String(value))
    } else absorbText(row, String(value))
  }
}

function absorbText(row: Row, text: string): void {
  absorb(row, hash32(text, 0x6a09e667))
  absorb(row, hash32(text, 0x3c6ef372))
}

function absorb(row: Row, value: number): void {
  const a = (turn(Math.imul(row.h0 ^ value, 0x239b961b), 15) + row.h1) | 0
  const b = (turn(Math.imul(row.h1 ^ a, 0xab0e9789), 17) + row.h2) | 0
  const c = (turn(Math.imul(row.h2 ^ b, 0x38b34ae5), 19) + row.h3) | 0
  const d = (turn(Math.imul(row.h3 ^ c, 0xa1e38b93), 18) + a + 0x561ccd1b) | 0
  row.h0 = a
  row.h1 = b
  row.h2 = c
  row.h3 = d
}

function turn(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits))
}

/** Hashes of the few texts that recur in every event, remembered: a pure function's memory, not a state of any world. */
function hashCache(): (text: string) => number {
  const known = new Map<string, number>()
  return text => {
    let hash = known.get(text)
    if (hash === undefined) {
      hash = hash32(text, 0x510e527f) | 0
      known.set(text, hash)
    }
    return hash
  }
}
