import { describe, expect, test } from 'vitest'
import { withoutPause } from '../../../src/lib/slices.ts'
import { EngineReader } from '../../../src/server/control/metrics/engine-values.ts'
import { readGpus } from '../../../src/server/control/metrics/gpu-metrics.ts'
import { metricsPage } from '../../../src/server/control/metrics/metrics-text.ts'
import { findModelTarget } from '../../../src/simulation/deployments/model-lookup.ts'
import type { InferenceHandle } from '../../../src/simulation/inference/request-row.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { pass, stage } from '../small-world.ts'
import { parseExposition } from './exposition-parser.ts'

/** A deployment of one instance without load, which is ready. */
function served(): Simulator {
  return stage(
    [{ count: 1, gpus: 2 }],
    {},
    {
      with: {
        deployments: [
          {
            model_name: 'acme/chat',
            status: 'running',
            max_batch_size: 2,
            weights: { repo: 'acme/chat-8b' },
            settings: { min_instances: 1, max_instances: 1 },
          },
        ],
      },
    },
  )
}

/** Submits a request with a prompt of 120 tokens, as the service does. */
function ask({ world }: Simulator, answerTokens: number, isCut = false): InferenceHandle {
  const target = findModelTarget(world, 'acme/chat')!
  const lengths = { promptTokens: 120, answerTokens, longestAnswer: answerTokens, isCut }
  const spec = { prefix: 'chatcmpl-', hash: `${answerTokens}`, ...lengths }
  return world.inferenceRequests.submit(spec, { model: 'acme/chat', token: 'token' }, target)
}

/** Returns the sum of the samples of a name with these labels. */
function metric(sim: Simulator, name: string, labels: Record<string, string> = {}): number {
  const text = [
    ...metricsPage([...withoutPause(new EngineReader(sim.world).readAll()), ...readGpus(sim.world)], 'openmetrics'),
  ].join('')
  const found = [...parseExposition(text, 'openmetrics').values()]
    .flatMap(({ samples }) => samples)
    .filter(sample => sample.name === name)
    .filter(sample => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
  expect(found).not.toEqual([])
  return found.reduce((sum, { value }) => sum + value, 0)
}

describe('the metrics of single requests', () => {
  test('show a request while it waits for its first token, while it is generated, and after its end', () => {
    const sim = served()
    ask(sim, 10)
    expect([metric(sim, 'vllm:num_requests_running'), metric(sim, 'vllm:num_requests_waiting')]).toEqual([1, 0])
    expect(metric(sim, 'vllm:prompt_tokens_total')).toBe(0)
    const [, { startedAt, firstTokenAt, tokenTime }] = [...sim.world.inferenceRequests.entries()][0]!
    sim.world.runTo(Math.ceil(firstTokenAt + 3.5 * tokenTime))
    expect(metric(sim, 'vllm:prompt_tokens_total')).toBe(120)
    expect(metric(sim, 'vllm:generation_tokens_total')).toBe(4)
    expect(metric(sim, 'vllm:time_to_first_token_seconds_count')).toBe(1)
    expect(metric(sim, 'vllm:inter_token_latency_seconds_count')).toBe(3)
    expect(metric(sim, 'vllm:e2e_request_latency_seconds_count')).toBe(0)
    expect(metric(sim, 'DCGM_FI_DEV_GPU_UTIL', { gpu: '0' })).toBe(50)
    pass(sim, '1m')
    expect(metric(sim, 'vllm:generation_tokens_total')).toBe(10)
    expect(metric(sim, 'vllm:request_success_total', { finished_reason: 'stop' })).toBe(1)
    expect(metric(sim, 'vllm:time_to_first_token_seconds_count')).toBe(1)
    expect(metric(sim, 'vllm:inter_token_latency_seconds_count')).toBe(9)
    expect(metric(sim, 'vllm:request_prompt_tokens_sum')).toBe(120)
    const [prefill, decode] = [firstTokenAt - startedAt, Math.ceil(9 * tokenTime)]
    expect(metric(sim, 'vllm:e2e_request_latency_seconds_sum')).toBeCloseTo((prefill + decode) / 1e6, 9)
    expect(metric(sim, 'vllm:request_prefill_time_seconds_sum')).toBeCloseTo(prefill / 1e6, 9)
    expect(metric(sim, 'vllm:num_requests_running')).toBe(0)
  })

  test('count a cut answer as length, and a client that leaves as abort, with the tokens of the report', () => {
    const sim = served()
    ask(sim, 2, true)
    pass(sim, '1m')
    expect(metric(sim, 'vllm:request_success_total', { finished_reason: 'length' })).toBe(1)
    const handle = ask(sim, 200)
    pass(sim, '1s')
    const before = metric(sim, 'vllm:generation_tokens_total')
    handle.abandon(0)
    expect(metric(sim, 'vllm:request_success_total', { finished_reason: 'abort' })).toBe(1)
    expect(metric(sim, 'vllm:generation_tokens_total')).toBe(before)
    pass(sim, '1s')
    const { tokens } = sim.report().deployments[0]!
    expect(metric(sim, 'vllm:prompt_tokens_total')).toBe(tokens.input)
    expect(metric(sim, 'vllm:generation_tokens_total')).toBe(tokens.output)
  })

  test('show a request that waits for a full engine, and its wait in the queue time', () => {
    const sim = served()
    for (const answer of [100, 101, 102]) ask(sim, answer)
    expect([metric(sim, 'vllm:num_requests_running'), metric(sim, 'vllm:num_requests_waiting')]).toEqual([2, 1])
    expect(metric(sim, 'vllm:kv_cache_usage_perc')).toBeGreaterThan(0)
    pass(sim, '5m')
    expect(metric(sim, 'vllm:request_queue_time_seconds_count')).toBe(3)
    expect(metric(sim, 'vllm:request_queue_time_seconds_sum')).toBeGreaterThan(0.5)
    expect(metric(sim, 'vllm:request_queue_time_seconds_bucket', { le: '0.3' })).toBe(2)
  })
})

describe('the metrics of GPUs', () => {
  test('show the XID of a failed GPU until its reset, and its instance no longer', () => {
    const sim = served()
    const gpu = { gpu: '0', Hostname: 'node-0' }
    const pod = sim.world.instances.read(sim.world.deployments.read(0).instances[0]!).id
    expect(metric(sim, 'DCGM_FI_DEV_FB_USED', { ...gpu, pod })).toBe(Math.round(0.9 * 81_559))
    expect(metric(sim, 'DCGM_FI_DEV_FB_FREE', gpu)).toBe(81_559 - Math.round(0.9 * 81_559))
    sim.cluster.gpu('node-0', 0).fail(48)
    expect(metric(sim, 'DCGM_FI_DEV_XID_ERRORS', gpu)).toBe(48)
    expect(metric(sim, 'DCGM_FI_DEV_ECC_DBE_VOL_TOTAL', gpu)).toBe(1)
    expect(metric(sim, 'DCGM_FI_DEV_FB_USED', gpu)).toBe(0)
    expect(metric(sim, 'DCGM_FI_DEV_XID_ERRORS', { ...gpu, gpu: '1' })).toBe(0)
    sim.cluster.gpu('node-0', 0).reset()
    expect(metric(sim, 'DCGM_FI_DEV_XID_ERRORS', gpu)).toBe(0)
    expect(metric(sim, 'DCGM_FI_DEV_ECC_DBE_VOL_TOTAL', gpu)).toBe(0)
    pass(sim, '30m')
    expect(metric(sim, 'DCGM_FI_DEV_GPU_UTIL', gpu)).toBe(0)
  })
})
