import type { OfferedLoad } from '../../data/offered-load.ts'
import { DEPLOYMENT_STATUSES, type DeploymentStatus } from '../../data/records/enums.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import { LayeredMap } from '../../kernel/layered-map.ts'
import { purpose } from '../../kernel/random.ts'
import { Table } from '../../kernel/table.ts'
import type { GpuQuotas } from '../account/gpu-quotas.ts'
import type { Ledger } from '../account/ledger.ts'
import type { SimulationContext } from '../context.ts'
import type { Environment } from '../fleet/environment.ts'
import type { Nodes } from '../fleet/nodes.ts'
import type { Placement } from '../fleet/placement.ts'
import { catalogWeights, hubRefusal, invalidImageReason, repositoryWeights } from '../fleet/weights.ts'
import { LoadCurve } from '../load/load-curve.ts'
import { instanceSpeed } from '../load/throughput.ts'
import type { UsageHistory } from '../recording/history.ts'
import { Deployment, type DeploymentControls } from './deployment.ts'
import {
  type DeployedWeights,
  type DeploymentPlan,
  type DeploymentRecord,
  DeploymentRow,
  EMPTY_LIST,
  type FixtureIdentity,
  isTerminal,
  type LlmSpec,
} from './deployment-row.ts'
import { engineArgsProblem } from './engine-args.ts'
import type { InstanceState } from './instance-row.ts'
import { ENGINE_CRASH } from './instance-startup.ts'
import type { Instances } from './instances.ts'
import type { AccountModels } from './model-versions.ts'
import type { AdapterFollower, InstanceOwner, Scaler, WorkPorts } from './work.ts'

const ID = purpose('deployment.id')

/** The states of an instance in which its engine runs and serves, or is about to. */
const HAS_ENGINE: ReadonlySet<InstanceState> = new Set(['loading', 'warming', 'ready'])

/** What is recorded when a deployment gets a status: made once, because a text made anew is hashed anew. */
const STATUS_ENTRY_KIND = Object.fromEntries(
  DEPLOYMENT_STATUSES.map(status => [status, `deployment.${status}`]),
) as Readonly<Record<DeploymentStatus, string>>

/** The parts below that it uses. */
export interface DeploymentsParts {
  readonly environment: Environment
  readonly nodes: Nodes
  readonly placement: Placement
  readonly instances: Instances
  readonly ledger: Ledger
  readonly gpuQuotas: GpuQuotas
  readonly history: UsageHistory
  readonly modelVersions: AccountModels
}

/** What deployments call above them. */
export interface DeploymentsPorts extends WorkPorts {
  readonly autoscaler: Scaler
  readonly loraAdapters: AdapterFollower
}

/** The deployments of the account: LLM deployments, adapters, and references to the catalog. */
export class Deployments implements DeploymentControls, InstanceOwner {
  readonly #context: SimulationContext
  readonly #parts: DeploymentsParts
  #ports!: DeploymentsPorts
  readonly #table: Table<DeploymentRow>
  readonly #byId: LayeredMap<number>
  /** The live deployment of each model name. */
  readonly #liveByName: LayeredMap<number>
  /** JSON of each, kept until something visible changes. */
  readonly #jsonCache: (string | undefined)[]

  constructor(context: SimulationContext, parts: DeploymentsParts, origin?: Deployments) {
    this.#context = context
    this.#parts = parts
    this.#table = origin
      ? origin.#table.fork(origin.#context.generation, context.generation)
      : new Table(context.generation)
    this.#byId = origin ? origin.#byId.fork() : new LayeredMap()
    this.#liveByName = origin ? origin.#liveByName.fork() : new LayeredMap()
    this.#jsonCache = origin ? origin.#jsonCache.slice() : []
  }

  /** Binds what lies above: the world does it once. */
  connect(ports: DeploymentsPorts): void {
    this.#ports = ports
  }

  archive(archive: Archive): void {
    this.#table.archive(archive)
    this.#byId.archive(archive)
    this.#liveByName.archive(archive)
  }

