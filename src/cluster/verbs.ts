import { nearest } from '../kernel/nearest.ts'
import { GPUS } from '../store/gpus.ts'
import type { GpuType } from '../store/records.ts'
import type { NodeView } from './nodes.ts'
import type { World } from './world.ts'

/** What can happen to a node, in pairs: what is lost can be repaired. */
export interface NodeVerbs extends NodeView {
  /** The machine dies; every instance on it is lost. */
  crash(): void
  /** It is back, with empty caches. */
  repair(): void
  /** It takes nothing new; what runs stays. */
  cordon(): void
  uncordon(): void
}

/**
 * The fleet in the hands of a test: what goes wrong with it, and what puts it right.
 *
 * @example
 * sim.cluster.nodeOf(deploy_id).crash()
 * sim.cluster.stockOut('H100-80GB')
 */
export interface ClusterVerbs {
  /** The node of this name, as in `h100-0`. Throws for an unknown one, with the nearest. */
  node(name: string): NodeVerbs
  /** The node of a deployment's oldest instance that has one. Throws when none has. */
  nodeOf(deploy_id: string): NodeVerbs
  nodes(): NodeView[]
  /** No GPU of this type is handed out any more; what runs goes on. */
  stockOut(gpu: GpuType): void
  restock(gpu: GpuType): void
  readonly card: { decline(): void; accept(): void }
  readonly limit: { set(gpu: GpuType, limit: number | null): void }
  readonly price: { set(gpu: GpuType, centsPerHour: number): void }
}

export function clusterVerbs(world: () => World): ClusterVerbs {
  const verbsOf = (ordinal: number): NodeVerbs => {
    const { nodes } = world()
    return {
      ...nodes.view(ordinal),
      crash: () => world().nodes.crash(ordinal),
      repair: () => world().nodes.repair(ordinal),
      cordon: () => world().nodes.cordon(ordinal),
      uncordon: () => world().nodes.uncordon(ordinal),
    }
  }
  return {
    node(name) {
      const { nodes } = world()
      const ordinal = nodes.find(name)
      if (ordinal === undefined) {
        const hint = nearest(name, [...nodes.names])
        throw new RangeError(
          `Failed to find the node '${name}': the fleet has none of that name. ` +
            (hint ? `Did you mean '${hint}'?` : 'cluster.nodes() lists them.'),
        )
      }
      return verbsOf(ordinal)
    },
    nodeOf(deploy_id) {
      const { deployments, instances } = world()
      const deployment = deployments.ordinalOf(deploy_id)
      if (deployment === undefined) {
        throw new RangeError(`Failed to find a node of deployment '${deploy_id}': no such deployment. Check the id.`)
      }
      for (const instance of deployments.read(deployment).instances) {
        const { node } = instances.read(instance)
        if (node >= 0) return verbsOf(node)
      }
      throw new RangeError(
        `Failed to find a node of deployment '${deploy_id}': no instance of it has been placed. ` +
          'Advance the clock past its placement first.',
      )
    },
    nodes: () => world().nodes.list(),
    stockOut: gpu => world().nodes.stockOut(realGpu(gpu)),
    restock: gpu => world().nodes.restock(realGpu(gpu)),
    card: { decline: () => world().ledger.setCard(false), accept: () => world().ledger.setCard(true) },
    limit: {
      set(gpu, limit) {
        if (limit !== null && (!Number.isInteger(limit) || limit < 0)) {
          throw new RangeError(
            `Failed to set the GPU limit of ${gpu}: ${limit} is no count. Give an integer of at least 0, or null for none.`,
          )
        }
        world().limits.command(realGpu(gpu), limit)
      },
    },
    price: {
      set(gpu, centsPerHour) {
        if (!Number.isFinite(centsPerHour) || centsPerHour < 0) {
          throw new RangeError(
            `Failed to set the price of ${gpu}: ${centsPerHour} is no price. Give cents per hour of at least 0.`,
          )
        }
        world().ledger.setPrice(realGpu(gpu), centsPerHour)
      },
    },
  }
}

function realGpu(gpu: GpuType): GpuType {
  if (gpuTypesWithPool.includes(gpu)) return gpu
  const hint = nearest(gpu, gpuTypesWithPool)
  throw new RangeError(
    `Failed to find the GPU type '${gpu}': no pool has it. ` +
      (hint ? `Did you mean '${hint}'?` : `Types are ${gpuTypesWithPool.join(', ')}.`),
  )
}

const gpuTypesWithPool = Object.keys(GPUS)
