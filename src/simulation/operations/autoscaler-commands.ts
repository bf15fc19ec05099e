import type { CommandTable } from './command-definition.ts'

/** Commands to the node autoscaler. */
export const AUTOSCALER_COMMANDS = {
  'autoscaler.freeze': {
    target: 'none',
    undo: 'autoscaler.free',
    description: 'no instance is requested or released, and lost ones are not replaced',
    apply: world => world.operationEffects.setAutoscalerFrozen(true),
  },
  'autoscaler.free': {
    target: 'none',
    undo: 'autoscaler.freeze',
    description: 'the autoscaler makes up for what it missed',
    apply: world => world.operationEffects.setAutoscalerFrozen(false),
  },
  'provisioning.slow': {
    target: 'none',
    undo: 'provisioning.normal',
    description: 'new nodes take longer by a factor',
    args: { factor: { kind: 'factor' } },
    apply: (world, _, { factor }) => world.operationEffects.setProvisioningFactor(Number(factor)),
  },
  'provisioning.normal': {
    target: 'none',
    undo: 'provisioning.slow',
    description: 'new nodes take their usual time',
    apply: world => world.operationEffects.setProvisioningFactor(1),
  },
} as const satisfies CommandTable
