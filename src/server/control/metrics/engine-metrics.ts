/** The metrics of inference engines: names, texts and bounds of vLLM's V1 engine. */
import { HISTOGRAM_BOUNDS, type HistogramName } from '../../../simulation/load/engine-histograms.ts'
import { FINISH_REASONS } from '../../../simulation/load/engine-requests.ts'
import { counter, gauge, info, type Metric, MetricTable } from './metric.ts'

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

/** The histogram behind each metric. */
export const HISTOGRAM_OF_METRIC: ReadonlyMap<string, HistogramName> = new Map(
  HISTOGRAMS.map(([name, histogram]) => [name, histogram]),
)

export const ENGINE_METRICS = new MetricTable([
  gauge('vllm:num_requests_running', 'Number of requests in model execution batches.'),
  gauge('vllm:num_requests_waiting', 'Number of requests waiting to be processed.'),
  gauge('vllm:kv_cache_usage_perc', 'KV-cache usage. 1 means 100 percent usage.'),
  gauge(
    'vllm:gpu_cache_usage_perc',
    'GPU KV-cache usage. 1 means 100 percent usage. DEPRECATED: Use vllm:kv_cache_usage_perc instead.',
  ),
  counter('vllm:prefix_cache_queries', 'Prefix cache queries, in terms of number of queried tokens.'),
  counter('vllm:prefix_cache_hits', 'Prefix cache hits, in terms of number of cached tokens.'),
  counter('vllm:num_preemptions', 'Cumulative number of preemption from the engine.'),
  counter('vllm:prompt_tokens', 'Number of prefill tokens processed.'),
  counter('vllm:generation_tokens', 'Number of generation tokens processed.'),
  counter('vllm:request_success', 'Count of successfully processed requests.', {
    variants: FINISH_REASONS.map(reason => ({ finished_reason: reason })),
  }),
  ...HISTOGRAMS.map(
    ([name, histogram, help]): Metric => ({
      ...{ name, type: 'histogram', help, bounds: HISTOGRAM_BOUNDS[histogram] },
      ...(name.endsWith('_seconds') && { unit: 'seconds' }),
    }),
  ),
  gauge('vllm:lora_requests_info', 'Running stats on lora requests.', { hasOwnLabels: true }),
  info('vllm:cache_config', 'Information of the LLMEngine CacheConfig', { hasOwnLabels: true }),
])
