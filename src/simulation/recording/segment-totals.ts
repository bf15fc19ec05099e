import type { Micros } from '../../kernel/duration.ts'
import type { RequestFlow } from '../load/request-flow.ts'
import type { DeploymentLoad } from '../load/throughput.ts'

/** The numbers of a new serving segment. The history has one object, so that a segment creates none. */
export class SegmentTotals implements Omit<RequestFlow, 'arrived'> {
  served = 0
  refused = 0
  backlog = 0
  capacityTime = 0
  usedTime = 0

  clear(): void {
    this.setFlow(0, 0, 0)
    this.capacityTime = 0
    this.usedTime = 0
  }

  setFlow(served: number, refused: number, backlog: number): void {
    this.served = served
    this.refused = refused
    this.backlog = backlog
  }
}

/** Returns the time of an instance that requests of a load take, in microseconds (Little's law). */
export function timeOfRequests(requests: number, load: DeploymentLoad): Micros {
  return (requests / load.speed.requestsPerSecond) * 1e6
}
