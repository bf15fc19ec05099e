import { loadProfile, type Profile } from '../data/profiles/load.ts'
import type { Agenda } from '../kernel/agenda.ts'
import { type Archive, type Archived, ArchiveReader, ArchiveWriter, forkState } from '../kernel/archive.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Micros } from '../kernel/duration.ts'
import type { DecidedBy, Entry, EntryFields, Journal, RequestEntry } from '../kernel/journal.ts'
import { DEFAULT_EVENT_LIMITS, type EventLimits, Loop } from '../kernel/loop.ts'
import type { Chance } from '../kernel/random.ts'
import type { Generation, Row } from '../kernel/row.ts'
import { deepFreeze } from '../lib/fields.ts'
import type { Steps } from '../lib/slices.ts'
import { AccountAccess } from './account/access/account-access.ts'
import { ApiTokens } from './account/access/api-tokens.ts'
import { SshKeys } from './account/access/ssh-keys.ts'
import { GpuQuotas } from './account/gpu-quotas.ts'
import { Ledger } from './account/ledger.ts'
import { OwnRecords, type Records, type RecordTable } from './account/own-records.ts'
import { Voices } from './account/voices.ts'
import { Batches } from './batches/batches.ts'
import { Files } from './batches/files.ts'
import type { LineAnswerer } from './batches/line-answering.ts'
import { connectParts } from './connect-parts.ts'
import { SimulationContext, type StepObserver } from './context.ts'
import { Autoscaler } from './deployments/autoscaler.ts'
import { Deployments } from './deployments/deployments.ts'
import { Instances } from './deployments/instances.ts'
import { LoraAdapters } from './deployments/lora-adapters.ts'
import { AccountModels } from './deployments/model-versions.ts'
import { createEventFiring, type OnEventError } from './event-failures.ts'
import { EVENT_NAMES, EVENTS, type EventOf, type EventParts } from './events.ts'
import { Downloads } from './fleet/downloads.ts'
import { Environment } from './fleet/environment.ts'
import { NodeAutoscaler } from './fleet/node-autoscaler.ts'
import { Nodes } from './fleet/nodes.ts'
import { Placement } from './fleet/placement.ts'
import { Tenants } from './fleet/tenants.ts'
import { InferenceRequests } from './inference/requests.ts'
import { Webhooks } from './inference/webhooks.ts'
import type { JournalKindName } from './journal-kinds.ts'
import { Commands } from './operations/commands.ts'
import { OperationEffects } from './operations/effects.ts'
import { Weather } from './operations/weather.ts'
import { DeploymentLogs } from './recording/deployment-logs.ts'
import { UsageHistory } from './recording/history.ts'
import { Containers } from './rentals/containers.ts'
import { HostedInstances } from './rentals/hosted-instances.ts'
import { Rentals } from './rentals/rentals.ts'
import { startFromFixture } from './start-from-fixture.ts'
import type { Store } from './store.ts'
import { type ArchivedWorld, createPlaceholderFixture, type ForkOptions, type WorldOptions } from './world-options.ts'

/**
 * One simulated account on one simulated fleet: its parts, bound together, and the loop that moves its time.
 *
 * Nothing in a world waits. An event is one step, a request is one step, and what happens is a function of seed, fixture
 * and requests in order. With an origin the constructor makes a fork.
 */
export class World implements EventParts {
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
  readonly history: UsageHistory
  readonly deploymentLogs: DeploymentLogs
  readonly ledger: Ledger
  readonly gpuQuotas: GpuQuotas
  readonly apiTokens: ApiTokens
  readonly access: AccountAccess
  readonly voices: Voices
  readonly ownRecords: OwnRecords
  readonly sshKeys: SshKeys
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
  readonly webhooks: Webhooks
  readonly inferenceRequests: InferenceRequests
  readonly files: Files
  readonly batches: Batches
  readonly operationEffects: OperationEffects
  readonly commands: Commands
  readonly weather: Weather

  /** Called with what an event threw. Undefined: the move of time throws it. Forks of a world with it ignore it. */
  onEventError: OnEventError | undefined

