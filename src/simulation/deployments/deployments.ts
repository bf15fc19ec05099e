import { DEPLOYMENT_STATUSES, type DeploymentStatus } from '../../data/records/enums.ts'
import type { Placement } from '../fleet/placement.ts'
import { Deployment, type DeploymentControls } from './deployment.ts'
import { DeploymentCreation, type DeploymentCreationParts, type NewDeploymentPlan } from './deployment-creation.ts'
import { DeploymentFailures, type DeploymentFailuresParts } from './deployment-failures.ts'
import {
  changeCount,
  type DeploymentRow,
  type FixtureIdentity,
  isTerminal,
  type LlmSpec,
  statusOfLatest,
} from './deployment-row.ts'
import { DeploymentScaling, type DeploymentScalingParts, type DeploymentScalingPorts } from './deployment-scaling.ts'
import { DeploymentTable } from './deployment-table.ts'
import type { InstanceState } from './instance-row.ts'
import type { AdapterFollower, InstanceOwner } from './instance-speed.ts'

/** The journal kind of each status. The texts are made once, because the engine hashes every new text. */
const STATUS_ENTRY_KIND = Object.fromEntries(DEPLOYMENT_STATUSES.map(status => [status, `deployment.${status}`])) as {
  readonly [Status in DeploymentStatus]: `deployment.${Status}`
}

/** The parts below that it uses. */
export interface DeploymentsParts extends DeploymentCreationParts, DeploymentScalingParts, DeploymentFailuresParts {
  readonly placement: Placement
}

/** The parts above that it calls. */
export interface DeploymentsPorts extends DeploymentScalingPorts {
  readonly loraAdapters: AdapterFollower
}

