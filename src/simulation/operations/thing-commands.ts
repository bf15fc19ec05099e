import { CommandError } from '../command-error.ts'
import type { CommandTable } from './command-definition.ts'
import { requireBatch, requireHosted } from './command-targets.ts'

/** Commands to single hosted instances and batches. */
export const THING_COMMANDS = {
  'hosted.crash': {
    target: 'hosted',
    undo: undefined,
    description: 'the machine of a hosted instance is lost: it fails, or starts on another, by a policy of the profile',
    apply: (world, instance_id) => {
      if (world.rentals.crashMachine(requireHosted(world, instance_id))) return
      throw new CommandError(
        `Failed to crash hosted instance '${instance_id}': it has no machine. Advance the clock until it is starting.`,
      )
    },
  },
  'batch.expire': {
    target: 'batch',
    undo: undefined,
    description: 'the completion window of a batch ends now: it expires with the lines that are done',
    apply: (world, batch_id) => {
      const batch = requireBatch(world, batch_id)
      if (batch.expire()) return
      throw new CommandError(
        `Failed to expire the batch '${batch_id}': it is ${batch.status}. Only a batch that is validating or in_progress expires.`,
      )
    },
  },
} as const satisfies CommandTable
