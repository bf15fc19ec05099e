/** Runs of one flow under plans. Every other part of explore uses this interface alone. */

import type { Simulator, SimulatorOptions } from '../../simulator/simulator.ts'
import type { Plan } from '../plan/plan.ts'
import type { RunResult } from './run-result.ts'

export interface RunOptions {
  /** The world, when given: fixture or seed of a shrunk world. Default: those of the flow. */
  readonly seed?: string | number | undefined
  readonly fixtures?: SimulatorOptions['fixtures'] | undefined
  /**
   * Ends all faults and failures before this request, as if the service recovered there. It answers from which moment
   * on nothing could save the client.
   */
  readonly healAt?: { readonly request: number }
  /** Called with the simulator of the run before anything happens in its world. */
  readonly onWorld?: ((sim: Simulator) => void) | undefined
}

export interface FlowRunner {
  /** Runs the flow once in a world of its own. Rejects only for a defect of the tool or an invalid plan. */
  run(plan: Plan, options?: RunOptions): Promise<RunResult>
  /** A run takes real time, so what needs many of them is left out. Default: false. */
  readonly isSlow?: boolean
  /** What to change in a client whose runs differ. Default: advice for a flow that is a function. */
  readonly advice?: string
  /** Runs so far. */
  readonly runs: number
  /** Runs that are useful at one time. Default: 1. */
  readonly atOnce?: number
  dispose(): Promise<void>
}
