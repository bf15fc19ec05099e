import { loadProfile, type Profile } from '../data/profiles/load.ts'
import { Fixture } from '../data/records/records.ts'
import { Store } from '../data/store.ts'
import { Agenda, type EntryHandle } from '../kernel/agenda.ts'
import { type Archive, ArchiveReader, ArchiveWriter } from '../kernel/archive.ts'
import { Clock } from '../kernel/clock.ts'
import type { Micros } from '../kernel/duration.ts'
import { type Entry, type EntryFields, Journal, type RequestEntry } from '../kernel/journal.ts'
import { LayeredMap } from '../kernel/layered-map.ts'
import { DEFAULT_EVENT_LIMITS, type EventLimits, Loop } from '../kernel/loop.ts'
import { Chance, type EntityKey } from '../kernel/random.ts'
import { Generation, type Row } from '../kernel/table.ts'
import { deepFreeze } from '../lib/deep-freeze.ts'
import { ApiTokens } from './account/api-tokens.ts'
import { GpuQuotas } from './account/gpu-quotas.ts'
import { Ledger } from './account/ledger.ts'
import { Voices } from './account/voices.ts'
import { Batches } from './batches/batches.ts'
import { Files } from './batches/files.ts'
import type { LineAnswerer } from './batches/line-answering.ts'
import { Autoscaler } from './deployments/autoscaler.ts'
import { Deployments } from './deployments/deployments.ts'
import { Instances } from './deployments/instances.ts'
import { LoraAdapters } from './deployments/lora-adapters.ts'
import { AccountModels } from './deployments/model-versions.ts'
import { EVENT_KIND, EVENTS, type EventName } from './events.ts'
import { Downloads } from './fleet/downloads.ts'
import { Environment } from './fleet/environment.ts'
import { NodeAutoscaler } from './fleet/node-autoscaler.ts'
import { Nodes } from './fleet/nodes.ts'
import { Placement } from './fleet/placement.ts'
import { repositoryWeights } from './fleet/weights.ts'
import { InferenceRequests } from './inference/requests.ts'
import { InvariantChecker } from './invariants/checker.ts'
import { Commands } from './operations/commands.ts'
import { OperationEffects } from './operations/effects.ts'
import { Weather } from './operations/weather.ts'
import { DeploymentLogs } from './recording/deployment-logs.ts'
import { UsageHistory } from './recording/history.ts'
import { Containers } from './rentals/containers.ts'
import { HostedInstances } from './rentals/hosted-instances.ts'
import { Rentals } from './rentals/rentals.ts'
import { startFromFixture } from './start-from-fixture.ts'

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
  readonly bounds?: EventLimits
  /** What lines of batches are answered with. */
  readonly lineAnswerer?: LineAnswerer
}

/** A world as a snapshot has it: what it was made with, and its state, which is the world's own and no copy. */
export interface ArchivedWorld {
  readonly seed: string
  readonly epochMs: number
  readonly profile: Profile
  readonly maxStorageBytes: number
  readonly bounds: EventLimits
  readonly journalLimit: number
  readonly state: readonly unknown[]
}

