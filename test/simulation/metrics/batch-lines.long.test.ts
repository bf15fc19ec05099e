/** Lines of batches in the metrics of the engines that work on them. */
import { describe, expect, test } from 'vitest'
import { withoutPause } from '../../../src/lib/slices.ts'
import { EngineReader } from '../../../src/server/control/metrics/engine-values.ts'
import { metricsPage } from '../../../src/server/control/metrics/metrics-text.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { batchOf, CATALOG, chat, linesIn, many } from '../batch-world.ts'
import { pass, passUntil, stage } from '../small-world.ts'
import { parseExposition } from './exposition-parser.ts'

/** A deployment with two ready instances, each on a node of its own. */
function served(): Simulator {
  const deployment = {
    model_name: 'acme/chat',
    status: 'running' as const,
    max_batch_size: 8,
    weights: { repo: 'acme/chat-8b' },
    settings: { min_instances: 2, max_instances: 2 },
  }
  return stage([{ gpus: 1, count: 3 }], {}, { with: { deployments: [deployment] } })
}

/** Returns the sums of the samples of each name, by pod. */
function read(sim: Simulator): Map<string, Record<string, number>> {
  const byPod = new Map<string, Record<string, number>>()
  const families = parseExposition(
    [...metricsPage(withoutPause(new EngineReader(sim.world).readAll()), 'openmetrics')].join(''),
    'openmetrics',
  )
  for (const { name, labels, value } of [...families.values()].flatMap(({ samples }) => samples)) {
    const { pod = '', le } = labels
    if (le !== undefined && le !== '+Inf') continue
    const values = byPod.get(pod) ?? {}
    values[name] = (values[name] ?? 0) + value
    byPod.set(pod, values)
  }
  return byPod
}

const sumOf = (pods: Map<string, Record<string, number>>, name: string) =>
  [...pods.values()].reduce((sum, values) => sum + values[name]!, 0)

