/** Exploration of a flow that ends, and of one that polls for ever. */
import { oncePer } from '../../src/lib/once.ts'
import { exploreRuns } from '../../src/workbench/explore/explore.ts'
import type { FlowContext } from '../../src/workbench/explore/flow.ts'
import { createFlowRunner } from '../../src/workbench/explore/run/flow-runner.ts'
import type { FlowRunner } from '../../src/workbench/explore/run/runner.ts'
import { atMost, type Bench, type Group, type Measured } from './figure.ts'
import { times } from './measure.ts'

const WORLD = { fixtures: 'empty', seed: 1 } as const

export const explore: Group = {
  name: 'explore',
  figures: [
    { name: 'explore_singles_s', unit: 's of CPU', goal: atMost(2), run: singles },
    {
      name: 'explore_endless_s',
      unit: 's of CPU',
      goal: atMost(5),
      run: async bench => {
        const { seconds, runs, requests } = await endless(bench)
        return { value: seconds, beside: `${runs} runs of up to ${requests} requests` }
      },
    },
    {
      name: 'explore_endless_requests',
      unit: 'requests of the longest run',
      goal: atMost(100),
      run: async bench => ({ value: (await endless(bench)).requests }),
    },
  ],
}

/** The runner of a client that deploys a model, and polls until it has this status. It survives no fault. */
function runnerOf(status: string, pollMs: number): FlowRunner {
  const run = async ({ fetch, url, token, sleep }: FlowContext) => {
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
      if (deployment.status === status) return deployment
      await sleep(pollMs)
    }
  }
  return createFlowRunner({ name: 'deploys', options: WORLD, run })
}

async function singles(bench: Bench): Promise<Measured> {
  const options = { name: 'deploys', faults: 'singles', exhaustive: true } as const
  let runs = 0
  const explored = async () => {
    const runner = runnerOf('running', 10_000)
    const used = await cpuSeconds(async () => {
      ;({ runs } = await exploreRuns(runner, options))
    })
    await runner.dispose()
    return used
  }
  const measured = await times(bench, 'explore_singles_s', bench.runs, explored)
  return { ...measured, beside: `${runs} runs` }
}

/** Explores a client that waits for a status which never comes, once: a user waits for the first time. */
const endless = oncePer(async (bench: Bench) => {
  bench.progress('explore_endless_s')
  const runner = runnerOf('archived', 5_000)
  const run = runner.run.bind(runner)
  let requests = 0
  runner.run = async (...args) => {
    const result = await run(...args)
    requests = Math.max(requests, result.requests.length)
    return result
  }
  let runs = 0
  const seconds = await cpuSeconds(async () => {
    ;({ runs } = await exploreRuns(runner, { name: 'deploys' }))
  })
  await runner.dispose()
  return { seconds, runs, requests }
})

async function cpuSeconds(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}
