import type { Micros } from '../kernel/duration.ts'
import { Layers } from '../kernel/layers.ts'
import { purpose } from '../kernel/random.ts'
import { type Generation, Table } from '../kernel/table.ts'
import type { Tape } from '../kernel/tape.ts'
import type { OfferedLoad } from '../store/load.ts'
import { DEPLOYMENT_STATUSES, type DeploymentStatus, type GpuType } from '../store/records.ts'
import { Deployment } from './deployment.ts'
import {
  type AdapterSpec,
  type DeployedWeights,
  type DeploymentPlan,
  type DeploymentRecord,
  DeploymentRow,
  type GivenIdentity,
  isOver,
  type LlmSpec,
  NONE,
} from './deployment-row.ts'
import { engineArgsProblem } from './engine-args.ts'
import type { EventName } from './events.ts'
import { badImage, catalogWeights, hubRefusal, repositoryWeights } from './hub.ts'
import { ENGINE_CRASH, type InstanceState } from './instances.ts'
import { LoadCurve } from './load-curve.ts'
import { instanceSpeed } from './serving.ts'
import type { World } from './world.ts'

const ID = purpose('deployment.id')

/** The states of an instance in which its engine runs and serves, or is about to. */
const HAS_ENGINE: ReadonlySet<InstanceState> = new Set(['loading', 'warming', 'ready'])

/** What is recorded when a deployment gets a status: made once, because a text made anew is hashed anew. */
const BECAME = Object.fromEntries(DEPLOYMENT_STATUSES.map(status => [status, `deployment.${status}`])) as Readonly<
  Record<DeploymentStatus, string>
>

/** The deployments of the account: LLM deployments, adapters, and references to the catalog. */
export class Deployments {
  readonly #world: World
  readonly #table: Table<DeploymentRow>
  readonly #byId: Layers<number>
  /** The live deployment of each model name. */
  readonly #live: Layers<number>
  /** JSON of each, kept until something visible changes. */
  readonly #texts: (string | undefined)[]

  constructor(world: World, from?: { table: Table<DeploymentRow>; deployments: Deployments }) {
    this.#world = world
    this.#table = from?.table ?? new Table(world.generation)
    this.#byId = from ? from.deployments.#byId.fork() : new Layers()
    this.#live = from ? from.deployments.#live.fork() : new Layers()
    this.#texts = from ? from.deployments.#texts.slice() : []
  }

