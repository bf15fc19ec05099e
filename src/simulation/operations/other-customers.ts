import type { GpuType } from '../../data/records/gpu-config.ts'
import { HOUR, type Micros } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import { weatherPack } from '../account/chaos-draws.ts'
import type { SimulationContext } from '../context.ts'
import type { NodeRow } from '../fleet/node-row.ts'
import type { Nodes } from '../fleet/nodes.ts'

const TYPE_SHARE = purpose('weather.customersOfType')
const NODE_RANK = purpose('weather.customersOfNode')

/** Time between two changes of what other customers hold. */
export const CUSTOMERS_INTERVAL: Micros = HOUR
const BUSIEST_HOUR = 14
const MAX_SHARE = 0.95
/** Range of shares over which a node goes from empty to full. */
const NODE_RANGE = 0.4

/**
 * Lets other customers hold the GPUs of this hour on each node. They take free GPUs only. Returns the GPU types whose last
 * free GPU they took, and those that had no free GPU and have one again.
 */
export function moveOtherCustomers(context: SimulationContext, nodes: Nodes) {
  const { chance, clock } = context
  const day = Math.floor(clock.unix(clock.now) / 86_400)
  const shares = new Map<GpuType, number>()
  const hadFree = new Map<GpuType, boolean>()
  const moved = new Map<number, number>()
  for (const [ordinal, row] of nodes.entries()) {
    const { gpu, gpus } = row.group
    const share = shares.get(gpu) ?? shareOfType(context, gpu)
    shares.set(gpu, share)
    if (!hadFree.has(gpu)) hadFree.set(gpu, nodes.free(gpu) > 0)
    const rank = chance.unit(chance.key('node', row.id), NODE_RANK, day)
    const fullness = Math.min(1, Math.max(0, (share - rank) / NODE_RANGE + 0.5))
    const held = heldBits(row, Math.round(fullness * gpus))
    if (held !== row.heldByOthers) moved.set(ordinal, held)
  }
  nodes.holdByOthers(moved)
  const changed = [...hadFree].filter(([gpu, had]) => had !== nodes.free(gpu) > 0)
  return {
    soldOut: changed.flatMap(([gpu, had]) => (had ? [gpu] : [])),
    freed: changed.flatMap(([gpu, had]) => (had ? [] : [gpu])),
  }
}

/** Returns the share of the GPUs of a type that other customers want now: by hour, weekday and a draw of the day. */
function shareOfType(context: SimulationContext, gpu: string): number {
  const { chance, clock, profile } = context
  const { tenantDaySwing, tenantWeekendSwing, tenantSpread } = profile.weather
  const unix = clock.unix(clock.now)
  const day = Math.floor(unix / 86_400)
  const distance = Math.abs((unix % 86_400) / 3600 - BUSIEST_HOUR)
  const ofDay = 1 - Math.min(distance, 24 - distance) / 6
  // 1 January 1970 was a Thursday. The five other days make up for the weekend.
  const isWeekend = (day + 4) % 7 === 0 || (day + 4) % 7 === 6
  const ofWeek = isWeekend ? -1 : 0.4
  const ofChance = 2 * chance.unit(chance.key('customers', gpu), TYPE_SHARE, day) - 1
  const factor = 1 + tenantDaySwing * ofDay + tenantWeekendSwing * ofWeek + tenantSpread * ofChance
  return Math.min(MAX_SHARE, Math.max(0, (weatherPack(context)?.tenantShare ?? 0) * factor))
}

/** Returns `count` GPUs of a node from the last one down, as bits, without those that others hold, allocated and broken ones. */
function heldBits({ group, allocated, broken }: Readonly<NodeRow>, count: number): number {
  const unavailable = group.occupied | allocated | broken
  let bits = 0
  let missing = count
  for (let gpu = group.gpus - 1; gpu >= 0 && missing > 0; gpu--) {
    if (unavailable & (1 << gpu)) continue
    bits |= 1 << gpu
    missing--
  }
  return bits
}
