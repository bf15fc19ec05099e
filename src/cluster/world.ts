import { Agenda, type EntryHandle } from '../kernel/agenda.ts'
import { Clock } from '../kernel/clock.ts'
import type { Micros } from '../kernel/duration.ts'
import { type Entry, type Fields, Journal, type RequestEntry } from '../kernel/journal.ts'
import { Layers } from '../kernel/layers.ts'
import { type Bounds, DEFAULT_BOUNDS, Loop } from '../kernel/loop.ts'
import { Chance, type Key } from '../kernel/random.ts'
import { Generation, type Row } from '../kernel/table.ts'
import { Player, Recorder, type Tape } from '../kernel/tape.ts'
import { deepFreeze } from '../store/freeze.ts'
import { loadProfile, type Profile } from '../store/profile.ts'
import { Fixture } from '../store/records.ts'
import { Store } from '../store/store.ts'
import { Autoscaler } from './autoscaler.ts'
import { Batches } from './batches.ts'
import { Chronicle } from './chronicle.ts'
import { Commands } from './commands.ts'
import { Conditions } from './conditions.ts'
import { Containers } from './containers.ts'
import { Deployments } from './deployments.ts'
import { Downloads } from './downloads.ts'
import { EVENT_KIND, EVENTS, type EventName } from './events.ts'
import { Files } from './files.ts'
import { Hardware } from './hardware.ts'
import { HostedInstances } from './hosted.ts'
import { repositoryWeights } from './hub.ts'
import { Inference } from './inference.ts'
import { Instances } from './instances.ts'
import { Watch } from './laws/watch.ts'
import { Ledger } from './ledger.ts'
import { GpuLimits } from './limits.ts'
import type { LineAnswers } from './line-answers.ts'
import { Logs } from './logs.ts'
import { Adapters } from './loras.ts'
import { OwnModels } from './models.ts'
import { Nodes } from './nodes.ts'
import { Placement } from './placement.ts'
import { Provisioning } from './provisioning.ts'
import { Rentals } from './rentals.ts'
import { settleFixture } from './settlement.ts'
import { Tokens } from './tokens.ts'
import { Voices } from './voices.ts'
import { Weather } from './weather.ts'

export interface WorldOptions {
  readonly fixture: Fixture
  readonly seed?: string | number
  /** Milliseconds since 1970 of the world's time zero. */
  readonly epochMs?: number
  /** Timings, prices, limits and policies of the provider; `realistic` unless given. */
  readonly profile?: Profile
  /** Entries the journal keeps. */
  readonly journalLimit?: number
  /** Bytes of files that the world holds at most; the profile's `limits.storage_bytes` unless given. */
  readonly maxStorageBytes?: number
  readonly bounds?: Bounds
  /** What lines of batches are answered with. */
  readonly lineAnswers?: LineAnswers
}

/** A world as a snapshot has it: what it was made with, and its state, which is the world's own and no copy. */
export interface WorldRecord {
  readonly seed: string
  readonly epochMs: number
  readonly profile: Profile
  readonly maxStorageBytes: number
  readonly bounds: Bounds
  readonly journalLimit: number
  readonly state: readonly unknown[]
}

/** Stands in for the fixture of a world that is put back, until its store is. */
const NO_FIXTURE = deepFreeze(
  Fixture.parse({ account: { uid: 'none', email: 'none', display_name: 'none', funds_cents: 0 } }),
)

/**
 * One simulated account on one simulated fleet: everything that lives, and the time it lives in.
 *
 * Nothing in here waits. An event is one step, a request is one step, and what happens is a function of seed, fixture
 * and requests in order.
 */
export class World {
  readonly seed: string
  readonly clock: Clock
  readonly agenda: Agenda
  readonly journal: Journal
  readonly chance: Chance
  readonly profile: Profile
  readonly store: Store
  readonly maxStorageBytes: number
  readonly bounds: Bounds
  /** What lines of batches are answered with; handed in by a door, and ready before the first event of a batch. */
  lineAnswers: LineAnswers | undefined

