/** Runs of one flow under plans. Every other part of explore uses this interface alone. */

import { stableJson } from '../../../lib/json-values.ts'
import type { Operations } from '../../../service/endpoint.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { WorldChange } from '../flow-world.ts'
import type { InputValues } from '../input.ts'
import type { Plan } from '../plan/plan.ts'
import type { Learned, RunResult } from './run-result.ts'

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

/** A run that was stopped before its end. It says nothing about the client. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped'

  constructor() {
    super('Failed to run the client: its runner was stopped. Create another one.')
  }
}

/** Resolves as a promise does, or to undefined if a run in it was stopped. */
export async function unlessStopped<Value>(promise: Promise<Value>): Promise<Value | undefined> {
  try {
    return await promise
  } catch (error) {
    if (error instanceof RunStopped) return undefined
    throw error
  }
}

export interface FlowRunner {
  /**
   * Runs the flow once in a world of its own. Rejects only for a defect of the tool or an invalid plan, and with
   * RunStopped.
   */
  run(plan: Plan, options?: RunOptions): Promise<RunResult>
  /** The operations that its world serves. */
  readonly operations: Operations
  /** A run takes real time, so what needs many of them is left out. Default: false. */
  readonly isSlow?: boolean
  /** What to change in a client whose runs differ. Default: advice for a flow that is a function. */
  readonly advice?: string
  /** What its user should know of the runs, in sentences. Default: nothing. */
  readonly notes?: readonly string[]
  /** What its runs showed so far. An exploration adds to it. */
  readonly learned?: Learned
  /** Runs so far. */
  readonly runs: number
  /** Runs that are useful at one time. Default: 1. */
  readonly atOnce?: number
  dispose(): Promise<void>
}
