import { toNotice } from './command-arguments.ts'
import type { CommandTable } from './command-definition.ts'
import { requireGpuType, requirePool, requireZone } from './command-targets.ts'

/** Commands to pools and zones. */
export const POOL_COMMANDS = {
  'pool.preempt': {
    target: 'pool',
    undo: undefined,
    description: 'the spot nodes of a pool are taken back after a notice; new ones may be provisioned',
    args: { notice: { kind: 'duration', optional: true } },
    apply: (world, pool, { notice }) =>
      world.operationEffects.preemptPool(requirePool(world, pool), toNotice(world, notice)),
  },
  'pool.stockOut': {
    target: 'offeredGpuType',
    undo: 'pool.restock',
    description: 'no GPU of a type is handed out any more; what runs goes on',
    apply: (world, gpu) => world.operationEffects.setStock(requireGpuType(gpu), false),
  },
  'pool.restock': {
    target: 'offeredGpuType',
    undo: 'pool.stockOut',
    description: 'GPUs of a type are to be had again',
    apply: (world, gpu) => world.operationEffects.setStock(requireGpuType(gpu), true),
  },
  'zone.down': {
    target: 'zone',
    undo: 'zone.up',
    description: 'every node of a zone is gone at once',
    apply: (world, zone) => world.operationEffects.takeZoneDown(requireZone(world, zone)),
  },
  'zone.up': {
    target: 'zone',
    undo: 'zone.down',
    description: 'the nodes that went down with their zone are back, caches and all',
    apply: (world, zone) => world.operationEffects.bringZoneUp(requireZone(world, zone)),
  },
} as const satisfies CommandTable
