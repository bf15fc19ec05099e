/** The entry `modelhost-sim/explore`: what a client cannot survive, as the smallest set of faults that shows it. */

export type { Observation } from '../../simulator/judge/observation.ts'
export type { OptionalRuleName, RuleName } from '../../simulator/judge/rules/index.ts'
export { commandFlow, flow } from './declare-flow.ts'
export type { ExploreDepth, StopReason } from './explore.ts'
export { type ExplainedFinding, type ExploreFlowOptions, explore, type FlowReport } from './explore-flow.ts'
export type { CommandFlow, FlowContext, FlowFunction, FlowOptions, NamedFlow } from './flow.ts'
export {
  type Input,
  type InputDeclarations,
  type InputValues,
  integers,
  type LengthOptions,
  lists,
  oneOf,
  texts,
  type ValuesOf,
} from './input.ts'
export type { InvariantSettings, OwnInvariant } from './invariants.ts'
export type { FaultClassName } from './plan/classes.ts'
export type { OwnFault } from './plan/own-faults.ts'
export type { Anchor, CommandItem, Plan, PlanItem } from './plan/plan.ts'
export { ExploreError } from './stages/budget.ts'
export type { MatrixCell, UnreachedPoint } from './stages/coverage.ts'
export type { ExploreProgress } from './stages/exploration.ts'
export type { Surfaced } from './stages/findings.ts'
