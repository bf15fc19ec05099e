import { GPU_TYPES } from '../../data/records/gpu-config.ts'
import { HOUR } from '../../kernel/duration.ts'
import type { MeteredUsage } from '../account/ledger-types.ts'
import { gpuTimeCost, MICROCENTS_PER_CENT, type Microcents } from '../account/money.ts'
import type { World } from '../world.ts'
import type { CountedWindow } from './counted-window.ts'
import type { DeploymentFigures } from './deployment-report.ts'
import { gpuHours, ratio, sumBy } from './figures.ts'
import type { GpuReport } from './report-types.ts'

/** The report of a GPU type, and the integers from which it is computed, in GPU-microseconds. */
export interface GpuFigures {
  readonly report: GpuReport
  readonly capacity: number
  readonly containers: number
}

/** Returns the figures of every GPU type that had capacity or was held in the window. */
export function allGpuFigures(
  world: World,
  { from, to }: CountedWindow,
  deployments: readonly DeploymentFigures[],
  metered: ReadonlyMap<string, MeteredUsage>,
): readonly GpuFigures[] {
  const rentals = [...world.rentals.entries()].map(([, row]) => {
    const held = world.history.rentalTimeBetween(row, from, to) * row.numGpus
    return { gpu: row.gpu, held }
  })
  return GPU_TYPES.filter(gpu => gpu !== 'other').flatMap(gpu => {
    const ofType = deployments.filter(({ report }) => report.gpu === gpu)
    const meters = [...metered.values()].filter(meter => meter.gpu === gpu)
    const [before, after] = [world.history.capacityAt(gpu, from), world.history.capacityAt(gpu, to)]
    const capacity = after.all - before.all
    const { centsPerHour, spotShare } = world.profile.prices
    const price = Math.round(centsPerHour[gpu] * MICROCENTS_PER_CENT)
    const costOf = (time: typeof after) => capacityCost(time, price, spotShare)
    const containers = sumBy(
      rentals.filter(rental => rental.gpu === gpu),
      rental => rental.held,
    )
    const held = sumBy(ofType, figures => figures.heldTime)
    if (capacity === 0 && held === 0 && containers === 0) return []
    const billed = sumBy(ofType, figures => figures.billedTime)
    const used = sumBy(ofType, figures => figures.usedTime)
    const report: GpuReport = {
      gpu,
      capacity_gpu_hours: capacity / HOUR,
      spot_gpu_hours: (after.spot - before.spot) / HOUR,
      capacity_cost_microcents: costOf(after) - costOf(before),
      ...gpuHours(held, billed, used),
      container_gpu_hours: containers / HOUR,
      utilisation: ratio(held + containers, capacity),
      rent_microcents: sumBy(meters, meter => meter.microcents),
    }
    return [{ report, capacity, containers }]
  })
}

/**
 * Returns the cost of GPU time since the epoch, floored. The cost of a window is a difference of two, so adjoining windows
 * add up.
 *
 * @param time GPU-microseconds of all nodes, and of the spot nodes among them
 * @param price micro-cents per hour of one GPU on demand
 */
function capacityCost(
  { all, spot }: { readonly all: number; readonly spot: number },
  price: Microcents,
  spotShare: number,
): Microcents {
  const spotPrice = Math.round(price * spotShare)
  return gpuTimeCost(BigInt(all - spot) * BigInt(price) + BigInt(spot) * BigInt(spotPrice))
}
