import { draw } from '../../data/profiles/distribution.ts'
import type { EntryHandle } from '../../kernel/agenda.ts'
import type { Micros } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import { withItem, withoutItem } from '../../lib/lists.ts'
import type { GpuQuotas } from '../account/gpu-quotas.ts'
import { assertHandled, type EventName, type EventOf } from '../events.ts'
import { bitCount } from '../fleet/node-row.ts'
import type { Placement } from '../fleet/placement.ts'
import type { GpuRequest, TenantKind } from '../fleet/tenants.ts'
import { TablePart } from '../part.ts'
import type { UsageHistory } from '../recording/history.ts'
import { InstanceTimeline, type Loss } from '../recording/instance-timeline.ts'
import type { DeploymentRow } from './deployment-row.ts'
import { entryKindOf, InstanceRow, type InstanceState } from './instance-row.ts'
import type { InstancesPorts } from './instance-speed.ts'
import { InstanceStartup, type InstanceStartupParts } from './instance-startup.ts'

const PLACEMENT = purpose('instance.placement')
const CONTAINER_START = purpose('instance.containerStart')

/** The parts below that it uses. */
export interface InstancesParts extends InstanceStartupParts {
  readonly placement: Placement
  readonly gpuQuotas: GpuQuotas
  readonly history: UsageHistory
}

/** The instances of all deployments: pending → placed → pulling → loading → warming → ready → draining → gone. */
export class Instances extends TablePart<InstanceRow, InstancesParts, InstancesPorts> implements TenantKind {
  protected readonly table = this.tableOf(InstanceRow)
  readonly #startup = new InstanceStartup(this.context, this.parts, this)

  /** Connects the parts above. The world calls it once. */
  override connect(ports: InstancesPorts): void {
    super.connect(ports)
    this.#startup.connect(ports)
  }

  /** Returns the repository of the weights that an instance reads. */
  weightsOf(ordinal: number): string {
    return this.#deploymentOf(ordinal).weights.repo
  }

  /** Returns the image that an instance runs; '' is the provider's own serving image. */
  imageOf(ordinal: number): string {
    return this.#deploymentOf(ordinal).plan.containerImage
  }

  /** Schedules the next event of an instance. It fires only while the instance exists. */
  schedule(ordinal: number, delay: Micros, event: EventName): number {
    return this.context.schedule(delay, event, ordinal, this.table.useCount(ordinal))
  }

  gpuRequestOf(ordinal: number): GpuRequest {
    const { gpu, numGpus } = this.#deploymentOf(ordinal)
    return { gpu, gpus: numGpus }
  }

  scheduleDownloadEnd(ordinal: number, delay: Micros, isTimeout: boolean): EntryHandle {
    return this.schedule(ordinal, delay, isTimeout ? 'instance.downloadTimedOut' : 'instance.weightsPulled')
  }

