/** The state of the fault rules of a simulator, and what they need of it. */
import type { PastWorld } from '../../simulation/forks.ts'
import type { World } from '../../simulation/world.ts'
import type { ArmedRule } from './rule-matching.ts'
import type { FaultRule, RuleContext } from './rules.ts'

/** The header of a request that states its fault. */
export const FAULT_HEADER = 'x-sim-fault'

/** Fault rules, and what their draws depend on. */
export interface Rules {
  readonly rules: readonly ArmedRule[]
  /** Rules that were added without a name. */
  readonly unnamed: number
  /** How often each rule was added, by the name under which it draws. */
  readonly added: Readonly<Record<string, number>>
}

const NO_RULES: Rules = { rules: [], unnamed: 0, added: {} }

/** The rules of a simulator with their counts, and the past worlds for stale reads. */
export interface FaultsState {
  readonly rules: Rules
  readonly past: readonly PastWorld[]
}

export const EMPTY_STATE: FaultsState = { rules: NO_RULES, past: [] }

/** What the fault rules need of a simulator. */
export interface FaultsHost extends Omit<RuleContext, 'clock'> {
  readonly world: World
  /** Moves the world to the present time of its clock. */
  catchUp(): void
  /** Called after a change of the rules. */
  onRuleAdded?(rule: FaultRule): void
  onRuleRemoved?(id: string): void
  /** Whether the header `x-sim-fault` of a request states its fault. */
  readonly requestFaults?: boolean | undefined
}
