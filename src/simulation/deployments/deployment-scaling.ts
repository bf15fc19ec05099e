import { compileLoad, type OfferedLoad } from '../../data/offered-load.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { GpuQuotas } from '../account/gpu-quotas.ts'
import type { Ledger } from '../account/ledger.ts'
import type { Environment } from '../fleet/environment.ts'
import type { Nodes } from '../fleet/nodes.ts'
import { LoadCurve } from '../load/load-curve.ts'
import { FlowState } from '../load/request-flow.ts'
import { Part } from '../part.ts'
import type { UsageHistory } from '../recording/history.ts'
import type { Deployment } from './deployment.ts'
import { countAlive, type DeploymentRow, isParked, isTerminal } from './deployment-row.ts'
import { engineOf, type Scaler, type WorkPorts } from './instance-speed.ts'
import type { Instances } from './instances.ts'

/** The parts below that it uses. */
export interface DeploymentScalingParts {
  readonly environment: Environment
  readonly nodes: Nodes
  readonly instances: Instances
  readonly ledger: Ledger
  readonly gpuQuotas: GpuQuotas
  readonly history: UsageHistory
}

/** The parts above that it calls. */
export interface DeploymentScalingPorts extends WorkPorts {
  readonly autoscaler: Scaler
}

/** The deployments, as their scaling sees them. */
interface ScaledDeployments {
  read(ordinal: number): Readonly<DeploymentRow>
  writable(ordinal: number): DeploymentRow
  list(): Deployment[]
  updateStatus(ordinal: number): void
  onVisibleChange(ordinal: number): void
  stop(ordinal: number): void
}

/** The number of instances of each deployment: requests, releases, bounds, capacity, and the scale to zero. */
export class DeploymentScaling extends Part<DeploymentScalingParts, DeploymentScalingPorts, ScaledDeployments> {
  /** Returns the number of instances that have a node. */
  placedInstances({ instances: ordinals }: Readonly<DeploymentRow>): number {
    const { instances } = this.parts
    let placed = 0
    for (const ordinal of ordinals) if (instances.read(ordinal).node >= 0) placed++
    return placed
  }

  /** Sets the offered load of a deployment. */
  setLoad(ordinal: number, offered: OfferedLoad): void {
    const { chance, clock, profile } = this.context
    const load = compileLoad(offered)
    const row = this.owner.writable(ordinal)
    const curve = new LoadCurve(load, { chance, key: row.key })
    const { prompt_tokens: promptTokens, output_tokens: outputTokens } = load
    const speed = engineOf(row, promptTokens, outputTokens, load.cached_share ?? profile.timings.prefixCacheShare)
    row.load = { curve, speed }
    row.flow = new FlowState(row.flow)
    row.flowAt = clock.now
    this.parts.history.onLoadChanged(row, row.load)
  }

  /**
   * Requests instances until there are `target`, as far as the GPU quota allows. Requests nothing while the account is
   * suspended. `delay` is the time until their placement; by default it is drawn.
   */
  requestInstances(ordinal: number, target: number, delay?: Micros): void {
    const { gpuQuotas, instances, ledger } = this.parts
    const { suspensionReason } = ledger
    if (suspensionReason !== undefined && target > countAlive(this.owner.read(ordinal))) {
      this.context.record(this.owner.writable(ordinal), 'deployment.limited', { suspended: suspensionReason })
      return
    }
    for (let missing = target - countAlive(this.owner.read(ordinal)); missing > 0; missing--) {
      const row = this.owner.read(ordinal)
      if (!gpuQuotas.hasRoomOrWaits(row.gpu, row.numGpus)) {
        this.context.record(this.owner.writable(ordinal), 'deployment.limited', { gpu: row.gpu })
        return
      }
      instances.request(ordinal, delay)
    }
  }

  /** Requests the missing instances of a deployment unless the autoscaler is frozen. */
  replenish(ordinal: number, delay?: Micros): void {
    const row = this.owner.read(ordinal)
    if (!isTerminal(row.status) && !this.parts.environment.state.autoscalerFrozen)
      this.requestInstances(ordinal, row.desired, delay)
    this.owner.updateStatus(ordinal)
  }

