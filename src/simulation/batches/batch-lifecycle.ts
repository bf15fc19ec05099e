import type { BatchStatus } from '../../data/records/enums.ts'
import { Lifecycle } from '../lifecycle.ts'

/** The statuses of a batch. */
export const BATCH_LIFECYCLE = new Lifecycle<BatchStatus>({
  validating: { phase: 'inProgress', next: ['failed', 'in_progress', 'cancelling', 'expired'] },
  in_progress: { phase: 'inProgress', next: ['finalizing', 'cancelling', 'expired'] },
  finalizing: { phase: 'inProgress', next: ['completed'] },
  cancelling: { phase: 'inProgress', next: ['cancelled'] },
  completed: { phase: 'terminal', next: [] },
  failed: { phase: 'terminal', next: [] },
  expired: { phase: 'terminal', next: [] },
  cancelled: { phase: 'terminal', next: [] },
})
