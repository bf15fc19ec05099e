/** What a scenario, and a test that plays scenarios, may import from `modelhost-sim/scenario`. */
export type { RequestOf, ResponseOf } from '../api/client.ts'
export { Refusal } from '../api/refusal.ts'
export type { MoveResult } from '../clock/happened.ts'
export { UntilError } from '../clock/until-error.ts'
export type { LedgerEntry } from '../cluster/ledger.ts'
export type { NodeView } from '../cluster/nodes.ts'
export type { FaultView } from '../faults/faults.ts'
export type { Fault, FaultRule } from '../faults/rule.ts'
export type { Duration } from '../kernel/duration.ts'
export type { Entry } from '../kernel/journal.ts'
export type { ServerAddress } from './against.ts'
export { type Check, CheckError, type Difference, type Expected, type ExpectRefusal, jsonLines } from './check.ts'
export type { CountRange, EventPattern } from './events.ts'
export type { Failure } from './failures.ts'
export type { ScenarioCluster, ScenarioNode } from './orders.ts'
export { runFiles, runScenario } from './playing.ts'
export type { Result, RunOptions } from './run-scenario.ts'
export type { FileResult, RunFilesOptions } from './runner.ts'
export {
  type CountOf,
  type Eventually,
  type Play,
  type Props,
  type Scenario,
  type ScenarioLedger,
  type ScenarioOptions,
  scenario,
} from './scenario.ts'
export type { ScenarioClock, ScenarioFaults } from './stage.ts'
export type { At, Every, ScheduledStep } from './timeline.ts'
export type { TraceDifference } from './trace.ts'
export type { Always, Condition, LeadsTo, TemporalAssertion } from './watches.ts'
