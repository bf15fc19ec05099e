import { DEPLOYMENT_LIFECYCLE, type DeploymentStatus } from '../../data/records/enums.ts'
import type { Entry } from '../../kernel/journal.ts'
import { type DeploymentRow, isTerminal } from '../deployments/deployment-row.ts'
import { FlowState, type RequestFlow, toWholeRequests } from '../load/request-flow.ts'
import { type ReportViolation, WorldInvariants } from './invariant.ts'

/** Where a status may go. An adapter that is stopped fails when its base fails or is deleted. */

/** Requests of which sums of a curve may be off: they are rounded, and differently where they are cut. */
const ROUNDING = 1e-6

/** What a deployment was when it was looked at last. */
type CheckedDeployment = Readonly<
  Pick<DeploymentRow, 'status' | 'updatedAt' | 'failReason' | 'minInstances' | 'maxInstances'> &
    Pick<DeploymentRow, 'reportedRunning' | 'reportedPending' | 'load' | 'flow' | 'flowAt'>
>

/** I5, I6, I7, I14 and I20: the record of a deployment, and the results of its requests. */
export class DeploymentInvariants extends WorldInvariants {
  readonly #checked: (CheckedDeployment | undefined)[] = []
  readonly #changed = new Set<number>()
  /** The journal's last entry when the step before was over. */
  #checkedTo = 0
  /** The journal entries of this step, read on the first use. */
  #stepEntries: readonly Entry[] | undefined

  /** It was written, or an instance of it was. */
  markChanged(ordinal: number): void {
    this.#changed.add(ordinal)
  }

  /** The deployments that were touched in this step. */
  get changed(): ReadonlySet<number> {
    return this.#changed
  }