  get countInstance(): number {
    return this.#table.count
  }

  read(ordinal: number): Readonly<DeploymentRow> {
    return this.#table.read(ordinal)
  }

  writable(ordinal: number): DeploymentRow {
    return this.#table.writable(ordinal)
  }

  entries(): Generator<[number, Readonly<DeploymentRow>]> {
    return this.#table.entries()
  }

  ordinalOf(deploy_id: string): number | undefined {
    return this.#byId.get(deploy_id)
  }

  /** The deployment with this id, a deleted one too. */
  get(deploy_id: string): Deployment | undefined {
    const ordinal = this.#byId.get(deploy_id)
    return ordinal === undefined ? undefined : new Deployment(this, ordinal)
  }

  handle(ordinal: number): Deployment {
    return new Deployment(this, ordinal)
  }

  /** The deployment that has this name now; a deleted one has given it back. */
  findLive(modelName: string): Deployment | undefined {
    const ordinal = this.#liveByName.get(modelName)
    return ordinal === undefined ? undefined : new Deployment(this, ordinal)
  }

  /** By creation, then id. Without a filter everything but the deleted. */
  list(statuses?: ReadonlySet<DeploymentStatus>): Deployment[] {
    const deployments: { ordinal: number; row: Readonly<DeploymentRow> }[] = []
    for (const [ordinal, row] of this.#table.entries()) {
      if (statuses ? statuses.has(row.status) : row.status !== 'deleted') deployments.push({ ordinal, row })
    }
    deployments.sort((a, b) => a.row.plan.createdAt - b.row.plan.createdAt || (a.row.id < b.row.id ? -1 : 1))
    return deployments.map(({ ordinal }) => new Deployment(this, ordinal))
  }

  /** Creates a deployment and asks for its first instances. Nothing is checked here: the API has. */
  createLlm(spec: LlmSpec): Deployment {
    const ordinal = this.add(spec)
    this.start(ordinal)
    return new Deployment(this, ordinal)
  }

