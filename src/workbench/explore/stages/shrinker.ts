/** The port to what makes plans small. */

import type { WorldChange } from '../flow-world.ts'
import type { InputValues } from '../input.ts'
import type { Interpreted } from '../plan/choices.ts'
import type { Plan } from '../plan/plan.ts'
import type { FlowRunner, RunResult } from '../run/runner.ts'

/** A small plan with the violation. */
export interface ShrunkFinding {
  readonly plan: Plan
  /** What is in place of parts of the world of the flow: something simpler. Empty for the world of the flow. */
  readonly world: WorldChange
  /** What was left out of the world, in words. */
  readonly leftOut: readonly string[]
  /** The inputs of the flow; undefined for the simplest ones. */
  readonly inputs: InputValues | undefined
  /** Its run. */
  readonly result: RunResult
  /** Whether the violation is gone without any one of its items. */
  readonly isMinimal: boolean
  /** Whether it was found twice more, with equal digests. */
  readonly isRepeatable: boolean
  /** The runs that it took. */
  readonly runs: number
}

/** What to shrink. */
export interface ShrinkRequest {
  readonly plan: Plan
  /** The inputs of the run; undefined for the simplest ones. */
  readonly inputs?: Interpreted<InputValues> | undefined
  /** The run of the plan, if it is known. */
  readonly result?: RunResult | undefined
  /** The violation to keep. Others may come and go. */
  readonly signature: string
  readonly runner: FlowRunner
  /** Ends the shrinking after the present run, with the simplest plan so far. */
  readonly signal?: AbortSignal | undefined
}

export interface Shrinker {
  /** Returns a small plan whose run has a violation of the same signature; undefined if the plan's run has none. */
  shrink(request: ShrinkRequest): Promise<ShrunkFinding | undefined>
}