  /** Requests an instance. It is pending now and joins the placement queue after `delay`, which is drawn by default. */
  request(deployment: number, delay?: Micros): void {
    const row = this.ports.deployments.writable(deployment)
    const index = row.nextInstanceIndex++
    const { now } = this.context.clock
    const initial = { deployment, index, since: now, timeline: new InstanceTimeline(now) }
    const instance = new InstanceRow(this.table.generation, `${row.id}-${index}`, initial)
    const ordinal = this.table.add(instance)
    row.instances = withItem(row.instances, ordinal)
    this.ports.deployments.countMove(deployment, undefined, 'pending')
    this.parts.gpuQuotas.acquire(row.gpu, row.numGpus)
    this.context.record(instance, 'instance.pending', { deployment: row.id })
    instance.next = this.schedule(ordinal, delay ?? this.#drawPlacementDelay(row, index), 'instance.placementDue')
  }

  onEvent(event: EventOf<'instances'>, ordinal: number, useCount: number): void {
    if (this.table.useCount(ordinal) !== useCount) throw new Error(`Failed to fire ${event}: its instance has gone.`)
    const instance = this.table.writable(ordinal)
    if (event === 'instance.overdue') instance.readyDeadlineEvent = 0
    else instance.next = 0
    switch (event) {
      case 'instance.placementDue':
        this.parts.placement.enqueue(ordinal)
        return
      case 'instance.containerStarted':
        this.#startup.pullImage(ordinal, instance)
        break
      case 'instance.imagePulled':
        this.#startup.downloadWeights(ordinal, instance)
        break
      case 'instance.weightsRefused':
        this.#startup.onPullRefused(ordinal, instance)
        return
      case 'instance.imageTimedOut':
        this.lose([ordinal], { cause: 'registry', reason: 'the image registry did not answer' })
        return
      case 'instance.downloadTimedOut':
        this.lose([ordinal], { cause: 'hub', reason: 'the hub did not answer' })
        return
      case 'instance.weightsPulled':
        this.parts.downloads.end(instance)
        this.#startup.loadWeights(ordinal, instance)
        break
      case 'instance.outOfMemory':
        this.#startup.onOutOfMemory(instance)
        return
      case 'instance.engineExited':
        this.crash(ordinal, { cause: 'engine_exit', reason: this.#startup.exitReason(instance) })
        return
      case 'instance.loaded':
        this.#startup.warmUp(ordinal, instance)
        break
      case 'instance.warmed':
        this.#startup.onWarmed(instance)
        this.#becomeReady(instance)
        break
      case 'instance.overdue':
        this.lose([ordinal], { cause: 'not_ready_in_time', reason: 'it was not ready in time' })
        return
      case 'instance.drained':
        this.#finish(ordinal)
        return
      case 'instance.noticeEnded':
        this.release(ordinal)
        break
      default:
        assertHandled(event)
    }
    this.ports.deployments.updateStatus(instance.deployment)
  }

  /** Places a pending instance on a node. Returns false if no single node has its GPUs. */
  place(ordinal: number): boolean {
    const deployment = this.#deploymentOf(ordinal)
    const node = this.parts.nodes.chooseNode(deployment.gpu, deployment.numGpus, deployment.weights.repo)
    if (node < 0) return false
    const instance = this.table.writable(ordinal)
    instance.node = node
    instance.gpus = this.parts.nodes.allocate(node, deployment.numGpus, ordinal)
    if (this.context.profile.policies.billFrom === 'placed') this.ports.deployments.updateMeter(instance.deployment)
    this.enterState(instance, 'placed', { node: this.parts.nodes.read(node).id, gpus: bitCount(instance.gpus) })
    const { profile, chance } = this.context
    const delay = draw(profile.timings.containerStart, chance, deployment.key, CONTAINER_START, instance.index)
    instance.next = this.schedule(ordinal, delay, 'instance.containerStarted')
    this.ports.deployments.updateStatus(instance.deployment)
    return true
  }

  /** Removes an instance whose engine exited. Its deployment requests another, with a longer delay after each crash. */
  crash(ordinal: number, loss: Loss): void {
    this.lose([ordinal], loss, 'instance.crashed')
  }

  /** Removes instances that are lost with their node, registry or hub. Their deployments request others. */
  lose(ordinals: readonly number[], loss: Loss, kind: 'instance.lost' | 'instance.crashed' = 'instance.lost'): void {
    const { reason } = loss
    // All lost instances go before a deployment requests another: a replacement must not count as a loss.
    const lostInstances = ordinals.map(ordinal => ({ ordinal, row: this.table.read(ordinal) }))
    for (const { ordinal, row } of lostInstances) {
      this.context.record(this.table.writable(ordinal), kind, { reason, state: row.state })
      if (row.state === 'ready') this.ports.batches.onInstanceLost(row.deployment)
      this.#remove(ordinal, loss)
    }
    for (const deployment of new Set(lostInstances.map(({ row }) => row.deployment))) {
      const lostActive = lostInstances.find(
        ({ row }) => row.deployment === deployment && row.state !== 'draining' && !row.isLeaving,
      )
      if (lostActive === undefined) this.ports.deployments.updateStatus(deployment)
      else if (kind === 'instance.lost') this.ports.deployments.failures.onInstanceLost(deployment, reason)
      else {
        const { state, since } = lostActive.row
        this.ports.deployments.failures.onInstanceCrashed(
          deployment,
          reason,
          state === 'ready' ? this.context.clock.now - since : 0,
        )
      }
      this.ports.slots.assignSlots(deployment)
    }
    this.parts.placement.scheduleRound()
  }

  /** Releases an instance. A ready instance drains first. */
  release(ordinal: number): void {
    const instance = this.table.writable(ordinal)
    if (instance.state === 'draining') return
    this.#cancelNotice(instance)
    if (instance.state !== 'ready') {
      this.#finish(ordinal)
      return
    }
    this.enterState(instance, 'draining')
    this.ports.slots.cancelLoads(instance)
    this.ports.slots.assignSlots(instance.deployment)
    instance.next = this.schedule(ordinal, this.context.profile.timings.drain, 'instance.drained')
  }

  /** Lets an instance go when its shortest notice ends. One that is not ready, or cannot drain in time, goes now. */
  retire(ordinal: number, notice: Micros): void {
    const { agenda, clock, profile } = this.context
    const instance = this.table.writable(ordinal)
    const serves = notice - profile.timings.drain
    if (instance.state !== 'ready' || serves <= 0) this.release(ordinal)
    else if (!instance.isLeaving || agenda.timeOf(instance.next) > clock.now + serves) {
      this.#cancelNotice(instance)
      instance.isLeaving = true
      this.ports.deployments.writable(instance.deployment).leaving++
      instance.next = this.schedule(ordinal, serves, 'instance.noticeEnded')
    }
  }

  /** Takes back the notices of instances, which go on serving. Replacements that are no longer needed end. */
  keep(ordinals: readonly number[]): void {
    for (const ordinal of ordinals) this.#cancelNotice(this.table.writable(ordinal))
    const { scaling } = this.ports.deployments
    for (const deployment of new Set(ordinals.map(one => this.table.read(one).deployment)))
      scaling.releaseExcess(deployment)
  }

  #cancelNotice(instance: InstanceRow): void {
    if (!instance.isLeaving) return
    this.context.cancel(instance.next)
    instance.next = 0
    instance.isLeaving = false
    this.ports.deployments.writable(instance.deployment).leaving--
  }

  /** Puts an instance of a fixture into a state. Returns false if no node has room. */
  startInState(ordinal: number, state: InstanceState): boolean {
    const instance = this.table.writable(ordinal)
    this.context.cancel(instance.next)
    instance.next = 0
    if (state === 'pending') {
      const delay = this.#drawPlacementDelay(this.#deploymentOf(ordinal), instance.index)
      instance.next = this.schedule(ordinal, delay, 'instance.placementDue')
      return true
    }
    if (!this.place(ordinal)) return false
    this.context.cancel(instance.next)
    instance.next = 0
    if (state === 'placed' || state === 'pulling') this.#startup.pullImage(ordinal, instance)
    else if (state === 'loading' || state === 'warming') this.#startup.loadWeights(ordinal, instance)
    else this.#becomeReady(instance)
    return true
  }

  #drawPlacementDelay({ key }: Readonly<DeploymentRow>, index: number): Micros {
    const { profile, chance } = this.context
    return draw(profile.timings.placementDelay, chance, key, PLACEMENT, index)
  }

  #deploymentOf(ordinal: number): Readonly<DeploymentRow> {
    return this.ports.deployments.read(this.table.read(ordinal).deployment)
  }

