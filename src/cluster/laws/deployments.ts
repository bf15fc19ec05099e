import type { Micros } from '../../kernel/duration.ts'
import type { Entry } from '../../kernel/journal.ts'
import type { DeploymentStatus } from '../../store/records.ts'
import { type DeploymentRow, isOver, type Load } from '../deployment-row.ts'
import { type Served, wholeRequests } from '../serving.ts'
import type { World } from '../world.ts'
import type { Broken } from './law.ts'

/** Where a status may go. An adapter that is stopped fails when its base fails or is deleted. */
const EDGES: Readonly<Record<DeploymentStatus, readonly DeploymentStatus[]>> = {
  initializing: ['downloading', 'deploying', 'running', 'stopped', 'failed', 'deleted'],
  downloading: ['initializing', 'deploying', 'running', 'stopped', 'failed', 'deleted'],
  deploying: ['initializing', 'downloading', 'running', 'stopped', 'failed', 'deleted'],
  running: ['stopped', 'failed', 'deleted'],
  stopped: ['initializing', 'deleted'],
  failed: ['deleted'],
  deleted: [],
}

/** Requests of which sums of a curve may be off: they are rounded, and differently where they are cut. */
const ROUNDING = 1e-6

/** What a deployment was when it was looked at last. */
interface Seen {
  readonly status: DeploymentStatus
  readonly updatedAt: Micros
  readonly failReason: string
  readonly running: number
  readonly pending: number
  readonly least: number
  readonly most: number
  readonly load: Load | undefined
  readonly served: Served
  readonly servedAt: Micros
}

/** I5, I6, I7, I14 and I20: what is told of a deployment, and where its requests went. */
export class DeploymentLaws {
  readonly #world: World
  readonly #seen: (Seen | undefined)[] = []
  readonly #toLookAt = new Set<number>()
  /** The journal's last entry when the step before was over. */
  #checkedTo = 0
  /** What happened in this step, once somebody asks. */
  #ofStep: readonly Entry[] | undefined

  constructor(world: World) {
    this.#world = world
  }

  /** It was written, or an instance of it was. */
  touch(ordinal: number): void {
    this.#toLookAt.add(ordinal)
  }

  /** The deployments that were touched in this step. */
  get touched(): ReadonlySet<number> {
    return this.#toLookAt
  }

