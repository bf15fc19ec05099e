/** The interface of simulators that explore. */

import type { Explanation } from '../../simulator/explain/explanation.ts'
import type { Recording, RecordOptions } from '../../simulator/history/record.ts'
import type { Judgement, JudgeOptions } from '../../simulator/judge/judgement.ts'
import type { ForkOptions } from '../../simulator/options.ts'
import type { RequestEvidence } from '../../simulator/requests/evidence.ts'
import type { Simulator } from '../../simulator/simulator-interface.ts'
import type { ExploreOptions } from './explore.ts'
import type { FlowReport } from './explore-flow.ts'
import type { FlowFunction, FlowOptions } from './flow.ts'
import type { InputDeclarations, ValuesOf } from './input.ts'

/** Options of `sim.explore`. The world of the flow is that of the simulator. */
export interface SimulatorExploreOptions<Result = unknown, Declared extends InputDeclarations = InputDeclarations>
  extends Pick<FlowOptions<Result, Declared>, 'invariants' | 'own' | 'lines' | 'inputs'>,
    Pick<ExploreOptions, 'budget' | 'faults' | 'classes' | 'exhaustive' | 'signal' | 'onProgress'> {
  /** The name of the flow, for messages. Default: the name of the function. */
  readonly name?: string | undefined
}

/** A simulator whose requests can be verified, whose clients can be judged, and whose world can be explained and explored. */
export interface ExplorableSimulator extends Simulator, RequestEvidence {
  /**
   * Explains a thing by its id or name, or a journal entry by its position: its state, its causes back to the first, its
   * effects, and what happens to it next. A request is an entry. It reads the world and changes nothing.
   *
   * @throws RangeError for an unknown id or position, with the nearest known one
   * @example sim.explain('h100-0').sentences
   */
  explain(subject: string | number): Explanation
  /**
   * Judges the conduct of the clients: from the requests since the start or the last reset, and from the world. A client is
   * an API token. Judge when the clients have ended, because what they have not done by then counts as never done. It
   * changes nothing.
   *
   * @throws RangeError for an unknown rule, client or id, and for an invalid setting
   * @example expect(sim.judge({ keep: [deploy_id] }).findings).toEqual([])
   */
  judge(options?: JudgeOptions): Judgement
  /**
   * Looks for what breaks a client: runs it without faults, with each single fault, with pairs, and with random faults.
   * Each run has a world of its own, which begins like this one is now. This one stays as it is.
   *
   * @throws RangeError for an invalid option, ExploreError for a flow that is not repeatable or throws without a fault
   * @example
   * const { findings } = await sim.explore(({ fetch, url, token }) => deploy({ fetch, url, token }), { faults: 'singles' })
   */
  explore<Result, Declared extends InputDeclarations = Record<never, never>>(
    flow: FlowFunction<Result, ValuesOf<Declared>>,
    options?: SimulatorExploreOptions<Result, Declared>,
  ): Promise<FlowReport>
  /**
   * Records every request, command and fault from now on, for `modelhost-sim replay`. The recording contains prompts.
   *
   * @throws RangeError if a recording of this simulator is in progress, or the file exists
   * @example
   * const recording = sim.record({ file: 'run.ndjson' })
   * recording.stop()
   */
  record(options?: RecordOptions): Recording
  fork(options?: ForkOptions): ExplorableSimulator
}
