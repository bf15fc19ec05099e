import type { Micros } from '../kernel/duration.ts'
import { type DeploymentRow, isOver } from './deployment-row.ts'
import { rateFor, required, serve, wholeRequests } from './serving.ts'
import type { World } from './world.ts'

const NEVER = Number.POSITIVE_INFINITY
/** A queue shorter than this is what sums leave over: nobody waits in it. */
const NOBODY = 1e-6

/**
 * Holds `min_instances … max_instances` by a concurrency target, with delays up and down. It never polls: the load is a
 * curve, so the next moment at which a decision can change is known, and only then it wakes.
 */
export class Autoscaler {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  /** How many instances the load wants now, within the deployment's settings. */
  wanted(row: Readonly<DeploymentRow>): number {
    const { load, minInstances, maxInstances, desired } = row
    const byRequests = this.#requestRate(row)
    if (!load) {
      const byThem = byRequests > 0 ? required(byRequests, this.#world.inference.speedOf(row), this.#target(row)) : 0
      // The last one goes by idling alone.
      return Math.min(maxInstances, Math.max(minInstances, byThem, desired > 0 ? 1 : 0))
    }
    const rate = load.curve.rateAt(this.#world.clock.now) + byRequests
    const byLoad = required(rate, load.speed, this.#target(row))
    // Whoever waits at a deployment that sleeps wakes it; only then is it worth looking through the batches.
    const least = byLoad === 0 && this.#hasWork(row) ? 1 : byLoad
    return Math.min(maxInstances, Math.max(minInstances, least))
  }

  /**
   * The share of a sound instance's requests at which each is held. On slow hardware a request takes longer, so the same
   * concurrency is reached at fewer of them (Little's law).
   */
  #target(row: Readonly<DeploymentRow>): number {
    return this.#world.profile.timings.concurrencyTarget / row.slowness
  }

  /**
   * Requests in flight, as the rate of an offered load that would keep as many in work (Little's law): one figure for
   * whatever asks for instances.
   */
  #requestRate(row: Readonly<DeploymentRow>): number {
    const { deployments, inference } = this.#world
    if (inference.underWay === 0) return 0
    const { running, waiting } = inference.on(deployments.ordinalOf(row.id)!)
    return (running + waiting) / inference.speedOf(row).requestTime
  }

  /**
   * A request came (1) or went (-1): looks again where that could change what is wanted. Where more have been asked for, a
   * client that has one answer and not yet asked for the next is no lull; whether it lasted is judged when the delay is over.
   */
  pressed(ordinal: number, change: 1 | -1): void {
    const row = this.#world.deployments.read(ordinal)
    if (change < 0 && row.leaning > 0) return
    if (row.minInstances === row.maxInstances && row.load === undefined) return
    if (row.leaning !== 0 || this.wanted(row) !== row.desired) this.look(ordinal)
  }

  /** What serves a deployment became slower or faster: the next look is now, once the present step is over. */
  lookSoon(row: DeploymentRow, ordinal: number): void {
    this.#world.cancel(row.scale)
    this.#planAt(ordinal, row, this.#world.clock.now)
  }

  #hasWork(row: Readonly<DeploymentRow>): boolean {
    const { batches, deployments } = this.#world
    return this.#backlog(row) > NOBODY || batches.workFor(deployments.ordinalOf(row.id)!)
  }

  /** Looks at a deployment: decides now, or plans the moment at which there may be something to decide. */
  look(ordinal: number): void {
    const world = this.#world
    // Who waits is part of what is wanted, so the queue must be that of now.
    this.settle(ordinal)
    const row = world.deployments.own(ordinal)
    world.cancel(row.scale)
    row.scale = 0
    if (!row.wasReady || world.conditions.autoscalerFrozen || isOver(row.status)) return
    const { now } = world.clock
    const wanted = this.wanted(row)
    const direction = Math.sign(wanted - row.desired)
    if (direction !== row.leaning) {
      row.leaning = direction
      row.leaningSince = now
    }
    if (direction === 0) {
      this.#planAt(ordinal, row, this.#nextCrossing(row, wanted))
      return
    }
    const due = row.leaningSince + this.#delay(row, wanted)
    if (now < due) {
      this.#planAt(ordinal, row, Math.min(due, this.#nextCrossing(row, wanted)))
      return
    }
    const before = row.desired
    row.desired = wanted
    row.leaning = 0
    world.happened(row, wanted > before ? 'deployment.scaledUp' : 'deployment.scaledDown', { from: before, to: wanted })
    if (wanted > before) world.deployments.replenish(ordinal)
    else if (wanted === 0) world.deployments.wentToZero(ordinal)
    else world.deployments.thin(ordinal)
    // Going to zero may have left requests waiting.
    this.#planAt(ordinal, row, this.#nextCrossing(row, wanted === 0 ? this.wanted(row) : wanted))
  }

