import type { EntryFields } from '../../kernel/journal.ts'
import type { Row } from '../../kernel/row.ts'
import type { Recorder } from '../context.ts'
import { LOGGED_KINDS } from '../journal-kinds.ts'
import { CONTROLLER, type DeploymentLogs } from '../recording/deployment-logs.ts'
import type { UsageHistory } from '../recording/history.ts'
import type { Deployments } from './deployments.ts'
import { InstanceRow } from './instance-row.ts'

/** What a recorder writes to, and where it finds whose an entry is. */
export interface DeploymentRecorderParts {
  readonly history: UsageHistory
  readonly deploymentLogs: DeploymentLogs
  readonly deployments: Deployments
}

/** Keeps journal entries for reports, and those of deployments and instances for their logs. */
export class DeploymentRecorder implements Recorder {
  readonly #parts: DeploymentRecorderParts

  constructor(parts: DeploymentRecorderParts) {
    this.#parts = parts
  }

  onJournalEntry(row: Row, kind: string, fields: EntryFields | undefined): void {
    const { history, deploymentLogs, deployments } = this.#parts
    history.onJournalEntry(kind)
    if (row instanceof InstanceRow) deploymentLogs.append(row.deployment, row.index, kind, fields)
    else if (LOGGED_KINDS.has(kind)) {
      const deployment = deployments.ordinalOf(row.id)
      if (deployment !== undefined) deploymentLogs.append(deployment, CONTROLLER, kind, fields)
    }
  }
}