  /**
   * Sets the bounds on the number of instances. Instances outside the bounds follow at once. A maximum of 0 parks the
   * deployment: waiting requests are rejected, and a later maximum resumes it.
   * While the autoscaler is frozen, nothing follows until it is free again.
   */
  resize(ordinal: number, minInstances: number, maxInstances: number): void {
    const row = this.owner.writable(ordinal)
    if (row.minInstances === minInstances && row.maxInstances === maxInstances) return
    const wasParked = isParked(row)
    row.minInstances = minInstances
    row.maxInstances = maxInstances
    row.updatedAt = this.context.clock.now
    this.context.record(row, 'deployment.resized', { min_instances: minInstances, max_instances: maxInstances })
    this.owner.onVisibleChange(ordinal)
    if (isTerminal(row.status) || this.parts.environment.state.autoscalerFrozen) return
    this.#followBounds(ordinal, wasParked && (!row.wasReady || this.ports.batches.hasWorkFor(ordinal)))
    if (row.load) this.ports.autoscaler.evaluate(ordinal)
    else this.onWorkEnded(ordinal)
  }

  /** Brings a deployment within the bounds that changed while the autoscaler was frozen. */
  catchUp(ordinal: number): void {
    const { desired, minInstances, maxInstances, load } = this.owner.read(ordinal)
    const isOutside = desired < minInstances || desired > maxInstances
    if (isOutside) this.#followBounds(ordinal, false)
    this.replenish(ordinal)
    if (isOutside && !load) this.onWorkEnded(ordinal)
  }

