import { loadProfile, type Profile } from '../data/profiles/load.ts'
import { Fixture } from '../data/records/fixture.ts'
import type { Store } from '../data/store.ts'
import type { Agenda } from '../kernel/agenda.ts'
import { type Archive, ArchiveReader, ArchiveWriter } from '../kernel/archive.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Micros } from '../kernel/duration.ts'
import type { Entry, EntryFields, Journal, RequestEntry } from '../kernel/journal.ts'
import { DEFAULT_EVENT_LIMITS, type EventLimits, Loop } from '../kernel/loop.ts'
import type { Chance } from '../kernel/random.ts'
import type { Generation, Row } from '../kernel/table.ts'
import { deepFreeze } from '../lib/deep-freeze.ts'
import { ApiTokens } from './account/api-tokens.ts'
import { GpuQuotas } from './account/gpu-quotas.ts'
import { Ledger } from './account/ledger.ts'
import type { AccountObserver } from './account/observer.ts'
import { Voices } from './account/voices.ts'
import { Batches } from './batches/batches.ts'
import { Files } from './batches/files.ts'
import type { LineAnswerer } from './batches/line-answering.ts'
import { SimulationContext } from './context.ts'
import { Autoscaler } from './deployments/autoscaler.ts'
import { Deployments } from './deployments/deployments.ts'
import { Instances } from './deployments/instances.ts'
import { LoraAdapters } from './deployments/lora-adapters.ts'
import { AccountModels } from './deployments/model-versions.ts'
import { DeploymentRecorder } from './deployments/recorder.ts'
import { EVENT_NAMES } from './event-names.ts'
import { EVENT_PRIORITIES, EVENTS } from './events.ts'
import { Downloads } from './fleet/downloads.ts'
import { Environment } from './fleet/environment.ts'
import { NodeAutoscaler } from './fleet/node-autoscaler.ts'
import { Nodes } from './fleet/nodes.ts'
import { Placement } from './fleet/placement.ts'
import { Tenants } from './fleet/tenants.ts'
import { InferenceRequests } from './inference/requests.ts'
import { Commands } from './operations/commands.ts'
import { OperationEffects } from './operations/effects.ts'
import { Weather } from './operations/weather.ts'
import type { Part } from './part.ts'
import { DeploymentLogs } from './recording/deployment-logs.ts'
import { UsageHistory } from './recording/history.ts'
import { Containers } from './rentals/containers.ts'
import { HostedInstances } from './rentals/hosted-instances.ts'
import { Rentals } from './rentals/rentals.ts'
import { startFromFixture } from './start-from-fixture.ts'
import type { StepObserver } from './step-observer.ts'

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
 * One simulated account on one simulated fleet: its parts, bound together, and the loop that moves its time.
 *
 * Nothing in a world waits. An event is one step, a request is one step, and what happens is a function of seed, fixture
 * and requests in order. With an origin the constructor makes a fork.
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

  readonly environment: Environment
  /** What reports are made from. */
  readonly history: UsageHistory
  /** What the logs of deployments are made from. */
  readonly deploymentLogs: DeploymentLogs
  readonly ledger: Ledger
  readonly gpuQuotas: GpuQuotas
  readonly apiTokens: ApiTokens
  readonly voices: Voices
  readonly nodes: Nodes
  readonly placement: Placement
  readonly nodeAutoscaler: NodeAutoscaler
  readonly downloads: Downloads
  readonly instances: Instances
  readonly modelVersions: AccountModels
  readonly deployments: Deployments
  readonly autoscaler: Autoscaler
  readonly loraAdapters: LoraAdapters
  readonly rentals: Rentals
  readonly hostedInstances: HostedInstances
  readonly containers: Containers
  readonly inferenceRequests: InferenceRequests
  readonly files: Files
  readonly batches: Batches
  readonly operationEffects: OperationEffects
  readonly commands: Commands
  readonly weather: Weather

  readonly #context: SimulationContext
  readonly #tenants = new Tenants()
  /** The parts with state, in the order of the archive. */
  readonly #parts: Part[] = []
  readonly #loop: Loop
  /** Attaches the observer of its steps to a fork of the world. */
  #attachObserver: ((world: World) => StepObserver) | undefined

  constructor(options: WorldOptions, origin?: World, archived?: ArchivedWorld) {
    const profile = options.profile ?? origin?.profile ?? loadProfile('realistic')
    this.bounds = options.bounds ?? origin?.bounds ?? DEFAULT_EVENT_LIMITS
    const context = new SimulationContext(
      {
        seed: String(origin?.seed ?? options.seed ?? '1'),
        profile,
        fixture: options.fixture,
        epochMs: options.epochMs,
        journalLimit: options.journalLimit,
        maxStorageBytes: options.maxStorageBytes ?? origin?.maxStorageBytes ?? profile.limits.storageBytes,
        eventPriorities: EVENT_PRIORITIES,
      },
      origin ? origin.#context : undefined,
    )
    this.#context = this.#part(context)
    this.seed = context.seed
    this.clock = context.clock
    this.agenda = context.agenda
    this.journal = context.journal
    this.chance = context.chance
    this.profile = profile
    this.store = context.store
    this.maxStorageBytes = context.maxStorageBytes

    const tenants = this.#tenants
    this.environment = this.#part(new Environment(origin?.environment))
    this.history = this.#part(new UsageHistory(context, origin?.history))
    this.deploymentLogs = this.#part(new DeploymentLogs(context, origin?.deploymentLogs))
    this.ledger = this.#part(new Ledger(context, origin?.ledger))
    const { environment, history, deploymentLogs, ledger } = this
    this.gpuQuotas = this.#part(new GpuQuotas(context, { ledger }, origin?.gpuQuotas))
    this.apiTokens = this.#part(new ApiTokens(context, { ledger }, origin?.apiTokens))
    this.voices = new Voices(context, { ledger })
    this.nodes = this.#part(new Nodes(context, { environment, history, tenants }, origin?.nodes))
    this.placement = this.#part(new Placement(context, { tenants }, origin?.placement))
    const { gpuQuotas, apiTokens, nodes, placement } = this
    this.nodeAutoscaler = new NodeAutoscaler(context, {
      environment,
      nodes,
      placement,
      ledger,
    })
    this.downloads = new Downloads(context, { environment, nodes, tenants })
    const { nodeAutoscaler, downloads } = this
    this.instances = this.#part(
      new Instances(
        context,
        { environment, nodes, placement, downloads, gpuQuotas, history, deploymentLogs },
        origin?.instances,
      ),
    )
    this.modelVersions = this.#part(new AccountModels(context, origin?.modelVersions))
    const { instances, modelVersions } = this
    this.deployments = this.#part(
      new Deployments(
        context,
        { environment, nodes, placement, instances, ledger, gpuQuotas, history, modelVersions },
        origin?.deployments,
      ),
    )
    const { deployments } = this
    this.autoscaler = new Autoscaler(context, { environment, deployments })
    this.loraAdapters = new LoraAdapters(context, { deployments, instances, nodes, ledger })
    this.rentals = this.#part(
      new Rentals(context, { nodes, placement, downloads, ledger, gpuQuotas, history }, origin?.rentals),
    )
    const { autoscaler, loraAdapters, rentals } = this
    this.hostedInstances = new HostedInstances(context, { rentals })
    this.containers = new Containers(context, { rentals })
    this.inferenceRequests = this.#part(
      new InferenceRequests(
        context,
        { deployments, instances, nodes, autoscaler, gpuQuotas, ledger, history, loraAdapters },
        origin?.inferenceRequests,
      ),
    )
    this.files = this.#part(new Files(context, origin?.files))
    const { files } = this
    this.batches = this.#part(
      new Batches(
        context,
        { files, deployments, autoscaler, loraAdapters, ledger, history, deploymentLogs },
        origin?.batches,
      ),
    )
    this.batches.lineAnswerer = options.lineAnswerer ?? origin?.lineAnswerer?.fork()
    this.operationEffects = new OperationEffects(context, {
      ...{ environment, nodes, nodeAutoscaler, placement, downloads, instances, deployments, autoscaler },
      ...{ rentals, ledger, deploymentLogs },
    })
    const { operationEffects } = this
    this.commands = this.#part(
      new Commands(context, { operationEffects, nodes, deployments, ledger, gpuQuotas, apiTokens }, origin?.commands),
    )
    const { commands } = this
    this.weather = this.#part(new Weather(context, { nodes, commands }, origin?.weather))
    this.#connect()

    this.#loop = new Loop(
      this.clock,
      this.agenda,
      () => this.#fireEvent(),
      kind => EVENTS[kind]?.name ?? 'unknown',
      this.bounds,
    )
    if (archived) this.#restore(archived)
    else if (!origin) startFromFixture(this, options.fixture)
    else if (origin.#attachObserver) this.observeSteps(origin.#attachObserver)
  }

  /** Another world that goes on from here on its own. What neither writes, both share. */
  fork(
    overrides: { readonly journalLimit?: number | undefined; readonly maxStorageBytes?: number | undefined } = {},
  ): World {
    return new World(overrides as WorldOptions, this)
  }

  /**
   * A world that goes on from where another one was when it was archived, as a fork of it would.
   *
   * @throws Error if the archive is of another build
   */
  static fromArchive(archived: ArchivedWorld): World {
    return new World({ ...archived, fixture: PLACEHOLDER_FIXTURE }, undefined, archived)
  }

  /** Returns what `fromArchive` makes this world of again. It is valid only until this world goes on. */
  toArchive(): ArchivedWorld {
    const archive = new ArchiveWriter()
    this.#archiveParts(archive)
    const { seed, profile, maxStorageBytes, bounds, journal, clock } = this
    const state = archive.values
    return { seed, epochMs: clock.epochMs, profile, maxStorageBytes, bounds, journalLimit: journal.limit, state }
  }

  #part<P extends Part>(part: P): P {
    this.#parts.push(part)
    return part
  }

  /** Binds the calls that go up: each part gets what lies above it. */
  #connect(): void {
    const { deployments, autoscaler, loraAdapters, batches, inferenceRequests, nodeAutoscaler, weather } = this
    const { history, deploymentLogs, instances, rentals } = this
    this.#context.recorder = new DeploymentRecorder({ history, deploymentLogs, deployments })
    const account = { observer: this.#accountObserver() }
    this.ledger.connect(account)
    this.gpuQuotas.connect(account)
    this.#tenants.connect(instances, rentals)
    this.nodes.connect({ provisioner: nodeAutoscaler })
    this.placement.connect({ provisioner: nodeAutoscaler })
    nodeAutoscaler.connect({ observer: { onNodeAdded: ordinal => weather.addNode(ordinal) } })
    const work = { batches, inferenceRequests }
    instances.connect({ deployments, slots: loraAdapters.slots, ...work })
    deployments.connect({ autoscaler, loraAdapters, ...work })
    autoscaler.connect(work)
    loraAdapters.slots.connect(work)
    batches.connect({ world: this })
  }

  /** What follows from the account, in its order. */
  #accountObserver(): AccountObserver {
    const { deployments, rentals, inferenceRequests, batches } = this
    return {
      onSuspensionEnded(wasCutOff) {
        if (wasCutOff) batches.rescheduleAll()
        deployments.scaling.onSuspensionEnded()
        deployments.onFundsReturned()
        rentals.onFundsReturned()
      },
      onGraceEnded(reason) {
        deployments.stopAllForFunds()
        rentals.stopForFunds(reason)
        inferenceRequests.onAccountCutOff(reason)
      },
      onCutOff: () => batches.rescheduleAll(),
      onQuotaAvailable: gpu => deployments.scaling.onQuotaAvailable(gpu),
    }
  }

  #restore({ state }: ArchivedWorld): void {
    const archive = new ArchiveReader(state)
    this.#archiveParts(archive)
    archive.assertEnd()
    deepFreeze(this.profile)
  }

  #archiveParts(archive: Archive): void {
    // The agenda holds numbers of events.
    const eventNames = EVENT_NAMES.join()
    if (archive.value(eventNames) !== eventNames) throw new Error('Failed to read an archive: it knows other events.')
    for (const part of this.#parts) part.archive(archive)
  }

  /** Has its steps observed from now on, and those of its forks. Does nothing if they are. */
  observeSteps(attach: (world: World) => StepObserver): void {
    if (this.#attachObserver) return
    this.#attachObserver = attach
    const observer = attach(this)
    this.#context.stepObserver = observer
    this.generation.observer = observer
    observer.onBeforeMove()
  }

  /** What lines of batches are answered with: ready before the first event of a batch. */
  get lineAnswerer(): LineAnswerer | undefined {
    return this.batches.lineAnswerer
  }

  set lineAnswerer(answerer: LineAnswerer | undefined) {
    this.batches.lineAnswerer = answerer
  }

  /** Takes what lines are answered with from another world if it has none, as a world from a snapshot. */
  inheritLineAnswerer({ lineAnswerer }: { readonly lineAnswerer: unknown }): void {
    this.lineAnswerer ??= (lineAnswerer as LineAnswerer | undefined)?.fork()
  }

  /** The owner of the rows that this world may write. */
  get generation(): Generation {
    return this.#context.generation
  }

  /** Called before time moves, if a request or a command may have changed something since the last move. */
  get onBeforeMove(): (() => void) | undefined {
    return this.#context.onBeforeMove
  }

  set onBeforeMove(listener: (() => void) | undefined) {
    this.#context.onBeforeMove = listener
  }

  get digest(): string {
    return this.journal.digest
  }

  /** Counts every change that a client could see: `until` looks again only when it has moved. */
  get visibleChanges(): number {
    return this.#context.visibleChanges
  }

  /** Fires everything due up to `target` and rests there. Returns the number of events. */
  runTo(target: Micros): number {
    this.#requireTokenizer()
    this.#context.beginMove()
    return this.#loop.runTo(target)
  }

  /** Fires the next event; false when none is due up to `limit`. */
  next(limit: Micros = Number.POSITIVE_INFINITY): boolean {
    this.#requireTokenizer()
    this.#context.beginMove()
    return this.#loop.fireNext(limit)
  }

  /** Whether time can not move before what lines of batches are answered with is loaded. */
  get needsTokenizer(): boolean {
    return this.batches.activeCount > 0 && !this.lineAnswerer?.isReady
  }

  /** Opens a request: what happens until it is closed is caused by it. */
  openRequest(operation: string, method: string, path: string, cause = 0): RequestEntry {
    return this.#context.openRequest(operation, method, path, cause)
  }

  closeRequest(entry: RequestEntry, status: number): void {
    this.#context.closeRequest(entry, status)
  }

  /** Records something the user of the simulator did to the world: a failure, a repair. */
  recordCommand(row: Row, kind: string, fields?: EntryFields): void {
    this.#context.recordCommand(row, kind, fields)
  }

  /** Entries of the journal, for clients. */
  journalEntries(after?: number): Entry[] {
    return this.journal.entries(after)
  }

  #requireTokenizer(): void {
    if (this.needsTokenizer) {
      throw new Error('Failed to move time: a batch is under way and no tokenizer was loaded. Await the door first.')
    }
  }

  #fireEvent(): void {
    const { kind, subject, arg } = this.agenda
    const event = EVENTS[kind]!
    this.#context.beginEvent()
    event.fire(this, subject, arg)
    this.#context.endEvent(event.name, subject)
  }
}
