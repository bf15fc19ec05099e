/** What a user may import from `modelhost-sim`. */

export { type Config, defineConfig } from './cli/config.ts'
export { FixtureError, type FixtureMistake } from './data/fixtures/problem-report.ts'
export type { BatchStatus, ContainerState, DeploymentStatus, HostedState } from './data/records/enums.ts'
export type { FixtureInput } from './data/records/fixture.ts'
export type { GpuType } from './data/records/gpu-config.ts'
export type { Duration } from './kernel/duration.ts'
export type { DecidedBy } from './kernel/journal.ts'
export { EventCapError } from './kernel/loop.ts'
export type { Client, RequestOf, ResponseOf } from './service/client/client.ts'
export { Refusal } from './service/client/refusal.ts'
export type { NamesProfile } from './service/naming/names-profile.ts'
export {
  type InferenceControls,
  ScriptError,
  type ScriptRule,
  type ScriptRuleHandle,
  type ScriptRuleView,
} from './service/openai/scripted-answers.ts'
export { type OwnEndpoint, ownEndpoint as endpoint } from './service/own-endpoints.ts'
export { refuse } from './service/refusals.ts'
export type { LedgerEntry } from './simulation/account/ledger-types.ts'
export { type Records, type RecordTable, recordTable } from './simulation/account/own-records.ts'
export { CommandError } from './simulation/command-error.ts'
export type { NodeView } from './simulation/fleet/nodes.ts'
export { InvariantError, type InvariantName } from './simulation/invariants/invariant.ts'
export type { ClusterControls, NodeControls } from './simulation/operations/cluster-api.ts'
export type { LossCause } from './simulation/recording/instance-timeline.ts'
export type {
  ColdStarts,
  DeploymentReport,
  Durations,
  GpuHours,
  GpuReport,
  Report,
  RequestCounts,
  TokenCounts,
} from './simulation/reporting/report-types.ts'
export type { ReportOptions, TimeInput } from './simulation/reporting/report-window.ts'
export type { ReportStep } from './simulation/reporting/time-series.ts'
export { SnapshotError, type SnapshotInfo } from './simulator/checkpoint/envelope.ts'
export { loadSnapshot, Snapshot, saveSnapshot } from './simulator/checkpoint/snapshot.ts'
export type { FailedEvent, MoveResult, Transition } from './simulator/clock/moves/result.ts'
export { UntilError } from './simulator/clock/moves/until-error.ts'
export type { ClockMode, ClockSetting } from './simulator/clock/settings.ts'
export type { ReceivedRequest, UnreadField } from './simulator/exchanges/request-log.ts'
export type { ExplainedEntry, Explanation, NextEvent } from './simulator/explain/explanation.ts'
export type { FaultControls, FaultHandle, FaultView } from './simulator/faults/fault-controls.ts'
export { FaultError } from './simulator/faults/fault-error.ts'
export type { Fault, FaultRule } from './simulator/faults/rules.ts'
export { RecordingError } from './simulator/history/file.ts'
export type { Recording, RecordOptions } from './simulator/history/record.ts'
export type { ReplayChanges } from './simulator/history/replay/changed-replay.ts'
export type { Consequence } from './simulator/history/replay/consequences.ts'
export type { Divergence } from './simulator/history/replay/perform-lines.ts'
export { type ReplayOptions, type ReplayOutcome, type ReplaySource, replay } from './simulator/history/replay/replay.ts'
export type {
  JudgedClient,
  JudgeFinding,
  Judgement,
  JudgeOptions,
  JudgeRules,
} from './simulator/judge/judgement.ts'
export type { Conduct, CreatedThing, ObservedRequest } from './simulator/judge/observation.ts'
export { type ConductRule, defineRule, type Evidence, type Violation } from './simulator/judge/rule.ts'
export type { ConductRuleName } from './simulator/judge/rules/conduct/index.ts'
export type { RequestEvidence } from './simulator/requests/evidence.ts'
export type { Moment, RequestFilter, RequestWindow } from './simulator/requests/find.ts'
export type { RequestPattern, StatusPattern } from './simulator/requests/pattern.ts'
export type {
  NearMiss,
  RequestExpectation,
  Verification,
  VerifiedExpectation,
  VerifyOptions,
} from './simulator/requests/verify.ts'
export type { FetchOptions, PendingRequest, Simulator, SimulatorOptions } from './simulator/simulator.ts'
export type { JournalEntry as Entry } from './simulator/simulator-interface.ts'
export { createSimulator } from './workbench/explore/explorable.ts'
export type { ExplorableSimulator } from './workbench/explore/explorable-simulator.ts'
