import type { DeploymentStatus } from '../../data/records/enums.ts'
import { Lifecycle } from '../lifecycle.ts'

/** The statuses of a deployment. One that failed may start again only if the profile allows it. */
export const DEPLOYMENT_LIFECYCLE = new Lifecycle<DeploymentStatus>({
  initializing: {
    phase: 'inProgress',
    next: ['downloading', 'deploying', 'running', 'stopped', 'failed', 'deleted'],
  },
  downloading: {
    phase: 'inProgress',
    next: ['initializing', 'deploying', 'running', 'stopped', 'failed', 'deleted'],
  },
  deploying: {
    phase: 'inProgress',
    next: ['initializing', 'downloading', 'running', 'stopped', 'failed', 'deleted'],
  },
  running: { phase: 'settled', next: ['stopped', 'failed', 'deleted'] },
  stopped: { phase: 'terminal', next: ['initializing', 'deleted'] },
  failed: { phase: 'terminal', next: ['deleted'] },
  deleted: { phase: 'terminal', next: [] },
})
