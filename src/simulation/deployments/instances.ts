import { draw } from '../../data/profiles/distribution.ts'
import type { EntryHandle } from '../../kernel/agenda.ts'
import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import { type Generation, Row, Table } from '../../kernel/table.ts'
import type { GpuQuotas } from '../account/gpu-quotas.ts'
import type { SimulationContext } from '../context.ts'
import type { EventName } from '../event-names.ts'
import type { Downloads } from '../fleet/downloads.ts'
import type { Environment } from '../fleet/environment.ts'
import type { Nodes } from '../fleet/nodes.ts'
import { bitCount, hasImage, hasWeights } from '../fleet/nodes.ts'
import type { Placement } from '../fleet/placement.ts'
import type { GpuRequest, TenantKind } from '../fleet/tenants.ts'
import { invalidImageReason, memoryShortage } from '../fleet/weights.ts'
import type { DeploymentLogs } from '../recording/deployment-logs.ts'
import type { UsageHistory } from '../recording/history.ts'
import { type InstanceStage, InstanceTimeline, type Loss } from '../recording/instance-timeline.ts'
import type { DeploymentRow } from './deployment-row.ts'
import type { BatchWork, RequestWork } from './work.ts'

/** The life of an instance, in order. */
export const INSTANCE_STATES = [
  'pending',
  'placed',
  'pulling',
  'loading',
  'warming',
  'ready',
  'draining',
] as const satisfies readonly InstanceStage[]
/** `gone` has no row: an instance that is gone has left its table. */
export type InstanceState = (typeof INSTANCE_STATES)[number]

/** What is recorded when an instance enters a state: made once, because a text made anew is hashed anew. */
const STATE_ENTRY_KIND = Object.fromEntries(INSTANCE_STATES.map(state => [state, `instance.${state}`])) as Readonly<
  Record<InstanceState, string>
>

const IMAGE_PULL = purpose('instance.imagePull')
const DOWNLOAD = purpose('instance.download')
const WARM_UP = purpose('instance.warmUp')

/** The exit of an engine that a command or an earlier crash brought about. */
export const ENGINE_CRASH: Loss = { cause: 'engine_exit', reason: 'engine exited with code 1' }

/** A LoRA adapter in a slot of an instance. */
export interface ResidentAdapter {
  /** Ordinal of the adapter. */
  readonly adapter: number
  readonly usedAt: Micros
  /** Batches and requests that use it now: while there are any it keeps its slot. */
  readonly users: number
  /** The end of its load, while that is under way; 0 once it answers. */
  readonly loadEvent: EntryHandle
}

/** One running copy of a deployment on GPUs of one node. */
export class InstanceRow extends Row {
  readonly deployment: number
  /** Which instance of its deployment this is, from 0: the index of its draws. */
  readonly index: number
  state: InstanceState = 'pending'
  since: Micros
  node = -1
  /** GPUs it holds on its node, as bits. */
  gpus = 0
  /** The next event of its life. */
  next = 0
  /** When it counts as lost for not becoming ready. */
  readyDeadlineEvent = 0
  /** Its download: bytes that are left, the rate it could have, the rate it has, and since when. 0 when there is none. */
  bytesLeft = 0
  ownRate = 0
  rate = 0
  rateSince: Micros = 0
  /** Adapters in its slots. Replaced, never edited. */
  adapters: readonly ResidentAdapter[] = []
  /** When it entered what: for reports. */
  readonly timeline: InstanceTimeline

  constructor(
    generation: Generation,
    id: string,
    deployment: number,
    nth: number,
    since: Micros,
    life = new InstanceTimeline(since),
  ) {
    super(generation, id)
    this.deployment = deployment
    this.index = nth
    this.since = since
    this.timeline = life
  }

  copy(generation: Generation): InstanceRow {
    const copy = new InstanceRow(generation, this.id, this.deployment, this.index, this.since, this.timeline.copy())
    copy.state = this.state
    copy.node = this.node
    copy.gpus = this.gpus
    copy.next = this.next
    copy.readyDeadlineEvent = this.readyDeadlineEvent
    copy.bytesLeft = this.bytesLeft
    copy.ownRate = this.ownRate
    copy.rate = this.rate
    copy.rateSince = this.rateSince
    copy.adapters = this.adapters
    return copy.takeHash(this)
  }
}

/** The parts below that it uses. */
export interface InstancesParts {
  readonly environment: Environment
  readonly nodes: Nodes
  readonly placement: Placement
  readonly downloads: Downloads
  readonly gpuQuotas: GpuQuotas
  readonly history: UsageHistory
  readonly deploymentLogs: DeploymentLogs
}

