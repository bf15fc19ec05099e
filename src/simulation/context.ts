import type { Profile } from '../data/profiles/load.ts'
import type { Fixture } from '../data/records/fixture.ts'
import { Agenda, type EntryHandle } from '../kernel/agenda.ts'
import { type Archive, type Archived, forkState } from '../kernel/archive.ts'
import { Clock } from '../kernel/clock.ts'
import type { Micros } from '../kernel/duration.ts'
import { type DecidedBy, type EntryFields, Journal, type RequestEntry } from '../kernel/journal.ts'
import { LayeredMap } from '../kernel/layered-map.ts'
import { Chance, type EntityKey } from '../kernel/random.ts'
import { Generation, type Row, type WriteObserver } from '../kernel/row.ts'
import { LIMITS } from '../lib/limits.ts'
import { EVENT_BY_NAME, type EventName } from './events.ts'
import type { JournalKindName } from './journal-kinds.ts'
import { Store } from './store.ts'

/** Sees every step of a world: an event, a request, a command. An invariant checker is one. */
export interface StepObserver extends WriteObserver {
  /** Time is about to move: what was written outside of a step is a step of its own. */
  onBeforeMove(): void
  onEventBegan(): void
  onEventFired(event: string, subject: number): void
  /** A command was executed. */
  onCommandExecuted(command: string, target: string): void
  onRequestOpened(seq: number): void
  onRequestClosed(seq: number, subject: string, status: number): void
}

/** The settings of a world that never change. */
export interface ContextOptions {
  readonly seed: string
  readonly profile: Profile
  readonly fixture: Fixture
  readonly epochMs?: number | undefined
  readonly journalLimit?: number | undefined
  /** Bytes of all files that the world may hold. */
  readonly maxStorageBytes: number
}

/** Keeps what a report or a log needs of a journal entry. */
export interface Recorder {
  /** @param kindNumber the number of the kind in the journal of the world */
  onJournalEntry(row: Row, kind: string, kindNumber: number, fields: EntryFields | undefined): void
}

/**
 * The base of a world that all of its parts share: time, chance, records and the journal. It knows no part.
 *
 * With an origin it is the context of a fork.
 */
export class SimulationContext implements Archived {
  readonly seed: string
  readonly chance: Chance
  readonly profile: Profile
  readonly maxStorageBytes: number
  readonly clock: Clock
  readonly agenda: Agenda
  readonly journal: Journal
  readonly store: Store
  /** The owner of the rows that this world may write. A fork replaces it on both sides. */
  generation: Generation
  /** Sees every step; undefined while no invariants are checked. */
  stepObserver: StepObserver | undefined
  /** Called before time moves, if a request or a command may have changed something since the last move. */
  onBeforeMove: (() => void) | undefined
  recorder!: Recorder
  /** The number of events, commands and requests other than GET since the creation. A fork goes on counting. */
  steps = 0

  /** How many entities of each kind and natural name there were. One text of both would have to be hashed at each use. */
  readonly #counters = new Map<string, LayeredMap<number>>()
  #mayHaveChanged = false
  #nextEntryIsCause = false
  #visibleChanges = 0
  #lastRequest = { method: '', path: '', text: '' }

