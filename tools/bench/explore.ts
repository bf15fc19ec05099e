/** Exploration of a flow of 11 requests, beside the same requests in a world without an exploration. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { exploreRuns } from '../../src/workbench/explore/explore.ts'
import type { FlowContext } from '../../src/workbench/explore/flow.ts'
import type { Plan } from '../../src/workbench/explore/plan/plan.ts'
import { createFlowRunner } from '../../src/workbench/explore/run/flow-runner.ts'
import type { FlowRunner } from '../../src/workbench/explore/run/runner.ts'
import { shrink } from '../../src/workbench/explore/shrink/shrink.ts'
import { atLeast, atMost, type Bench, type Group, type Measured } from './figure.ts'
import { throughput, window } from './measure.ts'

const REQUESTS = 11
const POLL_MS = 10_000
const WORLD = { fixtures: 'empty', seed: 1 } as const
const LEAK = 'noLeak'

export const explore: Group = {
  name: 'explore',
  figures: [
    {
      name: 'explore_runs_per_s',
      unit: 'runs per CPU second',
      goal: atLeast(120),
      run: async bench => {
        const runner = createRunner()
        const { requests } = await runner.run([])
        if (requests.length !== REQUESTS) throw new Error(`the flow sends ${requests.length} requests, not ${REQUESTS}`)
        const sim = createSimulator(WORLD)
        return throughput(
          bench,
          'explore_runs_per_s',
          () => window(bench, () => runner.run([])),
          () => window(bench, () => liveOnce(sim)),
        )
      },
    },
    {
      name: 'explore_singles_s',
      unit: 's of CPU',
      goal: atMost(2),
      run: singles,
    },
    {
      name: 'explore_shrink_20_s',
      unit: 's of CPU',
      goal: atMost(1),
      run: shrinking,
    },
    {
      name: 'explore_memory_mb',
      unit: 'MB that stay of 1,000 runs',
      goal: atMost(10),
      run: memory,
    },
  ],
}

function createRunner(): FlowRunner {
  return createFlowRunner({ name: 'deploys', options: WORLD, run: deploy })
}

/** Deploys a model, and polls until it runs. It survives no fault. */
async function deploy({ fetch, url, token, sleep }: Pick<FlowContext, 'fetch' | 'url' | 'token' | 'sleep'>) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`)
    return (await response.json()) as { deploy_id: string; status: string }
  }
  const model = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
  const { deploy_id } = await call('POST', '/deploy/llm', model)
  for (;;) {
    const deployment = await call('GET', `/deploy/${deploy_id}`)
    if (deployment.status === 'running') return deployment
    await sleep(POLL_MS)
  }
}

/** The same requests without recording, faults, recovery and invariants. */
async function liveOnce(sim: Simulator): Promise<void> {
  sim.reset()
  const sleep = async (ms: number) => void (await sim.clock.advance(ms))
  await deploy({ fetch: sim.fetch, url: 'http://sim', token: sim.token, sleep })
}

async function singles(bench: Bench): Promise<Measured> {
  const sim = createSimulator(WORLD)
  let value = Number.POSITIVE_INFINITY
  let baseline = Number.POSITIVE_INFINITY
  let runs = 0
  for (let run = 0; run <= bench.runs; run++) {
    bench.progress(`explore_singles_s: ${run} of ${bench.runs}`)
    const runner = createRunner()
    const used = await cpuSeconds(async () => {
      ;({ runs } = await exploreRuns(runner, { name: 'deploys', faults: 'singles', exhaustive: true }))
    })
    await runner.dispose()
    const lives = await cpuSeconds(async () => {
      for (let life = 0; life < runs; life++) await liveOnce(sim)
    })
    // The first one is not compiled yet.
    if (run > 0) [value, baseline] = [Math.min(value, used), Math.min(baseline, lives)]
  }
  return { value, baseline, ratio: value / baseline, beside: `${runs} runs, beside as many without an exploration` }
}

async function shrinking(bench: Bench): Promise<Measured> {
  const runner = createRunner()
  const plan = plantedPlan(20)
  const { broken } = await runner.run(plan)
  const signature = broken.find(({ invariant }) => invariant === LEAK)?.signature
  if (signature === undefined) throw new Error('the planted plan leaks nothing')
  let value = Number.POSITIVE_INFINITY
  let beside = ''
  for (let run = 0; run <= bench.runs; run++) {
    bench.progress(`explore_shrink_20_s: ${run} of ${bench.runs}`)
    const used = await cpuSeconds(async () => {
      const shrunk = await shrink({ runner, plan, signature })
      beside = `${plan.length} items to ${shrunk!.plan.length} in ${shrunk!.runs} runs`
    })
    if (run > 0) value = Math.min(value, used)
  }
  return { value, beside }
}

/** Faults of which one leaks a deployment; the others meet no request or only slow it down. */
function plantedPlan(items: number): Plan {
  const lost: Plan = [{ fault: { on: 'createLlmDeployment', nth: 1, fault: { kind: 'reset', effect: 'done' } } }]
  const others = Array.from({ length: items - 1 }, (_, n) => ({
    fault: {
      on: n % 2 === 0 ? '*' : 'getDeployment',
      nth: n + 2,
      fault: { kind: 'latency', delay: `${n + 1}s` },
    } as const,
  }))
  return [...others, ...lost]
}

async function memory(bench: Bench): Promise<Measured> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const runner = createRunner()
  const runs = bench.quick ? 20 : 1000
  const heapAfterRuns = async () => {
    for (let run = 0; run < runs; run++) await runner.run([])
    // What was awaited is free only in the next turns.
    for (let turn = 0; turn < 5; turn++) {
      await new Promise(resolve => setTimeout(resolve, 10))
      collect()
    }
    return process.memoryUsage().heapUsed
  }
  bench.progress('explore_memory_mb')
  const before = await heapAfterRuns()
  const after = await heapAfterRuns()
  return { value: Math.max(0, after - before) / 1e6, beside: `${(after / 1e6).toFixed(0)} MB of heap in all` }
}

async function cpuSeconds(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}