  /** Moves an instance to a state: counts, timeline and journal follow. */
  enterState(instance: InstanceRow, state: InstanceState, fields?: Record<string, string | number>): void {
    const { deployments } = this.ports
    const { clock } = this.context
    const wasReady = instance.state === 'ready'
    deployments.countMove(instance.deployment, instance.state, state)
    instance.state = state
    instance.since = clock.now
    instance.timeline.enter(state, clock.now)
    this.context.record(instance, entryKindOf(state), fields)
    if (wasReady || state === 'ready') deployments.scaling.onCapacityChanged(instance.deployment)
  }

  #becomeReady(instance: InstanceRow): void {
    this.context.cancel(instance.readyDeadlineEvent)
    instance.readyDeadlineEvent = 0
    this.enterState(instance, 'ready')
    this.ports.deployments.onInstanceReady(instance.deployment)
    this.ports.slots.assignSlots(instance.deployment)
  }

  /** Removes an instance that has ended and frees its GPUs for pending instances. */
  #finish(ordinal: number): void {
    const instance = this.table.writable(ordinal)
    this.context.record(instance, 'instance.gone')
    this.#remove(ordinal)
    this.ports.deployments.updateStatus(instance.deployment)
    this.parts.placement.scheduleRound()
  }

  #remove(ordinal: number, loss?: Loss): void {
    const instance = this.table.writable(ordinal)
    this.context.cancel(instance.next)
    this.context.cancel(instance.readyDeadlineEvent)
    this.ports.slots.cancelLoads(instance)
    if (instance.ownRate > 0) this.parts.downloads.end(instance)
    if (instance.node >= 0) this.parts.nodes.release(instance.node, instance.gpus, ordinal)
    else this.parts.placement.dequeue(ordinal)
    const deployment = this.ports.deployments.writable(instance.deployment)
    if (instance.isLeaving) deployment.leaving--
    deployment.instances = withoutItem(deployment.instances, ordinal)
    this.parts.history.onInstanceEnded(deployment, instance.timeline, loss?.cause)
    this.ports.deployments.countMove(instance.deployment, instance.state, undefined)
    this.parts.gpuQuotas.release(deployment.gpu, deployment.numGpus)
    this.ports.inferenceRequests.onInstanceLost(ordinal, loss?.reason ?? 'its instance was stopped')
    this.table.remove(ordinal)
    this.ports.deployments.updateMeter(instance.deployment)
    if (instance.state === 'ready') this.ports.deployments.scaling.onCapacityChanged(instance.deployment)
  }
}
