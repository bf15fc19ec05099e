/**
 * Readers of live events: journal entries and answered requests in the order in which they happened.
 *
 * A reader has no buffer. It holds a position in the journal and in the request log, which are bounded, and reads on when
 * its consumer asks. So a reader costs a world one call for each entry, however slow it is.
 */

import type { Entry } from '../../kernel/journal.ts'
import { nearestWord } from '../../lib/did-you-mean.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { LIMITS } from '../../lib/limits.ts'
import { globOf } from '../../lib/patterns.ts'
import { clearRealTimeout, eventLoopTurn, setRealTimeout } from '../../lib/real-time.ts'
import { formatCount } from '../../lib/text/numbers.ts'
import { JOURNAL_KINDS } from '../../simulation/journal-kinds.ts'
import type { ReceivedRequest } from '../exchanges/request-log.ts'
import type { Simulator } from '../simulator-interface.ts'

/** An event as readers get it. `id` continues after it. */
export type LiveEvent =
  | { readonly type: 'entry'; readonly id: string; readonly entry: Entry }
  | { readonly type: 'request'; readonly id: string; readonly request: ReceivedRequest }
  /** Entries between which nothing else happened. Only for a reader with `isGrouped`. */
  | { readonly type: 'entries'; readonly id: string; readonly entries: readonly Entry[] }
  /** Events that were dropped before the reader came to them. */
  | {
      readonly type: 'gap'
      readonly id: string
      readonly entries: number
      readonly requests: number
      readonly message: string
    }
  /** A reset or a restore: the journal and the requests begin again. */
  | { readonly type: 'world'; readonly id: string; readonly message: string }
  /** The last event. `slow`: the reader did not read. `closed`: the simulator or the server ends. */
  | { readonly type: 'end'; readonly id: string; readonly reason: 'slow' | 'closed'; readonly message: string }

export interface EventReaderOptions extends EventFilter {
  /** Where to begin: `now`, `start` for the oldest event that is kept, or the id of an event. Default: `now`. */
  readonly after?: string | undefined
  /** Whether to wait for further events. Default: true. */
  readonly follow?: boolean | undefined
  /** Whether entries come as events `entries`, which have as many as possible. Default: false. */
  readonly isGrouped?: boolean | undefined
  /** Real milliseconds that a reader has to read again, once events were dropped before it came to them. */
  readonly readTimeoutMs?: number | undefined
}

/** The most events of one batch. */
const BATCH = 250
/** Entries of a group that cost as much as one event. */
export const GROUPED = 8
/** The share of what is kept that ends the rest of a reader. */
const MUCH = 1 / 4
/** How many changes may pass until a reader checks its position. */
const CHECK_EVERY = 512

/** The simulator has the maximum number of readers. */
export class TooManyReaders extends Error {
  override readonly name = 'TooManyReaders'
}

export class EventReader {
  readonly #sim: Simulator
  readonly #filter: ReturnType<typeof compileEventFilter>
  readonly #follows: boolean
  readonly isGrouped: boolean
  readonly #readTimeoutMs: number
  readonly #stops: (() => void)[] = []
  #position: EventPosition
  /** Resolves the wait of the consumer. */
  #wake: (() => void) | undefined
  #isWakeDue = false
  /** Ends the rest of the consumer. */
  #endRest: (() => void) | undefined
  #changes = 0
  #end: 'slow' | 'closed' | 'done' | undefined
  #readTimer: unknown
  /** Whether the last batch was full, so that there may be more. */
  isBehind = false
  /** Whether the server is about to format its events. A pause is not the fault of its consumer then. */
  isServed = false
  /** Called now and then while the world changes and `isServed` holds. */
  onHeld: (() => void) | undefined
  /** Called when the reader is dropped because its consumer does not read. */
  onSlow: (() => void) | undefined

