import type { EntryFields } from '../kernel/journal.ts'
import type { Row } from '../kernel/row.ts'
import type { AccountObserver } from './account/ledger-types.ts'
import type { Recorder, SimulationContext } from './context.ts'
import { InstanceRow } from './deployments/instance-row.ts'
import { LOGGED_KINDS } from './journal-kinds.ts'
import { CONTROLLER } from './recording/deployment-logs.ts'
import { COUNTED_EVENT_INDEX } from './recording/history-records.ts'
import type { WorldParts } from './world-parts.ts'

/** What a recorder writes to, and where it finds whose an entry is. */
type DeploymentRecorderParts = Pick<WorldParts, 'history' | 'deploymentLogs' | 'deployments'>

/** Whether reports count a kind, and whether the logs of deployments have it. Bits, so 0 means neither. */
const COUNTED = 1
const LOGGED = 2
const UNKNOWN = 255

/** Keeps journal entries for reports, and those of deployments and instances for their logs. */
class DeploymentRecorder implements Recorder {
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
    if ((uses & COUNTED) !== 0) history.onCountedEvent(kind, fields?.gpu)
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

/** Connects each part to the parts above it. */
export function connectParts(world: WorldParts, context: SimulationContext): void {
  const { deployments, autoscaler, loraAdapters, batches, inferenceRequests, nodeAutoscaler, weather } = world
  const { instances, rentals } = world
  context.recorder = new DeploymentRecorder(world)
  const account = accountObserver(world)
  world.ledger.connect(account)
  world.gpuQuotas.connect(account)
  world.tenants.connect(instances, rentals)
  world.nodes.connect(nodeAutoscaler)
  world.placement.connect(nodeAutoscaler)
  nodeAutoscaler.connect({ onNodeAdded: ordinal => weather.addNode(ordinal) })
  const work = { batches: batches.pacing, inferenceRequests }
  instances.connect({ deployments, slots: loraAdapters.slots, ...work })
  deployments.connect({ autoscaler, loraAdapters, ...work })
  autoscaler.connect(work)
  loraAdapters.slots.connect(work)
  batches.connect({ world })
}

/** Returns the observer that applies changes of the account to the other parts, in their order. */
function accountObserver(world: WorldParts): AccountObserver {
  const { deployments, rentals, inferenceRequests, batches, ownRecords } = world
  return {
    onSuspensionEnded(wasCutOff) {
      if (wasCutOff) batches.pacing.rescheduleAll()
      ownRecords.setCutOff(false)
      deployments.scaling.onSuspensionEnded()
      deployments.onFundsReturned()
      rentals.onFundsReturned()
    },
    onGraceEnded(reason) {
      deployments.stopAllForFunds()
      rentals.stopForFunds(reason)
      ownRecords.setCutOff(true)
      inferenceRequests.onAccountCutOff(reason)
    },
    onCutOff: () => batches.pacing.rescheduleAll(),
    onQuotaAvailable: gpu => deployments.scaling.onQuotaAvailable(gpu),
  }
}
