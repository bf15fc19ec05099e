/** How a deployment serves now, and the part of each of its engines. */
import type { DeploymentRow } from '../../../simulation/deployments/deployment-row.ts'
import { toWholeRequests } from '../../../simulation/load/request-flow.ts'
import { estimateServing, type ServingEstimate } from '../../../simulation/load/serving.ts'
import type { World } from '../../../simulation/world.ts'

/** The instances of a deployment that are ready, with their parts of its load, and what there is to divide. */
export interface ServingState {
  /** Requests/s of the offered load. */
  readonly arrivalRate: number
  /** Requests of clients that wait, and requests of the offered load. */
  readonly waiting: number
  readonly estimate: ServingEstimate
  /** Whether lines of batches run on it. */
  readonly isBusy: boolean
  readonly engines: readonly EngineShare[]
}

/** The part of one ready instance. */
export interface EngineShare {
  readonly instance: number
  /** Its part of the load, from 0 to 1. The parts of all engines add up to 1. */
  readonly share: number
  /** The parts of the engines before it. */
  readonly sharesBefore: number
  readonly slowdown: number
}

export function servingState(world: World, deployment: number): ServingState {
  const row = world.deployments.read(deployment)
  const { now } = world.clock
  const [segment] = world.history.servingSegments(row)
  const load = segment?.load
  const served = segment && world.history.totalsWithin(segment, now).served
  const arrivalRate = load ? load.curve.rateAt(now) : 0
  return {
    arrivalRate,
    waiting:
      world.inferenceRequests.countsOfDeployment(deployment).waiting +
      (served === undefined ? 0 : toWholeRequests(served).backlog),
    estimate:
      load && served
        ? estimateServing(arrivalRate, load.speed, segment.effectiveInstances, served.backlog)
        : { concurrency: 0, queue: 0, timeToFirstToken: 0, tokensPerSecond: 0, utilisation: 0 },
    isBusy: segment?.isBusy ?? false,
    engines: engineShares(world, row),
  }
}

function engineShares(world: World, row: Readonly<DeploymentRow>): EngineShare[] {
  const ready = row.instances.filter(instance => world.instances.read(instance).state === 'ready')
  const slowdowns = ready.map(instance => world.nodes.read(world.instances.read(instance).node).slowdown)
  const total = slowdowns.reduce((sum, slowdown) => sum + 1 / slowdown, 0)
  let sharesBefore = 0
  return ready.map((instance, i) => {
    const share = 1 / slowdowns[i]! / total
    const part = { instance, share, sharesBefore, slowdown: slowdowns[i]! }
    sharesBefore += share
    return part
  })
}

/** Returns the whole part of an amount that an engine has. The parts of all engines add up to the rounded amount. */
export function wholeShare({ share, sharesBefore }: EngineShare, amount: number): number {
  const isLast = sharesBefore + share > 1 - 1e-9
  return Math.round(amount * (isLast ? 1 : sharesBefore + share)) - Math.round(amount * sharesBefore)
}
