import type { Micros } from '../../kernel/duration.ts'
import { assertHandled, type EventOf } from '../events.ts'
import type { Environment } from '../fleet/environment.ts'
import type { InstanceEngine } from '../load/engine.ts'
import { FlowState, type RequestFlow, toWholeRequests } from '../load/request-flow.ts'
import { maxRateFor, requiredInstances } from '../load/serving.ts'
import { Part } from '../part.ts'
import { type DeploymentRow, isTerminal } from './deployment-row.ts'
import type { Deployments } from './deployments.ts'
import { type Scaler, speedOfInstance, type WorkPorts } from './instance-speed.ts'

const NEVER = Number.POSITIVE_INFINITY
/** A queue shorter than this is a rounding error: it holds no request. */
const NEGLIGIBLE_BACKLOG = 1e-6

/** The parts below that it uses. */
export interface AutoscalerParts {
  readonly environment: Environment
  readonly deployments: Deployments
}

/**
 * Holds `min_instances … max_instances` by a concurrency target, with delays up and down. It never polls: the load is a
 * curve, so the next moment at which a decision can change is known, and only then it wakes.
 */
export class Autoscaler extends Part<AutoscalerParts, WorkPorts> implements Scaler {
  /** Returns the number of instances that the load needs now, within the bounds of the deployment. */
  desiredInstances(row: Readonly<DeploymentRow>): number {
    return this.#desiredAt(row, row.load?.curve.rateAt(this.context.clock.now) ?? 0)
  }

