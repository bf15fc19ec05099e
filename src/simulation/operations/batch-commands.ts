import { CommandError } from '../command-error.ts'
import type { CommandTable } from './command-definition.ts'
import { requireBatch } from './command-targets.ts'

/** Commands to batches. */
export const BATCH_COMMANDS = {
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