/** What instances call above them. */
export interface InstancesPorts {
  readonly deployments: InstanceOwner
  readonly slots: {
    assignSlots(base: number): void
    cancelLoads(row: InstanceRow): void
  }
  readonly batches: BatchWork
  readonly inferenceRequests: RequestWork
}

/** The deployments, as their instances see them. */
export interface InstanceOwner {
  read(ordinal: number): Readonly<DeploymentRow>
  writable(ordinal: number): DeploymentRow
  /** An instance came, moved from one state to another, or left. */
  countMove(ordinal: number, from: InstanceState | undefined, to: InstanceState | undefined): void
  updateStatus(ordinal: number): void
  updateMeter(ordinal: number): void
  onInstanceReady(ordinal: number): void
  onInstanceLost(ordinal: number, reason: string): void
  onInstanceCrashed(ordinal: number, reason: string, readyTime: Micros): void
  onCapacityChanged(ordinal: number): void
  fail(ordinal: number, reason: string): void
  engineArgsProblem(row: Readonly<DeploymentRow>): string | undefined
  pullRefusal(row: Readonly<DeploymentRow>): string | undefined
}

/** The instances of all deployments: pending → placed → pulling → loading → warming → ready → draining → gone. */
export class Instances implements TenantKind {
  readonly #context: SimulationContext
  readonly #parts: InstancesParts
  #ports!: InstancesPorts
  readonly #table: Table<InstanceRow>

  constructor(context: SimulationContext, parts: InstancesParts, origin?: Instances) {
    this.#context = context
    this.#parts = parts
    this.#table = origin
      ? origin.#table.fork(origin.#context.generation, context.generation)
      : new Table(context.generation)
  }

  /** Binds what lies above: the world does it once. */
  connect(ports: InstancesPorts): void {
    this.#ports = ports
  }

  archive(archive: Archive): void {
    this.#table.archive(archive)
  }

  get count(): number {
    return this.#table.count
  }

  read(ordinal: number): Readonly<InstanceRow> {
    return this.#table.read(ordinal)
  }

  writable(ordinal: number): InstanceRow {
    return this.#table.writable(ordinal)
  }

  /** The repository whose weights an instance reads. */
  weightsOf(ordinal: number): string {
    return this.#deploymentOf(ordinal).weights.repo
  }

  /** The image that an instance runs; '' is the provider's own serving image. */
  imageOf(ordinal: number): string {
    return this.#deploymentOf(ordinal).plan.containerImage
  }

  /** Plans the next event of an instance; it happens only while the instance is there. */
  schedule(ordinal: number, delay: Micros, event: EventName): number {
    return this.#context.schedule(delay, event, ordinal, this.#table.useCount(ordinal))
  }

  gpuRequestOf(ordinal: number): GpuRequest {
    const { gpu, numGpus } = this.#deploymentOf(ordinal)
    return { gpu, gpus: numGpus }
  }

  scheduleDownloadEnd(ordinal: number, delay: Micros, isTimeout: boolean): EntryHandle {
    return this.schedule(ordinal, delay, isTimeout ? 'instance.downloadTimedOut' : 'instance.weightsPulled')
  }

  entries(): Generator<[number, Readonly<InstanceRow>]> {
    return this.#table.entries()
  }

  /** Asks for an instance: it is pending now and looks for a node after `delay`. */
  request(deployment: number, delay: Micros): void {
    const row = this.#ports.deployments.writable(deployment)
    const index = row.nextInstanceIndex++
    const instance = new InstanceRow(
      this.#table.generation,
      `${row.id}-${index}`,
      deployment,
      index,
      this.#context.clock.now,
    )
    const ordinal = this.#table.add(instance)
    row.instances = [...row.instances, ordinal]
    this.#ports.deployments.countMove(deployment, undefined, 'pending')
    this.#parts.gpuQuotas.acquire(row.gpu, row.numGpus)
    this.#context.record(instance, 'instance.pending', { deployment: row.id })
    instance.next = this.schedule(ordinal, delay, 'instance.placementDue')
  }

