/** The metrics of GPUs, with the names and texts of NVIDIA's DCGM exporter. */

import { gpuSpec } from '../../../data/gpu-specs.ts'
import type { GpuType } from '../../../data/records/gpu-config.ts'
import { purpose } from '../../../kernel/random.ts'
import { hardwareOf } from '../../../simulation/deployments/instance-speed.ts'
import type { GpuError, NodeRow } from '../../../simulation/fleet/node-row.ts'
import { toRentalOrdinal } from '../../../simulation/fleet/tenants.ts'
import type { World } from '../../../simulation/world.ts'
import { counter, gauge, type Labels, type Metric, type MetricValues, readMetrics } from './metric.ts'
import { engineWork, RequestsInFlight, type ServingState, servingState } from './serving-state.ts'

const UUID = purpose('metrics.gpuUuid')
const MIB = 1024 * 1024

/** What is known of a GPU at one time. */
interface GpuFigures {
  /** From 0 to 1. */
  readonly utilisation: number
  /** The power limit in watts. */
  readonly watts: number
  readonly errors: readonly GpuError[]
  /** MiB. */
  readonly memory: number
  readonly usedMemory: number
}

export const GPU_METRICS: readonly Metric<GpuFigures>[] = [
  gauge('DCGM_FI_DEV_GPU_TEMP', 'GPU temperature (in C).', ({ utilisation }) =>
    Math.round(IDLE_TEMPERATURE + (FULL_TEMPERATURE - IDLE_TEMPERATURE) * utilisation),
  ),
  gauge('DCGM_FI_DEV_POWER_USAGE', 'Power draw (in W).', ({ watts, utilisation }) =>
    Math.round(watts * (IDLE_POWER_SHARE + (1 - IDLE_POWER_SHARE) * utilisation)),
  ),
  gauge('DCGM_FI_DEV_GPU_UTIL', 'GPU utilization (in %).', ({ utilisation }) => Math.round(100 * utilisation)),
  gauge('DCGM_FI_DEV_XID_ERRORS', 'Value of the last XID error encountered.', ({ errors }) => errors.at(-1)?.xid ?? 0),
  gauge('DCGM_FI_DEV_FB_FREE', 'Framebuffer memory free (in MiB).', ({ memory, usedMemory }) => memory - usedMemory),
  gauge('DCGM_FI_DEV_FB_USED', 'Framebuffer memory used (in MiB).', ({ usedMemory }) => usedMemory),
  ecc('DCGM_FI_DEV_ECC_SBE_VOL_TOTAL', 'Total number of single-bit volatile ECC errors.', []),
  ecc('DCGM_FI_DEV_ECC_DBE_VOL_TOTAL', 'Total number of double-bit volatile ECC errors.', [48, 94, 95]),
  ecc('DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS', 'Number of remapped rows for uncorrectable errors.', [63]),
  gauge('DCGM_FI_DEV_ROW_REMAP_FAILURE', 'Whether remapping of rows has failed.', ({ errors }) =>
    Math.min(1, countXids(errors, [64])),
  ),
]

/** Counts XID errors: 48, 94 and 95 are double-bit errors, 63 is a remapped row, 64 a failed remapping. */
function ecc(name: string, help: string, xids: readonly number[]) {
  return counter<GpuFigures>(name, help, ({ errors }) => countXids(errors, xids), { hasBareName: true })
}

/** The name that the driver reports, and the power limit in watts, from the data sheets of NVIDIA. */
const MODELS: Readonly<Record<Exclude<GpuType, 'other'>, readonly [name: string, watts: number]>> = {
  'L4-24GB': ['NVIDIA L4', 72],
  'L40S-48GB': ['NVIDIA L40S', 350],
  'A100-80GB': ['NVIDIA A100-SXM4-80GB', 400],
  'H100-80GB': ['NVIDIA H100 80GB HBM3', 700],
  'H200-141GB': ['NVIDIA H200', 700],
  'B200-180GB': ['NVIDIA B200', 1000],
  'B300-270GB': ['NVIDIA B300', 1400],
  'RTXPRO6000-96GB': ['NVIDIA RTX PRO 6000 Blackwell Server Edition', 600],
}
/** The power of an idle GPU as a share of its limit, and temperatures in °C when idle and at full work (A). */
const IDLE_POWER_SHARE = 0.1
const IDLE_TEMPERATURE = 30
const FULL_TEMPERATURE = 65