/** Stands in for the fixture of a world that is put back, until its store is. */
const PLACEHOLDER_FIXTURE = deepFreeze(
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
  readonly bounds: EventLimits
  /** What lines of batches are answered with; handed in by a door, and ready before the first event of a batch. */
  lineAnswerer: LineAnswerer | undefined

  generation: Generation
  readonly environment: Environment
  readonly operationEffects: OperationEffects
  readonly downloads: Downloads
  readonly nodeAutoscaler: NodeAutoscaler
  readonly autoscaler: Autoscaler
  readonly commands: Commands
  readonly apiTokens: ApiTokens
  readonly voices: Voices
  readonly weather: Weather
  readonly nodes: Nodes
  readonly placement: Placement
  readonly instances: Instances
  readonly deployments: Deployments
  readonly loraAdapters: LoraAdapters
  readonly modelVersions: AccountModels
  readonly files: Files
  readonly batches: Batches
  readonly rentals: Rentals
  readonly inferenceRequests: InferenceRequests
  readonly hostedInstances: HostedInstances
  readonly containers: Containers
  readonly gpuQuotas: GpuQuotas
  readonly ledger: Ledger
  /** What reports are made from. */
  readonly history: UsageHistory
  /** What the logs of deployments are made from. */
  readonly deploymentLogs: DeploymentLogs

  /** Called before time moves, where a request or a command may have changed something since it last did. */
  onBeforeMove: (() => void) | undefined

  #mayHaveChanged = false
  readonly #counters: LayeredMap<number>
  readonly #loop: Loop
  #nextEntryIsCause = false
  #visibleChanges = 0
  #invariantChecker: InvariantChecker | undefined

  constructor(options: WorldOptions, origin?: World, archived?: ArchivedWorld) {
    this.seed = String(origin?.seed ?? options.seed ?? '1')
    this.profile = options.profile ?? origin?.profile ?? loadProfile('realistic')
    this.maxStorageBytes = options.maxStorageBytes ?? origin?.maxStorageBytes ?? this.profile.limits.storageBytes
    this.bounds = options.bounds ?? origin?.bounds ?? DEFAULT_EVENT_LIMITS
    this.chance = origin?.chance ?? new Chance(this.seed)
    this.lineAnswerer = options.lineAnswerer ?? origin?.lineAnswerer?.fork()
    this.#mayHaveChanged = origin ? origin.#mayHaveChanged : false
    this.generation = new Generation()
    this.operationEffects = new OperationEffects(this)
    this.downloads = new Downloads(this)
    this.nodeAutoscaler = new NodeAutoscaler(this)
    this.autoscaler = new Autoscaler(this)
    this.apiTokens = new ApiTokens(this, origin?.apiTokens)
    this.voices = new Voices(this)
    this.hostedInstances = new HostedInstances(this)
    this.containers = new Containers(this)
    if (origin) {
      const originGeneration = new Generation()
      this.environment = origin.environment.fork()
      this.commands = origin.commands.fork(this, originGeneration)
      this.weather = origin.weather.fork(this, originGeneration)
      this.clock = origin.clock.fork()
      this.agenda = origin.agenda.fork()
      this.journal = origin.journal.fork(options.journalLimit)
      this.store = origin.store.fork()
      this.#counters = origin.#counters.fork()
      this.nodes = origin.nodes.fork(this, originGeneration)
      this.placement = origin.placement.fork(this)
      this.instances = origin.instances.fork(this, originGeneration)
      this.deployments = origin.deployments.fork(this, originGeneration)
      this.loraAdapters = new LoraAdapters(this)
      this.modelVersions = origin.modelVersions.fork(this, originGeneration)
      this.files = origin.files.fork(this, originGeneration)
      this.batches = origin.batches.fork(this, originGeneration)
      this.rentals = origin.rentals.fork(this, originGeneration)
      this.inferenceRequests = origin.inferenceRequests.fork(this, originGeneration)
      this.gpuQuotas = origin.gpuQuotas.fork(this, originGeneration)
      this.ledger = origin.ledger.fork(this, originGeneration)
      this.history = origin.history.fork(this)
      this.deploymentLogs = origin.deploymentLogs.fork(this)
      originGeneration.observer = origin.generation.observer
      origin.generation = originGeneration
    } else {
      this.environment = new Environment()
      this.commands = new Commands(this)
      this.weather = new Weather(this)
      this.clock = new Clock(options.epochMs)
      this.agenda = new Agenda()
      this.journal = new Journal(options.journalLimit)
      this.store = new Store(options.fixture)
      this.#counters = new LayeredMap()
      this.nodes = new Nodes(this)
      this.placement = new Placement(this)
      this.instances = new Instances(this)
      this.deployments = new Deployments(this)
      this.loraAdapters = new LoraAdapters(this)
      this.modelVersions = new AccountModels(this)
      this.files = new Files(this)
      this.batches = new Batches(this)
      this.rentals = new Rentals(this)
      this.inferenceRequests = new InferenceRequests(this)
      this.gpuQuotas = new GpuQuotas(this)
      this.ledger = new Ledger(this)
      this.history = new UsageHistory(this)
      this.deploymentLogs = new DeploymentLogs(this)
    }
    this.#loop = new Loop(
      this.clock,
      this.agenda,
      () => this.#fireEvent(),
      kind => EVENTS[kind]?.name ?? 'unknown',
      this.bounds,
    )
    if (archived) this.#restore(archived)
    else if (!origin) startFromFixture(this, options.fixture)
    else if (origin.#invariantChecker) this.checkInvariants()
  }

  /** Another world that goes on from here on its own. What neither writes, both share. */
  fork(
    overrides: { readonly journalLimit?: number | undefined; readonly maxStorageBytes?: number | undefined } = {},
  ): World {
    return new World(overrides as WorldOptions, this)
  }

  /**
   * A world that goes on from where another one was when it was recorded, as a fork of it would.
   *
   * @throws Error when that was a world of another build
   */
  static fromArchive(archived: ArchivedWorld): World {
    return new World({ ...archived, fixture: PLACEHOLDER_FIXTURE }, undefined, archived)
  }

  /** What `revive` makes this world of again. It holds only as long as this one does not go on. */
  toArchive(): ArchivedWorld {
    const archive = new ArchiveWriter()
    this.#archiveParts(archive)
    const { seed, profile, maxStorageBytes, bounds, journal, clock } = this
    const state = archive.values
    return { seed, epochMs: clock.epochMs, profile, maxStorageBytes, bounds, journalLimit: journal.limit, state }
  }

  #restore({ state }: ArchivedWorld): void {
    const archive = new ArchiveReader(state)
    this.#archiveParts(archive)
    archive.assertEnd()
    deepFreeze(this.profile)
  }

  #archiveParts(archive: Archive): void {
    // The agenda and the chronicle hold numbers of events.
    const eventNames = EVENTS.map(({ name }) => name).join()
    if (archive.value(eventNames) !== eventNames) throw new Error('Failed to play a tape: it knows other events.')
    this.#mayHaveChanged = archive.value(this.#mayHaveChanged)
    this.clock.archive(archive)
    this.agenda.archive(archive)
    this.journal.archive(archive)
    this.store.archive(archive)
    this.#counters.archive(archive)
    this.environment.archive(archive)
    this.commands.archive(archive)
    this.apiTokens.archive(archive)
    this.weather.archive(archive)
    this.nodes.archive(archive)
    this.placement.archive(archive)
    this.instances.archive(archive)
    this.deployments.archive(archive)
    this.modelVersions.archive(archive)
    this.files.archive(archive)
    this.batches.archive(archive)
    this.rentals.archive(archive)
    this.inferenceRequests.archive(archive)
    this.gpuQuotas.archive(archive)
    this.ledger.archive(archive)
    this.history.archive(archive)
    this.deploymentLogs.archive(archive)
  }

  /**
   * Holds this world to its laws from now on: after every event, every request and every command. So are its forks.
   *
   * @throws LawError at once, when one is broken already; from then on whatever moves the world throws it
   */
  checkInvariants(): void {
    if (this.#invariantChecker) return
    this.#invariantChecker = new InvariantChecker(this)
    this.generation.observer = this.#invariantChecker
    this.#invariantChecker.onBeforeMove()
  }

  /** Where it has nothing that lines are answered with, as a world from a snapshot, it takes it from another. */
  inheritLineAnswerer({ lineAnswerer }: { readonly lineAnswerer: unknown }): void {
    this.lineAnswerer ??= (lineAnswerer as LineAnswerer | undefined)?.fork()
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
    this.#requireTokenizer()
    if (this.#mayHaveChanged) this.#notifyBeforeMove()
    this.#invariantChecker?.onBeforeMove()
    return this.#loop.runTo(target)
  }

  /** Fires the next event; false when none is due up to `limit`. */
  next(limit: Micros = Number.POSITIVE_INFINITY): boolean {
    this.#requireTokenizer()
    if (this.#mayHaveChanged) this.#notifyBeforeMove()
    this.#invariantChecker?.onBeforeMove()
    return this.#loop.fireNext(limit)
  }

  /** Whether time can not move before a door has loaded what lines of batches are answered with. */
  get needsTokenizer(): boolean {
    return this.batches.activeCount > 0 && !this.lineAnswerer?.isReady
  }

  /** Opens a request: what happens until it is closed is caused by it. */
  openRequest(operation: string, method: string, path: string, cause = 0): RequestEntry {
    if (method !== 'GET') this.#mayHaveChanged = true
    const entry = this.journal.recordRequest(this.clock.now, operation, `${method} ${path}`, cause)
    this.journal.cause = entry.seq
    this.#nextEntryIsCause = false
    this.#invariantChecker?.onRequestOpened(entry.seq)
    return entry
  }

  closeRequest(entry: RequestEntry, status: number): void {
    entry.fields.status = status
    this.journal.cause = 0
    this.#invariantChecker?.onRequestClosed(entry.seq, entry.subject, status)
  }

  /** A command has been obeyed. */
  commandExecuted(commandName: string, target: string): void {
    this.#invariantChecker?.onCommandExecuted(commandName, target)
  }

  /** Records something the user of the simulator did to the world: a fault, a repair. */
  recordCommand(row: Row, kind: string, fields?: EntryFields): void {
    this.#mayHaveChanged = true
    this.journal.cause = 0
    this.#nextEntryIsCause = true
    this.record(row, kind, fields)
  }

  /** Records that something happened to a thing now; what follows in the same step is caused by it. */
  record(row: Row, kind: string, fields?: EntryFields): void {
    const seq = this.journal.record(row, this.clock.now, kind, fields)
    this.history.onJournalEntry(kind)
    this.deploymentLogs.onJournalEntry(row, kind, fields)
    if (this.#nextEntryIsCause) {
      this.journal.cause = seq
      this.#nextEntryIsCause = false
    }
  }

  /** Says that something a client could see has changed. */
  markVisibleChange(): void {
    this.#visibleChanges++
  }

  /** Plans an event `delay` microseconds from now. */
  schedule(delay: Micros, event: EventName, subject = 0, arg = 0): EntryHandle {
    return this.scheduleAt(this.clock.now + Math.max(0, Math.round(delay)), event, subject, arg)
  }

  scheduleAt(time: Micros, event: EventName, subject = 0, arg = 0): EntryHandle {
    const kind = EVENT_KIND[event]
    return this.agenda.schedule(time, EVENTS[kind]!.priority, kind, subject, arg, this.journal.cause)
  }

  cancel(handle: EntryHandle): void {
    if (handle !== 0) this.agenda.cancel(handle)
  }

  /** The key of the next entity of this kind and natural name: ids depend on names, never on a global count. */
  newKey(kind: string, name: string): EntityKey {
    const counter = `${kind}\u0000${name}`
    const index = this.#counters.get(counter) ?? 0
    this.#counters.set(counter, index + 1)
    return this.chance.key(kind, name, index)
  }

  /** Bytes of the weights of a hub repository. */
  weightsBytes(repo: string): number {
    return repositoryWeights(this.store.hub.get(repo), repo).bytes
  }

  /** Entries of the journal, for doors. */
  journalEntries(after?: number): Entry[] {
    return this.journal.entries(after)
  }

  #notifyBeforeMove(): void {
    this.#mayHaveChanged = false
    this.onBeforeMove?.()
  }

  #requireTokenizer(): void {
    if (this.needsTokenizer) {
      throw new Error('Failed to move time: a batch is under way and no tokenizer was loaded. Await the door first.')
    }
  }

  #fireEvent(): void {
    const { kind, subject, arg, cause } = this.agenda
    this.journal.cause = cause
    this.#nextEntryIsCause = true
    this.#invariantChecker?.onEventBegan()
    EVENT_HANDLERS[kind]!(this, subject, arg)
    this.journal.cause = 0
    this.#invariantChecker?.onEventFired(EVENTS[kind]!.name, subject)
  }
}