  settle(broken: Broken): void {
    for (const ordinal of this.#toLookAt) this.#look(ordinal, broken)
    this.#toLookAt.clear()
    this.#checkedTo = this.#world.journal.last
    this.#ofStep = undefined
  }

  #look(ordinal: number, broken: Broken): void {
    const world = this.#world
    const row = world.deployments.read(ordinal)
    const before = this.#seen[ordinal]
    const changed = before !== undefined && !showsTheSame(row, before)
    this.#checkCounts(row, broken)
    if (row.status !== before?.status || row.failReason === '') this.#checkStatus(row, before?.status, broken)
    this.#checkTimes(row, before, changed, broken)
    if (changed || before === undefined) {
      const told = world.deployments.keptText(ordinal)
      const is = told === undefined ? undefined : JSON.stringify(world.deployments.record(ordinal))
      if (told !== is) broken('I5', `deployment ${row.id} is told as ${told}, it is ${is}`, row.id)
    }
    if (row.served !== before?.served || row.servedAt !== before.servedAt) this.#checkRequests(row, before, broken)
    this.#seen[ordinal] = {
      status: row.status,
      updatedAt: row.updatedAt,
      failReason: row.failReason,
      running: row.shownRunning,
      pending: row.shownPending,
      least: row.minInstances,
      most: row.maxInstances,
      load: row.load,
      served: row.served,
      servedAt: row.servedAt,
    }
  }

  #checkCounts(row: Readonly<DeploymentRow>, broken: Broken): void {
    const { instances } = this.#world
    const { id } = row
    let ready = 0
    let draining = 0
    for (const one of row.instances) {
      const { state } = instances.read(one)
      if (state === 'ready') ready++
      else if (state === 'draining') draining++
    }
    const pending = row.instances.length - ready - draining
    const counted = row.waiting + row.pulling + row.starting
    if (row.ready !== ready || counted !== pending || row.draining !== draining) {
      const told = `${row.ready} ready, ${counted} coming, ${row.draining} draining`
      broken('I5', `deployment ${id} counts ${told}; it has ${ready}, ${pending}, ${draining}`, id)
    }
    if (row.shownRunning !== ready || row.shownPending !== pending) {
      const told = `${row.shownRunning} running, ${row.shownPending} pending`
      broken('I5', `deployment ${id} tells ${told}; it has ${ready} and ${pending}`, id)
    }
    const over = isOver(row.status)
    if (over && ready + pending > 0) broken('I14', `deployment ${id} is ${row.status} and has instances`, id)
    if (row.plan.type !== 'llm') return
    const { desired, minInstances, maxInstances } = row
    if (over) {
      if (desired !== 0) broken('I5', `deployment ${id} is ${row.status} and wants ${desired} instances`, id)
    } else if (desired < minInstances || desired > maxInstances || ready + pending > maxInstances) {
      const range = `${minInstances} to ${maxInstances}`
      broken('I5', `deployment ${id} wants ${desired} and has ${ready + pending} instances, not ${range}`, id)
    }
  }

  #checkStatus(row: Readonly<DeploymentRow>, before: DeploymentStatus | undefined, broken: Broken): void {
    const { id, status, failReason, plan } = row
    const { policies } = this.#world.profile
    if (before !== undefined && before !== status) {
      const may = (from: DeploymentStatus, to: DeploymentStatus) =>
        EDGES[from].includes(to) ||
        (from === 'stopped' && to === 'failed' && plan.type === 'lora') ||
        (from === 'failed' && to === 'initializing' && policies.failedMayStart)
      if (!may(before, status) && !this.#wentByEdges(id, before, status, may))
        broken('I6', `deployment ${id} went from ${before} to ${status}`, id)
    }
    if ((status === 'failed') !== (failReason !== '')) {
      broken('I6', `deployment ${id} is ${status} with the fail_reason ${JSON.stringify(failReason)}`, id)
    }
    if (status === 'deleted' && this.#world.deployments.live(plan.modelName)?.deploy_id === id) {
      broken('I14', `deployment ${id} is deleted and still has the name ${plan.modelName}`, id)
    }
  }

  /** Whether the status came where it is by several edges in one step. */
  #wentByEdges(
    id: string,
    from: DeploymentStatus,
    to: DeploymentStatus,
    may: (from: DeploymentStatus, to: DeploymentStatus) => boolean,
  ): boolean {
    let at = from
    this.#ofStep ??= this.#world.journal.entries(this.#checkedTo)
    for (const { subject, kind } of this.#ofStep) {
      const next = kind.slice('deployment.'.length) as DeploymentStatus
      if (subject !== id || !kind.startsWith('deployment.') || EDGES[next] === undefined) continue
      if (!may(at, next)) return false
      at = next
    }
    return at === to
  }

  #checkTimes(row: Readonly<DeploymentRow>, before: Seen | undefined, changed: boolean, broken: Broken): void {
    const { now } = this.#world.clock
    const { id, updatedAt, plan } = row
    if (plan.createdAt > updatedAt || updatedAt > now) {
      broken('I7', `deployment ${id} was created at ${plan.createdAt} and updated at ${updatedAt}; it is ${now}`, id)
    }
    if (before === undefined) return
    if (updatedAt < before.updatedAt) {
      broken('I7', `updated_at of deployment ${id} went back from ${before.updatedAt} to ${updatedAt}`, id)
    }
    if (changed && updatedAt !== now) {
      const was = `${before.status} with ${before.running} running and ${before.pending} pending`
      const is = `${row.status} with ${row.shownRunning} and ${row.shownPending}`
      broken('I7', `deployment ${id} went from ${was} to ${is} and kept its updated_at`, id)
    }
  }

  #checkRequests(row: Readonly<DeploymentRow>, before: Seen | undefined, broken: Broken): void {
    const { id, served, servedAt } = row
    const { arrived, refused, backlog } = served
    const room = ROUNDING * Math.max(1, arrived)
    const accounted = served.served + refused + backlog
    if (Math.abs(arrived - accounted) > room) {
      broken('I20', `deployment ${id} was asked ${arrived} times, ${accounted} of them are accounted for`, id)
    }
    const whole = wholeRequests(served)
    if (whole.arrived !== whole.served + whole.refused + whole.backlog) {
      broken('I20', `deployment ${id} reports ${JSON.stringify(whole)}, which does not add up`, id)
    }
    if (before === undefined) return
    const past = before.served
    const fell = arrived < past.arrived - room || served.served < past.served - room || refused < past.refused - room
    if (fell || servedAt < before.servedAt) {
      broken('I20', `deployment ${id} forgot requests: ${JSON.stringify(past)} became ${JSON.stringify(served)}`, id)
    }
    if (before.load === undefined || before.load !== row.load) return
    const offered = before.load.curve.integral(before.servedAt, servedAt)
    if (Math.abs(arrived - past.arrived - offered) > room) {
      broken('I20', `deployment ${id} was offered ${offered} requests, and ${arrived - past.arrived} arrived`, id)
    }
  }
}

/** Whether every field of its record that changes is as it was. */
function showsTheSame(row: Readonly<DeploymentRow>, before: Seen): boolean {
  return (
    row.status === before.status &&
    row.shownRunning === before.running &&
    row.shownPending === before.pending &&
    row.failReason === before.failReason &&
    row.minInstances === before.least &&
    row.maxInstances === before.most
  )
}
