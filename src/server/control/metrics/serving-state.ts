/** How a deployment serves now, the part of each of its engines, and what each of them works on. */
import type { BatchRow } from '../../../simulation/batches/batch-row.ts'
import { hasEngines } from '../../../simulation/batches/line-engines.ts'
import type { DeploymentRow } from '../../../simulation/deployments/deployment-row.ts'
import { hardwareOf, speedOfInstance } from '../../../simulation/deployments/instance-speed.ts'
import { cacheTokens, meanSequenceTokens } from '../../../simulation/fleet/weights.ts'
import { progressOfRunning } from '../../../simulation/inference/engine-progress.ts'
import type { InferenceRow } from '../../../simulation/inference/request-row.ts'
import { toWholeRequests } from '../../../simulation/load/request-flow.ts'
import { estimateServing } from '../../../simulation/load/serving.ts'
import type { World } from '../../../simulation/world.ts'

/** The instances of a deployment that are ready, with their parts of its load, and what there is to divide. */
export type ServingState = ReturnType<typeof servingState>

export function servingState(world: World, deployment: number) {
  const row = world.deployments.read(deployment)
  const { now } = world.clock
  const [segment] = world.history.servingSegments(row)
  const load = segment?.load
  const served = segment && world.history.totalsWithin(segment, now).served
  const arrivalRate = load ? load.curve.rateAt(now) : 0
  return {
    /** Requests/s of the offered load. */
    arrivalRate,
    /** Requests of clients that wait, and requests of the offered load. */
    waiting:
      world.inferenceRequests.countsOfDeployment(deployment).waiting +
      (served === undefined ? 0 : toWholeRequests(served).backlog),
    estimate:
      load && served
        ? estimateServing(arrivalRate, load.speed, segment.effectiveInstances, served.backlog)
        : { concurrency: 0, queue: 0, timeToFirstToken: 0, tokensPerSecond: 0, utilisation: 0 },
    /** Whether lines of batches run on it. */
    isBusy: segment?.isBusy ?? false,
    engines: engineShares(world, row),
  }
}

/** Returns the part of each ready instance of a deployment. The parts of all engines add up to 1. */
function engineShares(world: World, row: Readonly<DeploymentRow>) {
  const ready = row.instances.filter(instance => world.instances.read(instance).state === 'ready')
  const speeds = ready.map(instance => 1 / world.nodes.read(world.instances.read(instance).node).slowdown)
  const total = speeds.reduce((sum, speed) => sum + speed, 0)
  let sharesBefore = 0
  return ready.map((instance, i) => {
    const share = speeds[i]! / total
    /** `sharesBefore`: the parts of the engines before it. */
    const part = { instance, share, sharesBefore }
    sharesBefore += share
    return part
  })
}

/** Returns the whole part of an amount that an engine has. The parts of all engines add up to the rounded amount. */
function wholeShare({ share, sharesBefore }: ServingState['engines'][number], amount: number): number {
  const isLast = sharesBefore + share > 1 - 1e-9
  return Math.round(amount * (isLast ? 1 : sharesBefore + share)) - Math.round(amount * sharesBefore)
}

/** The single requests in flight at one time, by what they wait for or run on, and the batches with lines on engines. */
export class RequestsInFlight {
  readonly batches: readonly Readonly<BatchRow>[]
  readonly #byInstance = new Map<number, Readonly<InferenceRow>[]>()
  readonly #waitingAdapters = new Map<number, Set<number>>()

  constructor({ inferenceRequests, batches }: World) {
    this.batches = Array.from(batches.entries(), ([, row]) => row).filter(hasEngines)
    for (const [, row] of inferenceRequests.entries()) {
      const { deployment, adapter } = row.plan
      if (row.instance >= 0) this.#byInstance.set(row.instance, [...this.on(row.instance), row])
      else if (row.startedAt < 0 && adapter >= 0) {
        this.#waitingAdapters.set(deployment, new Set([...(this.#waitingAdapters.get(deployment) ?? []), adapter]))
      }
    }
  }

  /** Returns the requests that run on an instance. */
  on(instance: number): readonly Readonly<InferenceRow>[] {
    return this.#byInstance.get(instance) ?? []
  }

  /** Returns the adapters for which requests of a deployment wait. */
  waitingAdapters(deployment: number): readonly number[] {
    return [...(this.#waitingAdapters.get(deployment) ?? [])]
  }
}

/** What an engine does at one time. */
export type EngineWork = ReturnType<typeof engineWork>

export function engineWork(
  world: World,
  deployment: Readonly<DeploymentRow>,
  instance: number,
  { engines, estimate, waiting, isBusy }: ServingState,
  running: readonly Readonly<InferenceRow>[],
) {
  const { weights } = deployment
  const { now } = world.clock
  const speed = speedOfInstance(deployment)
  const sequenceTokens = meanSequenceTokens(weights, speed.promptTokens, speed.outputTokens)
  const part = engines.find(engine => engine.instance === instance)
  const load = part ? estimate.concurrency * part.share : 0
  // Lines of batches take the places that the load leaves.
  const lines = part && isBusy ? Math.floor(speed.places * (1 - estimate.utilisation)) : 0
  const requestTokens = running.reduce(
    (sum, request) => sum + request.plan.promptTokens + progressOfRunning(request, now).generationTokens,
    0,
  )
  const usedTokens = (load + lines) * sequenceTokens + requestTokens
  return {
    running: (part ? wholeShare(part, estimate.concurrency) : 0) + lines + running.length,
    waiting: part ? wholeShare(part, waiting) : 0,
    /** From 0 to 1. */
    cacheUsage: Math.min(1, usedTokens / cacheTokens(hardwareOf(deployment))),
    utilisation: engineUtilisation(world, deployment, part !== undefined, { estimate, isBusy }, running.length),
  }
}

/**
 * Returns the share of its places or of its throughput that an engine uses, the higher of both, from 0 to 1.
 *
 * @param isReady whether it takes part in the load of its deployment
 * @param running the number of single requests on it
 */
export function engineUtilisation(
  world: World,
  deployment: Readonly<DeploymentRow>,
  isReady: boolean,
  { estimate, isBusy }: Pick<ServingState, 'estimate' | 'isBusy'>,
  running: number,
): number {
  if (isReady && isBusy) return 1
  const places = running / world.inferenceRequests.maxConcurrencyOf(deployment)
  return Math.min(1, Math.max(isReady ? estimate.utilisation : 0, places))
}