  generation: Generation
  readonly conditions: Conditions
  readonly hardware: Hardware
  readonly downloads: Downloads
  readonly provisioning: Provisioning
  readonly autoscaler: Autoscaler
  readonly commands: Commands
  readonly tokens: Tokens
  readonly voices: Voices
  readonly weather: Weather
  readonly nodes: Nodes
  readonly placement: Placement
  readonly instances: Instances
  readonly deployments: Deployments
  readonly adapters: Adapters
  readonly models: OwnModels
  readonly files: Files
  readonly batches: Batches
  readonly rentals: Rentals
  readonly inference: Inference
  readonly hosted: HostedInstances
  readonly containers: Containers
  readonly limits: GpuLimits
  readonly ledger: Ledger
  /** What reports are made from. */
  readonly chronicle: Chronicle
  /** What the logs of deployments are made from. */
  readonly logs: Logs

  /** Called before time moves, where a request or a command may have changed something since it last did. */
  beforeMove: (() => void) | undefined

  #touched = false
  readonly #counters: Layers<number>
  readonly #loop: Loop
  #causeIsFresh = false
  #visibleChanges = 0
  #watch: Watch | undefined

  constructor(options: WorldOptions, origin?: World, record?: WorldRecord) {
    this.seed = String(origin?.seed ?? options.seed ?? '1')
    this.profile = options.profile ?? origin?.profile ?? loadProfile('realistic')
    this.maxStorageBytes = options.maxStorageBytes ?? origin?.maxStorageBytes ?? this.profile.limits.storageBytes
    this.bounds = options.bounds ?? origin?.bounds ?? DEFAULT_BOUNDS
    this.chance = origin?.chance ?? new Chance(this.seed)
    this.lineAnswers = options.lineAnswers ?? origin?.lineAnswers?.fork()
    this.#touched = origin ? origin.#touched : false
    this.generation = new Generation()
    this.hardware = new Hardware(this)
    this.downloads = new Downloads(this)
    this.provisioning = new Provisioning(this)
    this.autoscaler = new Autoscaler(this)
    this.tokens = new Tokens(this, origin?.tokens)
    this.voices = new Voices(this)
    this.hosted = new HostedInstances(this)
    this.containers = new Containers(this)
    if (origin) {
      const theirs = new Generation()
      this.conditions = origin.conditions.fork()
      this.commands = origin.commands.fork(this, theirs)
      this.weather = origin.weather.fork(this, theirs)
      this.clock = origin.clock.fork()
      this.agenda = origin.agenda.fork()
      this.journal = origin.journal.fork(options.journalLimit)
      this.store = origin.store.fork()
      this.#counters = origin.#counters.fork()
      this.nodes = origin.nodes.fork(this, theirs)
      this.placement = origin.placement.fork(this)
      this.instances = origin.instances.fork(this, theirs)
      this.deployments = origin.deployments.fork(this, theirs)
      this.adapters = new Adapters(this)
      this.models = origin.models.fork(this, theirs)
      this.files = origin.files.fork(this, theirs)
      this.batches = origin.batches.fork(this, theirs)
      this.rentals = origin.rentals.fork(this, theirs)
      this.inference = origin.inference.fork(this, theirs)
      this.limits = origin.limits.fork(this, theirs)
      this.ledger = origin.ledger.fork(this, theirs)
      this.chronicle = origin.chronicle.fork(this)
      this.logs = origin.logs.fork(this)
      theirs.witness = origin.generation.witness
      origin.generation = theirs
    } else {
      this.conditions = new Conditions()
      this.commands = new Commands(this)
      this.weather = new Weather(this)
      this.clock = new Clock(options.epochMs)
      this.agenda = new Agenda()
      this.journal = new Journal(options.journalLimit)
      this.store = new Store(options.fixture)
      this.#counters = new Layers()
      this.nodes = new Nodes(this)
      this.placement = new Placement(this)
      this.instances = new Instances(this)
      this.deployments = new Deployments(this)
      this.adapters = new Adapters(this)
      this.models = new OwnModels(this)
      this.files = new Files(this)
      this.batches = new Batches(this)
      this.rentals = new Rentals(this)
      this.inference = new Inference(this)
      this.limits = new GpuLimits(this)
      this.ledger = new Ledger(this)
      this.chronicle = new Chronicle(this)
      this.logs = new Logs(this)
    }
    this.#loop = new Loop(
      this.clock,
      this.agenda,
      () => this.#fire(),
      kind => EVENTS[kind]?.name ?? 'unknown',
      this.bounds,
    )
    if (record) this.#putBack(record)
    else if (!origin) settleFixture(this, options.fixture)
    else if (origin.#watch) this.check()
  }

