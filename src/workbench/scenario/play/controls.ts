/** The controls of a scenario's world that a script receives. */

import type { Duration, Micros } from '../../../kernel/duration.ts'
import type { ScriptRule, ScriptRuleView } from '../../../service/openai/scripted-answers.ts'
import type { MoveResult } from '../../../simulator/clock/moves/result.ts'
import type { FaultView } from '../../../simulator/faults/fault-controls.ts'
import type { FaultRule } from '../../../simulator/faults/rules.ts'

/** The clock of a scenario. Its times are those after the last awaited call. */
export interface ScenarioClock {
  /** The world's time. */
  readonly now: Date
  /** The world's time as the wire writes it. */
  readonly iso: string
  /** Microseconds since the epoch of the world. */
  readonly elapsed: Micros
  /** Moves time by a duration. Everything that is due on the way happens. */
  advance(duration: Duration): Promise<MoveResult>
  /** Moves time to a moment: ISO 8601 with offset, or a Date. */
  advanceTo(moment: string | Date): Promise<MoveResult>
  /**
   * Moves time to the next event; with `visible`, to the next change that a client could see. With `within`, time stops
   * there if nothing comes before.
   */
  next(options?: {
    readonly visible?: boolean | undefined
    readonly within?: Duration | undefined
  }): Promise<MoveResult>
  /** Moves time until the predicate holds. Rejects with UntilError if it does not hold `within` that time. */
  until(
    predicate: () => boolean | Promise<boolean>,
    options?: { readonly within?: Duration | undefined },
  ): Promise<MoveResult>
  /** Resolves when time has moved by `duration`: a sleep for clients that accept one. */
  sleep(duration: Duration): Promise<void>
}

/** The fault rules of a scenario's world. */
export interface ScenarioFaults {
  /** Adds a rule. Rejects for an invalid rule. */
  add(rule: FaultRule): Promise<FaultView>
  list(): Promise<readonly FaultView[]>
  /** A rule with its matches and hits. */
  get(id: string): Promise<FaultView>
  remove(id: string): Promise<void>
  /** Removes every rule. */
  clear(): Promise<void>
}

/** The scripted answers of models in a scenario's world. */
export interface ScenarioInference {
  /** Adds a rule. Rejects for an invalid rule, or a name that is taken. */
  add(rule: ScriptRule): Promise<ScriptRuleView>
  /** Removes the rule of this name. Rejects for an unknown name. */
  remove(name: string): Promise<void>
  /** Removes every rule. */
  clear(): Promise<void>
}
