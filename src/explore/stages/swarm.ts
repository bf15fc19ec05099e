/** Random plans, one for each seed. */

import { draw, type Tape } from '../plan/choices.ts'
import type { Plan } from '../plan/plan.ts'
import type { RandomPlans } from '../plan/random-plan.ts'
import type { RunResult } from '../run/run-result.ts'
import type { FlowRunner } from '../run/runner.ts'
import type { Exploration } from './exploration.ts'

/** A random plan and the choices that led to it. */
export interface SeedPlan {
  readonly plan: Plan
  readonly tape: Tape
}

/** Returns the plan of a seed. Equal seeds give equal plans in equal spaces. */
export function planOfSeed(plans: RandomPlans, seed: number): SeedPlan {
  const { result, tape } = draw(choices => plans.plan(choices), { seed: 'explore', run: seed })
  return { plan: result, tape }
}

/** Runs the plan of one seed. */
export async function runSeed(
  runner: FlowRunner,
  plans: RandomPlans,
  seed: number,
): Promise<SeedPlan & { readonly result: RunResult }> {
  const seedPlan = planOfSeed(plans, seed)
  return { ...seedPlan, result: await runner.run(seedPlan.plan) }
}

/** Runs seeds from `firstSeed` on until no further run is possible, or little is new. Returns whether little is new. */
export async function runSwarm(exploration: Exploration, plans: RandomPlans, firstSeed: number): Promise<boolean> {
  exploration.restartNovelty()
  const isOpen = () => !exploration.novelty.isSaturated
  function* origins() {
    for (let seed = firstSeed; isOpen(); seed++)
      yield { stage: 'swarm' as const, plan: planOfSeed(plans, seed).plan, seed }
  }
  await exploration.runEach(origins(), () => {}, isOpen)
  return !isOpen()
}
