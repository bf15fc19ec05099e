/** Random plans, one for each seed. */

import type { InputDeclarations, InputValues } from '../input.ts'
import { draw, type Interpreted } from '../plan/choices.ts'
import type { Plan } from '../plan/plan.ts'
import type { RandomPlans } from '../plan/random-plan.ts'
import type { FlowRunner, RunResult } from '../run/runner.ts'
import { drawInputs } from '../values.ts'
import type { Exploration, Explored } from './exploration.ts'
import type { RunOrigin } from './findings.ts'

/** What the runs of seeds draw from. */
export interface SeedSpace {
  /** The plans for the simplest inputs. */
  readonly plans: RandomPlans
  /** Returns the plans for other inputs, by the run without faults that has them: its requests can be others. */
  plansOf(result: RunResult): RandomPlans
  readonly inputs?: InputDeclarations | undefined
}

function originOf(seed: number): { readonly seed: string; readonly run: number } {
  return { seed: 'explore', run: seed }
}

/**
 * Returns the plan of a seed. Equal seeds give equal plans in equal spaces.
 *
 * @param ofInputs the run without faults that has the inputs of this seed; undefined for the simplest inputs
 */
export function planOfSeed(space: SeedSpace, seed: number, ofInputs?: RunResult): Plan {
  const plans = ofInputs === undefined ? space.plans : space.plansOf(ofInputs)
  return draw(choices => plans.plan(choices), originOf(seed)).result
}

/** The run of a random plan. */
export interface SeedRun {
  readonly plan: Plan
  readonly result: RunResult
  /** The inputs of the flow; undefined for the simplest ones. */
  readonly inputs: Interpreted<InputValues> | undefined
  /** The run of these inputs without faults. */
  readonly ofInputs: RunResult | undefined
}

/** Runs the plan of one seed. With drawn inputs, the flow is run with them alone, too, as `ofInputs`. */
export async function runSeed(runner: FlowRunner, space: SeedSpace, seed: number): Promise<SeedRun> {
  const inputs = drawInputs(space.inputs, originOf(seed))
  const setting = { inputs: inputs?.result }
  const ofInputs = inputs === undefined ? undefined : await runner.run([], setting)
  const plan = planOfSeed(space, seed, ofInputs)
  return { plan, inputs, ofInputs, result: await runner.run(plan, setting) }
}

/** Runs seeds from 1 on until no further run is possible, or little is new. Returns whether little is new. */
export async function runSwarm(exploration: Exploration, space: SeedSpace): Promise<boolean> {
  exploration.restartNovelty()
  const isOpen = () => !exploration.novelty.isSaturated
  let ofInputs: RunResult | undefined
  function* origins() {
    for (let seed = 1; isOpen(); seed++) {
      const inputs = drawInputs(space.inputs, originOf(seed))
      const origin = { stage: 'swarm' as const, seed, inputs }
      ofInputs = undefined
      // What the inputs break alone is not an effect of a plan. Its requests are where the plan strikes.
      if (inputs !== undefined) yield { ...origin, plan: [] }
      yield { ...origin, plan: planOfSeed(space, seed, ofInputs) }
    }
  }
  const noteInputs = ({ plan, inputs }: RunOrigin, { result }: Explored) => {
    if (inputs !== undefined && plan.length === 0) ofInputs = result
  }
  await exploration.runEach(origins(), noteInputs, isOpen)
  return !isOpen()
}
