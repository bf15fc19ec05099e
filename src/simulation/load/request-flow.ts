/** What became of the requests of an offered load: a fluid model, in closed form. */

import { type Micros, SECOND } from '../../kernel/duration.ts'
import type { InstanceEngine } from './engine.ts'
import type { LoadCurve } from './load-curve.ts'

/** What became of a deployment's requests since the world began, in requests; `arrived = served + refused + backlog`. */
export interface RequestFlow {
  readonly arrived: number
  /** Taken on by an instance. */
  readonly served: number
  /** Turned away because the queue was full. */
  readonly refused: number
  /** Waiting for an instance. */
  readonly backlog: number
}

/** A flow that changes in place. A deployment with a load has one of its own, so that its events create none. */
export class FlowState implements RequestFlow {
  arrived: number
  served: number
  refused: number
  backlog: number

  constructor({ arrived, served, refused, backlog }: RequestFlow) {
    this.arrived = arrived
    this.served = served
    this.refused = refused
    this.backlog = backlog
  }

  /** Returns a copy, but `EMPTY_FLOW` itself, which never changes. */
  copy(): FlowState {
    return this === EMPTY_FLOW ? this : new FlowState(this)
  }

  /**
   * Lets load flow through a deployment during [from, to), while neither its instances nor its speed change. Returns the
   * flow itself.
   *
   * The queue grows by what the instances cannot take, falls by what they can take beyond the load, never below 0; what
   * arrives at a full queue is refused. Without an instance everything queues, then is refused. A queue limit below the
   * present queue turns its end away at once. Costs a few searches of the curve each time the load crosses what the
   * instances can do, however long the stretch. Cutting a stretch in two changes nothing but the last digits.
   *
   * @param queueLimit requests that may wait; Infinity for no limit
   * @example
   * new FlowState(EMPTY_FLOW).advance(constant(50), speed, 1, 100, 0, 10 * SECOND)
   * // of 500 requests 300 were served by one instance of 30.0 requests/s, 100 wait, 100 were refused
   */
  advance(
    curve: LoadCurve,
    speed: InstanceEngine,
    readyInstances: number,
    queueLimit: number,
    from: Micros,
    to: Micros,
  ): this {
    const capacity = readyInstances * speed.requestsPerSecond
    let { arrived, served } = this
    let backlog = Math.min(this.backlog, queueLimit)
    let refused = this.refused + (this.backlog - backlog)
    let at = from
    while (at < to) {
      // On one side of the capacity the queue moves one way, so its ends are met at most once.
      const isOverloaded = curve.rateAt(at) > capacity
      const crossing = isOverloaded ? curve.firstAtMost(capacity, at, to) : curve.firstAbove(capacity, at, to)
      const end = Math.min(crossing, to)
      const offered = curve.integral(at, end)
      const servable = (capacity * (end - at)) / SECOND
      const waiting = backlog + offered
      arrived += offered
      if (waiting <= servable) {
        served += waiting
        backlog = 0
      } else {
        served += servable
        backlog = Math.min(waiting - servable, queueLimit)
        refused += waiting - servable - backlog
      }
      at = end
    }
    this.arrived = arrived
    this.served = served
    this.refused = refused
    this.backlog = backlog
    return this
  }
}

/** Before the first request. */
export const EMPTY_FLOW = new FlowState({ arrived: 0, served: 0, refused: 0, backlog: 0 })

/** A smaller rounding error is ignored: sums that should be whole come out a little less. */
const ROUNDING = 1e-6

/**
 * The same in whole requests, for reports. Each count only grows, `arrived = served + refused + backlog` holds exactly,
 * and so it does for the differences over any window. The backlog is 0 when the real one is, and else less than one off;
 * what arrived is at most two behind, for the begun one of each kind.
 */
export function toWholeRequests(state: Omit<RequestFlow, 'arrived'>): RequestFlow {
  const served = Math.floor(state.served + ROUNDING)
  const refused = Math.floor(state.refused + ROUNDING)
  // Every waiting request is served at some time, so this sum never decreases.
  const backlog = Math.floor(state.served + state.backlog + ROUNDING) - served
  return { arrived: served + refused + backlog, served, refused, backlog }
}