  /** Another world that goes on from here on its own. What neither writes, both share. */
  fork(
    limits: { readonly journalLimit?: number | undefined; readonly maxStorageBytes?: number | undefined } = {},
  ): World {
    return new World(limits as WorldOptions, this)
  }

  /**
   * A world that goes on from where another one was when it was recorded, as a fork of it would.
   *
   * @throws Error when that was a world of another build
   */
  static revive(record: WorldRecord): World {
    return new World({ ...record, fixture: NO_FIXTURE }, undefined, record)
  }

  /** What `revive` makes this world of again. It holds only as long as this one does not go on. */
  record(): WorldRecord {
    const tape = new Recorder()
    this.#keep(tape)
    const { seed, profile, maxStorageBytes, bounds, journal, clock } = this
    const state = tape.values
    return { seed, epochMs: clock.epochMs, profile, maxStorageBytes, bounds, journalLimit: journal.limit, state }
  }

  #putBack({ state }: WorldRecord): void {
    const tape = new Player(state)
    this.#keep(tape)
    tape.end()
    deepFreeze(this.profile)
  }

  #keep(tape: Tape): void {
    // The agenda and the chronicle hold numbers of events.
    const events = EVENTS.map(({ name }) => name).join()
    if (tape.value(events) !== events) throw new Error('Failed to play a tape: it knows other events.')
    this.#touched = tape.value(this.#touched)
    this.clock.keep(tape)
    this.agenda.keep(tape)
    this.journal.keep(tape)
    this.store.keep(tape)
    this.#counters.keep(tape)
    this.conditions.keep(tape)
    this.commands.keep(tape)
    this.tokens.keep(tape)
    this.weather.keep(tape)
    this.nodes.keep(tape)
    this.placement.keep(tape)
    this.instances.keep(tape)
    this.deployments.keep(tape)
    this.models.keep(tape)
    this.files.keep(tape)
    this.batches.keep(tape)
    this.rentals.keep(tape)
    this.inference.keep(tape)
    this.limits.keep(tape)
    this.ledger.keep(tape)
    this.chronicle.keep(tape)
    this.logs.keep(tape)
  }

  /**
   * Holds this world to its laws from now on: after every event, every request and every command. So are its forks.
   *
   * @throws LawError at once, when one is broken already; from then on whatever moves the world throws it
   */
  check(): void {
    if (this.#watch) return
    this.#watch = new Watch(this)
    this.generation.witness = this.#watch
    this.#watch.leaving()
  }

  /** Where it has nothing that lines are answered with, as a world from a snapshot, it takes it from another. */
  answerLinesAs({ lineAnswers }: { readonly lineAnswers: unknown }): void {
    this.lineAnswers ??= (lineAnswers as LineAnswers | undefined)?.fork()
  }

  get digest(): string {
    return this.journal.digest
  }

  /** Counts every change that a client could see: `until` looks again only when it has moved. */
  get visibleChanges(): number {
    return this.#visibleChanges
  }

  /** Fires everything due up to `target` and rests there. Returns the number of events. */
  runTo(target: Micros): number {
    this.#needTokenizer()
    if (this.#touched) this.#leave()
    this.#watch?.leaving()
    return this.#loop.runTo(target)
  }

  /** Fires the next event; false when none is due up to `limit`. */
  next(limit: Micros = Number.POSITIVE_INFINITY): boolean {
    this.#needTokenizer()
    if (this.#touched) this.#leave()
    this.#watch?.leaving()
    return this.#loop.next(limit)
  }

  /** Whether time can not move before a door has loaded what lines of batches are answered with. */
  get needsTokenizer(): boolean {
    return this.batches.underWay > 0 && !this.lineAnswers?.isReady
  }

  /** Opens a request: what happens until it is closed is caused by it. */
  openRequest(operation: string, method: string, path: string, cause = 0): RequestEntry {
    if (method !== 'GET') this.#touched = true
    const entry = this.journal.requested(this.clock.now, operation, `${method} ${path}`, cause)
    this.journal.cause = entry.seq
    this.#causeIsFresh = false
    this.#watch?.opened(entry.seq)
    return entry
  }

  closeRequest(entry: RequestEntry, status: number): void {
    entry.fields.status = status
    this.journal.cause = 0
    this.#watch?.closed(entry.seq, entry.subject, status)
  }

  /** A command has been obeyed. */
  obeyed(verb: string, target: string): void {
    this.#watch?.obeyed(verb, target)
  }

  /** Records something the user of the simulator did to the world: a fault, a repair. */
  command(row: Row, kind: string, fields?: Fields): void {
    this.#touched = true
    this.journal.cause = 0
    this.#causeIsFresh = true
    this.happened(row, kind, fields)
  }

  /** Records that something happened to a thing now; what follows in the same step is caused by it. */
  happened(row: Row, kind: string, fields?: Fields): void {
    const seq = this.journal.happened(row, this.clock.now, kind, fields)
    this.chronicle.happened(kind)
    this.logs.happened(row, kind, fields)
    if (this.#causeIsFresh) {
      this.journal.cause = seq
      this.#causeIsFresh = false
    }
  }

  /** Says that something a client could see has changed. */
  seen(): void {
    this.#visibleChanges++
  }

  /** Plans an event `delay` microseconds from now. */
  plan(delay: Micros, event: EventName, subject = 0, arg = 0): EntryHandle {
    return this.planAt(this.clock.now + Math.max(0, Math.round(delay)), event, subject, arg)
  }

  planAt(time: Micros, event: EventName, subject = 0, arg = 0): EntryHandle {
    const kind = EVENT_KIND[event]
    return this.agenda.schedule(time, EVENTS[kind]!.priority, kind, subject, arg, this.journal.cause)
  }

  cancel(handle: EntryHandle): void {
    if (handle !== 0) this.agenda.cancel(handle)
  }

  /** The key of the next entity of this kind and natural name: ids depend on names, never on a global count. */
  newKey(kind: string, name: string): Key {
    const counter = `${kind}\u0000${name}`
    const nth = this.#counters.get(counter) ?? 0
    this.#counters.set(counter, nth + 1)
    return this.chance.key(kind, name, nth)
  }

  /** Bytes of the weights of a hub repository. */
  bytesOf(repo: string): number {
    return repositoryWeights(this.store.hub.get(repo), repo).bytes
  }

  /** Entries of the journal, for doors. */
  history(after?: number): Entry[] {
    return this.journal.entries(after)
  }

  #leave(): void {
    this.#touched = false
    this.beforeMove?.()
  }

  #needTokenizer(): void {
    if (this.needsTokenizer) {
      throw new Error('Failed to move time: a batch is under way and no tokenizer was loaded. Await the door first.')
    }
  }

  #fire(): void {
    const { kind, subject, arg, cause } = this.agenda
    this.journal.cause = cause
    this.#causeIsFresh = true
    this.#watch?.began()
    HANDLERS[kind]!(this, subject, arg)
    this.journal.cause = 0
    this.#watch?.fired(EVENTS[kind]!.name, subject)
  }
}