type EventHandler = (world: World, subject: number, arg: number) => void

/** What fires an event of the agenda, by the first word of its name. */
const HANDLERS_BY_PREFIX: Readonly<Record<string, (name: EventName) => EventHandler>> = {
  instance: name => (world, subject, use) => world.instances.onEvent(name, subject, use),
  placement: () => world => world.placement.runRound(),
  node: name => (world, subject) => world.operationEffects.onEvent(name, subject),
  pool: () => (world, subject) => world.nodeAutoscaler.onSpotReturned(subject),
  command: () => (world, subject) => world.commands.fire(subject),
  weather: name => (world, subject) => world.weather.onEvent(name, subject),
  deployment: name => (world, subject) => world.deployments.onEvent(name, subject),
  adapter: name => (world, subject, arg) => world.loraAdapters.onEvent(name, subject, arg),
  batch: name => (world, subject) => world.batches.onEvent(name, subject),
  inference: name => (world, subject, use) => world.inferenceRequests.onEvent(name, subject, use),
  file: () => (world, subject) => world.files.expire(subject),
  rental: name => (world, subject) => world.rentals.onEvent(name, subject),
  limit: name => (world, subject) => world.gpuQuotas.onEvent(name, subject),
  account: name => world => world.ledger.onEvent(name),
}

/** By position, so that firing is one look-up. */
const EVENT_HANDLERS: readonly EventHandler[] = EVENTS.map(({ name }) =>
  HANDLERS_BY_PREFIX[name.slice(0, name.indexOf('.'))]!(name),
)
