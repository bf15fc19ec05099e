/** How costs follow the size of a world and the number of worlds, each with its slope and its picture. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSimulator, type Simulator } from 'modelhost-sim'
import type { Bench, Figure, Group, Measured } from './figure.ts'
import { meanMs } from './measure.ts'
import { type Series, scalePlot } from './scale-plot.ts'
import { slopeOf } from './slope.ts'
import { creation, withDeployments } from './stage.ts'
import { streamCosts } from './streams.ts'

/** Costs by name, in ms of CPU, or kB where the name says so. */
type Costs = Readonly<Record<string, number>>

const figure = (
  name: string,
  unit: string,
  sizes: readonly number[],
  costsAt: (size: number) => Promise<Costs>,
): Figure => ({
  name,
  unit: 'slope of the steepest cost',
  run: async bench => grow(bench, name, unit, bench.quick ? sizes.slice(0, 2) : sizes, costsAt),
})

const IN_KILOBYTES = ' in kB'

/** A world holds at most 100,000 deployments, and its creations need room. */
const DEPLOYMENTS = [100, 1000, 10_000, 99_000] as const

export const scale: Group = {
  name: 'scale',
  heavy: true,
  figures: [
    figure('scale_deployments', 'deployments', DEPLOYMENTS, deploymentCosts),
    figure('scale_worlds', 'worlds', [1, 10, 100, 1000], worldCosts),
    figure('scale_streams', 'open streams', [10, 100, 1000, 10_000], async count => {
      const { open, piece, memory } = await streamCosts(count)
      return { open, 'a piece': piece, 'memory in kB': memory }
    }),
  ],
}

/** Requests to a world of so many deployments, its fork, and the bytes of its snapshot, in ms of CPU. */
async function deploymentCosts(count: number): Promise<Costs> {
  const sim = createSimulator({ fixtures: withDeployments(count) })
  const ids = sim.world.deployments.list().map(({ deploy_id }) => deploy_id)
  let nth = 0
  const get = await requestMs(() => send(sim, 'GET', `/deploy/${ids[(nth++ * 7919) % ids.length]}`))
  // Reset before each window, so that the world keeps its size.
  const create = await requestMs(
    () => send(sim, 'POST', '/deploy/llm', creation(`scale-${nth++}`)),
    () => sim.reset(),
  )
  sim.reset()
  const fork = leastMs(20, () => {
    sim.world.runTo(sim.world.clock.now + 1_000_000)
    return () => sim.world.fork()
  })
  const bytes = leastMs(3, () => () => sim.snapshot().toBytes())
  return { GET: get, create, fork, 'bytes of a snapshot': bytes }
}

/** A request to each of so many worlds in turn, and one more world, in ms of CPU. */
async function worldCosts(count: number): Promise<Costs> {
  const sims = Array.from({ length: count }, () => createSimulator({ fixtures: 'default' }))
  const paths = sims.map(sim => `/deploy/${sim.world.deployments.list()[0]!.deploy_id}`)
  let nth = 0
  const get = await requestMs(() => {
    const world = nth++ % count
    return send(sims[world]!, 'GET', paths[world]!)
  })
  const another = leastMs(20, () => () => createSimulator({ fixtures: 'default' }))
  return { GET: get, 'one more world': another }
}

async function send(sim: Simulator, method: string, path: string, body?: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const response = await sim.fetch(`https://api.bench.test${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`)
  await response.arrayBuffer()
}

/** Returns the ms of CPU of a request: the least of ten windows of 200, after one that does not count. */
async function requestMs(ask: () => Promise<void>, arrange: () => void = () => {}): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let window = 0; window <= 10; window++) {
    arrange()
    const before = process.cpuUsage()
    for (let i = 0; i < 200; i++) await ask()
    const { user, system } = process.cpuUsage(before)
    if (window > 0) least = Math.min(least, (user + system) / 200_000)
  }
  return least
}

/** Returns the least ms of CPU of some rounds. `arrange` returns the work. */
function leastMs(rounds: number, arrange: () => () => unknown): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    const work = arrange()
    least = Math.min(
      least,
      meanMs(
        1,
        () => {},
        () => work(),
      ),
    )
  }
  return least
}

async function grow(
  bench: Bench,
  name: string,
  unit: string,
  sizes: readonly number[],
  costsAt: (size: number) => Promise<Costs>,
): Promise<Measured> {
  bench.progress(`${name}: warming up`)
  await costsAt(sizes[0]!)
  const series = new Map<string, [size: number, ms: number][]>()
  for (const size of sizes) {
    bench.progress(`${name}: ${size} ${unit}`)
    for (const [cost, ms] of Object.entries(await costsAt(size)))
      series.set(cost, [...(series.get(cost) ?? []), [size, ms]])
  }
  const drawn: Series[] = Array.from(series, ([cost, points]) => ({ name: cost, points, slope: slopeOf(points) }))
  if (!bench.quick) writeFileSync(join(bench.root, `tools/bench/${name.replace('_', '-')}.svg`), scalePlot(unit, drawn))
  const beside = drawn
    .map(({ name: cost, points, slope }) => {
      const isTime = !cost.endsWith(IN_KILOBYTES)
      const values = points.map(([, value]) => {
        if (!isTime) return value.toFixed(1)
        return value < 0.1 ? `${(value * 1000).toFixed(1)} µs` : `${value.toFixed(2)} ms`
      })
      return `${cost}: ${values.join(', ')}, slope ${slope.toFixed(2)}`
    })
    .join('; ')
  return { value: Math.max(...drawn.map(({ slope }) => slope)), beside }
}
