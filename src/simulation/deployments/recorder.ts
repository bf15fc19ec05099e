import type { EntryFields } from '../../kernel/journal.ts'
import type { Row } from '../../kernel/row.ts'
import type { Recorder } from '../context.ts'
import { LOGGED_KINDS } from '../journal-kinds.ts'
import { CONTROLLER, type DeploymentLogs } from '../recording/deployment-logs.ts'
import type { UsageHistory } from '../recording/history.ts'
import { COUNTED_EVENT_INDEX } from '../recording/history-records.ts'
import type { Deployments } from './deployments.ts'
import { InstanceRow } from './instance-row.ts'

/** What a recorder writes to, and where it finds whose an entry is. */
export interface DeploymentRecorderParts {
  readonly history: UsageHistory
  readonly deploymentLogs: DeploymentLogs
  readonly deployments: Deployments
}

/** Whether reports count a kind, and whether the logs of deployments have it. Bits, so 0 means neither. */
const COUNTED = 1
const LOGGED = 2
const UNKNOWN = 255

/** Keeps journal entries for reports, and those of deployments and instances for their logs. */
export class DeploymentRecorder implements Recorder {
  readonly #parts: DeploymentRecorderParts
  /** The uses of each kind by its number in the journal. It is a cache. */
  #usesByKind = new Uint8Array(64).fill(UNKNOWN)

  constructor(parts: DeploymentRecorderParts) {
    this.#parts = parts
  }

  onJournalEntry(row: Row, kind: string, kindNumber: number, fields: EntryFields | undefined): void {
    let uses = kindNumber < this.#usesByKind.length ? this.#usesByKind[kindNumber]! : UNKNOWN
    if (uses === UNKNOWN) uses = this.#learnKind(kind, kindNumber)
    const { history, deploymentLogs } = this.#parts
    if ((uses & COUNTED) !== 0) history.onCountedEvent(kind)
    if (row instanceof InstanceRow) deploymentLogs.append(row.deployment, row.index, kind, fields)
    else if ((uses & LOGGED) !== 0) {
      const deployment = this.#parts.deployments.ordinalOf(row.id)
      if (deployment !== undefined) deploymentLogs.append(deployment, CONTROLLER, kind, fields)
    }
  }

  #learnKind(kind: string, kindNumber: number): number {
    if (kindNumber >= this.#usesByKind.length) {
      const wider = new Uint8Array(kindNumber * 2).fill(UNKNOWN)
      wider.set(this.#usesByKind)
      this.#usesByKind = wider
    }
    const uses = (COUNTED_EVENT_INDEX.has(kind) ? COUNTED : 0) | (LOGGED_KINDS.has(kind) ? LOGGED : 0)
    this.#usesByKind[kindNumber] = uses
    return uses
  }
}