describe('lines of a batch', () => {
  test('count on the engines when they are done, at every instant', () => {
    const sim = served()
    const unread = sim.fork()
    const inputs = many(600, { model: 'acme/chat' })
    const batch = batchOf(sim, [...inputs, chat(600, { model: 'acme/chat', body: { stream: true } })])
    passUntil(sim, () => batch.status === 'in_progress')
    let last = 0
    while (batch.status === 'in_progress') {
      pass(sim, '700ms')
      const { completed, failed } = batch.toRecord().request_counts!
      const pods = read(sim)
      const success = sumOf(pods, 'vllm:request_success_total')
      // The line that fails reaches no engine.
      expect([failed <= 1, success]).toEqual([true, completed])
      expect(success).toBeGreaterThanOrEqual(last)
      last = success
    }
    passUntil(sim, () => batch.status === 'completed')
    const usages = linesIn(sim, batch.toRecord().output_file_id).map(({ response }) => response!.body.usage)
    const total = (field: string) => usages.reduce((sum, usage) => sum + usage[field]!, 0)
    const pods = read(sim)
    expect(sumOf(pods, 'vllm:prompt_tokens_total')).toBe(total('prompt_tokens'))
    expect(sumOf(pods, 'vllm:generation_tokens_total')).toBe(total('completion_tokens'))
    for (const name of ['time_to_first_token', 'e2e_request_latency', 'request_queue_time', 'request_prefill_time']) {
      expect([name, sumOf(pods, `vllm:${name}_seconds_count`)]).toEqual([name, 600])
    }
    expect(sumOf(pods, 'vllm:request_queue_time_seconds_sum')).toBe(0)
    expect(sumOf(pods, 'vllm:inter_token_latency_seconds_count')).toBe(total('completion_tokens') - 600)
    const times = ['prefill', 'decode'].map(phase => sumOf(pods, `vllm:request_${phase}_time_seconds_sum`))
    expect(times[0]! + times[1]!).toBeCloseTo(sumOf(pods, 'vllm:e2e_request_latency_seconds_sum'), 3)
    for (const values of pods.values()) expect(values['vllm:request_success_total']! / 300).toBeCloseTo(1, 1)
    // Reading on the way changes nothing.
    const other = batchOf(unread, [...inputs, chat(600, { model: 'acme/chat', body: { stream: true } })])
    passUntil(unread, () => other.status === 'completed')
    expect(read(unread)).toEqual(pods)
    expect(unread.digest).toBe(sim.digest)
  })

  test('are those of living engines after a loss, and a new engine starts from 0', () => {
    const sim = served()
    const batch = batchOf(sim, many(3000, { model: 'acme/chat' }))
    passUntil(sim, () => (batch.toRecord().request_counts?.completed ?? 0) > 500)
    const before = read(sim)
    const [lost, kept] = [...before.keys()] as [string, string]
    const row = sim.world.deployments.read(sim.world.deployments.findLive('acme/chat')!.ordinal)
    const { node } = sim.world.instances.read(row.instances[0]!)
    sim.cluster.node(sim.world.nodes.read(node).id).crash()
    const after = read(sim)
    expect([...after.keys()]).toEqual([kept])
    expect(after.get(kept)).toMatchObject({
      'vllm:request_success_total': before.get(kept)!['vllm:request_success_total'],
    })
    passUntil(sim, () => read(sim).size === 2, '30m')
    const begun = read(sim)
    const fresh = [...begun.keys()].find(pod => pod !== kept)!
    expect(fresh).not.toBe(lost)
    expect(begun.get(fresh)!['vllm:request_success_total']).toBe(0)
    const keptUntilNow = begun.get(kept)!['vllm:request_success_total']!
    const doneUntilNow = batch.toRecord().request_counts!.completed
    passUntil(sim, () => batch.status === 'completed')
    const done = read(sim)
    const keptLater = done.get(kept)!['vllm:request_success_total']! - keptUntilNow
    expect(keptLater + done.get(fresh)!['vllm:request_success_total']!).toBe(3000 - doneUntilNow)
  })

  test('take longer on a slow node, which does fewer of them', () => {
    const sim = served()
    const row = sim.world.deployments.read(sim.world.deployments.findLive('acme/chat')!.ordinal)
    const [slow] = row.instances.map(instance => sim.world.instances.read(instance))
    sim.cluster.node(sim.world.nodes.read(slow!.node).id).degrade(3)
    const batch = batchOf(sim, many(800, { model: 'acme/chat' }))
    passUntil(sim, () => batch.status === 'completed')
    const values = [...read(sim).entries()]
    const ofSlow = values.find(([pod]) => pod === slow!.id)![1]
    const ofSound = values.find(([pod]) => pod !== slow!.id)![1]
    const perToken = (one: Record<string, number>) =>
      one['vllm:inter_token_latency_seconds_sum']! / one['vllm:inter_token_latency_seconds_count']!
    // Their lines are not equally long, and a longer context takes a little longer.
    expect(perToken(ofSlow) / perToken(ofSound)).toBeCloseTo(3, 2)
    expect(ofSlow['vllm:request_success_total']! / 200).toBeCloseTo(1, 1)
    expect(ofSound['vllm:request_success_total']! / 600).toBeCloseTo(1, 1)
  })

  test('are part of snapshots and forks, and lines on shared capacity have no engine', () => {
    const sim = served()
    const batch = batchOf(sim, many(1000, { model: 'acme/chat' }))
    const shared = batchOf(sim, many(50, { model: CATALOG }))
    passUntil(sim, () => (batch.toRecord().request_counts?.completed ?? 0) > 300)
    pass(sim, '33ms')
    const now = read(sim)
    expect(shared.status).not.toBe('validating')
    expect(sumOf(now, 'vllm:request_success_total')).toBe(batch.toRecord().request_counts!.completed)
    expect(read(sim.fork())).toEqual(now)
    const bytes = sim.snapshot().toBytes()
    const restored = served()
    restored.restore(bytes)
    expect(read(restored)).toEqual(now)
    for (const one of [sim, restored]) pass(one, '1h')
    expect(read(restored)).toEqual(read(sim))
  })
})