/** The deployments of the account: LLM deployments, adapters, and references to the catalog. */
export class Deployments
  extends DeploymentTable<DeploymentsParts, DeploymentsPorts>
  implements DeploymentControls, InstanceOwner
{
  readonly #creation = new DeploymentCreation(this.context, this.parts, this)
  readonly scaling = new DeploymentScaling(this.context, this.parts, this)
  readonly failures = new DeploymentFailures(this.context, this.parts, this)

  /** Connects the parts above. The world calls it once. */
  override connect(ports: DeploymentsPorts): void {
    super.connect(ports)
    this.scaling.connect(ports)
  }

  get adapters(): AdapterFollower {
    return this.ports.loraAdapters
  }

  /** Returns the deployment with this id, also a deleted one. */
  get(deploy_id: string): Deployment | undefined {
    const ordinal = this.ordinalOf(deploy_id)
    return ordinal === undefined ? undefined : new Deployment(this, ordinal)
  }

  handle(ordinal: number): Deployment {
    return new Deployment(this, ordinal)
  }

  /** Returns the deployment that has this model name now. A deleted deployment has no name. */
  findLive(modelName: string): Deployment | undefined {
    const ordinal = this.liveOrdinalOf(modelName)
    return ordinal === undefined ? undefined : new Deployment(this, ordinal)
  }

  /** Returns the deployments in the order of their creation. Default: all statuses but `deleted`. */
  list(statuses?: ReadonlySet<DeploymentStatus>): Deployment[] {
    return this.listOrdinals(statuses).map(ordinal => new Deployment(this, ordinal))
  }

  /** Creates a deployment and requests its first instances. The caller has checked the input. */
  createLlm(spec: LlmSpec): Deployment {
    const ordinal = this.add(spec)
    this.start(ordinal)
    return new Deployment(this, ordinal)
  }

  /** Adds a deployment that does not start. Returns its ordinal. */
  add(spec: LlmSpec, identity: FixtureIdentity = {}): number {
    return this.#creation.add(spec, identity)
  }

  insert(plan: NewDeploymentPlan, identity: FixtureIdentity): number {
    return this.#creation.insert(plan, identity)
  }

  /** Starts a deployment: requests the instances that it needs. */
  start(ordinal: number): void {
    const row = this.writable(ordinal)
    row.wasReady = false
    row.lostStarts = 0
    row.crashes = 0
    row.remainingCrashes = 0
    row.stoppedForFunds = false
    row.failReason = ''
    this.#setStatus(ordinal, row, 'initializing')
    // A model of the catalog runs on GPUs of the provider, so it needs no instances.
    if (!row.plan.hasInstances) {
      this.#setStatus(ordinal, row, 'running')
      return
    }
    row.desired = Math.min(row.maxInstances, Math.max(1, this.ports.autoscaler.desiredInstances(row)))
    row.scaleDirection = 0
    this.scaling.requestInstances(ordinal, row.desired)
    this.updateStatus(ordinal)
  }

  /** Removes a version of a model of the account, or `ALL`, and deletes the deployments that run it. */
  removeModelVersions(modelName: string, version: string): void {
    const removed = this.parts.modelVersions.removeVersions(modelName, version)
    for (const { ordinal, row } of this.list()) {
      if (row.plan.modelName === modelName && removed.includes(row.plan.version)) this.delete(ordinal)
    }
    if (this.parts.modelVersions.has(modelName)) this.context.markVisibleChange()
  }

  stop(ordinal: number): void {
    const row = this.writable(ordinal)
    if (isTerminal(row.status)) return
    this.#end(ordinal, row, 'stopped', '')
  }

  delete(ordinal: number): void {
    const row = this.writable(ordinal)
    if (row.status === 'deleted') return
    this.#end(ordinal, row, 'deleted', '')
    this.releaseName(ordinal, row.plan.modelName)
  }

  fail(ordinal: number, reason: string): void {
    const row = this.writable(ordinal)
    if (isTerminal(row.status)) return
    this.#end(ordinal, row, 'failed', reason)
  }

  /** Sets a deployment to running after an instance became ready. */
  onInstanceReady(ordinal: number): void {
    const row = this.writable(ordinal)
    row.wasReady = true
    row.lostStarts = 0
    this.updateMeter(ordinal)
    this.updateStatus(ordinal)
    this.scaling.onInstanceReady(ordinal)
    this.ports.inferenceRequests.onCapacityAvailable(ordinal)
  }

  /** Stops all deployments for lack of funds. */
  stopAllForFunds(): void {
    for (const { ordinal, row } of this.list()) {
      if (row.plan.hasInstances || row.plan.type === 'lora') this.stopForFunds(ordinal)
    }
  }

  /** Stops a deployment for lack of funds. It may start again when funds return. */
  stopForFunds(ordinal: number): void {
    // A deployment that stopped before must not start when funds return.
    if (isTerminal(this.read(ordinal).status)) return
    this.stop(ordinal)
    this.writable(ordinal).stoppedForFunds = true
  }

  /** Starts the deployments that were stopped for lack of funds if the policy of the provider says so. */
  onFundsReturned(): void {
    if (this.context.profile.policies.balanceReturns !== 'restart') return
    for (const deployment of this.list(new Set<DeploymentStatus>(['stopped']))) {
      if (deployment.row.stoppedForFunds) deployment.start()
    }
  }

  /** Updates the counts of instances by state. `from` is undefined for a new instance, `to` for a removed one. */
  countMove(ordinal: number, from: InstanceState | undefined, to: InstanceState | undefined): void {
    const row = this.writable(ordinal)
    if (from !== undefined) changeCount(row, from, -1)
    if (to !== undefined) changeCount(row, to, 1)
  }

  /** Sets the status by the instance in the latest state. `updated_at` follows every change that a client can see. */
  updateStatus(ordinal: number): void {
    const { clock } = this.context
    const currentRow = this.read(ordinal)
    const running = currentRow.ready
    const pending = currentRow.waiting + currentRow.pulling + currentRow.starting
    if (running !== currentRow.reportedRunning || pending !== currentRow.reportedPending) {
      const row = this.writable(ordinal)
      row.reportedRunning = running
      row.reportedPending = pending
      row.updatedAt = clock.now
      this.onVisibleChange(ordinal)
    }
    if (isTerminal(currentRow.status)) return
    const status = currentRow.wasReady
      ? 'running'
      : statusOfLatest(currentRow, this.context.profile.policies.foldDownloadingIntoDeploying)
    if (currentRow.status !== status) this.#setStatus(ordinal, this.writable(ordinal), status)
  }

  setStatus(ordinal: number, status: DeploymentStatus, failReason = ''): void {
    const row = this.writable(ordinal)
    row.failReason = failReason
    this.#setStatus(ordinal, row, status)
  }

  /** Reports the number of billable instances to the ledger. */
  updateMeter(ordinal: number): void {
    const row = this.read(ordinal)
    if (row.meter < 0) return
    const billsFromPlaced = this.context.profile.policies.billFrom === 'placed'
    const units = billsFromPlaced ? this.scaling.placedInstances(row) : row.ready + row.draining
    this.parts.ledger.setUnits(row.meter, units)
  }

  #end(ordinal: number, row: DeploymentRow, status: 'stopped' | 'failed' | 'deleted', reason: string): void {
    this.context.cancel(row.idleEvent)
    this.context.cancel(row.next)
    this.context.cancel(row.scaleEvent)
    row.scaleEvent = 0
    row.desired = 0
    row.idleEvent = 0
    row.next = 0
    row.failReason = reason
    this.#setStatus(ordinal, row, status)
    for (const instance of row.instances) this.parts.instances.release(instance)
    this.updateStatus(ordinal)
    this.parts.placement.scheduleRound()
  }

  #setStatus(ordinal: number, row: DeploymentRow, status: DeploymentStatus): void {
    if (row.status === status) return
    const { clock } = this.context
    row.status = status
    row.updatedAt = clock.now
    this.parts.history.onStatusChanged(row)
    this.context.record(row, STATUS_ENTRY_KIND[status], row.failReason === '' ? undefined : { reason: row.failReason })
    this.onVisibleChange(ordinal)
    this.ports.batches.onCapacityChanged(ordinal)
    if (isTerminal(status)) this.ports.inferenceRequests.onDeploymentStopped(ordinal)
    if (row.adapters.length > 0) this.ports.loraAdapters.onBaseChanged(ordinal)
    if (row.plan.base >= 0 && isTerminal(status)) this.ports.loraAdapters.slots.onAdapterEnded(ordinal)
  }
}
