import { loadProfile } from '../data/profiles/load.ts'
import { type Archive, type Archived, ArchiveReader, ArchiveWriter, forkState } from '../kernel/archive.ts'
import type { Micros } from '../kernel/duration.ts'
import type { DecidedBy, EntryFields, RequestEntry } from '../kernel/journal.ts'
import { DEFAULT_EVENT_LIMITS, type EventLimits, Loop } from '../kernel/loop.ts'
import type { Generation, Row } from '../kernel/row.ts'
import { deepFreeze } from '../lib/fields.ts'
import type { Steps } from '../lib/slices.ts'
import type { Records, RecordTable } from './account/own-records.ts'
import { connectParts } from './connect-parts.ts'
import { SimulationContext, type StepObserver } from './context.ts'
import { createEventFiring, type OnEventError } from './event-failures.ts'
import { EVENT_NAMES, EVENTS, type EventOf } from './events.ts'
import type { JournalKindName } from './journal-kinds.ts'
import { startFromFixture } from './start-from-fixture.ts'
import { type ArchivedWorld, createPlaceholderFixture, type ForkOptions, type WorldOptions } from './world-options.ts'
import { WorldParts } from './world-parts.ts'

/**
 * One simulated account on one simulated fleet: its parts, bound together, and the loop that moves its time.
 *
 * Nothing in a world waits. An event is one step, a request is one step, and what happens is a function of seed, fixture
 * and requests in order. With an origin the constructor makes a fork.
 */
export class World extends WorldParts {
  readonly bounds: EventLimits

  /** Called with what an event threw. Undefined: the move of time throws it. Forks of a world with it ignore it. */
  onEventError: OnEventError | undefined

  readonly #loop: Loop
  /** Attaches the observer of its steps to a fork of the world. */
  #attachObserver: ((world: World) => StepObserver) | undefined

  constructor(options: WorldOptions, origin?: World, archived?: ArchivedWorld) {
    const profile = options.profile ?? origin?.profile ?? loadProfile('realistic')
    const context = new SimulationContext(
      {
        seed: String(options.seed ?? origin?.seed ?? '1'),
        profile,
        fixture: options.fixture,
        epochMs: options.epochMs,
        journalLimit: options.journalLimit,
        maxStorageBytes: options.maxStorageBytes ?? origin?.maxStorageBytes ?? profile.limits.storageBytes,
      },
      origin?.context,
    )
    super(context)
    this.bounds = options.bounds ?? origin?.bounds ?? DEFAULT_EVENT_LIMITS
    this.onEventError = origin?.onEventError && (() => {})
    this.batches.lineAnswerer = options.lineAnswerer ?? origin?.batches.lineAnswerer?.fork()
    connectParts(this, context)

    this.#loop = new Loop(
      this.clock,
      this.agenda,
      createEventFiring(this, context),
      kind => EVENTS[kind]?.name ?? 'unknown',
      this.bounds,
    )
    if (archived) {
      readParts([context, ...this.archivedParts], archived.state)
      deepFreeze(profile)
    } else if (origin) {
      forkState(origin.archivedParts, this.archivedParts)
      if (origin.#attachObserver) this.observeSteps(origin.#attachObserver)
    } else startFromFixture(this, options.fixture)
  }

  /** Returns an independent copy of this world. Both share each row until one of them writes it. */
  fork(options: ForkOptions = {}): World {
    return new World(options as WorldOptions, this)
  }

  /**
   * Returns the world of an archive. It continues like a fork of the archived world.
   *
   * @throws Error if the archive is of another build
   */
  static fromArchive(archived: ArchivedWorld): World {
    return new World({ ...archived, fixture: createPlaceholderFixture() }, undefined, archived)
  }

  /** Returns the archive of this world for `fromArchive`. It is valid only until this world changes. */
  toArchive(): ArchivedWorld {
    const { seed, profile, maxStorageBytes, bounds, journal, clock } = this
    const state = writeParts([this.context, ...this.archivedParts])
    return { seed, epochMs: clock.epochMs, profile, maxStorageBytes, bounds, journalLimit: journal.limit, state }
  }

