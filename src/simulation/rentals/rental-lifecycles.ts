import type { ContainerState, HostedState } from '../../data/records/enums.ts'
import { Lifecycle } from '../lifecycle.ts'

/** The states of a hosted instance. One that runs starts again if its provider moves it to another machine. */
export const HOSTED_LIFECYCLE = new Lifecycle<HostedState>({
  creating: { phase: 'inProgress', next: ['starting', 'stopped', 'failed', 'deleted'] },
  starting: { phase: 'inProgress', next: ['running', 'stopped', 'failed', 'deleted'] },
  running: { phase: 'settled', next: ['starting', 'stopping', 'failed'] },
  // It starts at once if funds have come back meanwhile and the provider restarts what lacked them.
  stopping: { phase: 'inProgress', next: ['stopped', 'deleted', 'starting'] },
  stopped: { phase: 'terminal', next: ['starting', 'deleted'] },
  failed: { phase: 'terminal', next: ['starting', 'deleted'] },
  deleted: { phase: 'terminal', next: [] },
})

/** The states of a container, which lives once. */
export const CONTAINER_LIFECYCLE = new Lifecycle<ContainerState>({
  creating: { phase: 'inProgress', next: ['starting', 'failed', 'deleted'] },
  starting: { phase: 'inProgress', next: ['running', 'failed', 'deleted'] },
  running: { phase: 'settled', next: ['shutting_down', 'failed'] },
  shutting_down: { phase: 'inProgress', next: ['deleted'] },
  failed: { phase: 'terminal', next: ['deleted'] },
  deleted: { phase: 'terminal', next: [] },
})