  onEvent(event: EventName, ordinal: number, useCount: number): void {
    if (this.#table.useCount(ordinal) !== useCount) throw new Error(`Failed to fire ${event}: its instance has gone.`)
    const instance = this.#table.writable(ordinal)
    if (event === 'instance.overdue') instance.readyDeadlineEvent = 0
    else instance.next = 0
    switch (event) {
      case 'instance.placementDue':
        this.#parts.placement.enqueue(ordinal)
        return
      case 'instance.containerStarted':
        this.#pullImage(ordinal, instance)
        break
      case 'instance.imagePulled':
        this.#downloadWeights(ordinal, instance)
        break
      case 'instance.weightsRefused':
        this.#onPullRefused(ordinal, instance)
        return
      case 'instance.imageTimedOut':
        this.lose([ordinal], { cause: 'registry', reason: 'the image registry did not answer' })
        return
      case 'instance.downloadTimedOut':
        this.lose([ordinal], { cause: 'hub', reason: 'the hub did not answer' })
        return
      case 'instance.weightsPulled':
        this.#parts.downloads.end(instance)
        this.#loadWeights(ordinal, instance)
        break
      case 'instance.outOfMemory':
        this.#onOutOfMemory(instance)
        return
      case 'instance.engineExited':
        this.crash(ordinal, { cause: 'engine_exit', reason: this.#exitReason(instance) })
        return
      case 'instance.loaded':
        this.#warmUp(ordinal, instance)
        break
      case 'instance.warmed':
        this.#becomeReady(instance)
        break
      case 'instance.overdue':
        this.lose([ordinal], { cause: 'not_ready_in_time', reason: 'it was not ready in time' })
        return
      case 'instance.drained':
        this.#finish(ordinal)
        return
    }
    this.#ports.deployments.updateStatus(instance.deployment)
  }

  /** Tries to give a waiting instance its GPUs; false when no single node has them. */
  place(ordinal: number): boolean {
    const deployment = this.#deploymentOf(ordinal)
    const node = this.#parts.nodes.chooseNode(deployment.gpu, deployment.numGpus, deployment.weights.repo)
    if (node < 0) return false
    const instance = this.#table.writable(ordinal)
    instance.node = node
    instance.gpus = this.#parts.nodes.allocate(node, deployment.numGpus, ordinal)
    if (this.#context.profile.policies.billFrom === 'placed') this.#ports.deployments.updateMeter(instance.deployment)
    this.#enterState(instance, 'placed', { node: this.#parts.nodes.read(node).id, gpus: bitCount(instance.gpus) })
    instance.next = this.schedule(ordinal, this.#context.profile.timings.containerStart, 'instance.containerStarted')
    this.#ports.deployments.updateStatus(instance.deployment)
    return true
  }

  /** Instances die with what carried them; their deployment asks for others. */
  lose(ordinals: readonly number[], loss: Loss): void {
    this.#removeLost(ordinals, 'instance.lost', loss)
  }

  /** The engine of an instance exits; its deployment starts another, later each time it happens again. */
  crash(ordinal: number, loss: Loss): void {
    this.#removeLost([ordinal], 'instance.crashed', loss)
  }

  #removeLost(ordinals: readonly number[], kind: 'instance.lost' | 'instance.crashed', loss: Loss): void {
    const { reason } = loss
    // Whoever is lost in one blow is lost before anybody asks for another: replacements must not count as losses.
    const lostInstances = ordinals.map(ordinal => ({ ordinal, row: this.#table.read(ordinal) }))
    for (const { ordinal, row } of lostInstances) {
      this.#context.record(this.#table.writable(ordinal), kind, { reason, state: row.state })
      if (row.state === 'ready') this.#ports.batches.onInstanceLost(row.deployment)
      this.#remove(ordinal, loss)
    }
    for (const deployment of new Set(lostInstances.map(({ row }) => row.deployment))) {
      const lostActive = lostInstances.find(({ row }) => row.deployment === deployment && row.state !== 'draining')
      if (lostActive === undefined) this.#ports.deployments.updateStatus(deployment)
      else if (kind === 'instance.lost') this.#ports.deployments.onInstanceLost(deployment, reason)
      else {
        const { state, since } = lostActive.row
        this.#ports.deployments.onInstanceCrashed(
          deployment,
          reason,
          state === 'ready' ? this.#context.clock.now - since : 0,
        )
      }
      this.#ports.slots.assignSlots(deployment)
    }
    this.#parts.placement.scheduleRound()
  }

  /** Tells an instance to leave: a ready one drains first. */
  release(ordinal: number): void {
    const instance = this.#table.writable(ordinal)
    if (instance.state === 'draining') return
    if (instance.state !== 'ready') {
      this.#finish(ordinal)
      return
    }
    this.#enterState(instance, 'draining')
    this.#ports.slots.cancelLoads(instance)
    this.#ports.slots.assignSlots(instance.deployment)
    instance.next = this.schedule(ordinal, this.#context.profile.timings.drain, 'instance.drained')
  }

  /** Builds an instance of a fixture in a later state than pending; false when no node has room. */
  startInState(ordinal: number, state: InstanceState): boolean {
    const instance = this.#table.writable(ordinal)
    this.#context.cancel(instance.next)
    instance.next = 0
    if (state === 'pending') {
      instance.next = this.#context.schedule(
        this.#context.profile.timings.placementDelay,
        'instance.placementDue',
        ordinal,
        this.#table.useCount(ordinal),
      )
      return true
    }
    if (!this.place(ordinal)) return false
    this.#context.cancel(instance.next)
    instance.next = 0
    if (state === 'placed' || state === 'pulling') this.#pullImage(ordinal, instance)
    else if (state === 'loading' || state === 'warming') this.#loadWeights(ordinal, instance)
    else this.#becomeReady(instance)
    return true
  }

  #deploymentOf(ordinal: number): Readonly<DeploymentRow> {
    return this.#ports.deployments.read(this.#table.read(ordinal).deployment)
  }

  #enterState(instance: InstanceRow, state: InstanceState, fields?: Record<string, string | number>): void {
    const { deployments } = this.#ports
    const { clock } = this.#context
    const wasReady = instance.state === 'ready'
    deployments.countMove(instance.deployment, instance.state, state)
    instance.state = state
    instance.since = clock.now
    instance.timeline.enter(state, clock.now)
    this.#context.record(instance, STATE_ENTRY_KIND[state], fields)
    if (wasReady || state === 'ready') deployments.onCapacityChanged(instance.deployment)
  }

  #pullImage(ordinal: number, instance: InstanceRow): void {
    const { chance, profile } = this.#context
    const { nodes, environment } = this.#parts
    const { containerImage } = this.#deploymentOf(ordinal).plan
    const isCached = hasImage(nodes.read(instance.node), containerImage)
    this.#enterState(instance, 'pulling', { image: isCached ? 'cached' : 'fetched' })
    if (invalidImageReason(containerImage) !== undefined) {
      instance.next = this.schedule(ordinal, profile.timings.hubRefusal, 'instance.weightsRefused')
      return
    }
    if (!isCached && environment.registryDown) {
      instance.next = this.schedule(ordinal, profile.timings.hubTimeout, 'instance.imageTimedOut')
      return
    }
    const { key } = this.#deploymentOf(ordinal)
    const duration = isCached ? 0 : draw(profile.timings.imagePull, chance, key, IMAGE_PULL, instance.index)
    instance.next = this.schedule(ordinal, duration, 'instance.imagePulled')
  }

  #downloadWeights(ordinal: number, instance: InstanceRow): void {
    const { timings } = this.#context.profile
    const deployment = this.#deploymentOf(ordinal)
    this.#parts.nodes.cacheImage(instance.node, deployment.plan.containerImage)
    instance.timeline.pulled = this.#context.clock.now
    const node = this.#parts.nodes.read(instance.node)
    const isCached = hasWeights(node, deployment.weights.repo)
    if (this.#ports.deployments.pullRefusal(deployment) !== undefined) {
      instance.next = this.schedule(ordinal, timings.hubRefusal, 'instance.weightsRefused')
      return
    }
    if (!isCached && node.diskFull) {
      this.lose([ordinal], { cause: 'disk', reason: `no space left on ${node.id}` })
      return
    }
    this.#context.record(instance, 'instance.imagePulled', { weights: isCached ? 'cached' : 'fetched' })
    if (isCached) instance.next = this.schedule(ordinal, 0, 'instance.weightsPulled')
    else {
      const rate = draw(timings.downloadRate, this.#context.chance, deployment.key, DOWNLOAD, instance.index)
      this.#parts.downloads.start(ordinal, deployment.weights.bytes, rate)
    }
  }

  #onPullRefused(ordinal: number, instance: InstanceRow): void {
    const reason = this.#ports.deployments.pullRefusal(this.#deploymentOf(ordinal))
    // The repository may have opened while the answer was under way; then the download begins after all.
    if (reason === undefined) this.#downloadWeights(ordinal, instance)
    else this.#failDeployment(instance, 'instance.refused', reason)
  }

  #loadWeights(ordinal: number, instance: InstanceRow): void {
    const { nodes } = this.#parts
    const { timings } = this.#context.profile
    const deployment = this.#deploymentOf(ordinal)
    nodes.cacheWeights(instance.node, deployment.weights.repo, deployment.weights.bytes)
    this.#enterState(instance, 'loading')
    instance.readyDeadlineEvent = this.schedule(ordinal, timings.readyWithin, 'instance.overdue')
    if (deployment.remainingCrashes > 0 || this.#ports.deployments.engineArgsProblem(deployment) !== undefined) {
      instance.next = this.schedule(ordinal, timings.crashAfter, 'instance.engineExited')
      return
    }
    const duration = timings.loadFixed + (deployment.weights.bytes / timings.loadRate) * 1e6
    const shortage = memoryShortage(deployment.weights, deployment.gpu, deployment.numGpus, deployment.maxBatchSize)
    instance.next = this.schedule(
      ordinal,
      duration,
      shortage === undefined ? 'instance.loaded' : 'instance.outOfMemory',
    )
  }

  #exitReason(instance: Readonly<InstanceRow>): string {
    const { deployments } = this.#ports
    const argsProblem = deployments.engineArgsProblem(deployments.read(instance.deployment))
    if (argsProblem !== undefined) return `engine exited with code 2: ${argsProblem}`
    deployments.writable(instance.deployment).remainingCrashes--
    return ENGINE_CRASH.reason
  }