  /** Puts a deployment in without setting anything in motion. */
  add(spec: LlmSpec, identity: FixtureIdentity = {}): number {
    const ordinal = this.insert(
      {
        modelName: spec.model_name,
        task: identity.task ?? 'text-generation',
        type: identity.type ?? 'llm',
        gpu: spec.gpu,
        numGpus: spec.num_gpus,
        maxBatchSize: spec.max_batch_size,
        weights: this.#weightsOf(spec),
        containerImage: spec.container_image ?? '',
        extraArgs: spec.extra_args ?? EMPTY_LIST,
        base: -2,
        baseModel: spec.base_model ?? '',
        modelhubUrl: '',
      },
      identity,
    )
    const row = this.#table.writable(ordinal)
    row.minInstances = spec.min_instances
    row.maxInstances = spec.max_instances
    if (row.plan.type === 'llm') {
      row.meter = this.#parts.ledger.openMeter(row.id, 'deployment', spec.gpu, spec.num_gpus)
    }
    this.#context.record(row, 'deployment.created', {
      model_name: spec.model_name,
      gpu: spec.gpu,
      num_gpus: spec.num_gpus,
    })
    return ordinal
  }

  insert(plan: Omit<DeploymentPlan, 'key' | 'version' | 'createdAt'>, identity: FixtureIdentity): number {
    const key = this.#context.newKey('deployment', plan.modelName)
    const id = identity.deploy_id ?? this.#context.chance.letters(16, key, ID)
    const catalogModel = this.#context.store.models.get(plan.modelName)
    const version = catalogModel
      ? (identity.version ?? catalogModel.versions[catalogModel.versions.length - 1] ?? '')
      : this.#parts.modelVersions.addVersion(plan.modelName, plan.task, plan.type, identity.version)
    // Field by field: adding fields to a spread costs a tenth of a create.
    const row = new DeploymentRow(this.#table.generation, id, {
      key,
      modelName: plan.modelName,
      version,
      task: plan.task,
      type: plan.type,
      createdAt: identity.created_at ?? this.#context.clock.now,
      gpu: plan.gpu,
      numGpus: plan.numGpus,
      maxBatchSize: plan.maxBatchSize,
      weights: plan.weights,
      containerImage: plan.containerImage,
      extraArgs: plan.extraArgs,
      base: plan.base,
      baseModel: plan.baseModel,
      modelhubUrl: plan.modelhubUrl,
    })
    row.updatedAt = identity.updated_at ?? row.plan.createdAt
    const ordinal = this.#table.add(row)
    this.#byId.set(id, ordinal)
    this.#liveByName.set(plan.modelName, ordinal)
    this.#parts.history.onStatusChanged(row)
    this.#context.markVisibleChange()
    return ordinal
  }

  /** A start: the instances it needs are asked for. */
  start(ordinal: number): void {
    const row = this.#table.writable(ordinal)
    row.wasReady = false
    row.lostStarts = 0
    row.crashes = 0
    row.remainingCrashes = 0
    row.stoppedForFunds = false
    row.failReason = ''
    this.#setStatus(row, 'initializing')
    // A model of the catalog runs on GPUs of the provider, which are there.
    if (row.plan.type !== 'llm') {
      this.#setStatus(row, 'running')
      return
    }
    row.desired = Math.max(1, this.#ports.autoscaler.desiredInstances(row))
    row.scaleDirection = 0
    this.requestInstances(ordinal, row.desired, this.#context.profile.timings.placementDelay)
    this.updateStatus(ordinal)
  }

  /** Asks for instances until there are `wanted`: none while the account is suspended, and none over the GPU limit. */
  requestInstances(ordinal: number, target: number, delay: Micros): void {
    const { gpuQuotas, instances, ledger } = this.#parts
    const { suspensionReason } = ledger
    if (suspensionReason !== undefined && target > alive(this.#table.read(ordinal))) {
      this.#context.record(this.#table.writable(ordinal), 'deployment.limited', { suspended: suspensionReason })
      return
    }
    for (let missing = target - alive(this.#table.read(ordinal)); missing > 0; missing--) {
      const row = this.#table.read(ordinal)
      if (!gpuQuotas.hasRoomOrWaits(row.gpu, row.numGpus)) {
        this.#context.record(this.#table.writable(ordinal), 'deployment.limited', { gpu: row.gpu })
        return
      }
      instances.request(ordinal, delay)
    }
  }

  /** Gives a deployment its offered load. */
  setLoad(ordinal: number, load: OfferedLoad): void {
    const { chance, clock } = this.#context
    const row = this.#table.writable(ordinal)
    const { gpu, numGpus: gpus, maxBatchSize, weights } = row
    const curve = new LoadCurve(load, { chance, key: row.key })
    const { prompt_tokens: promptTokens, output_tokens: outputTokens } = load
    const speed = instanceSpeed({
      gpu,
      gpus,
      parametersB: weights.parametersB,
      maxBatchSize,
      promptTokens,
      outputTokens,
    })
    row.load = { curve, speed }
    row.flowAt = clock.now
    this.#parts.history.onLoadChanged(row, row.load)
  }

  /** Asks for the instances that it lacks, unless the autoscaler is frozen. */
  replenish(ordinal: number, delay: Micros = this.#context.profile.timings.placementDelay): void {
    const row = this.#table.read(ordinal)
    if (!isTerminal(row.status) && !this.#parts.environment.autoscalerFrozen)
      this.requestInstances(ordinal, row.desired, delay)
    this.updateStatus(ordinal)
  }

  /**
   * Gives it other bounds. What lies outside them follows at once, and the load decides within them as ever; while the
   * autoscaler is frozen, or the deployment is over, they wait.
   */
  resize(ordinal: number, minInstances: number, maxInstances: number): void {
    const row = this.#table.writable(ordinal)
    if (row.minInstances === minInstances && row.maxInstances === maxInstances) return
    row.minInstances = minInstances
    row.maxInstances = maxInstances
    row.updatedAt = this.#context.clock.now
    this.#context.record(row, 'deployment.resized', { min_instances: minInstances, max_instances: maxInstances })
    this.onVisibleChange(ordinal)
    if (isTerminal(row.status) || this.#parts.environment.autoscalerFrozen) return
    const previousDesired = row.desired
    // Without a load nothing asks for more than the least; what serves or starts is not let go before it idles.
    const upperDesired = row.load ? previousDesired : Math.min(previousDesired, Math.max(1, minInstances))
    row.desired = Math.min(maxInstances, Math.max(minInstances, upperDesired))
    row.scaleDirection = 0
    if (row.desired > previousDesired) {
      this.#context.record(row, 'deployment.scaledUp', { from: previousDesired, to: row.desired })
      this.replenish(ordinal)
    } else if (row.desired < previousDesired) {
      this.#context.record(row, 'deployment.scaledDown', { from: previousDesired, to: row.desired })
      this.releaseExcess(ordinal)
    }
    if (row.load) this.#ports.autoscaler.evaluate(ordinal)
    else this.onWorkEnded(ordinal)
  }

  /** Instances that serve or are coming. */
  liveInstances(ordinal: number): number {
    return alive(this.#table.read(ordinal))
  }

  /** Lets the instances go that it has too many: those that are coming before those that serve, the youngest first. */
  releaseExcess(ordinal: number): void {
    const { instances } = this.#parts
    const row = this.#table.read(ordinal)
    let excess = alive(row) - row.desired
    if (excess <= 0) return
    for (const isReady of [false, true]) {
      // They stand in the order in which they were asked for.
      const ordinals = this.#table.read(ordinal).instances
      for (let i = ordinals.length - 1; i >= 0 && excess > 0; i--) {
        const { state } = instances.read(ordinals[i]!)
        if (state === 'draining' || (state === 'ready') !== isReady) continue
        instances.release(ordinals[i]!)
        excess--
      }
    }
    this.updateStatus(ordinal)
  }

  /** Instances serve faster, slower, more or fewer of them: load flows on at another rate. */
  onCapacityChanged(ordinal: number): void {
    const currentRow = this.#table.read(ordinal)
    const effectiveInstances = this.#effectiveInstances(currentRow)
    if (effectiveInstances === currentRow.effectiveInstances) return
    this.#ports.autoscaler.updateFlow(ordinal)
    const row = this.#table.writable(ordinal)
    row.effectiveInstances = effectiveInstances
    const meanSlowdown = effectiveInstances > 0 ? row.ready / effectiveInstances : 1
    if (meanSlowdown !== row.meanSlowdown) {
      row.meanSlowdown = meanSlowdown
      if (row.load && row.wasReady && !isTerminal(row.status)) this.#ports.autoscaler.scheduleEvaluation(row, ordinal)
    }
    this.#ports.batches.onCapacityChanged(ordinal)
    this.recordServing(ordinal)
  }

  /** Keeps how a deployment serves from now on, if that or the batches on it have changed. */
  recordServing(ordinal: number): void {
    const isBusy = this.#ports.batches.isRunningOn(ordinal)
    const { history } = this.#parts
    if (history.isServingChanged(this.#table.read(ordinal), isBusy))
      history.writeSegment(this.#table.writable(ordinal), isBusy)
  }

  /** Removes a version of a model of the account, or `ALL`; what runs one of them is deleted. */
  removeModelVersions(modelName: string, version: string): void {
    const removed = this.#parts.modelVersions.removeVersions(modelName, version)
    for (const deployment of this.list()) {
      if (deployment.model_name === modelName && removed.includes(deployment.version)) deployment.delete()
    }
    if (this.#parts.modelVersions.has(modelName)) this.#context.markVisibleChange()
  }

  #effectiveInstances(row: Readonly<DeploymentRow>): number {
    const { instances, nodes } = this.#parts
    if (nodes.areAllFullSpeed) return row.ready
    let effectiveInstances = 0
    for (const instance of row.instances) {
      const { state, node } = instances.read(instance)
      if (state === 'ready') effectiveInstances += 1 / nodes.read(node).slowdown
    }
    return effectiveInstances
  }

  /** A GPU limit rose or GPUs were given back: who was held back may ask again. */
  onQuotaAvailable(gpu: GpuType): void {
    for (const deployment of this.list()) {
      const row = this.#table.read(deployment.ordinal)
      if (row.gpu !== gpu || row.plan.base !== -2 || row.plan.type !== 'llm' || isTerminal(row.status)) continue
      if (alive(row) < row.desired) this.replenish(deployment.ordinal)
    }
  }

  /** The account is suspended no more: what runs may have the instances that it lacks. */
  onSuspensionEnded(): void {
    for (const { ordinal, type } of this.list()) {
      const row = this.#table.read(ordinal)
      if (type === 'llm' && !isTerminal(row.status) && alive(row) < row.desired) this.replenish(ordinal)
    }
  }

  startAdapter(ordinal: number): void {
    this.#ports.loraAdapters.start(ordinal)
  }

  updateAdapter(ordinal: number, isPrivate: boolean, description: string): void {
    this.#ports.loraAdapters.update(ordinal, isPrivate, description)
  }

  adapterBlockedReason(ordinal: number): string | undefined {
    return this.#ports.loraAdapters.blockedReason(ordinal)
  }

  stop(ordinal: number): void {
    const row = this.#table.writable(ordinal)
    if (isTerminal(row.status)) return
    this.#end(row, 'stopped', '')
  }

  delete(ordinal: number): void {
    const row = this.#table.writable(ordinal)
    if (row.status === 'deleted') return
    this.#end(row, 'deleted', '')
    if (this.#liveByName.get(row.plan.modelName) === ordinal) this.#liveByName.delete(row.plan.modelName)
  }

  fail(ordinal: number, reason: string): void {
    const row = this.#table.writable(ordinal)
    if (isTerminal(row.status)) return
    this.#end(row, 'failed', reason)
  }

  /** An instance is ready: the deployment runs. */
  onInstanceReady(ordinal: number): void {
    const row = this.#table.writable(ordinal)
    row.wasReady = true
    row.lostStarts = 0
    this.updateMeter(ordinal)
    this.updateStatus(ordinal)
    if (row.load) this.#ports.autoscaler.evaluate(ordinal)
    else if (row.minInstances === 0) this.#scheduleIdle(ordinal, row)
    this.#ports.inferenceRequests.onCapacityAvailable(ordinal)
  }

  /** Nobody has asked for a while and the deployment may go to zero. It stays `running` with no instance. */
  onIdle(ordinal: number): void {
    const row = this.#table.writable(ordinal)
    row.idleEvent = 0
    // What a batch works on is not idle; its end begins the wait anew.
    const { batches, inferenceRequests } = this.#ports
    if (row.minInstances > 0 || batches.hasWorkFor(ordinal) || inferenceRequests.hasWorkFor(ordinal)) return
    row.desired = 0
    this.#context.record(row, 'deployment.idled')
    this.onScaledToZero(ordinal)
  }

  /** Work came for a deployment that sleeps at zero: it asks for an instance at once. */
  wake(ordinal: number): void {
    const row = this.#table.writable(ordinal)
    if (row.status !== 'running' || row.desired > 0) return
    row.desired = 1
    this.#context.record(row, 'deployment.woken')
    this.replenish(ordinal, 0)
  }

  /** A request came: it does not idle. */
  onWorkBegan(ordinal: number): void {
    const { idleEvent } = this.#table.read(ordinal)
    if (idleEvent === 0) return
    this.#context.cancel(idleEvent)
    this.#table.writable(ordinal).idleEvent = 0
  }

  /** Work on a deployment is over: with `min_instances` 0 it may go to zero after a while. */
  onWorkEnded(ordinal: number): void {
    const row = this.#table.writable(ordinal)
    if (row.status !== 'running' || row.minInstances > 0 || row.ready === 0) return
    if (row.load) this.#ports.autoscaler.evaluate(ordinal)
    else this.#scheduleIdle(ordinal, row)
  }

  #scheduleIdle(ordinal: number, row: DeploymentRow): void {
    this.#context.cancel(row.idleEvent)
    row.idleEvent = this.#context.schedule(this.#context.profile.timings.idleToZero, 'deployment.idle', ordinal)
  }

  /** Its last instance goes: it stays `running` with none, or stops, as the provider's policy says. */
  onScaledToZero(ordinal: number): void {
    if (this.#context.profile.policies.idleToZero === 'stopped') this.stop(ordinal)
    else this.releaseExcess(ordinal)
  }

  /** Stops all of them for lack of funds. */
  stopAllForFunds(): void {
    for (const { ordinal, type } of this.list()) if (type === 'llm' || type === 'lora') this.stopForFunds(ordinal)
  }

  /** Stops for lack of funds: funds may bring it back. */
  stopForFunds(ordinal: number): void {
    // What somebody stopped before stays so when funds come back.
    if (isTerminal(this.#table.read(ordinal).status)) return
    this.stop(ordinal)
    this.#table.writable(ordinal).stoppedForFunds = true
  }

  /** Funds are back: what was stopped for lack of them starts, where the provider's policy says so. */
  onFundsReturned(): void {
    if (this.#context.profile.policies.balanceReturns !== 'restart') return
    for (const deployment of this.list(new Set<DeploymentStatus>(['stopped']))) {
      if (this.#table.read(deployment.ordinal).stoppedForFunds) deployment.start()
    }
  }

  /** An instance was lost: another is asked for after a while, until the retries are spent. */
  onInstanceLost(ordinal: number, reason: string): void {
    const { retryAfter } = this.#context.profile.timings
    const row = this.#table.writable(ordinal)
    if (isTerminal(row.status)) {
      this.updateStatus(ordinal)
      return
    }
    if (row.lostStarts >= retryAfter.length && row.ready === 0) {
      this.fail(ordinal, `the last of ${row.lostStarts + 1} starts was lost: ${reason}`)
      return
    }
    const delay = retryAfter[Math.min(row.lostStarts, retryAfter.length - 1)] ?? 0
    row.lostStarts++
    this.replenish(ordinal, delay)
    this.updateStatus(ordinal)
  }

  /**
   * The engine of an instance exited, after it had been ready for `ran`: it is started again, later each time, until the
   * back-off is spent.
   */
  onInstanceCrashed(ordinal: number, reason: string, readyTime: Micros): void {
    const { crashLoopBackOff, crashLoopForgotten } = this.#context.profile.timings
    const row = this.#table.writable(ordinal)
    if (isTerminal(row.status)) {
      this.updateStatus(ordinal)
      return
    }
    row.crashes = readyTime > crashLoopForgotten ? 1 : row.crashes + 1
    if (row.crashes > crashLoopBackOff.length && row.ready === 0) {
      this.fail(ordinal, `crash loop: ${row.crashes} exits in a row, the last: ${reason}`)
      return
    }
    this.replenish(ordinal, crashLoopBackOff[Math.min(row.crashes, crashLoopBackOff.length) - 1] ?? 0)
    this.updateStatus(ordinal)
  }

  /** Why the engine of a deployment would not take its arguments; an image of one's own takes what it likes. */
  engineArgsProblem({ plan }: Readonly<DeploymentRow>): string | undefined {
    if (plan.extraArgs.length === 0 || plan.containerImage !== '') return undefined
    return this.#context.profile.policies.unknownEngineArgs === 'crash' ? engineArgsProblem(plan.extraArgs) : undefined
  }

  /**
   * Makes the engine of the oldest instance that has one exit, and the next starts as well until it was `times`; false
   * when none has.
   */
  crashEngine(ordinal: number, times: number): boolean {
    const { instances } = this.#parts
    const engines = this.#table
      .read(ordinal)
      .instances.filter(one => HAS_ENGINE.has(instances.read(one).state))
      .sort(
        (a, b) =>
          Number(instances.read(b).state === 'ready') - Number(instances.read(a).state === 'ready') ||
          instances.read(a).index - instances.read(b).index,
      )
    const [oldest] = engines
    if (oldest === undefined) return false
    const row = this.#table.writable(ordinal)
    row.remainingCrashes = times - 1
    this.#context.recordCommand(row, 'deployment.crashed', { times })
    instances.crash(oldest, ENGINE_CRASH)
    return true
  }

  /** An instance came, moved from one state to another, or left: the counts follow. */
  countMove(ordinal: number, from: InstanceState | undefined, to: InstanceState | undefined): void {
    const row = this.#table.writable(ordinal)
    if (from !== undefined) count(row, from, -1)
    if (to !== undefined) count(row, to, 1)
  }

  /** Follows the furthest instance, and `updated_at` follows whatever of it a client can see. */
  updateStatus(ordinal: number): void {
    const { clock } = this.#context
    const currentRow = this.#table.read(ordinal)
    const running = currentRow.ready
    const pending = currentRow.waiting + currentRow.pulling + currentRow.starting
    if (running !== currentRow.reportedRunning || pending !== currentRow.reportedPending) {
      const row = this.#table.writable(ordinal)
      row.reportedRunning = running
      row.reportedPending = pending
      row.updatedAt = clock.now
      this.onVisibleChange(ordinal)
    }
    if (isTerminal(currentRow.status)) return
    const status = currentRow.wasReady ? 'running' : this.#statusOfFurthest(currentRow)
    if (currentRow.status !== status) this.#setStatus(this.#table.writable(ordinal), status)
  }

  /** Something a client can see has changed. */
  onVisibleChange(ordinal: number): void {
    this.#jsonCache[ordinal] = undefined
    this.#context.markVisibleChange()
  }

  setStatus(ordinal: number, status: DeploymentStatus, failReason = ''): void {
    const row = this.#table.writable(ordinal)
    row.failReason = failReason
    this.#setStatus(row, status)
  }

  /** Tells the ledger how many instances are billable: from ready to gone. */
  updateMeter(ordinal: number): void {
    const row = this.#table.read(ordinal)
    if (row.meter < 0) return
    const billsFromPlaced = this.#context.profile.policies.billFrom === 'placed'
    const units = billsFromPlaced
      ? row.instances.filter(one => this.#parts.instances.read(one).node >= 0).length
      : row.ready + row.draining
    this.#parts.ledger.setUnits(row.meter, units)
  }

  /** Why the image or the weights of a deployment are refused, as things stand now. */
  pullRefusal(row: Readonly<DeploymentRow>): string | undefined {
    const { weights, plan } = row
    const image = invalidImageReason(plan.containerImage)
    if (image !== undefined || weights.source === 'catalog') return image
    const { hub, hubPolicy } = this.#context.store
    return hubRefusal(hub.get(weights.repo), hubPolicy, weights, this.#parts.environment.repositoryState(weights.repo))
      ?.reason
  }

  /** The record's text as it is kept, for whoever checks it; undefined when none is. */
  cachedJson(ordinal: number): string | undefined {
    return this.#jsonCache[ordinal]
  }

  toJson(ordinal: number): string {
    let text = this.#jsonCache[ordinal]
    if (text === undefined) {
      text = JSON.stringify(this.toRecord(ordinal))
      this.#jsonCache[ordinal] = text
    }
    return text
  }

  toRecord(ordinal: number): DeploymentRecord {
    const { clock } = this.#context
    const row = this.#table.read(ordinal)
    const { plan } = row
    const record: DeploymentRecord = {
      deploy_id: row.id,
      model_name: plan.modelName,
      version: plan.version,
      task: plan.task,
      status: row.status,
      fail_reason: row.failReason,
      created_at: clock.iso(plan.createdAt),
      updated_at: clock.iso(row.updatedAt),
      type: plan.type,
      instances: reportedInstances(row),
    }
    if (plan.type === 'llm' || plan.type === 'lora') {
      record.config = {
        gpu: plan.gpu,
        num_gpus: plan.numGpus,
        max_batch_size: plan.maxBatchSize,
        weights: {
          repo: plan.weights.repo,
          revision: plan.weights.revision,
          token: plan.weights.token === '' ? '' : '********',
        },
      }
      record.settings = { min_instances: row.minInstances, max_instances: row.maxInstances }
    }
    return record
  }

  #statusOfFurthest(row: Readonly<DeploymentRow>): DeploymentStatus {
    if (row.ready > 0) return 'running'
    if (row.starting > 0) return 'deploying'
    if (row.pulling === 0) return 'initializing'
    return this.#context.profile.policies.foldDownloadingIntoDeploying ? 'deploying' : 'downloading'
  }

  #end(row: DeploymentRow, status: 'stopped' | 'failed' | 'deleted', reason: string): void {
    const ordinal = this.#byId.get(row.id)!
    this.#context.cancel(row.idleEvent)
    this.#context.cancel(row.next)
    this.#context.cancel(row.scaleEvent)
    row.scaleEvent = 0
    row.desired = 0
    row.idleEvent = 0
    row.next = 0
    row.failReason = reason
    this.#setStatus(row, status)
    for (const instance of row.instances) this.#parts.instances.release(instance)
    this.updateStatus(ordinal)
    this.#parts.placement.scheduleRound()
  }

  #setStatus(row: DeploymentRow, status: DeploymentStatus): void {
    if (row.status === status) return
    const { clock } = this.#context
    row.status = status
    row.updatedAt = clock.now
    this.#parts.history.onStatusChanged(row)
    this.#context.record(row, STATUS_ENTRY_KIND[status], row.failReason === '' ? undefined : { reason: row.failReason })
    const ordinal = this.#byId.get(row.id)!
    this.onVisibleChange(ordinal)
    this.#ports.batches.onCapacityChanged(ordinal)
    if (isTerminal(status)) this.#ports.inferenceRequests.onDeploymentStopped(ordinal)
    if (row.adapters.length > 0) this.#ports.loraAdapters.onBaseChanged(ordinal)
    if (row.plan.base >= 0 && isTerminal(status)) this.#ports.loraAdapters.slots.onAdapterEnded(ordinal)
  }

  #weightsOf(spec: LlmSpec): DeployedWeights {
    const { store } = this.#context
    if (spec.weights) {
      const { repo } = spec.weights
      return { source: 'hub', ...spec.weights, ...repositoryWeights(store.hub.get(repo), repo) }
    }
    const base = spec.base_model === undefined ? undefined : store.models.get(spec.base_model)
    const repo = spec.base_model ?? spec.model_name
    if (!base) {
      return { source: 'hub', repo, revision: 'main', token: '', ...repositoryWeights(store.hub.get(repo), repo) }
    }
    const revision = base.versions[base.versions.length - 1] ?? ''
    return { source: 'catalog', repo, revision, token: '', ...catalogWeights(base) }
  }
}

/** So many more instances are in a state. By name: a field whose name is computed costs ten times as much. */
function count(row: DeploymentRow, state: InstanceState, change: number): void {
  switch (state) {
    case 'pending':
    case 'placed':
      row.waiting += change
      break
    case 'pulling':
      row.pulling += change
      break
    case 'loading':
    case 'warming':
      row.starting += change
      break
    case 'ready':
      row.ready += change
      break
    case 'draining':
      row.draining += change
      break
  }
}

/** Instances that serve or are coming. */
function alive(row: Readonly<DeploymentRow>): number {
  return row.waiting + row.pulling + row.starting + row.ready
}

/** An adapter has no instances of its own: it counts as one copy, there or coming. */
function reportedInstances(row: Readonly<DeploymentRow>): { running: number; pending: number } {
  if (row.plan.base === -2) return { running: row.reportedRunning, pending: row.reportedPending }
  const running = row.status === 'running' ? 1 : 0
  return { running, pending: running === 0 && !isTerminal(row.status) ? 1 : 0 }
}
