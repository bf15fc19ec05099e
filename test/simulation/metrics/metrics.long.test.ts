import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OfferedLoadInput } from '../../../src/data/offered-load.ts'
import { withoutPause } from '../../../src/lib/slices.ts'
import { EngineReader } from '../../../src/server/control/metrics/engine-values.ts'
import { readGpus } from '../../../src/server/control/metrics/gpu-metrics.ts'
import { metricsPage } from '../../../src/server/control/metrics/metrics-text.ts'
import { readDeployments, readWorld } from '../../../src/server/control/metrics/world-metrics.ts'
import { hardwareOf } from '../../../src/simulation/deployments/instance-speed.ts'
import { cacheTokens } from '../../../src/simulation/fleet/weights.ts'
import type { World } from '../../../src/simulation/world.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { forAll } from '../../setup/for-all.ts'
import { pass, passUntil, stageLoad } from '../small-world.ts'
import { type ParsedFamily, type ParsedSample, parseExposition, seriesKey } from './exposition-parser.ts'

const loaded = (
  load: OfferedLoadInput,
  settings = { min_instances: 1, max_instances: 6 },
  nodes = { count: 3, gpus: 4 },
) => stageLoad(load, settings, nodes)

function page(world: World, format: 'prometheus' | 'openmetrics' = 'prometheus'): Map<string, ParsedFamily> {
  return parseExposition(pageText(world, format), format)
}

function pageText(world: World, format: 'prometheus' | 'openmetrics' = 'prometheus'): string {
  const sources = [
    ...readWorld(world),
    ...readDeployments(world),
    ...withoutPause(new EngineReader(world).readAll()),
    ...readGpus(world),
  ]
  return [...metricsPage(sources, format)].join('')
}

function samples(
  families: Map<string, ParsedFamily>,
  name: string,
  labels: Record<string, string> = {},
): ParsedSample[] {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''))
  return (family?.samples ?? []).filter(
    sample => sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )
}

function total(families: Map<string, ParsedFamily>, name: string, labels: Record<string, string> = {}): number {
  return samples(families, name, labels).reduce((sum, { value }) => sum + value, 0)
}

/** What the page says must be what the report and the deployment say. */
function expectAgreement(sim: Simulator, deploy_id: string): Map<string, ParsedFamily> {
  const families = page(sim.world)
  const openFamilies = page(sim.world, 'openmetrics')
  for (const name of ['vllm:num_requests_running', 'vllm:num_requests_waiting', 'vllm:kv_cache_usage_perc']) {
    expect(total(openFamilies, name)).toBe(total(families, name))
  }
  const ordinal = sim.world.deployments.ordinalOf(deploy_id)!
  const row = sim.world.deployments.read(ordinal)
  const report = sim.report().deployments.find(one => one.deploy_id === deploy_id)!
  const serving = samples(families, 'vllm:num_requests_running', { deploy_id })
  const ready = row.instances.filter(instance => sim.world.instances.read(instance).state === 'ready')
  const answering = row.instances.filter(instance =>
    ['ready', 'draining'].includes(sim.world.instances.read(instance).state),
  )
  expect(serving).toHaveLength(answering.length)
  expect(total(families, 'modelhost_sim_deployment_instances', { deploy_id, state: 'ready' })).toBe(
    sim.world.deployments.handle(ordinal).toRecord().instances.running,
  )
  expect(total(families, 'modelhost_sim_deployment_waiting_requests', { deploy_id })).toBe(report.requests.waiting)
  if (ready.length === 0) return families
  const concurrency = report.serving!.concurrency
  expect(total(families, 'vllm:num_requests_running', { deploy_id })).toBe(Math.round(concurrency))
  expect(total(families, 'vllm:num_requests_waiting', { deploy_id })).toBe(report.requests.waiting)
  const { promptTokens, outputTokens } = row.load!.speed
  const usage = (concurrency * (promptTokens + outputTokens / 2)) / cacheTokens(hardwareOf(row))
  expect(total(families, 'vllm:kv_cache_usage_perc', { deploy_id })).toBeCloseTo(usage, 9)
  return families
}

const SURGE: OfferedLoadInput = {
  kind: 'steps',
  steps: [
    { at: '0s', rps: 2 },
    { at: '10m', rps: 14 },
    { at: '60m', rps: 1 },
  ],
}

