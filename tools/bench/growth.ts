/** Whether a request gets slower as the world gets larger: at 10,000 deployments against 10. */
import { createSimulator } from 'modelhost-sim'
import { atMost, type Bench, type Figure, type Group, type Measured } from './figure.ts'
import { perCpuSecond, type Window, window } from './measure.ts'
import { creation, withDeployments } from './stage.ts'

/** A request of a world, ever a new one where it writes. */
type Ask = (send: Send, deployments: readonly string[]) => () => Promise<Response>
type Send = (method: string, path: string, body?: unknown) => Promise<Response>

const figure = (name: string, ask: Ask): Figure => ({
  name,
  unit: 'µs of CPU a request',
  goal: atMost(3, 'ratio'),
  run: bench => grow(bench, name, ask),
})

export const growth: Group = {
  name: 'growth',
  figures: [
    figure('growth', (send, ids) => {
      let nth = 0
      return () => send('GET', `/deploy/${ids[nth++ % ids.length]}`)
    }),
    figure('growth_create', send => {
      let nth = 0
      return () => send('POST', '/deploy/llm', creation(`grown-${nth++}`))
    }),
    figure('growth_stop', send => {
      const made: string[] = []
      let nth = 0
      // Created and stopped in one, so that there is ever something to stop.
      return async () => {
        const created = await send('POST', '/deploy/llm', creation(`stopped-${nth++}`))
        made.push(((await created.json()) as { deploy_id: string }).deploy_id)
        return send('POST', `/deploy/${made.pop()}/stop`)
      }
    }),
  ],
}

async function grow(bench: Bench, name: string, ask: Ask): Promise<Measured> {
  const small = requests(10, ask)
  const large = requests(bench.quick ? 200 : 10_000, ask)
  let best = 0
  let bestSmall = 0
  for (let run = 1; run <= bench.runs; run++) {
    bench.progress(`${name}: ${run} of ${bench.runs}`)
    bestSmall = Math.max(bestSmall, perCpuSecond(await small(bench)))
    best = Math.max(best, perCpuSecond(await large(bench)))
  }
  return { value: 1e6 / best, baseline: 1e6 / bestSmall, ratio: bestSmall / best, beside: '10 deployments as baseline' }
}

/** A window of requests to a world of so many deployments, which restarts with every window. */
function requests(deployments: number, ask: Ask): (bench: Bench) => Promise<Window> {
  const sim = createSimulator({ fixtures: withDeployments(deployments) })
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const send: Send = async (method, path, body) => {
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await sim.fetch(`https://api.bench.test${path}`, init)
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`)
    return response
  }
  return async bench => {
    sim.reset()
    const ids = sim.world.deployments.list().map(({ deploy_id }) => deploy_id)
    const next = ask(send, ids)
    // Shorter than other windows: writing makes the small world large.
    return window({ ...bench, windowMs: bench.windowMs / 4 }, next)
  }
}