  /** @throws RangeError for an invalid filter or position, TooManyReaders beyond the maximum */
  constructor(
    sim: Simulator,
    { after = 'now', follow = true, isGrouped = false, readTimeoutMs = 1_000, ...filter }: EventReaderOptions = {},
  ) {
    this.#sim = sim
    this.#filter = compileEventFilter(sim, filter)
    this.#position = parsePosition(sim, after)
    this.#follows = follow
    this.isGrouped = isGrouped
    this.#readTimeoutMs = readTimeoutMs
    if (sim.requestLog.listeners >= LIMITS.eventReaders) {
      throw new TooManyReaders(
        `Failed to read events: the world has ${LIMITS.eventReaders} readers, which is its limit. Close one.`,
      )
    }
    this.#stops.push(
      sim.journal.watch(() => this.#onChange()),
      sim.requestLog.listen(change => (change === 'closed' ? this.#stop('closed') : this.#onChange())),
    )
  }

  /** Resolves to the next events, at least one; to undefined after the last. Call it again only after it resolved. */
  async next(): Promise<readonly LiveEvent[] | undefined> {
    for (;;) {
      if (this.#end === 'done') return undefined
      if (this.#end === 'slow') return this.#last('slow')
      const events = this.#read()
      if (events.length > 0) return events
      if (this.#end === 'closed') return this.#last('closed')
      if (!this.#follows) {
        this.close()
        return undefined
      }
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  /**
   * Waits for real time, or until much of what is kept waits for this reader, or until the reader ends. A reader that
   * does not follow never waits.
   */
  async rest(milliseconds: number): Promise<void> {
    if (milliseconds <= 0 || this.#end !== undefined || !this.#follows) return
    await new Promise<void>(resolve => {
      // A script that waits for events must not end in a pause between two of them.
      const timer = setRealTimeout(resolve, milliseconds, 'held')
      this.#endRest = () => {
        clearRealTimeout(timer)
        resolve()
      }
    })
    this.#endRest = undefined
  }

  /** Ends the reader. A pending `next` resolves to undefined. */
  close(): void {
    this.#stop('done')
  }

  #onChange(): void {
    if (this.#wake !== undefined && !this.#isWakeDue) {
      this.#isWakeDue = true
      // The events of a turn make one batch.
      eventLoopTurn().then(() => this.#notify())
    }
    if (++this.#changes % CHECK_EVERY !== 0) return
    // A client that never gives the event loop a turn is read all the same.
    if (this.isServed) this.onHeld?.()
    else if (this.#wake !== undefined) this.#notify()
    else if (this.#endRest !== undefined && this.#hasMuch()) this.#endRest()
    else if (this.#readTimer === undefined && this.#isOverrun()) this.#expectReading()
  }

  /** Ends the reader if its consumer does not read within the time limit. */
  #expectReading(): void {
    const { entry, request } = this.#position
    this.#readTimer = setRealTimeout(() => {
      this.#readTimer = undefined
      const isStill = this.#position.entry === entry && this.#position.request === request
      if (isStill && this.#wake === undefined && !this.isServed) this.#stop('slow')
    }, this.#readTimeoutMs)
  }

  #hasMuch(): boolean {
    const { world, requestLog } = this.#sim
    const { entry, request } = this.#position
    return (
      world.journal.last - entry > MUCH * world.journal.limit || requestLog.total - request > MUCH * LIMITS.requests
    )
  }

  #isOverrun(): boolean {
    const { world, requestLog } = this.#sim
    const { entry, request } = this.#position
    return this.#position.world === requestLog.worlds && (entry < world.journal.dropped || request < requestLog.dropped)
  }

  #notify(): void {
    this.#isWakeDue = false
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }

  #stop(end: 'slow' | 'closed' | 'done'): void {
    if (this.#end !== undefined && end !== 'done') return
    this.#end = end
    for (const stop of this.#stops.splice(0)) stop()
    if (this.#readTimer !== undefined) clearRealTimeout(this.#readTimer)
    this.#readTimer = undefined
    this.#endRest?.()
    this.#notify()
    if (end === 'slow') this.onSlow?.()
  }

  #last(reason: 'slow' | 'closed'): readonly LiveEvent[] {
    this.#end = 'done'
    const message =
      reason === 'slow'
        ? 'This reader did not read, so it is dropped. Continue with the id of the last event.'
        : 'The simulator ends.'
    return [{ type: 'end', id: formatPosition(this.#position), reason, message }]
  }

  /** Reads the events after the position, at most a batch. */
  #read(): LiveEvent[] {
    const { world, requestLog } = this.#sim
    const { journal } = world
    const position = this.#position
    const batch = new Batch(position, this.isGrouped)
    if (position.world !== requestLog.worlds) {
      Object.assign(position, { world: requestLog.worlds, entry: 0, request: 0 })
      const message = 'The world was replaced by a reset or a restore. Its journal and its requests begin again.'
      batch.add({ type: 'world', id: formatPosition(position), message })
    }
    const gap = this.#skipDropped()
    if (gap !== undefined) batch.add(gap)
    let entries: readonly Entry[] = []
    let first = 0
    let next = requestLog.endOf(position.request + 1)
    while (!batch.isFull) {
      if (next !== undefined && next <= position.entry) {
        batch.endGroup()
        position.request++
        next = requestLog.endOf(position.request + 1)
        const request = requestLog.read(world, position.request)!
        if (this.#filter.matchesRequest(request)) batch.add({ type: 'request', id: formatPosition(position), request })
        continue
      }
      if (position.entry >= journal.last) break
      if (entries[position.entry - first] === undefined) {
        first = position.entry
        entries = journal.entries(first, first + BATCH)
      }
      const entry = entries[position.entry - first]!
      position.entry++
      if (this.#filter.matchesEntry(entry)) batch.addEntry(entry)
    }
    batch.endGroup()
    this.isBehind = batch.isFull
    return batch.events
  }

  /** Moves the position behind what is no longer kept, and returns the event that says so. */
  #skipDropped(): LiveEvent | undefined {
    const { world, requestLog } = this.#sim
    const position = this.#position
    const entries = Math.max(0, world.journal.dropped - position.entry)
    const requests = Math.max(0, requestLog.dropped - position.request)
    if (entries === 0 && requests === 0) return undefined
    position.entry += entries
    position.request += requests
    const message =
      `${formatCount(entries)} journal entries and ${formatCount(requests)} requests are no longer kept. ` +
      'Read sooner, or set a higher journalLimit.'
    return { type: 'gap', id: formatPosition(position), entries, requests, message }
  }
}

/** Events that are read at once. */
class Batch {
  readonly events: LiveEvent[] = []
  readonly #position: EventPosition
  readonly #isGrouped: boolean
  #group: Entry[] = []
  #room = BATCH

  /** @param position where the reader is, which it moves */
  constructor(position: EventPosition, isGrouped: boolean) {
    this.#position = position
    this.#isGrouped = isGrouped
  }

  get isFull(): boolean {
    return this.#room <= 0
  }

  add(event: LiveEvent): void {
    this.events.push(event)
    this.#room--
  }

  addEntry(entry: Entry): void {
    if (this.#isGrouped) {
      this.#group.push(entry)
      this.#room -= 1 / GROUPED
    } else this.add({ type: 'entry', id: formatPosition(this.#position), entry })
  }

  /** Makes one event of the entries since the last other event. */
  endGroup(): void {
    if (this.#group.length === 0) return
    this.events.push({ type: 'entries', id: formatPosition(this.#position), entries: this.#group })
    this.#group = []
  }
}

/** Which events are read. Default: all. */
interface EventFilter {
  /** A kind of journal entry, or `request` for requests. `*` is any text, as in `deployment.*`. */
  readonly kind?: string | readonly string[] | undefined
  /** The id of a thing. `*` is any text. Requests are those about it. */
  readonly subject?: string | readonly string[] | undefined
}

const CONTEXT = 'Failed to read events'

/**
 * Returns the test of patterns for kinds of entries; undefined without patterns.
 *
 * @throws RangeError for a pattern that no known kind matches
 */
export function compileKinds({ world }: Simulator, patterns: EventFilter['kind'], context: string) {
  const known = ['request', ...world.journal.counts.keys(), ...JOURNAL_KINDS]
  for (const kind of [patterns ?? []].flat()) {
    if (known.some(globOf(kind))) continue
    const suggestion = nearestWord(kind, known)
    const advice = suggestion === undefined ? 'docs/journal.md lists the kinds.' : `Did you mean '${suggestion}'?`
    throw new RangeError(`${context}: unknown kind '${kind}'. ${advice}`)
  }
  return toTests(patterns)
}

/** @throws RangeError for an unknown field or kind */
function compileEventFilter(sim: Simulator, filter: EventFilter) {
  assertKnownKeys(filter, ['kind', 'subject'], CONTEXT, { noun: 'field' })
  const kinds = compileKinds(sim, filter.kind, CONTEXT)
  const subjects = toTests(filter.subject)
  const hasRequests = kinds === undefined || kinds('request')
  return {
    matchesEntry: ({ kind, subject }: Entry) =>
      kind !== 'request' && (kinds === undefined || kinds(kind)) && (subjects === undefined || subjects(subject)),
    matchesRequest: (request: ReceivedRequest) =>
      hasRequests && (subjects === undefined || request.subjects.some(subjects)),
  }
}

function toTests(patterns: string | readonly string[] | undefined): ((text: string) => boolean) | undefined {
  if (patterns === undefined) return undefined
  const globs = [patterns].flat().map(globOf)
  return text => globs.some(glob => glob(text))
}

/** What a reader has read. */
interface EventPosition {
  /** Which world of the simulator, from 1: a reset or a restore begins another one. */
  world: number
  /** Position of the newest journal entry that it has read. */
  entry: number
  /** Number of the newest request that it has read. */
  request: number
}

/** Formats a position as the id of an event, as in `1-4711-28`. */
function formatPosition({ world, entry, request }: EventPosition): string {
  return `${world}-${entry}-${request}`
}

/**
 * Reads where a reader begins: `now`, `start` for the oldest event that is kept, or the id of an event.
 *
 * @throws RangeError for any other text
 */
function parsePosition({ world, requestLog }: Simulator, text: string): EventPosition {
  const now = { world: requestLog.worlds, entry: world.journal.last, request: requestLog.total }
  const trimmed = text.trim()
  if (trimmed === 'now') return now
  if (trimmed === 'start') return { ...now, entry: world.journal.dropped, request: requestLog.dropped }
  const id = /^(\d{1,15})-(\d{1,15})-(\d{1,15})$/.exec(trimmed)
  if (id === null) {
    throw new RangeError(
      `Failed to read events: invalid position '${trimmed.slice(0, 100)}'. Give 'now', 'start', or the id of an event.`,
    )
  }
  const position = { world: Number(id[1]), entry: Number(id[2]), request: Number(id[3]) }
  // An id of a server that has been started again: nothing of it is known.
  const isAhead = position.world > now.world || (position.world === now.world && isAfter(position, now))
  return isAhead ? { ...position, world: 0 } : position
}

function isAfter(one: EventPosition, other: EventPosition): boolean {
  return one.entry > other.entry || one.request > other.request
}
