/** The port to what makes plans small. */

import type { Plan } from '../plan/plan.ts'
import type { RunResult } from '../run/run-result.ts'
import type { FlowRunner, RunOptions } from '../run/runner.ts'

/** A small plan with the violation. */
export interface ShrunkFinding {
  readonly plan: Plan
  /** The seed and the fixture in which it was found; empty for those of the flow. */
  readonly world: Pick<RunOptions, 'seed' | 'fixtures'>
  /** Its run. */
  readonly result: RunResult
  /** Whether the violation is gone without any one of its items. */
  readonly isMinimal: boolean
  /** Whether it was found twice more, with equal digests. */
  readonly isRepeatable: boolean
  /** The runs that it took. */
  readonly runs: number
}

export interface Shrinker {
  /** Returns a small plan whose run has a violation of the same signature; undefined if the plan's run has none. */
  shrink(plan: Plan, signature: string, runner: FlowRunner): Promise<ShrunkFinding | undefined>
}