  fork(world: World, theirs: Generation): Deployments {
    return new Deployments(world, { table: this.#table.fork(theirs, world.generation), deployments: this })
  }

  keep(tape: Tape): void {
    this.#table.keep(tape)
    this.#byId.keep(tape)
    this.#live.keep(tape)
  }

  get count(): number {
    return this.#table.count
  }

  read(ordinal: number): Readonly<DeploymentRow> {
    return this.#table.read(ordinal)
  }

  own(ordinal: number): DeploymentRow {
    return this.#table.own(ordinal)
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
    return ordinal === undefined ? undefined : new Deployment(this.#world, ordinal)
  }

  handle(ordinal: number): Deployment {
    return new Deployment(this.#world, ordinal)
  }

  /** The deployment that has this name now; a deleted one has given it back. */
  live(modelName: string): Deployment | undefined {
    const ordinal = this.#live.get(modelName)
    return ordinal === undefined ? undefined : new Deployment(this.#world, ordinal)
  }

  /** By creation, then id. Without a filter everything but the deleted. */
  list(statuses?: ReadonlySet<DeploymentStatus>): Deployment[] {
    const found: { ordinal: number; row: Readonly<DeploymentRow> }[] = []
    for (const [ordinal, row] of this.#table.entries()) {
      if (statuses ? statuses.has(row.status) : row.status !== 'deleted') found.push({ ordinal, row })
    }
    found.sort((a, b) => a.row.plan.createdAt - b.row.plan.createdAt || (a.row.id < b.row.id ? -1 : 1))
    return found.map(({ ordinal }) => new Deployment(this.#world, ordinal))
  }

  /** Creates a deployment and asks for its first instances. Nothing is checked here: the API has. */
  createLlm(spec: LlmSpec): Deployment {
    const ordinal = this.add(spec)
    this.begin(ordinal)
    return new Deployment(this.#world, ordinal)
  }

  createAdapter(spec: AdapterSpec): Deployment {
    const ordinal = this.#world.adapters.add(spec)
    this.#world.adapters.begin(ordinal)
    return new Deployment(this.#world, ordinal)
  }

  /** Puts a deployment in without setting anything in motion. */
  add(spec: LlmSpec, given: GivenIdentity = {}): number {
    const world = this.#world
    const ordinal = this.insert(
      {
        modelName: spec.model_name,
        task: given.task ?? 'text-generation',
        type: given.type ?? 'llm',
        gpu: spec.gpu,
        numGpus: spec.num_gpus,
        maxBatchSize: spec.max_batch_size,
        weights: this.#weightsOf(spec),
        containerImage: spec.container_image ?? '',
        extraArgs: spec.extra_args ?? NONE,
        base: -2,
        baseModel: spec.base_model ?? '',
        modelhubUrl: '',
      },
      given,
    )
    const row = this.#table.own(ordinal)
    row.minInstances = spec.min_instances
    row.maxInstances = spec.max_instances
    if (row.plan.type === 'llm') {
      row.meter = world.ledger.openMeter(row.id, 'deployment', spec.gpu, spec.num_gpus)
    }
    world.happened(row, 'deployment.created', { model_name: spec.model_name, gpu: spec.gpu, num_gpus: spec.num_gpus })
    return ordinal
  }

  insert(plan: Omit<DeploymentPlan, 'key' | 'version' | 'createdAt'>, given: GivenIdentity): number {
    const world = this.#world
    const key = world.newKey('deployment', plan.modelName)
    const id = given.deploy_id ?? world.chance.letters(16, key, ID)
    const listed = world.store.models.get(plan.modelName)
    const version = listed
      ? (given.version ?? listed.versions[listed.versions.length - 1] ?? '')
      : world.models.addVersion(plan.modelName, plan.task, plan.type, given.version)
    const row = new DeploymentRow(this.#table.generation, id, {
      ...plan,
      key,
      version,
      createdAt: given.created_at ?? world.clock.now,
    })
    row.updatedAt = given.updated_at ?? row.plan.createdAt
    const ordinal = this.#table.add(row)
    this.#byId.set(id, ordinal)
    this.#live.set(plan.modelName, ordinal)
    world.chronicle.statusChanged(row)
    world.seen()
    return ordinal
  }

  /** A start: the instances it needs are asked for. */
  begin(ordinal: number): void {
    const row = this.#table.own(ordinal)
    row.wasReady = false
    row.lostStarts = 0
    row.crashes = 0
    row.crashesToCome = 0
    row.stoppedForFunds = false
    row.failReason = ''
    this.#setStatus(row, 'initializing')
    // A model of the catalog runs on GPUs of the provider, which are there.
    if (row.plan.type !== 'llm') {
      this.#setStatus(row, 'running')
      return
    }
    row.desired = Math.max(1, this.#world.autoscaler.wanted(row))
    row.leaning = 0
    this.ask(ordinal, row.desired, this.#world.profile.timings.placementDelay)
    this.refresh(ordinal)
  }

  /** Asks for instances until there are `wanted`: none while the account is suspended, and none over the GPU limit. */
  ask(ordinal: number, wanted: number, delay: Micros): void {
    const { limits, instances, ledger } = this.#world
    const { suspended } = ledger
    if (suspended !== undefined && wanted > alive(this.#table.read(ordinal))) {
      this.#world.happened(this.#table.own(ordinal), 'deployment.limited', { suspended })
      return
    }
    for (let missing = wanted - alive(this.#table.read(ordinal)); missing > 0; missing--) {
      const row = this.#table.read(ordinal)
      if (!limits.allows(row.gpu, row.numGpus)) {
        this.#world.happened(this.#table.own(ordinal), 'deployment.limited', { gpu: row.gpu })
        return
      }
      instances.ask(ordinal, delay)
    }
  }

  /** Gives a deployment its offered load. */
  offer(ordinal: number, load: OfferedLoad): void {
    const { chance, clock } = this.#world
    const row = this.#table.own(ordinal)
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
    row.servedAt = clock.now
    this.#world.chronicle.loadChanged(row, row.load)
  }

  /** Asks for the instances that it lacks, unless the autoscaler is frozen. */
  replenish(ordinal: number, delay: Micros = this.#world.profile.timings.placementDelay): void {
    const row = this.#table.read(ordinal)
    if (!isOver(row.status) && !this.#world.conditions.autoscalerFrozen) this.ask(ordinal, row.desired, delay)
    this.refresh(ordinal)
  }

  /**
   * Gives it other bounds. What lies outside them follows at once, and the load decides within them as ever; while the
   * autoscaler is frozen, or the deployment is over, they wait.
   */
  resize(ordinal: number, minInstances: number, maxInstances: number): void {
    const world = this.#world
    const row = this.#table.own(ordinal)
    if (row.minInstances === minInstances && row.maxInstances === maxInstances) return
    row.minInstances = minInstances
    row.maxInstances = maxInstances
    row.updatedAt = world.clock.now
    world.happened(row, 'deployment.resized', { min_instances: minInstances, max_instances: maxInstances })
    this.changed(ordinal)
    if (isOver(row.status) || world.conditions.autoscalerFrozen) return
    const before = row.desired
    // Without a load nothing asks for more than the least; what serves or starts is not let go before it idles.
    const asked = row.load ? before : Math.min(before, Math.max(1, minInstances))
    row.desired = Math.min(maxInstances, Math.max(minInstances, asked))
    row.leaning = 0
    if (row.desired > before) {
      world.happened(row, 'deployment.scaledUp', { from: before, to: row.desired })
      this.replenish(ordinal)
    } else if (row.desired < before) {
      world.happened(row, 'deployment.scaledDown', { from: before, to: row.desired })
      this.thin(ordinal)
    }
    if (row.load) world.autoscaler.look(ordinal)
    else this.workEnded(ordinal)
  }

  /** Instances that serve or are coming. */
  alive(ordinal: number): number {
    return alive(this.#table.read(ordinal))
  }

  /** Lets the instances go that it has too many: those that are coming before those that serve, the youngest first. */
  thin(ordinal: number): void {
    const { instances } = this.#world
    const row = this.#table.read(ordinal)
    let left = alive(row) - row.desired
    if (left <= 0) return
    for (const isReady of [false, true]) {
      // They stand in the order in which they were asked for.
      const all = this.#table.read(ordinal).instances
      for (let i = all.length - 1; i >= 0 && left > 0; i--) {
        const { state } = instances.read(all[i]!)
        if (state === 'draining' || (state === 'ready') !== isReady) continue
        instances.release(all[i]!)
        left--
      }
    }
    this.refresh(ordinal)
  }

  /** Instances serve faster, slower, more or fewer of them: load flows on at another rate. */
  capacityChanged(ordinal: number): void {
    const world = this.#world
    const seen = this.#table.read(ordinal)
    const share = this.#servingShare(seen)
    if (share === seen.servingShare) return
    world.autoscaler.settle(ordinal)
    const row = this.#table.own(ordinal)
    row.servingShare = share
    const slowness = share > 0 ? row.ready / share : 1
    if (slowness !== row.slowness) {
      row.slowness = slowness
      if (row.load && row.wasReady && !isOver(row.status)) world.autoscaler.lookSoon(row, ordinal)
    }
    world.batches.capacityChanged(ordinal)
    world.chronicle.servingChanged(ordinal)
  }

  #servingShare(row: Readonly<DeploymentRow>): number {
    const { instances, nodes } = this.#world
    if (nodes.areSound) return row.ready
    let share = 0
    for (const one of row.instances) {
      const { state, node } = instances.read(one)
      if (state === 'ready') share += 1 / nodes.read(node).slowdown
    }
    return share
  }

  /** A GPU limit rose or GPUs were given back: who was held back may ask again. */
  limitRaised(gpu: GpuType): void {
    for (const deployment of this.list()) {
      const row = this.#table.read(deployment.ordinal)
      if (row.gpu !== gpu || row.plan.base !== -2 || row.plan.type !== 'llm' || isOver(row.status)) continue
      if (alive(row) < row.desired) this.replenish(deployment.ordinal)
    }
  }

  /** The account is suspended no more: what runs may have the instances that it lacks. */
  suspensionEnded(): void {
    for (const { ordinal, type } of this.list()) {
      const row = this.#table.read(ordinal)
      if (type === 'llm' && !isOver(row.status) && alive(row) < row.desired) this.replenish(ordinal)
    }
  }

  stop(ordinal: number): void {
    const row = this.#table.own(ordinal)
    if (isOver(row.status)) return
    this.#end(row, 'stopped', '')
  }

  delete(ordinal: number): void {
    const row = this.#table.own(ordinal)
    if (row.status === 'deleted') return
    this.#end(row, 'deleted', '')
    if (this.#live.get(row.plan.modelName) === ordinal) this.#live.delete(row.plan.modelName)
  }

  fail(ordinal: number, reason: string): void {
    const row = this.#table.own(ordinal)
    if (isOver(row.status)) return
    this.#end(row, 'failed', reason)
  }

  /** An instance is ready: the deployment runs. */
  instanceReady(ordinal: number): void {
    const world = this.#world
    const row = this.#table.own(ordinal)
    row.wasReady = true
    row.lostStarts = 0
    this.meter(ordinal)
    this.refresh(ordinal)
    if (row.load) world.autoscaler.look(ordinal)
    else if (row.minInstances === 0) this.#planIdle(ordinal, row)
    world.inference.capacityCame(ordinal)
  }

  on(event: EventName, ordinal: number): void {
    if (event === 'deployment.scaleDue') {
      this.#table.own(ordinal).scale = 0
      this.#world.autoscaler.look(ordinal)
    } else this.#idled(ordinal)
  }

  /** Nobody has asked for a while and the deployment may go to zero. It stays `running` with no instance. */
  #idled(ordinal: number): void {
    const row = this.#table.own(ordinal)
    row.idle = 0
    // What a batch works on is not idle; its end begins the wait anew.
    const { batches, inference } = this.#world
    if (row.minInstances > 0 || batches.workFor(ordinal) || inference.workFor(ordinal)) return
    row.desired = 0
    this.#world.happened(row, 'deployment.idled')
    this.wentToZero(ordinal)
  }

  /** Work came for a deployment that sleeps at zero: it asks for an instance at once. */
  wake(ordinal: number): void {
    const row = this.#table.own(ordinal)
    if (row.status !== 'running' || row.desired > 0) return
    row.desired = 1
    this.#world.happened(row, 'deployment.woken')
    this.replenish(ordinal, 0)
  }

  /** A request came: it does not idle. */
  workBegan(ordinal: number): void {
    const { idle } = this.#table.read(ordinal)
    if (idle === 0) return
    this.#world.cancel(idle)
    this.#table.own(ordinal).idle = 0
  }

  /** Work on a deployment is over: with `min_instances` 0 it may go to zero after a while. */
  workEnded(ordinal: number): void {
    const world = this.#world
    const row = this.#table.own(ordinal)
    if (row.status !== 'running' || row.minInstances > 0 || row.ready === 0) return
    if (row.load) world.autoscaler.look(ordinal)
    else this.#planIdle(ordinal, row)
  }

  #planIdle(ordinal: number, row: DeploymentRow): void {
    const world = this.#world
    world.cancel(row.idle)
    row.idle = world.plan(world.profile.timings.idleToZero, 'deployment.idle', ordinal)
  }

  /** Its last instance goes: it stays `running` with none, or stops, as the provider's policy says. */
  wentToZero(ordinal: number): void {
    if (this.#world.profile.policies.idleToZero === 'stopped') this.stop(ordinal)
    else this.thin(ordinal)
  }

  /** Stops for lack of funds: funds may bring it back. */
  stopForFunds(ordinal: number): void {
    // What somebody stopped before stays so when funds come back.
    if (isOver(this.#table.read(ordinal).status)) return
    this.stop(ordinal)
    this.#table.own(ordinal).stoppedForFunds = true
  }

  /** Funds are back: what was stopped for lack of them starts, where the provider's policy says so. */
  fundsReturned(): void {
    if (this.#world.profile.policies.balanceReturns !== 'restart') return
    for (const deployment of this.list(new Set<DeploymentStatus>(['stopped']))) {
      if (this.#table.read(deployment.ordinal).stoppedForFunds) deployment.start()
    }
  }

  /** An instance was lost: another is asked for after a while, until the retries are spent. */
  lostInstance(ordinal: number, reason: string): void {
    const { retryAfter } = this.#world.profile.timings
    const row = this.#table.own(ordinal)
    if (isOver(row.status)) {
      this.refresh(ordinal)
      return
    }
    if (row.lostStarts >= retryAfter.length && row.ready === 0) {
      this.fail(ordinal, `the last of ${row.lostStarts + 1} starts was lost: ${reason}`)
      return
    }
    const delay = retryAfter[Math.min(row.lostStarts, retryAfter.length - 1)] ?? 0
    row.lostStarts++
    this.replenish(ordinal, delay)
    this.refresh(ordinal)
  }

  /**
   * The engine of an instance exited, after it had been ready for `ran`: it is started again, later each time, until the
   * back-off is spent.
   */
  crashedInstance(ordinal: number, reason: string, ran: Micros): void {
    const { crashLoopBackOff, crashLoopForgotten } = this.#world.profile.timings
    const row = this.#table.own(ordinal)
    if (isOver(row.status)) {
      this.refresh(ordinal)
      return
    }
    row.crashes = ran > crashLoopForgotten ? 1 : row.crashes + 1
    if (row.crashes > crashLoopBackOff.length && row.ready === 0) {
      this.fail(ordinal, `crash loop: ${row.crashes} exits in a row, the last: ${reason}`)
      return
    }
    this.replenish(ordinal, crashLoopBackOff[Math.min(row.crashes, crashLoopBackOff.length) - 1] ?? 0)
    this.refresh(ordinal)
  }

  /** Why the engine of a deployment would not take its arguments; an image of one's own takes what it likes. */
  badArguments({ plan }: Readonly<DeploymentRow>): string | undefined {
    if (plan.extraArgs.length === 0 || plan.containerImage !== '') return undefined
    return this.#world.profile.policies.unknownEngineArgs === 'crash' ? engineArgsProblem(plan.extraArgs) : undefined
  }

  /**
   * Makes the engine of the oldest instance that has one exit, and the next starts as well until it was `times`; false
   * when none has.
   */
  crash(ordinal: number, times: number): boolean {
    const { instances } = this.#world
    const engines = this.#table
      .read(ordinal)
      .instances.filter(one => HAS_ENGINE.has(instances.read(one).state))
      .sort(
        (a, b) =>
          Number(instances.read(b).state === 'ready') - Number(instances.read(a).state === 'ready') ||
          instances.read(a).nth - instances.read(b).nth,
      )
    const [oldest] = engines
    if (oldest === undefined) return false
    const row = this.#table.own(ordinal)
    row.crashesToCome = times - 1
    this.#world.command(row, 'deployment.crashed', { times })
    instances.crash(oldest, ENGINE_CRASH)
    return true
  }

  /** An instance came, moved from one state to another, or left: the counts follow. */
  moved(ordinal: number, from: InstanceState | undefined, to: InstanceState | undefined): void {
    const row = this.#table.own(ordinal)
    if (from !== undefined) count(row, from, -1)
    if (to !== undefined) count(row, to, 1)
  }

  /** Follows the furthest instance, and `updated_at` follows whatever of it a client can see. */
  refresh(ordinal: number): void {
    const { clock } = this.#world
    const seen = this.#table.read(ordinal)
    const running = seen.ready
    const pending = seen.waiting + seen.pulling + seen.starting
    if (running !== seen.shownRunning || pending !== seen.shownPending) {
      const row = this.#table.own(ordinal)
      row.shownRunning = running
      row.shownPending = pending
      row.updatedAt = clock.now
      this.changed(ordinal)
    }
    if (isOver(seen.status)) return
    const status = seen.wasReady ? 'running' : this.#statusOfFurthest(seen)
    if (seen.status !== status) this.#setStatus(this.#table.own(ordinal), status)
  }

  /** Something a client can see has changed. */
  changed(ordinal: number): void {
    this.#texts[ordinal] = undefined
    this.#world.seen()
  }

  setStatus(ordinal: number, status: DeploymentStatus, failReason = ''): void {
    const row = this.#table.own(ordinal)
    row.failReason = failReason
    this.#setStatus(row, status)
  }

  /** Tells the ledger how many instances are billable: from ready to gone. */
  meter(ordinal: number): void {
    const row = this.#table.read(ordinal)
    if (row.meter < 0) return
    const placed = this.#world.profile.policies.billFrom === 'placed'
    const units = placed
      ? row.instances.filter(one => this.#world.instances.read(one).node >= 0).length
      : row.ready + row.draining
    this.#world.ledger.setUnits(row.meter, units)
  }

  /** Why the image or the weights of a deployment are refused, as things stand now. */
  refusal(row: Readonly<DeploymentRow>): string | undefined {
    const { weights, plan } = row
    const image = badImage(plan.containerImage)
    if (image !== undefined || weights.source === 'catalog') return image
    const { hub, hubPolicy } = this.#world.store
    return hubRefusal(hub.get(weights.repo), hubPolicy, weights, this.#world.conditions.repository(weights.repo))
      ?.reason
  }

  /** The record's text as it is kept, for whoever checks it; undefined when none is. */
  keptText(ordinal: number): string | undefined {
    return this.#texts[ordinal]
  }

  text(ordinal: number): string {
    let text = this.#texts[ordinal]
    if (text === undefined) {
      text = JSON.stringify(this.record(ordinal))
      this.#texts[ordinal] = text
    }
    return text
  }

  record(ordinal: number): DeploymentRecord {
    const { clock } = this.#world
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
      instances: shownInstances(row),
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
    return this.#world.profile.policies.foldDownloadingIntoDeploying ? 'deploying' : 'downloading'
  }

  #end(row: DeploymentRow, status: 'stopped' | 'failed' | 'deleted', reason: string): void {
    const world = this.#world
    const ordinal = this.#byId.get(row.id)!
    world.cancel(row.idle)
    world.cancel(row.next)
    world.cancel(row.scale)
    row.scale = 0
    row.desired = 0
    row.idle = 0
    row.next = 0
    row.failReason = reason
    this.#setStatus(row, status)
    for (const instance of row.instances) world.instances.release(instance)
    this.refresh(ordinal)
    world.placement.wake()
  }

  #setStatus(row: DeploymentRow, status: DeploymentStatus): void {
    if (row.status === status) return
    const { clock } = this.#world
    row.status = status
    row.updatedAt = clock.now
    this.#world.chronicle.statusChanged(row)
    this.#world.happened(row, BECAME[status], row.failReason === '' ? undefined : { reason: row.failReason })
    const ordinal = this.#byId.get(row.id)!
    this.changed(ordinal)
    this.#world.batches.capacityChanged(ordinal)
    if (isOver(status)) this.#world.inference.deploymentOver(ordinal)
    if (row.adapters.length > 0) this.#world.adapters.baseChanged(ordinal)
    if (row.plan.base >= 0 && isOver(status)) this.#world.adapters.slots.ended(ordinal)
  }

  #weightsOf(spec: LlmSpec): DeployedWeights {
    const { store } = this.#world
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
function count(row: DeploymentRow, state: InstanceState, more: number): void {
  switch (state) {
    case 'pending':
    case 'placed':
      row.waiting += more
      break
    case 'pulling':
      row.pulling += more
      break
    case 'loading':
    case 'warming':
      row.starting += more
      break
    case 'ready':
      row.ready += more
      break
    case 'draining':
      row.draining += more
      break
  }
}

/** Instances that serve or are coming. */
function alive(row: Readonly<DeploymentRow>): number {
  return row.waiting + row.pulling + row.starting + row.ready
}

/** An adapter has no instances of its own: it counts as one copy, there or coming. */
function shownInstances(row: Readonly<DeploymentRow>): { running: number; pending: number } {
  if (row.plan.base === -2) return { running: row.shownRunning, pending: row.shownPending }
  const running = row.status === 'running' ? 1 : 0
  return { running, pending: running === 0 && !isOver(row.status) ? 1 : 0 }
}
