import { type Steps, withoutPause } from '../../../lib/slices.ts'
import type { BatchRow } from '../../../simulation/batches/batch-row.ts'
import { hasEngines, LineEngines } from '../../../simulation/batches/line-engines.ts'
import type { DeploymentRow } from '../../../simulation/deployments/deployment-row.ts'
import { hardwareOf, speedOfInstance } from '../../../simulation/deployments/instance-speed.ts'
import { cacheTokens, meanSequenceTokens } from '../../../simulation/fleet/weights.ts'
import { progressOfRunning } from '../../../simulation/inference/engine-progress.ts'
import type { InferenceRow } from '../../../simulation/inference/request-row.ts'
import { HISTOGRAM_PLACES, type HistogramPlace } from '../../../simulation/load/engine-histograms.ts'
import {
  type EngineRequests,
  NO_ENGINE_REQUESTS,
  withRunningRequest,
} from '../../../simulation/load/engine-requests.ts'
import { BLOCK_TOKENS } from '../../../simulation/load/prefix-cache.ts'
import type { World } from '../../../simulation/world.ts'
import { type LoadTotals, readEngineLoads } from './engine-loads.ts'
import { ENGINE_METRICS, HISTOGRAM_OF_METRIC } from './engine-metrics.ts'
import type { Labels, MetricValues } from './metric.ts'
import { type ServingState, servingState, wholeShare } from './serving-state.ts'

/** Counts of the offered load are real numbers. A smaller error of rounding is ignored. */
const ROUNDING = 1e-6

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

  #valuesOf(instance: number, load: LoadTotals, state: ServingState, inFlight: RequestsInFlight): MetricValues {
    const world = this.#world
    const row = world.instances.read(instance)
    const deployment = world.deployments.read(row.deployment)
    const running = inFlight.on(instance)
    const { now } = world.clock
    const requests = running.reduce(
      (totals, request) => withRunningRequest(totals, progressOfRunning(request, now)),
      this.#lines.withUncountedLines(row.requests, instance, inFlight.batches, now) ?? NO_ENGINE_REQUESTS,
    )
    const values = new Float64Array(ENGINE_METRICS.width)
    const set = (name: string, ...numbers: number[]) => values.set(numbers, ENGINE_METRICS.offsetOf(name))
    const work = engineWork(world, deployment, instance, state, running)
    set('vllm:num_requests_running', work.running)
    set('vllm:num_requests_waiting', work.waiting)
    set('vllm:kv_cache_usage_perc', work.cacheUsage)
    set('vllm:gpu_cache_usage_perc', work.cacheUsage)
    const promptTokens = requests.promptTokens + wholeCount(load.promptTokens)
    set('vllm:prefix_cache_queries', promptTokens)
    const { prefixCacheShare } = world.profile.timings
    set('vllm:prefix_cache_hits', requests.cachedTokens + wholeCount(load.promptTokens * prefixCacheShare))
    set('vllm:prompt_tokens', promptTokens)
    set('vllm:generation_tokens', requests.generationTokens + wholeCount(load.generationTokens))
    const [stop = 0, length = 0, abort = 0] = requests.finished
    set('vllm:request_success', stop + wholeCount(load.requests), length, abort)
    for (const { offset, place } of HISTOGRAMS) writeHistogram(values, offset, load, requests, place)
    const hasAdapters = deployment.adapters.length > 0
    set('vllm:lora_requests_info', hasAdapters ? world.clock.unix() : Number.NaN)
    set('vllm:cache_config', 1)
    return {
      table: ENGINE_METRICS,
      labels: {
        ...{ model_name: deployment.plan.modelName, engine: '0' },
        ...{ deploy_id: deployment.id, pod: row.id, node: world.nodes.read(row.node).id },
      },
      values,
      ownLabels: {
        'vllm:cache_config': cacheLabels(deployment),
        ...(hasAdapters && { 'vllm:lora_requests_info': adapterLabels(world, row.deployment, running, inFlight) }),
      },
      maxTokenBound: deployment.weights.context,
    }
  }
}

/** What an engine does at one time. */
export interface EngineWork {
  readonly running: number
  readonly waiting: number
  /** From 0 to 1. */
  readonly cacheUsage: number
  /** The share of its places or of its throughput that is in use, the higher of both, from 0 to 1. */
  readonly utilisation: number
}

export function engineWork(
  world: World,
  deployment: Readonly<DeploymentRow>,
  instance: number,
  { engines, estimate, waiting, isBusy }: ServingState,
  running: readonly Readonly<InferenceRow>[],
): EngineWork {
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

function wholeCount(count: number): number {
  return Math.floor(count * (1 + Number.EPSILON * 1e4) + ROUNDING)
}

/** Writes the counts of a histogram up to each bound, the count of all, and the sum, from an offset on. */
function writeHistogram(
  values: Float64Array,
  offset: number,
  load: LoadTotals,
  requests: EngineRequests,
  { bounds, first, sum }: HistogramPlace,
): void {
  let ofLoad = 0
  let ofRequests = 0
  for (let bucket = 0; bucket <= bounds.length; bucket++) {
    ofLoad += load.histograms[first + bucket]!
    ofRequests += requests.histograms[first + bucket]!
    values[offset + bucket] = ofRequests + wholeCount(ofLoad)
  }
  // The integrals have errors of rounding far below a microsecond. They must not make a sum smaller.
  values[offset + bounds.length + 1] = roundToMicro(Math.max(0, load.histograms[sum]!) + requests.histograms[sum]!)
}

/** Where each histogram of an engine is among its values, and among its counts. */
const HISTOGRAMS = [...HISTOGRAM_OF_METRIC].map(([metric, name]) => ({
  offset: ENGINE_METRICS.offsetOf(metric),
  place: HISTOGRAM_PLACES[name],
}))

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

function roundToMicro(value: number): number {
  return Math.round(value * 1e6) / 1e6
}
