/** The controls of a scenario's world that a script receives. */

import type { InferenceControls, ScriptRule, ScriptRuleView } from '../../../service/openai/scripted-answers.ts'
import type { NodeView } from '../../../simulation/fleet/nodes.ts'
import type { ClusterControls, NodeControls } from '../../../simulation/operations/cluster-api.ts'
import type { SimulatorClock } from '../../../simulator/clock/simulator-clock.ts'
import type { FaultControls, FaultView } from '../../../simulator/faults/fault-controls.ts'
import type { FaultRule } from '../../../simulator/faults/rules.ts'

/** The clock of a scenario. Its times are those after the last awaited call. */
export type ScenarioClock = Pick<
  SimulatorClock,
  'now' | 'iso' | 'elapsed' | 'advance' | 'advanceTo' | 'next' | 'until' | 'sleep'
>

/** The fault rules of a scenario's world. */
export interface ScenarioFaults extends Promised<Omit<FaultControls, 'add'>> {
  /** Adds a rule. Rejects for an invalid rule. */
  add(rule: FaultRule): Promise<FaultView>
}

/** The scripted answers of models in a scenario's world. */
export interface ScenarioInference extends Promised<Pick<InferenceControls, 'remove' | 'clear'>> {
  /** Adds a rule. Rejects for an invalid rule, or a name that is taken. */
  add(rule: ScriptRule): Promise<ScriptRuleView>
}

/** Functions that return promises. */
type Promised<T> = { [K in keyof T as T[K] extends Callable ? K : never]: PromisedCall<T[K]> }
type PromisedCall<F> = F extends (...args: infer Args) => infer Result ? (...args: Args) => Promise<Result> : never
type Callable = (...args: never[]) => unknown

/** The commands of a node. The node is selected when the command is sent. */
export type ScenarioNode = Promised<NodeControls> & { view(): Promise<NodeView> }

/** The methods of `sim.cluster`, each of which returns a promise. */
export type ScenarioCluster = {
  [K in keyof ClusterControls]: ClusterControls[K] extends (...args: infer Args) => NodeControls
    ? (...args: Args) => ScenarioNode
    : ClusterControls[K] extends (...args: infer Args) => CommandGroup
      ? (...args: Args) => Promised<ReturnType<ClusterControls[K]>>
      : ClusterControls[K] extends Callable
        ? PromisedCall<ClusterControls[K]>
        : Promised<ClusterControls[K]>
}

/** The commands of one target, as a selector returns them. */
type CommandGroup = { readonly [verb: string]: Callable }
