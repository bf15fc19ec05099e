import { dirname } from 'node:path'
import { recordSimulator } from '../../../simulator/history/record.ts'
import type { ScenarioRun } from '../../../simulator/timelines.ts'
import type { Scenario } from '../scenario.ts'
import { loadScenarios } from './files.ts'
import { ScenarioPlayer } from './runner.ts'

/**
 * Runs the scenario of a file in YAML or JSON, and records its world.
 *
 * @throws LoadError for an invalid file, RangeError for one that plays a client
 */
export async function runWhole(file: string): Promise<ScenarioRun> {
  const folder = dirname(file)
  const [scenario] = (await loadScenarios(file, folder)) as [Scenario]
  if (scenario.runFlow !== undefined) {
    throw new RangeError('it plays a client, which is a program. Play it with modelhost-sim run.')
  }
  const steps: { at: string; text: string }[] = []
  let isoOf = (at: number) => String(at)
  let recording: { readonly text: string } | undefined
  const player = new ScenarioPlayer(scenario, false, {
    ...{ file, folder },
    onStep: (text, at) => steps.push({ at: isoOf(at), text }),
    onWorld: sim => {
      isoOf = at => sim.world.clock.iso(at)
      recording = recordSimulator(sim)
    },
  })
  const { title, passed, failure, seed = '', elapsed, wallMs, checks, digest } = await player.play(undefined)
  return {
    ...{ title, passed, seed, elapsed, wallMs, checks, digest, steps },
    ...{ failure: failure?.message, line: failure?.where?.line, recording: recording?.text },
  }
}
