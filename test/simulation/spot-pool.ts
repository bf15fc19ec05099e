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
