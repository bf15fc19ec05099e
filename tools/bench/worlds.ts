/** Reset, fork and bytes of a world of 10,000 deployments. */
import { createSimulator, type Simulator } from 'modelhost-sim'
import type { LlmSpec } from '../../src/simulation/deployments/deployment-row.ts'
import { World } from '../../src/simulation/world.ts'
import { atMost, type Bench, type Figure, type Group } from './figure.ts'
import { meanMs, times } from './measure.ts'
import { creation, withDeployments } from './stage.ts'

const SECOND = 1_000_000

/** The mean ms of CPU of so many rounds. */
type MeanOf = (rounds: number) => number

export const worlds: Group = {
  name: 'worlds',
  figures: [
    figure('reset_10k_ms', 0.5, 100, async bench => {
      const sim = createSimulator({ fixtures: tenThousand(bench) })
      // Loads the tokenizer.
      await sim.clock.advance('1s')
      return rounds =>
        meanMs(
          rounds,
          () => use(sim.world, 'reset', 60 * SECOND),
          () => sim.reset(),
        )
    }),
    figure('fork_10k_ms', 0.5, 100, async bench => {
      const world = new World({ fixture: tenThousand(bench) })
      let nth = 0
      return rounds =>
        meanMs(
          rounds,
          () => use(world, `fork-${nth++}`, SECOND),
          () => world.fork(),
        )
    }),
    figure('snapshot_bytes_10k_ms', 50, 5, async bench => {
      const sim: Simulator = createSimulator({ fixtures: tenThousand(bench) })
      return rounds =>
        meanMs(
          rounds,
          () => {},
          () => sim.snapshot().toBytes(),
        )
    }),
  ],
}

/** @param arrange makes the world that all runs measure */
function figure(name: string, goalMs: number, rounds: number, arrange: (bench: Bench) => Promise<MeanOf>): Figure {
  return {
    name,
    unit: 'ms of CPU',
    goal: atMost(goalMs),
    run: async bench => {
      const meanOf = await arrange(bench)
      return times(bench, name, bench.runs, () => meanOf(bench.quick ? 5 : rounds))
    },
  }
}

function tenThousand(bench: Bench) {
  return withDeployments(bench.quick ? 100 : 10_000)
}

/** Changes the world, as tests and the origins of checkpoints do: one more deployment, and time. */
function use(world: World, name: string, micros: number): void {
  const { hub, settings, ...rest } = creation(name)
  const spec: LlmSpec = { ...rest, ...settings, weights: hub }
  world.deployments.createLlm(spec)
  world.runTo(world.clock.now + micros)
}
