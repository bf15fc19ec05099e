/** Whether a request gets slower as the world gets larger: at 10,000 deployments against 10. */
import { createSimulator } from 'modelhost-sim'
import { atMost, type Bench, type Group, type Measured } from './figure.ts'
import { perCpuSecond, type Window, window } from './measure.ts'
import { withDeployments } from './stage.ts'

export const growth: Group = {
  name: 'growth',
  figures: [{ name: 'growth', unit: 'µs of CPU a request', goal: atMost(3, 'ratio'), run: grow }],
}

async function grow(bench: Bench): Promise<Measured> {
  const small = requests(10)
  const large = requests(bench.quick ? 200 : 10_000)
  let best = 0
  let bestSmall = 0
  for (let run = 1; run <= bench.runs; run++) {
    bench.progress(`growth: ${run} of ${bench.runs}`)
    bestSmall = Math.max(bestSmall, perCpuSecond(await small(bench)))
    best = Math.max(best, perCpuSecond(await large(bench)))
  }
  return { value: 1e6 / best, baseline: 1e6 / bestSmall, ratio: bestSmall / best, beside: '10 deployments as baseline' }
}

/** A window of GETs to a world of so many deployments, of each in turn. */
function requests(deployments: number): (bench: Bench) => Promise<Window> {
  const sim = createSimulator({ fixtures: withDeployments(deployments) })
  const headers = { authorization: `Bearer ${sim.token}` }
  const urls = sim.world.deployments.list().map(({ deploy_id }) => `https://api.bench.test/deploy/${deploy_id}`)
  let nth = 0
  const get = async () => {
    const response = await sim.fetch(urls[nth++ % urls.length]!, { headers })
    if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${await response.text()}`)
  }
  return bench => window(bench, get)
}
