/** What a user may import from `modelhost-sim`. */
export type { Client, RequestOf, ResponseOf } from './api/client.ts'
export type { NamesProfile } from './api/names.ts'
export { Refusal } from './api/refusal.ts'
export type { MoveResult, Transition } from './clock/happened.ts'
export type { ClockMode, ClockSetting } from './clock/setting.ts'
export { UntilError } from './clock/until-error.ts'
export { InvariantError, type InvariantName } from './cluster/laws/law.ts'
export type { LedgerEntry } from './cluster/ledger.ts'
export type { LossCause } from './cluster/life.ts'
export type { NodeView } from './cluster/nodes.ts'
export type {
  ColdStarts,
  DeploymentReport,
  Durations,
  GpuHours,
  GpuReport,
  Report,
  RequestCounts,
  TokenCounts,
} from './cluster/report.ts'
export type { ReportOptions, TimeInput } from './cluster/report-window.ts'
export type { ReportStep } from './cluster/series.ts'
export type { ClusterControls, NodeControls } from './cluster/verbs.ts'
export type { FaultControls, FaultHandle, FaultView } from './faults/faults.ts'
export { type Fault, FaultError, type FaultRule } from './faults/rule.ts'
export type { Duration } from './kernel/duration.ts'
export type { Entry } from './kernel/journal.ts'
export { EventCapError } from './kernel/loop.ts'
export type { ReceivedRequest, UnreadField } from './received.ts'
export {
  createSimulator,
  type FetchOptions,
  type PendingRequest,
  type Simulator,
  type SimulatorOptions,
} from './simulator.ts'
export { SnapshotError, type SnapshotInfo } from './snapshot/envelope.ts'
export { loadSnapshot, Snapshot, saveSnapshot } from './snapshot/snapshot.ts'
export { FixtureError } from './store/fixture.ts'
export type {
  BatchStatus,
  ContainerState,
  DeploymentStatus,
  FixtureInput,
  GpuType,
  HostedState,
} from './store/records.ts'
