import { CommandError } from '../command-error.ts'
import { type CommandTable, requireDeployment, requireGpu, requireNode, toNotice } from './command-definition.ts'

/** Commands to nodes, their disks and GPUs, and the engines that run on them. */
export const NODE_COMMANDS = {
  'node.crash': {
    target: 'node',
    undo: 'node.repair',
    description: 'the machine dies; every instance on it is lost',
    apply: (world, name) => world.operationEffects.crash(requireNode(world, name), 'node.crashed'),
  },
  'node.repair': {
    target: 'node',
    undo: 'node.crash',
    description: 'the machine is back, with empty caches; one that is up has its GPUs that need service replaced',
    apply: (world, name) => world.operationEffects.repair(requireNode(world, name)),
  },
  'node.cordon': {
    target: 'node',
    undo: 'node.uncordon',
    description: 'it takes nothing new; what runs stays',
    apply: (world, name) => world.operationEffects.cordon(requireNode(world, name)),
  },
  'node.uncordon': {
    target: 'node',
    undo: 'node.cordon',
    description: 'it takes instances again',
    apply: (world, name) => world.operationEffects.uncordon(requireNode(world, name)),
  },
  'node.drain': {
    target: 'node',
    undo: 'node.uncordon',
    description: 'it takes nothing new, and what runs on it moves elsewhere',
    apply: (world, name) => world.operationEffects.drain(requireNode(world, name)),
  },
  'disk.fill': {
    target: 'node',
    undo: 'disk.free',
    description: 'no weights can be downloaded to it',
    apply: (world, name) => world.operationEffects.setDisk(requireNode(world, name), true),
  },
  'disk.free': {
    target: 'node',
    undo: 'disk.fill',
    description: 'there is room on its disk again',
    apply: (world, name) => world.operationEffects.setDisk(requireNode(world, name), false),
  },
  'gpu.fail': {
    target: 'gpu',
    undo: 'gpu.reset',
    description: 'an XID error: the instance on it is lost; what else depends on the code',
    args: { xid: { kind: 'xid' } },
    apply: (world, name, { xid }) => {
      const [node, gpu] = requireGpu(world, name)
      world.operationEffects.failGpu(node, gpu, Number(xid))
    },
  },
  'deployment.crash': {
    target: 'deployment',
    description: 'the engine of its oldest instance exits and is started again; with times, so do its next starts',
    args: { times: { kind: 'times', optional: true } },
    apply: (world, deploy_id, { times }) => {
      if (world.deployments.failures.crashEngine(requireDeployment(world, deploy_id, true), Number(times ?? 1))) return
      throw new CommandError(
        `Failed to crash deployment '${deploy_id}': no engine of it runs. Advance the clock until it is deploying.`,
      )
    },
  },
  'gpu.reset': {
    target: 'gpu',
    undo: 'gpu.fail',
    description: 'the GPU is sound again; one that needs service takes a repair of its node',
    apply: (world, name) => {
      const [node, gpu] = requireGpu(world, name)
      if (world.operationEffects.resetGpu(node, gpu)) return
      const { id } = world.nodes.read(node)
      throw new CommandError(
        `Failed to reset the GPU '${name}': it needs service. Repair its node with 'node.repair' of '${id}'.`,
      )
    },
  },
  'node.degrade': {
    target: 'node',
    undo: 'node.recover',
    description: 'its GPUs are slower by a factor; nothing else shows',
    args: { factor: { kind: 'factor' } },
    apply: (world, name, { factor }) => world.operationEffects.setSlowdown(requireNode(world, name), Number(factor)),
  },
  'node.recover': {
    target: 'node',
    undo: 'node.degrade',
    description: 'its GPUs have their speed back',
    apply: (world, name) => world.operationEffects.setSlowdown(requireNode(world, name), 1),
  },
  'node.preempt': {
    target: 'node',
    description: 'a spot node is taken back after a notice',
    args: { notice: { kind: 'duration', optional: true } },
    apply: (world, name, { notice }) => {
      const node = requireNode(world, name)
      if (world.nodes.read(node).group.market !== 'spot') {
        throw new CommandError(
          `Failed to preempt '${name}': it is not a spot node, and only those are taken back. Crash or drain it instead.`,
        )
      }
      world.operationEffects.preemptNode(node, toNotice(world, notice))
    },
  },
} as const satisfies CommandTable