  #onOutOfMemory(instance: InstanceRow): void {
    const { weights, gpu, numGpus, maxBatchSize } = this.#ports.deployments.read(instance.deployment)
    const reason = memoryShortage(weights, gpu, numGpus, maxBatchSize) ?? 'CUDA out of memory'
    this.#failDeployment(instance, 'instance.outOfMemory', reason)
  }

  /** What ends the whole deployment shows in the log of the instance that met it. */
  #failDeployment({ deployment, index }: Readonly<InstanceRow>, kind: string, reason: string): void {
    this.#parts.deploymentLogs.append(deployment, index, kind, { reason })
    this.#ports.deployments.fail(deployment, reason)
  }

  #warmUp(ordinal: number, instance: InstanceRow): void {
    const { chance } = this.#context
    const { timings } = this.#context.profile
    const { weights, key } = this.#deploymentOf(ordinal)
    this.#enterState(instance, 'warming')
    const { median, perGigabyte, sigma } = timings.warmUp
    const medianDuration = median + (weights.bytes / 1e9) * perGigabyte
    instance.next = this.schedule(
      ordinal,
      chance.lognormal(medianDuration, sigma, key, WARM_UP, instance.index),
      'instance.warmed',
    )
  }

  #becomeReady(instance: InstanceRow): void {
    this.#context.cancel(instance.readyDeadlineEvent)
    instance.readyDeadlineEvent = 0
    this.#enterState(instance, 'ready')
    this.#ports.deployments.onInstanceReady(instance.deployment)
    this.#ports.slots.assignSlots(instance.deployment)
  }

  /** Its time is over: it leaves and whoever waits may have its GPUs. */
  #finish(ordinal: number): void {
    const instance = this.#table.writable(ordinal)
    this.#context.record(instance, 'instance.gone')
    this.#remove(ordinal)
    this.#ports.deployments.updateStatus(instance.deployment)
    this.#parts.placement.scheduleRound()
  }

  #remove(ordinal: number, loss?: Loss): void {
    const instance = this.#table.writable(ordinal)
    this.#context.cancel(instance.next)
    this.#context.cancel(instance.readyDeadlineEvent)
    this.#ports.slots.cancelLoads(instance)
    if (instance.ownRate > 0) this.#parts.downloads.end(instance)
    if (instance.node >= 0) this.#parts.nodes.release(instance.node, instance.gpus, ordinal)
    else this.#parts.placement.dequeue(ordinal)
    const deployment = this.#ports.deployments.writable(instance.deployment)
    deployment.instances = deployment.instances.filter(other => other !== ordinal)
    this.#parts.history.onInstanceEnded(deployment, instance.timeline, loss?.cause)
    this.#ports.deployments.countMove(instance.deployment, instance.state, undefined)
    this.#parts.gpuQuotas.release(deployment.gpu, deployment.numGpus)
    this.#ports.inferenceRequests.onInstanceLost(ordinal, loss?.reason ?? 'its instance was stopped')
    this.#table.remove(ordinal)
    this.#ports.deployments.updateMeter(instance.deployment)
    if (instance.state === 'ready') this.#ports.deployments.onCapacityChanged(instance.deployment)
  }
}