  /** The autoscaler was frozen and is free again: everything it missed is looked at now. */
  catchUp(): void {
    const { deployments } = this.#world
    for (const deployment of deployments.list()) {
      if (deployment.type !== 'llm') continue
      deployments.replenish(deployment.ordinal)
      this.look(deployment.ordinal)
    }
  }

  /** Lets the load of a deployment flow up to now: before what serves it changes, and when somebody reads it. */
  settle(ordinal: number): void {
    const { clock, deployments } = this.#world
    const seen = deployments.read(ordinal)
    if (!seen.load || seen.servedAt === clock.now) return
    const row = deployments.own(ordinal)
    row.served = this.#servedAt(row, clock.now)
    row.servedAt = clock.now
  }

  /** What became of the requests of a deployment up to now, in whole requests; reading changes nothing. */
  served(row: Readonly<DeploymentRow>): ReturnType<typeof wholeRequests> {
    return wholeRequests(this.#servedAt(row, this.#world.clock.now))
  }

  #servedAt(row: Readonly<DeploymentRow>, to: Micros): DeploymentRow['served'] {
    if (!row.load || to <= row.servedAt) return row.served
    const { load } = row
    const limit = this.#world.profile.limits.queuePerDeployment
    return serve(row.served, load.curve, load.speed, row.servingShare, limit, row.servedAt, to)
  }

  #delay(row: Readonly<DeploymentRow>, wanted: number): Micros {
    const { scaleUpDelay, scaleDownDelay, idleToZero } = this.#world.profile.timings
    if (wanted > row.desired) return row.desired === 0 ? 0 : scaleUpDelay
    return wanted === 0 ? idleToZero : scaleDownDelay
  }

  /** The next moment at which the load wants another number of instances than it does now. */
  #nextCrossing(row: Readonly<DeploymentRow>, wanted: number): Micros {
    const { load, minInstances, maxInstances } = row
    if (!load) return NEVER
    const { clock } = this.#world
    const byRequests = this.#requestRate(row)
    const level = (instances: number) => rateFor(instances, load.speed, this.#target(row)) - byRequests
    const high = wanted < maxInstances ? level(wanted) : NEVER
    const low = wanted > minInstances ? level(wanted - 1) : -NEVER
    // What only waits keeps one when no load does: its end is a moment of the queue's, not of the curve.
    const isHeldByWork = load.curve.rateAt(clock.now) <= low
    if (!isHeldByWork) return load.curve.firstOutside(low, high, clock.now)
    return Math.min(load.curve.firstAbove(high, clock.now, NEVER), this.#drained(row))
  }

  #backlog(row: Readonly<DeploymentRow>): number {
    return this.#servedAt(row, this.#world.clock.now).backlog
  }

  /** When the queue is empty at the present rate; never while nobody serves it, or when it is. */
  #drained(row: Readonly<DeploymentRow>): Micros {
    const backlog = this.#backlog(row)
    const capacity = row.servingShare * (row.load?.speed.requestsPerSecond ?? 0)
    if (backlog <= NOBODY || capacity === 0) return NEVER
    return this.#world.clock.now + Math.ceil((backlog / capacity) * 1e6) + 1
  }

  #planAt(ordinal: number, row: DeploymentRow, at: Micros): void {
    if (at < NEVER) row.scale = this.#world.planAt(at, 'deployment.scaleDue', ordinal)
  }
}