  /** @param offeredRate requests/s of the load now; 0 without a load */
  #desiredAt(row: Readonly<DeploymentRow>, offeredRate: number): number {
    const { load, minInstances, maxInstances, desired } = row
    if (!load) {
      const neededByRequests =
        this.#inFlight(row) > 0 ? requiredInstances(this.#inFlight(row), this.#heldByEach(row)) : 0
      // The last instance goes only by the idle timeout.
      return Math.min(maxInstances, Math.max(minInstances, neededByRequests, desired > 0 ? 1 : 0))
    }
    const neededByLoad = requiredInstances(
      offeredRate + this.#requestRate(row, load.speed),
      this.#rateOfEach(row, load.speed),
    )
    // Pending work wakes a deployment at zero. Only then is the search through the batches needed.
    const needed = neededByLoad === 0 && this.#hasWork(row) ? 1 : neededByLoad
    return Math.min(maxInstances, Math.max(minInstances, needed))
  }

  /** Returns the requests in work at which each instance is held. */
  #heldByEach(row: Readonly<DeploymentRow>): number {
    return this.context.profile.timings.concurrencyTarget * speedOfInstance(row).places
  }

  /**
   * Returns the requests/s at which each instance is held. On slow hardware a request takes longer, so the same concurrency
   * is reached at fewer of them (Little's law).
   */
  #rateOfEach(row: Readonly<DeploymentRow>, speed: InstanceEngine): number {
    return speed.rateWith(this.#heldByEach(row)) / row.meanSlowdown
  }

  /** Returns the single requests in flight as the rate of an offered load that would need as many instances. */
  #requestRate(row: Readonly<DeploymentRow>, speed: InstanceEngine): number {
    const inFlight = this.#inFlight(row)
    return inFlight === 0 ? 0 : (inFlight / this.#heldByEach(row)) * this.#rateOfEach(row, speed)
  }

  #inFlight(row: Readonly<DeploymentRow>): number {
    const { deployments } = this.parts
    const { inferenceRequests } = this.ports
    if (inferenceRequests.inFlightCount === 0) return 0
    const { running, waiting } = inferenceRequests.countsOfDeployment(deployments.ordinalOf(row.id)!)
    return running + waiting
  }

  /**
   * A request came (1) or went (-1): looks again where that could change what is wanted. Where more have been asked for, a
   * client that has one answer and not yet asked for the next is not a lull; whether it lasted is judged when the delay is over.
   */
  onRequestCountChanged(ordinal: number, change: 1 | -1): void {
    const row = this.parts.deployments.read(ordinal)
    if (change < 0 && row.scaleDirection > 0) return
    if (row.minInstances === row.maxInstances && row.load === undefined) return
    if (row.scaleDirection !== 0 || this.desiredInstances(row) !== row.desired) this.evaluate(ordinal)
  }

  /** What serves a deployment became slower or faster: the next look is now, once the present step is over. */
  scheduleEvaluation(row: DeploymentRow, ordinal: number): void {
    this.context.cancel(row.scaleEvent)
    this.#scheduleAt(ordinal, row, this.context.clock.now)
  }

  #hasWork(row: Readonly<DeploymentRow>): boolean {
    const { batches } = this.ports
    const { deployments } = this.parts
    return this.#backlog(row) > NEGLIGIBLE_BACKLOG || batches.hasWorkFor(deployments.ordinalOf(row.id)!)
  }

  onEvent(event: EventOf<'autoscaler'>, deployment: number): void {
    const { deployments } = this.parts
    switch (event) {
      case 'deployment.idle':
        deployments.scaling.onIdle(deployment)
        break
      case 'deployment.scaleDue':
        deployments.writable(deployment).scaleEvent = 0
        this.evaluate(deployment)
        break
      default:
        assertHandled(event)
    }
  }

  /** Looks at a deployment: decides now, or plans the moment at which there may be something to decide. */
  evaluate(ordinal: number): void {
    // Who waits is part of what is wanted, so the queue must be that of now.
    this.updateFlow(ordinal)
    const row = this.parts.deployments.writable(ordinal)
    this.context.cancel(row.scaleEvent)
    row.scaleEvent = 0
    if (!row.wasReady || this.parts.environment.state.autoscalerFrozen || isTerminal(row.status)) return
    const { now } = this.context.clock
    const offeredRate = row.load?.curve.rateAt(now) ?? 0
    const desired = this.#desiredAt(row, offeredRate)
    const direction = Math.sign(desired - row.desired)
    if (direction !== row.scaleDirection) {
      row.scaleDirection = direction
      row.scaleDirectionSince = now
    }
    if (direction === 0) {
      this.#scheduleAt(ordinal, row, this.#nextCrossing(row, offeredRate, desired))
      return
    }
    const decisionAt = row.scaleDirectionSince + this.#scaleDelay(row, desired)
    if (now < decisionAt) {
      this.#scheduleAt(ordinal, row, Math.min(decisionAt, this.#nextCrossing(row, offeredRate, desired)))
      return
    }
    const previousDesired = row.desired
    row.desired = desired
    row.scaleDirection = 0
    this.context.record(row, desired > previousDesired ? 'deployment.scaledUp' : 'deployment.scaledDown', {
      from: previousDesired,
      to: desired,
    })
    if (desired > previousDesired) this.parts.deployments.scaling.replenish(ordinal)
    else if (desired === 0) this.parts.deployments.scaling.onScaledToZero(ordinal)
    else this.parts.deployments.scaling.releaseExcess(ordinal)
    // Going to zero may have left requests waiting.
    const wanted = desired === 0 ? this.#desiredAt(row, offeredRate) : desired
    this.#scheduleAt(ordinal, row, this.#nextCrossing(row, offeredRate, wanted))
  }

  /** The autoscaler was frozen and is free again: everything it missed is looked at now. */
  evaluateAll(): void {
    const { deployments } = this.parts
    for (const deployment of deployments.list()) {
      if (!deployment.row.plan.hasInstances) continue
      if (!isTerminal(deployment.status)) deployments.scaling.catchUp(deployment.ordinal)
      this.evaluate(deployment.ordinal)
    }
  }

  /** Updates the flow of requests up to now: before the capacity changes, and before a read. */
  updateFlow(ordinal: number): void {
    const { clock } = this.context
    const { deployments } = this.parts
    const currentRow = deployments.read(ordinal)
    if (!currentRow.load || currentRow.flowAt === clock.now) return
    const row = deployments.writable(ordinal)
    const queueLimit = this.context.profile.limits.queuePerDeployment
    row.flow.advance(
      currentRow.load.curve,
      currentRow.load.speed,
      row.effectiveInstances,
      queueLimit,
      row.flowAt,
      clock.now,
    )
    row.flowAt = clock.now
  }

  /** What became of the requests of a deployment up to now, in whole requests; reading changes nothing. */
  wholeRequests(row: Readonly<DeploymentRow>): ReturnType<typeof toWholeRequests> {
    return toWholeRequests(this.#flowAt(row, this.context.clock.now))
  }

  #flowAt(row: Readonly<DeploymentRow>, to: Micros): RequestFlow {
    if (!row.load || to <= row.flowAt) return row.flow
    const { curve, speed } = row.load
    const queueLimit = this.context.profile.limits.queuePerDeployment
    return new FlowState(row.flow).advance(curve, speed, row.effectiveInstances, queueLimit, row.flowAt, to)
  }

  #scaleDelay(row: Readonly<DeploymentRow>, desired: number): Micros {
    const { scaleUpDelay, scaleDownDelay, idleToZero } = this.context.profile.timings
    if (desired > row.desired) return row.desired === 0 ? 0 : scaleUpDelay
    return desired === 0 ? idleToZero : scaleDownDelay
  }

  /** The next moment at which the load wants another number of instances than it does now. */
  #nextCrossing(row: Readonly<DeploymentRow>, offeredRate: number, desired: number): Micros {
    const { load, minInstances, maxInstances } = row
    if (!load) return NEVER
    const { clock } = this.context
    const requestRate = this.#requestRate(row, load.speed)
    const each = this.#rateOfEach(row, load.speed)
    const high = desired < maxInstances ? maxRateFor(desired, each) - requestRate : NEVER
    const low = desired > minInstances ? maxRateFor(desired - 1, each) - requestRate : -NEVER
    // What only waits keeps one when no load does: its end is a moment of the queue's, not of the curve.
    const isHeldByWork = offeredRate <= low
    if (!isHeldByWork) return load.curve.firstOutside(low, high, clock.now)
    return Math.min(load.curve.firstAbove(high, clock.now, NEVER), this.#whenQueueDrained(row))
  }

  #backlog(row: Readonly<DeploymentRow>): number {
    return this.#flowAt(row, this.context.clock.now).backlog
  }

  /** Returns the time at which the queue is empty at the present rate; `NEVER` without capacity or without a queue. */
  #whenQueueDrained(row: Readonly<DeploymentRow>): Micros {
    const backlog = this.#backlog(row)
    const capacity = row.effectiveInstances * (row.load?.speed.requestsPerSecond ?? 0)
    if (backlog <= NEGLIGIBLE_BACKLOG || capacity === 0) return NEVER
    return this.context.clock.now + Math.ceil((backlog / capacity) * 1e6) + 1
  }

  #scheduleAt(ordinal: number, row: DeploymentRow, at: Micros): void {
    if (at < NEVER) row.scaleEvent = this.context.scheduleAt(at, 'deployment.scaleDue', ordinal)
  }
}
