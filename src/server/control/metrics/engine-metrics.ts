/** The metrics of inference engines: names, texts and bounds of vLLM's V1 engine. */
import {
  HISTOGRAM_BOUNDS,
  HISTOGRAM_PLACES,
  type HistogramCounts,
  type HistogramName,
} from '../../../simulation/load/engine-histograms.ts'
import { type EngineRequests, FINISH_REASONS } from '../../../simulation/load/engine-requests.ts'
import { counter, gauge, info, type Labels, type Metric } from './metric.ts'
import type { EngineWork } from './serving-state.ts'

/** What is known of an engine at one time. */
export interface EngineFigures {
  readonly work: EngineWork
  /** The single requests that it has worked on. */
  readonly requests: EngineRequests
  /** The requests of the offered load that it has taken on. Counts are real numbers. */
  readonly load: Readonly<HistogramCounts>
  /** The share of the prompts of the load that is in the prefix cache. */
  readonly prefixCacheShare: number
  /** The longest context of its model in tokens. */
  readonly context: number
  readonly cache: Labels
  /** Undefined without adapters. */
  readonly adapters: Labels | undefined
  /** Unix seconds. */
  readonly time: number
}

/** The metric of each histogram. An older name of the engine has the same values. */
const HISTOGRAMS: readonly (readonly [name: string, histogram: HistogramName, help: string])[] = [
  ['vllm:time_to_first_token_seconds', 'timeToFirstToken', 'Histogram of time to first token in seconds.'],
  ['vllm:inter_token_latency_seconds', 'interTokenLatency', 'Histogram of inter-token latency in seconds.'],
  [
    'vllm:time_per_output_token_seconds',
    'interTokenLatency',
    'Histogram of time per output token in seconds. DEPRECATED: Use vllm:inter_token_latency_seconds instead.',
  ],
  [
    'vllm:request_time_per_output_token_seconds',
    'timePerOutputToken',
    'Histogram of time_per_output_token_seconds per request.',
  ],
  ['vllm:e2e_request_latency_seconds', 'endToEndTime', 'Histogram of e2e request latency in seconds.'],
  ['vllm:request_queue_time_seconds', 'queueTime', 'Histogram of time spent in WAITING phase for request.'],
  ['vllm:request_inference_time_seconds', 'inferenceTime', 'Histogram of time spent in RUNNING phase for request.'],
  ['vllm:request_prefill_time_seconds', 'prefillTime', 'Histogram of time spent in PREFILL phase for request.'],
  ['vllm:request_decode_time_seconds', 'decodeTime', 'Histogram of time spent in DECODE phase for request.'],
  ['vllm:request_prompt_tokens', 'promptTokens', 'Number of prefill tokens processed.'],
  ['vllm:request_generation_tokens', 'generationTokens', 'Number of generation tokens processed.'],
]

export const ENGINE_METRICS: readonly Metric<EngineFigures>[] = [
  gauge('vllm:num_requests_running', 'Number of requests in model execution batches.', ({ work }) => work.running),
  gauge('vllm:num_requests_waiting', 'Number of requests waiting to be processed.', ({ work }) => work.waiting),
  gauge('vllm:kv_cache_usage_perc', 'KV-cache usage. 1 means 100 percent usage.', ({ work }) => work.cacheUsage),
  gauge(
    'vllm:gpu_cache_usage_perc',
    'GPU KV-cache usage. 1 means 100 percent usage. DEPRECATED: Use vllm:kv_cache_usage_perc instead.',
    ({ work }) => work.cacheUsage,
  ),
  counter('vllm:prefix_cache_queries', 'Prefix cache queries, in terms of number of queried tokens.', promptTokens),
  counter(
    'vllm:prefix_cache_hits',
    'Prefix cache hits, in terms of number of cached tokens.',
    ({ requests, load, prefixCacheShare }) =>
      requests.cachedTokens + wholeCount(sumOf(load, 'promptTokens') * prefixCacheShare),
  ),
  counter('vllm:num_preemptions', 'Cumulative number of preemption from the engine.', () => 0),
  counter('vllm:prompt_tokens', 'Number of prefill tokens processed.', promptTokens),
  counter(
    'vllm:generation_tokens',
    'Number of generation tokens processed.',
    ({ requests, load }) => requests.generationTokens + wholeCount(sumOf(load, 'generationTokens')),
  ),
  counter(
    'vllm:request_success',
    'Count of successfully processed requests.',
    ({ requests: { finished }, load }) =>
      finished.map((count, reason) => (reason === 0 ? count + wholeCount(countOf(load)) : count)),
    { variants: FINISH_REASONS.map(reason => ({ finished_reason: reason })) },
  ),
  ...HISTOGRAMS.map(
    ([name, histogram, help]): Metric<EngineFigures> => ({
      ...{ name, type: 'histogram', help, bounds: HISTOGRAM_BOUNDS[histogram] },
      read: figures => readHistogram(figures, histogram),
      ...(name.endsWith('_seconds') && { unit: 'seconds' }),
    }),
  ),
  gauge(
    'vllm:lora_requests_info',
    'Running stats on lora requests.',
    ({ adapters, time }) => (adapters === undefined ? Number.NaN : time),
    { ownLabels: ({ adapters = {} }) => adapters },
  ),
  info('vllm:cache_config', 'Information of the LLMEngine CacheConfig', () => 1, { ownLabels: ({ cache }) => cache }),
]

function promptTokens({ requests, load }: EngineFigures): number {
  return requests.promptTokens + wholeCount(sumOf(load, 'promptTokens'))
}

/** Returns the sum of the values of a histogram. */
function sumOf(counts: Readonly<HistogramCounts>, name: HistogramName): number {
  return counts[HISTOGRAM_PLACES[name].sum]!
}

/** Returns the requests of a load. Each of them has its prompt. */
function countOf(load: Readonly<HistogramCounts>): number {
  const { first, sum } = HISTOGRAM_PLACES.promptTokens
  return load.slice(first, sum).reduce((total, count) => total + count, 0)
}

/** Counts of the offered load are real numbers. A smaller error of rounding is ignored. */
const ROUNDING = 1e-6

function wholeCount(count: number): number {
  return Math.floor(count * (1 + Number.EPSILON * 1e4) + ROUNDING)
}

/** Returns the counts of a histogram up to each bound, the count of all, and the sum. */
function readHistogram({ load, requests, context }: EngineFigures, name: HistogramName): number[] {
  const { bounds, first, sum } = HISTOGRAM_PLACES[name]
  const hasTokens = name === 'promptTokens' || name === 'generationTokens'
  let ofLoad = 0
  let ofRequests = 0
  const counts = Array.from({ length: bounds.length + 1 }, (_, bucket) => {
    ofLoad += load[first + bucket]!
    ofRequests += requests.histograms[first + bucket]!
    // The engine has no bound above the context of its model.
    return hasTokens && bounds[bucket]! > context ? Number.NaN : ofRequests + wholeCount(ofLoad)
  })
  // The integrals have errors of rounding far below a microsecond. They must not make a sum smaller.
  return [...counts, Math.round((Math.max(0, load[sum]!) + requests.histograms[sum]!) * 1e6) / 1e6]
}