describe('the metrics of engines', () => {
  test('agree with the report and the deployment at each step of a scale-up, a node loss and a scale-down', () => {
    const { sim, chat, row } = loaded(SURGE)
    const engineCounts: number[] = []
    for (let step = 0; step < 100; step++) {
      pass(sim, '1m')
      if (step === 40) {
        const instance = sim.world.instances.read(row().instances[0]!)
        sim.cluster.node(sim.world.nodes.read(instance.node).id).crash()
      }
      const families = expectAgreement(sim, chat.deploy_id)
      engineCounts.push(samples(families, 'vllm:num_requests_running').length)
    }
    expect(engineCounts[0]).toBe(1)
    expect(Math.max(...engineCounts)).toBeGreaterThan(3)
    // The crash takes engines away at once.
    expect(engineCounts[40]).toBeLessThan(engineCounts[39]!)
    expect(engineCounts.at(-1)).toBe(1)
  })

  test('count from zero for each new engine, which is missing before it is ready and after its end', () => {
    const { sim } = loaded(SURGE)
    const pods = (families: Map<string, ParsedFamily>) =>
      new Map(samples(families, 'vllm:prompt_tokens_total').map(({ labels, value }) => [labels.pod!, value]))
    pass(sim, '10m')
    expect([...pods(page(sim.world)).keys()]).toEqual([expect.stringMatching(/-0$/)])
    passUntil(sim, () => pods(page(sim.world)).size > 1)
    expect([...pods(page(sim.world)).values()][1]).toBe(0)
    expect([...pods(page(sim.world)).values()][0]).toBeGreaterThan(100_000)
    pass(sim, '3h')
    expect([...pods(page(sim.world)).keys()]).toEqual([expect.stringMatching(/-0$/)])
  })

  test('do not change the world and do not depend on earlier readings', () => {
    const [read, unread] = [loaded(SURGE).sim, loaded(SURGE).sim]
    for (let step = 0; step < 60; step++) {
      pass(read, '61s')
      pass(unread, '61s')
      expect(pageText(read.world)).toBe(pageText(read.world))
    }
    expect(read.digest).toBe(unread.digest)
    expect(pageText(read.world)).toBe(pageText(unread.world))
    expect(pageText(read.fork().world)).toBe(pageText(unread.fork().world))
  })

  test('slow down with the node of the engine', () => {
    const { sim, row } = loaded(
      { kind: 'constant', rps: 3 },
      { min_instances: 2, max_instances: 2 },
      { count: 2, gpus: 1 },
    )
    passUntil(sim, () => row().ready === 2)
    const [slow, fast] = row().instances.map(instance => sim.world.instances.read(instance))
    const before = page(sim.world)
    sim.cluster.node(sim.world.nodes.read(slow!.node).id).degrade(4)
    pass(sim, '10m')
    const after = page(sim.world)
    const grown = (name: string, pod: string) => total(after, name, { pod }) - total(before, name, { pod })
    const meanOf = (pod: string) =>
      grown('vllm:inter_token_latency_seconds_sum', pod) / grown('vllm:inter_token_latency_seconds_count', pod)
    expect(meanOf(slow!.id) / meanOf(fast!.id)).toBeCloseTo(4, 3)
    const requests = (pod: string) => grown('vllm:request_success_total', pod)
    expect(requests(fast!.id) / requests(slow!.id)).toBeCloseTo(4, 1)
  })
})

