/** The entry `modelhost-sim/scenario`: the exports for scenarios, and for tests that play scenarios. */

export type { Duration } from '../../kernel/duration.ts'
export type { Difference } from '../../lib/differences.ts'
export type { RequestOf, ResponseOf } from '../../service/client/client.ts'
export { Refusal } from '../../service/client/refusal.ts'
export type { LedgerEntry } from '../../simulation/account/ledger-types.ts'
export type { NodeView } from '../../simulation/fleet/nodes.ts'
export type { MoveResult } from '../../simulator/clock/moves/result.ts'
export { UntilError } from '../../simulator/clock/moves/until-error.ts'
export type { FaultView } from '../../simulator/faults/fault-controls.ts'
export type { Fault, FaultRule } from '../../simulator/faults/rules.ts'
export type { JournalEntry as Entry } from '../../simulator/simulator-interface.ts'
export type { FlowWorld } from '../explore/flow-world.ts'
export type { Plan, PlanItem } from '../explore/plan/plan.ts'
export { type Check, CheckError, type Expected, type ExpectRefusal, jsonLines } from './check.ts'
export type { CountRange, EventPattern } from './events.ts'
export { runFiles, runScenario } from './lazy.ts'
export type {
  ScenarioClock,
  ScenarioCluster,
  ScenarioFaults,
  ScenarioInference,
  ScenarioNode,
} from './play/controls.ts'
export type { Failure } from './play/failures.ts'
export type { Result, RunOptions } from './play/run-scenario.ts'
export type { SendOptions, SentAnswer, SentRequest } from './play/sent-request.ts'
export type { Always, Condition, LeadsTo, TemporalAssertion } from './play/temporal-assertions.ts'
export type { At, Every, ScheduledStep } from './play/timeline.ts'
export type { TraceDifference } from './runner/trace.ts'
export type { FileResult, RunFilesOptions } from './runner/workers.ts'
export {
  type CountOf,
  type Eventually,
  type FlowOutcome,
  type Play,
  type Props,
  type RunFlow,
  type Scenario,
  type ScenarioLedger,
  type ScenarioOptions,
  scenario,
} from './scenario.ts'
export { type SurvivesOptions, survives } from './survives.ts'