  readonly #context: SimulationContext
  readonly #tenants = new Tenants()
  /** The parts with state, in the order of the archive. The context comes before them. */
  readonly #parts: Archived[] = []
  readonly #loop: Loop
  /** Attaches the observer of its steps to a fork of the world. */
  #attachObserver: ((world: World) => StepObserver) | undefined

  constructor(options: WorldOptions, origin?: World, archived?: ArchivedWorld) {
    const profile = options.profile ?? origin?.profile ?? loadProfile('realistic')
    this.bounds = options.bounds ?? origin?.bounds ?? DEFAULT_EVENT_LIMITS
    const context = new SimulationContext(
      {
        seed: String(options.seed ?? origin?.seed ?? '1'),
        profile,
        fixture: options.fixture,
        epochMs: options.epochMs,
        journalLimit: options.journalLimit,
        maxStorageBytes: options.maxStorageBytes ?? origin?.maxStorageBytes ?? profile.limits.storageBytes,
      },
      origin ? origin.#context : undefined,
    )
    this.#context = context
    this.seed = context.seed
    this.clock = context.clock
    this.agenda = context.agenda
    this.journal = context.journal
    this.chance = context.chance
    this.profile = profile
    this.store = context.store
    this.maxStorageBytes = context.maxStorageBytes

    const tenants = this.#tenants
    this.environment = this.#part(new Environment())
    this.history = this.#part(new UsageHistory(context))
    this.deploymentLogs = this.#part(new DeploymentLogs(context))
    this.ledger = this.#part(new Ledger(context))
    const { environment, history, deploymentLogs, ledger } = this
    this.gpuQuotas = this.#part(new GpuQuotas(context, { ledger }))
    this.apiTokens = this.#part(new ApiTokens(context, { ledger }))
    this.access = this.#part(new AccountAccess(context, { ledger }))
    this.voices = new Voices(context, { ledger })
    this.ownRecords = this.#part(new OwnRecords(context, { ledger }))
    this.sshKeys = new SshKeys(context, { ledger })
    this.nodes = this.#part(new Nodes(context, { environment, history, tenants }))
    this.placement = this.#part(new Placement(context, { tenants }))
    const { access, gpuQuotas, apiTokens, nodes, placement } = this
    this.nodeAutoscaler = new NodeAutoscaler(context, { environment, nodes, placement, ledger })
    this.downloads = new Downloads(context, { environment, nodes, tenants })
    const { nodeAutoscaler, downloads } = this
    this.instances = this.#part(
      new Instances(context, { environment, nodes, placement, downloads, gpuQuotas, history, deploymentLogs }),
    )
    this.modelVersions = this.#part(new AccountModels(context))
    const { instances, modelVersions } = this
    this.deployments = this.#part(
      new Deployments(context, { environment, nodes, placement, instances, ledger, gpuQuotas, history, modelVersions }),
    )
    const { deployments } = this
    this.autoscaler = new Autoscaler(context, { environment, deployments })
    this.loraAdapters = new LoraAdapters(context, { environment, deployments, instances, nodes, ledger })
    this.rentals = this.#part(new Rentals(context, { environment, nodes, placement, ledger, gpuQuotas, history }))
    const { autoscaler, loraAdapters, rentals } = this
    this.hostedInstances = new HostedInstances(context, { rentals })
    this.containers = new Containers(context, { rentals, ledger })
    this.webhooks = this.#part(new Webhooks(context))
    const { webhooks } = this
    this.inferenceRequests = this.#part(
      new InferenceRequests(context, {
        access,
        deployments,
        instances,
        nodes,
        autoscaler,
        gpuQuotas,
        ledger,
        history,
        loraAdapters,
        webhooks,
      }),
    )
    this.files = this.#part(new Files(context))
    this.batches = this.#part(
      new Batches(context, {
        files: this.files,
        deployments,
        instances,
        nodes,
        autoscaler,
        loraAdapters,
        ledger,
        history,
        deploymentLogs,
      }),
    )
    this.onEventError = origin?.onEventError && (() => {})
    this.batches.lineAnswerer = options.lineAnswerer ?? origin?.lineAnswerer?.fork()
    this.operationEffects = new OperationEffects(context, {
      ...{ environment, nodes, nodeAutoscaler, placement, downloads, instances, deployments, autoscaler },
      ...{ rentals, ledger, deploymentLogs },
    })
    const { operationEffects } = this
    const commandParts = {
      access,
      operationEffects,
      nodes,
      deployments,
      rentals,
      ledger,
      gpuQuotas,
      apiTokens,
      batches: this.batches,
      files: this.files,
    }
    this.commands = this.#part(new Commands(context, commandParts))
    this.weather = this.#part(new Weather(context, { ledger, nodes, placement, commands: this.commands }))
    connectParts(this, context, this.#tenants)

    this.#loop = new Loop(
      this.clock,
      this.agenda,
      createEventFiring(this, context),
      kind => EVENTS[kind]?.name ?? 'unknown',
      this.bounds,
    )
    if (archived) {
      readParts([context, ...this.#parts], archived.state)
      deepFreeze(profile)
    } else if (origin) {
      forkState(origin.#parts, this.#parts)
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
    const state = writeParts([this.#context, ...this.#parts])
    return { seed, epochMs: clock.epochMs, profile, maxStorageBytes, bounds, journalLimit: journal.limit, state }
  }

  #part<P extends Archived>(part: P): P {
    this.#parts.push(part)
    return part
  }

  /** Attaches an observer of the steps of this world and of its forks. Does nothing if one is attached. */
  observeSteps(attach: (world: World) => StepObserver): void {
    if (this.#attachObserver) return
    this.#attachObserver = attach
    const observer = attach(this)
    this.#context.stepObserver = observer
    this.generation.observer = observer
    observer.onBeforeMove()
  }

  /** Answers the lines of batches. It must be ready before the first event of a batch. */
  get lineAnswerer(): LineAnswerer | undefined {
    return this.batches.lineAnswerer
  }

  set lineAnswerer(answerer: LineAnswerer | undefined) {
    this.batches.lineAnswerer = answerer
  }

  /** Takes the line answerer of another world if this world has none, as after a restore. */
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

  /** The number of changes that a client could see. `until` checks again only after a change. */
  get visibleChanges(): number {
    return this.#context.visibleChanges
  }

  /** Fires all events due up to `target` and stops there. Returns the number of events. */
  runTo(target: Micros): number {
    this.#requireTokenizer()
    this.#context.beginMove()
    return this.#loop.runTo(target)
  }

  /** Fires the next event. Returns false if no event is due up to `limit`. */
  next(limit: Micros = Number.POSITIVE_INFINITY): boolean {
    this.#requireTokenizer()
    this.#context.beginMove()
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
    this.#context.beginMove()
    const ahead = this.fork()
    ahead.clock.moveTo(agenda.nextTime)
    return batches.prepare(ahead.batches, event, subject)
  }

  /** Whether time cannot move because the tokenizer for batches is not loaded. */
  get needsTokenizer(): boolean {
    return this.batches.active.length > 0 && !this.lineAnswerer?.isReady
  }

  /** Returns the records of a table that endpoints of a user keep. */
  records<R extends object>(table: RecordTable<R>): Records<R> {
    return this.ownRecords.of(table)
  }

  /** Opens a request. It is the cause of all journal entries until it is closed. */
  openRequest(operation: string, method: string, path: string, cause = 0): RequestEntry {
    return this.#context.openRequest(operation, method, path, cause)
  }

  closeRequest(entry: RequestEntry, status: number, decidedBy: DecidedBy = 'none'): void {
    this.#context.closeRequest(entry, status, decidedBy)
  }

  /** Records a command of the user of the simulator, such as a failure or a repair. */
  recordCommand(row: Row, kind: JournalKindName, fields?: EntryFields): void {
    this.#context.recordCommand(row, kind, fields)
  }

  /** Returns the journal entries after a sequence number. Default: all. */
  journalEntries(after?: number): Entry[] {
    return this.journal.entries(after)
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