describe('the histograms of engines', () => {
  test('show the wait of the queue exactly while a constant load exceeds the capacity', () => {
    const { sim, row } = loaded({ kind: 'constant', rps: 1 }, { min_instances: 1, max_instances: 1 })
    const { requestsPerSecond, places } = row().load!.speed
    const { firstTokenTime } = row().load!.speed.at(places)
    const { sim: full } = loaded(
      { kind: 'constant', rps: 2 * requestsPerSecond },
      { min_instances: 1, max_instances: 1 },
    )
    pass(full, '60s')
    const families = page(full.world)
    const served = 60 * requestsPerSecond
    expect(total(families, 'vllm:request_queue_time_seconds_count')).toBe(Math.floor(served))
    // At twice the capacity, a request taken on at t arrived at t / 2 and has waited t / 2.
    for (const le of ['5.0', '10.0', '20.0']) {
      expect(total(families, 'vllm:request_queue_time_seconds_bucket', { le })).toBe(
        Math.floor(2 * Number(le) * requestsPerSecond + 1e-6),
      )
    }
    expect(total(families, 'vllm:request_queue_time_seconds_sum')).toBeCloseTo((served * 60) / 4, 3)
    expect(total(families, 'vllm:time_to_first_token_seconds_sum')).toBeCloseTo(
      (served * 60) / 4 + served * firstTokenTime,
      3,
    )
    pass(sim, '60s')
    const idle = page(sim.world)
    expect(total(idle, 'vllm:request_queue_time_seconds_sum')).toBe(0)
    expect(total(idle, 'vllm:request_queue_time_seconds_bucket', { le: '0.3' })).toBe(60)
  })

  test('show the whole cold start in the queue time of requests that waited for the first instance', () => {
    const { sim, row } = loaded({ kind: 'constant', rps: 0.5 }, { min_instances: 1, max_instances: 1 })
    pass(sim, '10m')
    sim.cluster.node(sim.world.nodes.read(sim.world.instances.read(row().instances[0]!).node).id).crash()
    const lostAt = sim.world.clock.now
    passUntil(sim, () => row().ready === 1)
    const away = (sim.world.clock.now - lostAt) / 1e6
    expect(away).toBeGreaterThan(20)
    pass(sim, '5m')
    const families = page(sim.world)
    const requests = total(families, 'vllm:request_queue_time_seconds_count')
    const meanWait = total(families, 'vllm:request_queue_time_seconds_sum') / requests
    const waited = 0.5 * away
    expect(meanWait * requests).toBeGreaterThan((waited * away) / 2)
    expect(meanWait * requests).toBeLessThan((waited * away) / 2 + 60 * waited)
  })
})

test('counters never decrease while an engine lives, and tokens of engines add up to those of the report', () => {
  const runs = Number(process.env.INVARIANT_RUNS ?? 4)
  forAll(
    [
      fc.oneof(
        fc
          .record({
            kind: fc.constant('wave' as const),
            low: fc.integer({ min: 0, max: 3 }),
            high: fc.integer({ min: 4, max: 20 }),
          })
          .map(({ kind, low, high }) => ({ kind, low, high, period: '2h', peak_at: '40m' })),
        fc
          .record({
            kind: fc.constant('burst' as const),
            base: fc.integer({ min: 0, max: 2 }),
            peak: fc.integer({ min: 5, max: 30 }),
          })
          .map(({ kind, base, peak }) => ({ kind, base, peak, every: '20m', lasts: '3m' })),
      ),
      fc.array(fc.constantFrom('crash', 'repair', 'degrade', 'recover', 'wait'), { minLength: 4, maxLength: 10 }),
      fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 12, maxLength: 12 }),
    ],
    { numRuns: runs, seed: 7 },
    (load, actions, pauses) => {
      const { sim, chat } = loaded(load as OfferedLoadInput, { min_instances: 1, max_instances: 4 })
      const tokens = new Map<string, number>()
      let previous = new Map<string, number>()
      for (const [i, pause] of pauses.entries()) {
        const names = sim.world.nodes.list().map(({ name }) => name)
        const name = names[i % names.length]!
        const action = actions[i % actions.length]!
        if (action === 'crash') sim.cluster.node(name).crash()
        if (action === 'repair') sim.cluster.node(name).repair()
        if (action === 'degrade') sim.cluster.node(name).degrade(2)
        if (action === 'recover') sim.cluster.node(name).recover()
        // A reading right before each event sees all that an engine did before its end.
        const end = sim.world.clock.now + pause * 1e6
        while (sim.world.clock.now < end) {
          sim.world.runTo(Math.min(end, Math.max(sim.world.clock.now, sim.world.agenda.nextTime - 1)))
          const families = page(sim.world)
          const counters = new Map<string, number>()
          for (const { type, samples: all, name: family } of families.values()) {
            if (!family.startsWith('vllm:') || (type !== 'counter' && type !== 'histogram')) continue
            for (const sample of all) counters.set(seriesKey(sample), sample.value)
          }
          const fallen = [...counters].filter(([key, value]) => !(value >= (previous.get(key) ?? 0)))
          expect(fallen).toEqual([])
          previous = counters
          for (const { labels, value } of samples(families, 'vllm:prompt_tokens_total')) tokens.set(labels.pod!, value)
          sim.world.next(end)
        }
      }
      const report = sim.report().deployments.find(one => one.deploy_id === chat.deploy_id)!
      const sum = [...tokens.values()].reduce((all, each) => all + each, 0)
      // Each engine has whole tokens.
      expect(Math.abs(sum - report.tokens.input)).toBeLessThanOrEqual(tokens.size)
      expect(report.tokens.input).toBeGreaterThan(0)
    },
  )
})