  /** Attaches an observer of the steps of this world and of its forks. Does nothing if one is attached. */
  observeSteps(attach: (world: World) => StepObserver): void {
    if (this.#attachObserver) return
    this.#attachObserver = attach
    const observer = attach(this)
    this.context.stepObserver = observer
    this.generation.observer = observer
    observer.onBeforeMove()
  }

  /** The owner of the rows that this world may write. */
  get generation(): Generation {
    return this.context.generation
  }

  /** Called before time moves, if a request or a command may have changed something since the last move. */
  set onBeforeMove(listener: (() => void) | undefined) {
    this.context.onBeforeMove = listener
  }

  get digest(): string {
    return this.journal.digest
  }

  /** The number of events, commands and requests other than GET since the creation. A fork goes on counting. */
  get steps(): number {
    return this.context.steps
  }

  /** The number of changes that a client could see. `until` checks again only after a change. */
  get visibleChanges(): number {
    return this.context.visibleChanges
  }

  /** Fires all events due up to `target` and stops there. Returns the number of events. */
  runTo(target: Micros): number {
    this.#requireTokenizer()
    this.context.beginMove()
    return this.#loop.runTo(target)
  }

  /** Fires the next event. Returns false if no event is due up to `limit`. */
  next(limit: Micros = Number.POSITIVE_INFINITY): boolean {
    this.#requireTokenizer()
    this.context.beginMove()
    return this.#loop.fireNext(limit)
  }

  /**
   * Returns the long work of the next event up to `limit`, which can pause. It changes nothing in the world. If it is done
   * before the event fires, the event is short. Undefined: the event has none.
   */
  prepareNext(limit: Micros): Steps<void> | undefined {
    const { agenda, batches } = this
    if (batches.active.length === 0 || !agenda.isDue(limit)) return undefined
    const { kind, subject } = agenda.next!
    const { name, part } = EVENTS[kind]!
    const event = name as EventOf<'batches'>
    if (part !== 'batches' || !batches.isLong(event, subject)) return undefined
    this.context.beginMove()
    const ahead = this.fork()
    ahead.clock.moveTo(agenda.nextTime)
    return batches.prepare(ahead.batches, event, subject)
  }

  /** Whether time cannot move because the tokenizer for batches is not loaded. */
  get needsTokenizer(): boolean {
    return this.batches.active.length > 0 && !this.batches.lineAnswerer?.isReady
  }

  /** Returns the records of a table that endpoints of a user keep. */
  records<R extends object>(table: RecordTable<R>): Records<R> {
    return this.ownRecords.of(table)
  }

  /** Opens a request. It is the cause of all journal entries until it is closed. */
  openRequest(operation: string, method: string, path: string, cause = 0): RequestEntry {
    return this.context.openRequest(operation, method, path, cause)
  }

  closeRequest(entry: RequestEntry, status: number, decidedBy: DecidedBy = 'none'): void {
    this.context.closeRequest(entry, status, decidedBy)
  }

  /** Records a command of the user of the simulator, such as a failure or a repair. */
  recordCommand(row: Row, kind: JournalKindName, fields?: EntryFields): void {
    this.context.recordCommand(row, kind, fields)
  }

  #requireTokenizer(): void {
    if (this.needsTokenizer) {
      throw new Error(
        'Failed to move time: a batch is under way and no tokenizer was loaded. Await a request, or use the asynchronous moves of the clock.',
      )
    }
  }
}

/** Returns the state of the parts. It is valid only until one of them changes. */
function writeParts(parts: readonly Archived[]): ArchivedWorld['state'] {
  const archive = new ArchiveWriter()
  archiveParts(parts, archive)
  return archive.values
}

/** Gives the parts their state. Throws Error if it is of another build. */
function readParts(parts: readonly Archived[], state: ArchivedWorld['state']): void {
  const archive = new ArchiveReader(state)
  archiveParts(parts, archive)
  archive.assertEnd()
}

function archiveParts(parts: readonly Archived[], archive: Archive): void {
  // The agenda holds numbers of events.
  const eventNames = EVENT_NAMES.join()
  if (archive.value(eventNames) !== eventNames) throw new Error('Failed to read an archive: it knows other events.')
  for (const part of parts) part.archive(archive)
}