  constructor(options: ContextOptions, origin?: SimulationContext) {
    this.seed = options.seed
    this.profile = options.profile
    this.maxStorageBytes = options.maxStorageBytes
    this.generation = new Generation()
    if (origin) {
      this.chance = this.seed === origin.seed ? origin.chance : new Chance(this.seed)
      this.clock = origin.clock.fork()
      this.agenda = origin.agenda.fork()
      this.journal = origin.journal.fork(options.journalLimit)
      this.store = origin.store.fork()
      for (const [kind, counters] of origin.#counters) forkState([counters], [this.#countersOf(kind)])
      this.#mayHaveChanged = origin.#mayHaveChanged
      this.steps = origin.steps
      const originGeneration = new Generation()
      originGeneration.observer = origin.generation.observer
      origin.generation = originGeneration
    } else {
      this.chance = new Chance(this.seed)
      this.clock = new Clock(options.epochMs)
      this.agenda = new Agenda()
      this.journal = new Journal(options.journalLimit)
      this.store = new Store(options.fixture)
    }
  }

  archive(archive: Archive): void {
    this.#mayHaveChanged = archive.value(this.#mayHaveChanged)
    this.steps = archive.value(this.steps)
    this.clock.archive(archive)
    this.agenda.archive(archive)
    this.journal.archive(archive)
    this.store.archive(archive)
    for (const kind of archive.value([...this.#counters.keys()])) this.#countersOf(kind).archive(archive)
  }

  /** The number of changes that a client could see. */
  get visibleChanges(): number {
    return this.#visibleChanges
  }

  /** Counts a change that a client could see. */
  markVisibleChange(): void {
    this.#visibleChanges++
  }

  /** Schedules an event `delay` microseconds from now. */
  schedule(delay: Micros, event: EventName, subject = 0, arg = 0): EntryHandle {
    return this.scheduleAt(this.clock.now + Math.max(0, Math.round(delay)), event, subject, arg)
  }

  scheduleAt(time: Micros, event: EventName, subject = 0, arg = 0): EntryHandle {
    const { kind, priority } = EVENT_BY_NAME.get(event)!
    return this.agenda.schedule(time, priority, kind, subject, arg, this.journal.cause)
  }

  /** Cancels a scheduled event; 0 means no event. */
  cancel(handle: EntryHandle): void {
    if (handle !== 0) this.agenda.cancel(handle)
  }

  /** Returns the key of the next entity of this kind and name. An id depends on names, never on a global count. */
  newKey(kind: string, name: string): EntityKey {
    const counters = this.#countersOf(kind)
    const index = counters.get(name) ?? 0
    counters.set(name, index + 1)
    return this.chance.key(kind, name, index)
  }

  #countersOf(kind: string): LayeredMap<number> {
    let counters = this.#counters.get(kind)
    if (counters === undefined) {
      counters = new LayeredMap()
      this.#counters.set(kind, counters)
    }
    return counters
  }

  /** Records that something happened to a subject now. Entries that follow in the same step are caused by it. */
  record(row: Row, kind: JournalKindName, fields?: EntryFields): void {
    const seq = this.journal.record(row, this.clock.now, kind, fields)
    this.recorder.onJournalEntry(row, kind, this.journal.lastKindNumber, fields)
    if (this.#nextEntryIsCause) {
      this.journal.cause = seq
      this.#nextEntryIsCause = false
    }
  }

  /** Records something that the user of the simulator, or the client of the request `cause`, did to the world. */
  recordCommand(row: Row, kind: JournalKindName, fields?: EntryFields, cause = this.journal.origin): void {
    this.#countChange()
    this.journal.cause = cause
    this.#nextEntryIsCause = true
    this.record(row, kind, fields)
  }

  /** Schedules a command. Its cause is what causes commands now. */
  scheduleCommand(delay: Micros, event: EventName, subject: number): EntryHandle {
    const { journal } = this
    const { cause } = journal
    this.#countChange()
    journal.cause = journal.origin
    const handle = this.schedule(delay, event, subject)
    journal.cause = cause
    return handle
  }

  commandExecuted(commandName: string, target: string): void {
    this.stepObserver?.onCommandExecuted(commandName, target)
  }

  /** Opens a request: entries until it is closed are caused by it. */
  openRequest(operation: string, method: string, path: string, cause = 0): RequestEntry {
    if (method !== 'GET') this.#countChange()
    const entry = this.journal.recordRequest(this.clock.now, operation, this.#requestText(method, path), cause)
    this.journal.cause = entry.seq
    this.#nextEntryIsCause = false
    this.stepObserver?.onRequestOpened(entry.seq)
    return entry
  }

  /** Returns method and path of a request as one text. Equal requests in a row share it: the journal keeps each. */
  #requestText(method: string, path: string): string {
    const last = this.#lastRequest
    if (last.path === path && last.method === method) return last.text
    const text = `${method} ${cutPath(path)}`
    this.#lastRequest = { method, path, text }
    return text
  }

  closeRequest(entry: RequestEntry, status: number, decidedBy: DecidedBy): void {
    entry.fields.status = status
    entry.fields.decidedBy = decidedBy
    this.journal.cause = 0
    this.stepObserver?.onRequestClosed(entry.seq, entry.subject, status)
  }

  #countChange(): void {
    this.#mayHaveChanged = true
    this.steps++
  }

  /** Announces that time is about to move. */
  beginMove(): void {
    if (this.#mayHaveChanged) {
      this.#mayHaveChanged = false
      this.onBeforeMove?.()
    }
    this.stepObserver?.onBeforeMove()
  }

  /** Begins the event that the agenda has just handed out. */
  beginEvent(): void {
    this.steps++
    this.beginConsequence()
    this.stepObserver?.onEventBegan()
  }

  /** Begins another consequence of the event in progress: its entries do not cause each other's. */
  beginConsequence(): void {
    this.journal.cause = this.agenda.cause
    this.#nextEntryIsCause = true
  }

  /** Schedules an event in place of another one. What caused the other one causes it, and not what happens now. */
  reschedule(handle: EntryHandle, schedule: () => EntryHandle): EntryHandle {
    const { agenda, journal } = this
    const { cause } = journal
    journal.cause = agenda.causeOf(handle) ?? cause
    agenda.cancel(handle)
    const scheduled = schedule()
    journal.cause = cause
    return scheduled
  }

  endEvent(name: EventName, subject: number): void {
    this.journal.cause = 0
    this.stepObserver?.onEventFired(name, subject)
  }
}

function cutPath(path: string): string {
  if (path.length <= LIMITS.journalPath) return path
  // A slice keeps the whole text alive; a parsed copy does not.
  return `${JSON.parse(JSON.stringify(path.slice(0, LIMITS.journalPath)))}…`
}
