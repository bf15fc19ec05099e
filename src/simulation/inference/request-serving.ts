import type { GpuType } from '../../data/records/gpu-config.ts'
import type { SimulationContext } from '../context.ts'
import type { Autoscaler } from '../deployments/autoscaler.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import type { Deployments } from '../deployments/deployments.ts'
import { speedOfInstance } from '../deployments/instance-speed.ts'
import type { Instances } from '../deployments/instances.ts'
import type { ModelTarget } from '../deployments/model-lookup.ts'
import { estimateServing, type InstanceSpeed } from '../load/throughput.ts'
import type { RequestCounts } from './request-counts.ts'

/** The hardware of an instance, which its speed follows from. */
export interface ServingHardware {
  readonly gpu: GpuType
  readonly gpus: number
  readonly parametersB: number
  readonly maxBatchSize: number
}

/** The lower parts that serving uses. */
export interface RequestServingParts {
  readonly deployments: Deployments
  readonly instances: Instances
  readonly autoscaler: Autoscaler
}

/** The instances as single requests use them: free capacity and delays. It has no state of its own. */
export class RequestServing {
  readonly #context: SimulationContext
  readonly #parts: RequestServingParts
  readonly #counts: RequestCounts

  constructor(context: SimulationContext, parts: RequestServingParts, counts: RequestCounts) {
    this.#context = context
    this.#parts = parts
    this.#counts = counts
  }

  /** Returns the number of requests that an instance of a deployment can run at once. */
  maxConcurrencyOf(row: Readonly<DeploymentRow>): number {
    const speed = speedOfInstance(row)
    return Math.max(1, Math.floor(speed.requestsPerSecond * speed.requestTime))
  }

  /**
   * Returns the ready instance with free capacity that runs the fewest requests; -1 if all instances are full.
   *
   * @param adapter the adapter that must be loaded on the instance; -1: no adapter
   */
  leastBusyInstance(row: Readonly<DeploymentRow>, adapter: number): number {
    const { instances } = this.#parts
    let best = -1
    let fewest = this.maxConcurrencyOf(row)
    for (const ordinal of row.instances) {
      const instance = instances.read(ordinal)
      if (instance.state !== 'ready') continue
      if (adapter >= 0 && !instance.adapters.some(each => each.adapter === adapter && each.loadEvent === 0)) continue
      const running = this.#counts.onInstance(ordinal)
      if (running < fewest) {
        best = ordinal
        fewest = running
      }
    }
    return best
  }

  /** Returns the seconds to the first token. They grow with the backlog of offered load and with utilisation. */
  firstTokenDelay(deployment: number, instance: number, { firstTokenTime }: InstanceSpeed): number {
    const { deployments, autoscaler } = this.#parts
    const { clock } = this.#context
    const row = deployments.read(deployment)
    const ownUtilisation = this.#counts.onInstance(instance) / this.maxConcurrencyOf(row)
    if (!row.load || row.effectiveInstances === 0) return firstTokenTime * (1 + Math.min(1, ownUtilisation))
    const { backlog } = autoscaler.wholeRequests(row)
    const { utilisation } = estimateServing(
      row.load.curve.rateAt(clock.now),
      row.load.speed,
      row.effectiveInstances,
      backlog,
    )
    const queueDelay = backlog / (row.effectiveInstances * row.load.speed.requestsPerSecond)
    return queueDelay + firstTokenTime * (1 + Math.min(1, ownUtilisation + utilisation))
  }

  /** Returns the hardware of shared capacity: one H100 up to 20B parameters, four up to 100B, eight beyond (A). */
  sharedHardware(target: ModelTarget): ServingHardware {
    const name = target.kind === 'catalog' ? target.model : ''
    const parametersB = this.#context.store.models.get(name)?.parameters_b ?? 8
    const gpus = parametersB <= 20 ? 1 : parametersB <= 100 ? 4 : 8
    return { gpu: 'H100-80GB', gpus, parametersB, maxBatchSize: 96 }
  }
}
