import { type Steps, withoutPause } from '../../../lib/slices.ts'
import { LineEngines } from '../../../simulation/batches/line-engines.ts'
import type { DeploymentRow } from '../../../simulation/deployments/deployment-row.ts'
import { hardwareOf } from '../../../simulation/deployments/instance-speed.ts'
import { cacheTokens } from '../../../simulation/fleet/weights.ts'
import { progressOfRunning } from '../../../simulation/inference/engine-progress.ts'
import type { InferenceRow } from '../../../simulation/inference/request-row.ts'
import type { HistogramCounts } from '../../../simulation/load/engine-histograms.ts'
import { NO_ENGINE_REQUESTS, withRunningRequest } from '../../../simulation/load/engine-requests.ts'
import { BLOCK_TOKENS } from '../../../simulation/load/prefix-cache.ts'
import type { World } from '../../../simulation/world.ts'
import { readEngineLoads } from './engine-loads.ts'
import { ENGINE_METRICS, type EngineFigures } from './engine-metrics.ts'
import { type Labels, type MetricValues, readMetrics } from './metric.ts'
import { engineWork, RequestsInFlight, type ServingState, servingState } from './serving-state.ts'

/** Whether the engine of an instance answers: from the time that it is ready until its instance ends. */
export function hasEngine(world: World, instance: number): boolean {
  const state = world.instances.find(instance)?.state
  return state === 'ready' || state === 'draining'
}

/** The metrics of engines. */
export class EngineReader {
  readonly #world: World
  readonly #lines: LineEngines

  constructor(world: World) {
    this.#world = world
    this.#lines = new LineEngines(world)
  }

  /** Returns the values of all engines, by deployment and instance. */
  *readAll(): Steps<MetricValues[]> {
    const { deployments } = this.#world
    const inFlight = new RequestsInFlight(this.#world)
    const all: MetricValues[] = []
    for (const { ordinal } of deployments.list()) {
      const engines = deployments.read(ordinal).instances.filter(instance => hasEngine(this.#world, instance))
      all.push(...(yield* this.#readEngines(ordinal, engines, inFlight)))
    }
    return all
  }

  /** Returns the values of one engine, which must answer. */
  read(instance: number): MetricValues {
    const { deployment } = this.#world.instances.read(instance)
    return withoutPause(this.#readEngines(deployment, [instance], new RequestsInFlight(this.#world)))[0]!
  }

  *#readEngines(deployment: number, engines: readonly number[], inFlight: RequestsInFlight): Steps<MetricValues[]> {
    if (engines.length === 0) return []
    const state = servingState(this.#world, deployment)
    const totals = yield* readEngineLoads(this.#world, deployment, engines)
    return engines.map((instance, i) => this.#valuesOf(instance, totals[i]!, state, inFlight))
  }

  #valuesOf(instance: number, load: HistogramCounts, state: ServingState, inFlight: RequestsInFlight): MetricValues {
    const world = this.#world
    const row = world.instances.read(instance)
    const deployment = world.deployments.read(row.deployment)
    const running = inFlight.on(instance)
    const { now } = world.clock
    const requests = running.reduce(
      (totals, request) => withRunningRequest(totals, progressOfRunning(request, now)),
      this.#lines.withUncountedLines(row.requests, instance, inFlight.batches, now) ?? NO_ENGINE_REQUESTS,
    )
    const hasAdapters = deployment.adapters.length > 0
    const figures: EngineFigures = {
      ...{ requests, load, work: engineWork(world, deployment, instance, state, running) },
      prefixCacheShare: world.profile.timings.prefixCacheShare,
      context: deployment.weights.context,
      cache: cacheLabels(deployment),
      adapters: hasAdapters ? adapterLabels(world, row.deployment, running, inFlight) : undefined,
      time: world.clock.unix(),
    }
    return readMetrics(ENGINE_METRICS, figures, {
      ...{ model_name: deployment.plan.modelName, engine: '0' },
      ...{ deploy_id: deployment.id, pod: row.id, node: world.nodes.read(row.node).id },
    })
  }
}

function cacheLabels(deployment: Readonly<DeploymentRow>): Labels {
  const hardware = hardwareOf(deployment)
  return {
    block_size: String(BLOCK_TOKENS),
    cache_dtype: 'auto',
    enable_prefix_caching: 'True',
    gpu_memory_utilization: String(hardware.constants.memoryShare),
    num_gpu_blocks: String(Math.floor(cacheTokens(hardware) / BLOCK_TOKENS)),
  }
}

function adapterLabels(
  { deployments, profile }: World,
  deployment: number,
  running: readonly Readonly<InferenceRow>[],
  inFlight: RequestsInFlight,
): Labels {
  const names = (adapters: readonly number[]) =>
    [...new Set(adapters)]
      .filter(adapter => adapter >= 0)
      .map(adapter => deployments.read(adapter).plan.modelName)
      .sort()
      .join(',')
  return {
    max_lora: String(profile.timings.adapterSlots),
    running_lora_adapters: names(running.map(({ plan }) => plan.adapter)),
    waiting_lora_adapters: names(inFlight.waitingAdapters(deployment)),
  }
}
