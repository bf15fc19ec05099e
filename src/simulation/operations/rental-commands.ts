import { CommandError } from '../command-error.ts'
import type { CommandTable } from './command-definition.ts'
import { requireHosted } from './command-targets.ts'

/** Commands to hosted instances. */
export const RENTAL_COMMANDS = {
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
} as const satisfies CommandTable