type Handler = (world: World, subject: number, arg: number) => void

/** What fires an event of the agenda, by the first word of its name. */
const HANDLED_BY: Readonly<Record<string, (name: EventName) => Handler>> = {
  instance: name => (world, subject, use) => world.instances.on(name, subject, use),
  placement: () => world => world.placement.round(),
  node: name => (world, subject) => world.hardware.on(name, subject),
  pool: () => (world, subject) => world.provisioning.spotReturned(subject),
  command: () => (world, subject) => world.commands.due(subject),
  weather: name => (world, subject) => world.weather.on(name, subject),
  deployment: name => (world, subject) => world.deployments.on(name, subject),
  adapter: name => (world, subject, arg) => world.adapters.on(name, subject, arg),
  batch: name => (world, subject) => world.batches.on(name, subject),
  inference: name => (world, subject, use) => world.inference.fired(name, subject, use),
  file: () => (world, subject) => world.files.expire(subject),
  rental: name => (world, subject) => world.rentals.on(name, subject),
  limit: name => (world, subject) => world.limits.on(name, subject),
  account: name => world => world.ledger.on(name),
}

/** By position, so that firing is one look-up. */
const HANDLERS: readonly Handler[] = EVENTS.map(({ name }) => HANDLED_BY[name.slice(0, name.indexOf('.'))]!(name))