/** What runs on a GPU. */
interface GpuUse {
  readonly labels: Labels
  /** From 0 to 1. */
  readonly utilisation: number
  readonly usedBytes: number
}

const UNUSED: GpuUse = { labels: {}, utilisation: 0, usedBytes: 0 }

/**
 * Yields the values of the GPUs of all nodes that are up, by node and GPU. GPUs of other customers are missing. The
 * programs of rentals are not simulated, so their GPUs are idle.
 */
export function* readGpus(world: World): Generator<MetricValues> {
  const inFlight = new RequestsInFlight(world)
  const states = new Map<number, ServingState>()
  const stateOf = (deployment: number) => {
    const state = states.get(deployment) ?? servingState(world, deployment)
    states.set(deployment, state)
    return state
  }
  for (const [, node] of world.nodes.entries()) {
    if (node.state !== 'ready' && node.state !== 'cordoned') continue
    const uses = usesOf(world, node, stateOf, inFlight)
    for (let gpu = 0; gpu < node.group.gpus; gpu++) {
      const isOfOthers = ((node.group.occupied | node.heldByOthers) & (1 << gpu)) !== 0
      if (!isOfOthers) yield valuesOf(world, node, gpu, uses[gpu] ?? UNUSED)
    }
  }
}

/** Returns what runs on each GPU of a node, by the number of the GPU. */
function usesOf(
  world: World,
  node: Readonly<NodeRow>,
  stateOf: (deployment: number) => ServingState,
  inFlight: RequestsInFlight,
): GpuUse[] {
  const uses: GpuUse[] = []
  const use = (bits: number, value: GpuUse) => {
    for (let gpu = 0; gpu < node.group.gpus; gpu++) if (bits & (1 << gpu)) uses[gpu] = value
  }
  for (const tenant of node.tenants) {
    const rental = toRentalOrdinal(tenant)
    if (rental >= 0) {
      const { id, gpus } = world.rentals.read(rental)
      use(gpus, { ...UNUSED, labels: podLabels(id) })
      continue
    }
    const { id, gpus, state, deployment: ordinal } = world.instances.read(tenant)
    const deployment = world.deployments.read(ordinal)
    const isServing = state === 'ready' || state === 'draining'
    const engineBytes = hardwareOf(deployment).constants.memoryShare * gpuSpec(deployment.gpu).memoryBytes
    const hasWeights = state === 'loading' || state === 'warming'
    use(gpus, {
      labels: podLabels(id),
      utilisation: isServing
        ? engineWork(world, deployment, tenant, stateOf(ordinal), inFlight.on(tenant)).utilisation
        : 0,
      // The engine takes its whole share of the memory once the weights are loaded.
      usedBytes: isServing ? engineBytes : hasWeights ? deployment.weights.bytes / deployment.numGpus : 0,
    })
  }
  return uses
}

function podLabels(pod: string): Labels {
  return { container: 'engine', namespace: 'default', pod }
}

function valuesOf(world: World, node: Readonly<NodeRow>, gpu: number, use: GpuUse): MetricValues {
  const type = node.group.gpu as Exclude<GpuType, 'other'>
  const { memoryBytes } = gpuSpec(type)
  const [modelName, watts] = MODELS[type]
  const isBroken = (node.broken & (1 << gpu)) !== 0
  const { utilisation, usedBytes, labels } = isBroken ? UNUSED : use
  const figures = {
    ...{ utilisation, watts, errors: node.gpuErrors.filter(error => error.gpu === gpu) },
    ...{ memory: Math.round(memoryBytes / MIB), usedMemory: Math.round(Math.min(memoryBytes, usedBytes) / MIB) },
  }
  return readMetrics(GPU_METRICS, figures, {
    ...{ gpu: String(gpu), UUID: uuidOf(world, `${node.id} ${gpu}`), device: `nvidia${gpu}` },
    ...{ modelName, Hostname: node.id, ...labels },
  })
}

function countXids(errors: readonly GpuError[], xids: readonly number[]): number {
  return errors.filter(({ xid }) => xids.includes(xid)).length
}

function uuidOf({ chance }: World, name: string): string {
  const hex = chance.hex(32, chance.key('gpu', name), UUID)
  return `GPU-${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