  #followBounds(ordinal: number, resumesWithOne: boolean): void {
    const row = this.owner.writable(ordinal)
    const { minInstances, maxInstances, desired: previousDesired } = row
    // Without a load the minimum is enough. An instance that serves or starts stays until it idles.
    const upperDesired = row.load ? previousDesired : Math.min(previousDesired, Math.max(1, minInstances))
    row.desired = Math.min(maxInstances, Math.max(minInstances, upperDesired, resumesWithOne ? 1 : 0))
    row.scaleDirection = 0
    if (row.desired > previousDesired) {
      this.context.record(row, 'deployment.scaledUp', { from: previousDesired, to: row.desired })
      this.replenish(ordinal)
    } else if (row.desired < previousDesired) {
      this.context.record(row, 'deployment.scaledDown', { from: previousDesired, to: row.desired })
      this.releaseExcess(ordinal)
    }
    if (isParked(row)) this.ports.inferenceRequests.onDeploymentStopped(ordinal)
  }

  /** Releases excess instances: instances that are not ready first, then the youngest first. */
  releaseExcess(ordinal: number): void {
    const { instances } = this.parts
    const row = this.owner.read(ordinal)
    let excess = countAlive(row) - row.desired
    if (excess <= 0) return
    // Without an instance that is not ready, the first search would read each of them in vain.
    for (let isReady = row.waiting + row.pulling + row.starting === 0; excess > 0; isReady = true) {
      // The list is in the order of the requests.
      const ordinals = this.owner.read(ordinal).instances
      for (let i = ordinals.length - 1; i >= 0 && excess > 0; i--) {
        const { state, isLeaving } = instances.read(ordinals[i]!)
        if (state === 'draining' || isLeaving || (state === 'ready') !== isReady) continue
        instances.release(ordinals[i]!)
        excess--
      }
      if (isReady) break
    }
    this.owner.updateStatus(ordinal)
  }

  /** Requests the missing instances of deployments on a GPU type whose quota has room again. */
  onQuotaAvailable(gpu: GpuType): void {
    for (const { ordinal, row } of this.owner.list()) {
      if (row.gpu !== gpu || !row.plan.hasInstances || isTerminal(row.status)) continue
      if (countAlive(row) < row.desired) this.replenish(ordinal)
    }
  }

  /** Requests the missing instances of all deployments after a suspension of the account. */
  onSuspensionEnded(): void {
    for (const { ordinal, row } of this.owner.list()) {
      if (row.plan.hasInstances && !isTerminal(row.status) && countAlive(row) < row.desired) this.replenish(ordinal)
    }
  }

  /** Updates the capacity after a change in the number or the speed of the ready instances. */
  onCapacityChanged(ordinal: number): void {
    const currentRow = this.owner.read(ordinal)
    const effectiveInstances = this.#effectiveInstances(currentRow)
    if (effectiveInstances === currentRow.effectiveInstances) return
    this.ports.autoscaler.updateFlow(ordinal)
    const row = this.owner.writable(ordinal)
    row.effectiveInstances = effectiveInstances
    const meanSlowdown = effectiveInstances > 0 ? row.ready / effectiveInstances : 1
    if (meanSlowdown !== row.meanSlowdown) {
      row.meanSlowdown = meanSlowdown
      if (row.load && row.wasReady && !isTerminal(row.status)) this.ports.autoscaler.scheduleEvaluation(row, ordinal)
    }
    this.ports.batches.onCapacityChanged(ordinal)
    this.recordServing(ordinal)
  }

  /** Records the present state of serving if that state or the batches on the deployment changed. */
  recordServing(ordinal: number): void {
    const isBusy = this.ports.batches.isRunningOn(ordinal)
    const { history } = this.parts
    if (history.isServingChanged(this.owner.read(ordinal), isBusy))
      history.writeSegment(this.owner.writable(ordinal), isBusy)
  }

  /** Evaluates the load, or schedules the scale to zero, after an instance became ready. */
  onInstanceReady(ordinal: number): void {
    const row = this.owner.writable(ordinal)
    if (row.load) this.ports.autoscaler.evaluate(ordinal)
    else if (row.minInstances === 0) this.#scheduleIdle(ordinal, row)
  }

  /** Requests an instance at once for a deployment that is scaled to zero. */
  wake(ordinal: number): void {
    const row = this.owner.writable(ordinal)
    if (row.status !== 'running' || row.desired > 0 || isParked(row)) return
    row.desired = 1
    this.context.record(row, 'deployment.woken')
    this.replenish(ordinal, 0)
  }

  /** Cancels the scale to zero because a request arrived. */
  onWorkBegan(ordinal: number): void {
    const { idleEvent } = this.owner.read(ordinal)
    if (idleEvent === 0) return
    this.context.cancel(idleEvent)
    this.owner.writable(ordinal).idleEvent = 0
  }

  /** Schedules the scale to zero of a deployment whose work ended, if its bounds allow it. */
  onWorkEnded(ordinal: number): void {
    const row = this.owner.writable(ordinal)
    if (row.status !== 'running' || row.minInstances > 0 || row.ready === 0 || isParked(row)) return
    if (row.load) this.ports.autoscaler.evaluate(ordinal)
    else this.#scheduleIdle(ordinal, row)
  }

  /** Scales an idle deployment to zero if its bounds and the autoscaler allow it. Its status follows the policy of the provider. */
  onIdle(ordinal: number): void {
    const row = this.owner.writable(ordinal)
    row.idleEvent = 0
    // A deployment with work is not idle. The end of the work schedules this event again.
    const { batches, inferenceRequests } = this.ports
    if (row.minInstances > 0 || isParked(row) || batches.hasWorkFor(ordinal) || inferenceRequests.hasWorkFor(ordinal))
      return
    if (this.parts.environment.state.autoscalerFrozen) {
      this.#scheduleIdle(ordinal, row)
      return
    }
    row.desired = 0
    this.context.record(row, 'deployment.idled')
    this.onScaledToZero(ordinal)
  }

  /** Releases the last instances, or stops the deployment if the policy of the provider says so. */
  onScaledToZero(ordinal: number): void {
    if (this.context.profile.policies.idleToZero === 'stopped') this.owner.stop(ordinal)
    else this.releaseExcess(ordinal)
  }

  #scheduleIdle(ordinal: number, row: DeploymentRow): void {
    this.context.cancel(row.idleEvent)
    row.idleEvent = this.context.schedule(this.context.profile.timings.idleToZero, 'deployment.idle', ordinal)
  }

  #effectiveInstances(row: Readonly<DeploymentRow>): number {
    const { instances, nodes } = this.parts
    if (nodes.areAllFullSpeed) return row.ready
    let effectiveInstances = 0
    for (const instance of row.instances) {
      const { state, node } = instances.read(instance)
      if (state === 'ready') effectiveInstances += 1 / nodes.read(node).slowdown
    }
    return effectiveInstances
  }
}
