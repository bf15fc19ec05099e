import type { ProfileInput } from '../../src/data/profiles/load.ts'
import type { NodePool } from '../../src/data/records/fleet.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { stage } from './small-world.ts'

export type GroupInput = Partial<NodePool['nodes'][number] & Pick<NodePool, 'market'>>

/** Spot capacity is away for an hour after the last notice, and a new node takes 3 min. */
export const CONSTANT: ProfileInput = { weather: { spot_away: '1h' }, timings: { node_provisioning: '3m' } }

/** Creates a world of one pool of H100 nodes: `spot-0` and so on. */
export function pool({ market = 'spot', ...group }: GroupInput, profile = CONSTANT, seed = 1): Simulator {
  const node = { prefix: 'spot', gpu: 'H100-80GB' as const, gpus_per_node: 8, count: 1, image_cached: true, ...group }
  const pools = [{ name: 'spot', zone: 'zone-b', market, nodes: [node] }]
  return stage([{ gpu: 'L4-24GB', count: 0 }], {}, { seed, profile, with: { nodes: { pools } } })
}

/** Returns the number of nodes of the pool that take instances. */
export function countReady(sim: Simulator): number {
  return sim.cluster.nodes().filter(node => node.pool === 'spot' && node.state === 'ready').length
}

const HOUR = 3_600_000_000
const DAY = 24 * HOUR

/** Returns the share of the time that the nodes of a pool are usable, up-times in hours, and the nodes lost at each moment. */
export function observe(count: number, weather: NonNullable<ProfileInput['weather']>, days: number, seed = 1) {
  const timings = { node_provisioning: '3m' }
  const sim = pool({ count, min: count, max: count }, { weather, timings }, seed)
  const since = new Map(Array.from({ length: count }, (_, i) => [`spot-${i}`, 0]))
  const upTimes: number[] = []
  const losses = new Map<number, number>()
  sim.journal.listen(({ kind, time, subject }) => {
    if (kind === 'node.ready') since.set(subject, time)
    if (kind !== 'node.preemptionNoticed') return
    upTimes.push((time - since.get(subject)!) / HOUR)
    losses.set(time, (losses.get(time) ?? 0) + 1)
  })
  let nodeTime = 0
  let before = count
  for (let at = 0; at < days * DAY && sim.world.next(); ) {
    nodeTime += before * (sim.world.clock.now - at)
    before = countReady(sim)
    at = sim.world.clock.now
  }
  upTimes.sort((a, b) => a - b)
  const mean = upTimes.reduce((sum, hours) => sum + hours, 0) / upTimes.length
  const median = upTimes[Math.floor(upTimes.length / 2)]!
  return { share: nodeTime / count / sim.world.clock.now, mean, median, losses: [...losses.values()] }
}
