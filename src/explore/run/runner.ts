/** Runs of one flow under plans. Every other part of explore uses this interface alone. */

import type { Simulator } from '../../simulator/simulator.ts'
import type { WorldChange } from '../flow-world.ts'
import type { InputValues } from '../inputs/input.ts'
import { stableJson } from '../plan/canonical.ts'
import type { Plan } from '../plan/plan.ts'
import type { RunResult } from './run-result.ts'

/** The world and the inputs of a run. */
export interface RunSetting {
  /** What is in place of parts of the world of the flow. */
  readonly world?: WorldChange | undefined
  /** The inputs of the flow. Default: the simplest ones. */
  readonly inputs?: InputValues | undefined
}

/** Returns whether a run has the world and the inputs of its flow. */
export function isOwnSetting({ world, inputs }: RunSetting): boolean {
  return inputs === undefined && Object.values(world ?? {}).every(value => value === undefined)
}

/** Returns a text that equal settings share. */
export function settingKey({ world = {}, inputs }: RunSetting): string {
  return `${stableJson(world)} ${stableJson(inputs)}`
}

export interface RunOptions extends RunSetting {
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
