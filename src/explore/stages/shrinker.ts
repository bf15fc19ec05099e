/** The port to what makes plans small. */

import type { Plan } from '../plan/plan.ts'
import type { FlowRunner } from '../run/runner.ts'

export interface Shrinker {
  /** Returns a small plan whose run has a violation of the same signature, and the runs that this took. */
  shrink(plan: Plan, signature: string, runner: FlowRunner): Promise<{ readonly plan: Plan; readonly runs: number }>
}