  verify(report: ReportViolation): void {
    for (const ordinal of this.#changed) this.#verifyDeployment(ordinal, report)
    this.#changed.clear()
    this.#checkedTo = this.world.journal.last
    this.#stepEntries = undefined
  }

  #verifyDeployment(ordinal: number, report: ReportViolation): void {
    const world = this.world
    const row = world.deployments.read(ordinal)
    const before = this.#checked[ordinal]
    const isChanged = before !== undefined && !looksUnchanged(row, before)
    this.#checkCounts(row, report)
    if (row.status !== before?.status || row.failReason === '') this.#checkStatus(row, before?.status, report)
    this.#checkTimes(row, before, isChanged, report)
    if (isChanged || before === undefined) {
      const cachedJson = world.deployments.cachedJson(ordinal)
      const currentJson = cachedJson === undefined ? undefined : JSON.stringify(world.deployments.toRecord(ordinal))
      if (cachedJson !== currentJson)
        report('I5', `deployment ${row.id} is cached as ${cachedJson}, it is ${currentJson}`, row.id)
    }
    if (before === undefined || !isSameFlow(row.flow, before.flow) || row.flowAt !== before.flowAt)
      this.#checkRequests(row, before, report)
    this.#checked[ordinal] = {
      status: row.status,
      updatedAt: row.updatedAt,
      failReason: row.failReason,
      reportedRunning: row.reportedRunning,
      reportedPending: row.reportedPending,
      minInstances: row.minInstances,
      maxInstances: row.maxInstances,
      load: row.load,
      flow: new FlowState(row.flow),
      flowAt: row.flowAt,
    }
  }

  #checkCounts(row: Readonly<DeploymentRow>, report: ReportViolation): void {
    const { instances } = this.world
    const { id } = row
    let ready = 0
    let draining = 0
    let leaving = 0
    for (const instance of row.instances) {
      const { state, isLeaving } = instances.read(instance)
      if (isLeaving) leaving++
      if (state === 'ready') ready++
      else if (state === 'draining') draining++
    }
    const pending = row.instances.length - ready - draining
    const countedPending = row.waiting + row.pulling + row.starting
    if (row.ready !== ready || countedPending !== pending || row.draining !== draining || row.leaving !== leaving) {
      const counts = `${row.ready} ready, ${countedPending} coming, ${row.draining} draining, ${row.leaving} leaving`
      report('I5', `deployment ${id} counts ${counts}; it has ${ready}, ${pending}, ${draining}, ${leaving}`, id)
    }
    if (row.reportedRunning !== ready || row.reportedPending !== pending) {
      const counts = `${row.reportedRunning} running, ${row.reportedPending} pending`
      report('I5', `deployment ${id} reports ${counts}; it has ${ready} and ${pending}`, id)
    }
    const isOver = isTerminal(row.status)
    if (isOver && ready + pending > 0) report('I14', `deployment ${id} is ${row.status} and has instances`, id)
    if (!row.plan.hasInstances) return
    const { desired, minInstances, maxInstances } = row
    if (isOver) {
      if (desired !== 0) report('I5', `deployment ${id} is ${row.status} and wants ${desired} instances`, id)
    } else if (this.world.environment.state.autoscalerFrozen) {
      // New bounds are followed when the autoscaler is free again.
    } else if (desired < minInstances || desired > maxInstances || ready - leaving + pending > maxInstances) {
      const range = `${minInstances} to ${maxInstances}`
      report('I5', `deployment ${id} wants ${desired} and has ${ready - leaving + pending} instances, not ${range}`, id)
    }
  }

  #checkStatus(row: Readonly<DeploymentRow>, before: DeploymentStatus | undefined, report: ReportViolation): void {
    const { id, status, failReason, plan } = row
    const { policies } = this.world.profile
    if (before !== undefined && before !== status) {
      const isAllowed = (from: DeploymentStatus, to: DeploymentStatus) =>
        DEPLOYMENT_LIFECYCLE.next(from).includes(to) ||
        (from === 'stopped' && to === 'failed' && plan.type === 'lora') ||
        (from === 'failed' && to === 'initializing' && policies.failedMayStart)
      if (!isAllowed(before, status) && !this.#movedByTransitions(id, before, status, isAllowed))
        report('I6', `deployment ${id} went from ${before} to ${status}`, id)
    }
    if ((status === 'failed') !== (failReason !== '')) {
      report('I6', `deployment ${id} is ${status} with the fail_reason ${JSON.stringify(failReason)}`, id)
    }
    if (status === 'deleted' && this.world.deployments.findLive(plan.modelName)?.deploy_id === id) {
      report('I14', `deployment ${id} is deleted and still has the name ${plan.modelName}`, id)
    }
  }

  /** Whether the status came where it is by several edges in one step. */
  #movedByTransitions(
    id: string,
    from: DeploymentStatus,
    to: DeploymentStatus,
    isAllowed: (from: DeploymentStatus, to: DeploymentStatus) => boolean,
  ): boolean {
    let status = from
    this.#stepEntries ??= this.world.journal.entries(this.#checkedTo)
    for (const { subject, kind } of this.#stepEntries) {
      const next = kind.slice('deployment.'.length) as DeploymentStatus
      if (subject !== id || !kind.startsWith('deployment.') || !DEPLOYMENT_LIFECYCLE.has(next)) continue
      if (!isAllowed(status, next)) return false
      status = next
    }
    return status === to
  }

  #checkTimes(
    row: Readonly<DeploymentRow>,
    before: CheckedDeployment | undefined,
    isChanged: boolean,
    report: ReportViolation,
  ): void {
    const { now } = this.world.clock
    const { id, updatedAt, plan } = row
    if (plan.createdAt > updatedAt || updatedAt > now) {
      report('I7', `deployment ${id} was created at ${plan.createdAt} and updated at ${updatedAt}; it is ${now}`, id)
    }
    if (before === undefined) return
    if (updatedAt < before.updatedAt) {
      report('I7', `updated_at of deployment ${id} went back from ${before.updatedAt} to ${updatedAt}`, id)
    }
    if (isChanged && updatedAt !== now) {
      const was = `${before.status} with ${before.reportedRunning} running and ${before.reportedPending} pending`
      const is = `${row.status} with ${row.reportedRunning} and ${row.reportedPending}`
      report('I7', `deployment ${id} went from ${was} to ${is} and kept its updated_at`, id)
    }
  }

  #checkRequests(row: Readonly<DeploymentRow>, before: CheckedDeployment | undefined, report: ReportViolation): void {
    const { id, flow, flowAt } = row
    const { arrived, refused, backlog } = flow
    const tolerance = ROUNDING * Math.max(1, arrived)
    const accounted = flow.served + refused + backlog
    if (Math.abs(arrived - accounted) > tolerance) {
      report('I20', `deployment ${id} was asked ${arrived} times, ${accounted} of them are accounted for`, id)
    }
    const wholeFlow = toWholeRequests(flow)
    if (wholeFlow.arrived !== wholeFlow.served + wholeFlow.refused + wholeFlow.backlog) {
      report('I20', `deployment ${id} reports ${JSON.stringify(wholeFlow)}, which does not add up`, id)
    }
    if (before === undefined) return
    const previousFlow = before.flow
    const hasFallen =
      arrived < previousFlow.arrived - tolerance ||
      flow.served < previousFlow.served - tolerance ||
      refused < previousFlow.refused - tolerance
    if (hasFallen || flowAt < before.flowAt) {
      const change = `${JSON.stringify(previousFlow)} became ${JSON.stringify(flow)}`
      report('I20', `deployment ${id} forgot requests: ${change}`, id)
    }
    if (before.load === undefined || before.load !== row.load) return
    const offered = before.load.curve.integral(before.flowAt, flowAt)
    const accepted = arrived - previousFlow.arrived
    if (Math.abs(accepted - offered) > tolerance) {
      report('I20', `deployment ${id} was offered ${offered} requests, and ${accepted} arrived`, id)
    }
  }
}

function isSameFlow(flow: RequestFlow, other: RequestFlow): boolean {
  return (
    flow.arrived === other.arrived &&
    flow.served === other.served &&
    flow.refused === other.refused &&
    flow.backlog === other.backlog
  )
}

/** Whether every field of its record that changes is as it was. */
function looksUnchanged(row: Readonly<DeploymentRow>, before: CheckedDeployment): boolean {
  return (
    row.status === before.status &&
    row.reportedRunning === before.reportedRunning &&
    row.reportedPending === before.reportedPending &&
    row.failReason === before.failReason &&
    row.minInstances === before.minInstances &&
    row.maxInstances === before.maxInstances
  )
}
