/** What a user may import from `modelhost-sim`. */
export type { Client, RequestOf, ResponseOf } from './api/client.ts'
export type { NamesProfile } from './api/names.ts'
export { Refusal } from './api/refusal.ts'
export type { Happened, Transition } from './clock/happened.ts'
export type { ClockMode, ClockSetting } from './clock/setting.ts'
export { UntilError } from './clock/until-error.ts'
export { LawError, type LawName } from './cluster/laws/law.ts'
export type { LedgerEntry } from './cluster/ledger.ts'
export type { LostTo } from './cluster/life.ts'
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
export type { Moment, ReportOptions } from './cluster/report-window.ts'
export type { ReportStep } from './cluster/series.ts'
export type { ClusterVerbs, NodeVerbs } from './cluster/verbs.ts'
export type { AddedFault, FaultVerbs, FaultView } from './faults/faults.ts'
export { type Fault, FaultError, type FaultRule } from './faults/rule.ts'
export type { Duration } from './kernel/duration.ts'
export type { Entry } from './kernel/journal.ts'
export { EventCapError } from './kernel/loop.ts'
export type { ReceivedRequest, Unread } from './received.ts'
export { createSimulator, type FetchOptions, type Simulator, type SimulatorOptions, type Waiting } from './simulator.ts'
export { type SnapshotAbout, SnapshotError } from './snapshot/envelope.ts'
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
