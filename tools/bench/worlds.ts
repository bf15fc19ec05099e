/** New worlds: what a test suite makes before every test. */
import { createSimulator, type Simulator } from 'modelhost-sim'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import type { LlmSpec } from '../../src/simulation/deployments/deployment-row.ts'
import { World } from '../../src/simulation/world.ts'
import { atMost, type Bench, type Group, type Measured } from './figure.ts'
import { meanMs, times } from './measure.ts'
import { boundless, creation, withDeployments } from './stage.ts'

const MANY = 10_000

export const worlds: Group = {
  name: 'worlds',
  figures: [
    {
      name: 'reset_ms',
      unit: 'ms of CPU',
      goal: atMost(1),
      run: async bench => {
        const sim = await moved(createSimulator({ fixtures: 'default' }))
        const rounds = bench.quick ? 20 : 1000
        const state = plainState(new World({ fixture: loadFixture('default') }))
        return times(
          bench,
          'reset_ms',
          bench.runs,
          () =>
            meanMs(
              rounds,
              () => use(sim),
              () => sim.reset(),
            ),
          () =>
            meanMs(
              rounds / 10,
              () => {},
              () => structuredClone(state),
            ),
        )
      },
    },
    {
      name: 'reset_10k_ms',
      unit: 'ms of CPU',
      goal: atMost(0.5),
      run: async bench => {
        const fixture = withDeployments(bench.quick ? 100 : MANY)
        const sim = await moved(createSimulator({ fixtures: fixture }))
        const state = plainState(new World({ fixture }))
        return times(
          bench,
          'reset_10k_ms',
          bench.runs,
          () =>
            meanMs(
              bench.quick ? 20 : 200,
              () => use(sim),
              () => sim.reset(),
            ),
          () =>
            meanMs(
              5,
              () => {},
              () => structuredClone(state),
            ),
        )
      },
    },
    {
      name: 'fork_10k_ms',
      unit: 'ms of CPU',
      goal: atMost(0.5),
      run: bench => {
        const world = new World({ fixture: withDeployments(bench.quick ? 100 : MANY) })
        const state = plainState(world)
        let nth = 0
        // A world that lives on between its forks, as the origin of checkpoints does.
        const live = () => {
          world.deployments.createLlm(spec(`fork-${nth++}`))
          world.runTo(world.clock.now + 1_000_000)
        }
        return times(
          bench,
          'fork_10k_ms',
          bench.runs,
          () => meanMs(bench.quick ? 20 : 200, live, () => world.fork()),
          () =>
            meanMs(
              5,
              () => {},
              () => structuredClone(state),
            ),
        )
      },
    },
    {
      name: 'snapshot_10k_ms',
      unit: 'ms of CPU',
      goal: atMost(50),
      run: bench => {
        const sim = createSimulator({ fixtures: withDeployments(bench.quick ? 100 : MANY) })
        let nth = 0
        // What a snapshot holds is shared until the world goes on, so it does in between.
        const live = () => {
          sim.world.deployments.createLlm(spec(`snapshot-${nth++}`))
          sim.world.runTo(sim.world.clock.now + 1_000_000)
        }
        return besideClone(bench, 'snapshot_10k_ms', sim, () =>
          meanMs(bench.quick ? 20 : 200, live, () => sim.snapshot()),
        )
      },
    },
    {
      name: 'snapshot_bytes_10k_ms',
      unit: 'ms of CPU',
      goal: atMost(50),
      run: bench => {
        const sim = createSimulator({ fixtures: withDeployments(bench.quick ? 100 : MANY) })
        return besideClone(bench, 'snapshot_bytes_10k_ms', sim, () =>
          meanMs(
            5,
            () => {},
            () => sim.snapshot().toBytes(),
          ),
        )
      },
    },
    {
      name: 'create_simulator_ms',
      unit: 'ms of CPU',
      run: async bench => {
        const rounds = bench.quick ? 5 : 100
        const fixture = boundless()
        return times(
          bench,
          'create_simulator_ms',
          bench.runs,
          () =>
            meanMs(
              rounds,
              () => {},
              () => createSimulator({ fixtures: 'default' }),
            ),
          () =>
            meanMs(
              rounds,
              () => {},
              () => structuredClone(fixture),
            ),
        )
      },
    },
  ],
}

/** The default world begins with a batch under way, and time may not move without a tokenizer: its clock loads it. */
async function moved(sim: Simulator): Promise<Simulator> {
  await sim.clock.advance('1s')
  return sim
}

/** What a test does before it resets: a little of everything that is written. */
function use(sim: Simulator): void {
  sim.world.deployments.createLlm(spec('reset'))
  sim.world.runTo(sim.world.clock.now + 60_000_000)
}

function spec(name: string): LlmSpec {
  const { hub, settings, ...rest } = creation(name)
  return { ...rest, ...settings, weights: hub }
}

/** The living things of a world as plain objects: the state that `structuredClone` would have to copy. */
function plainState(world: World): unknown {
  const plain = (rows: Iterable<[number, object]>) => Array.from(rows, ([, row]) => ({ ...row, generation: 0 }))
  return {
    deployments: plain(world.deployments.entries()),
    instances: plain(world.instances.entries()),
    batches: plain(world.batches.entries()),
    nodes: world.nodes.list(),
    agenda: world.agenda.entries(),
    ledger: [...world.ledger.entries()],
  }
}

/** Beside a clone of all that the bytes of a snapshot hold, which forgets private fields and what class a thing is of. */
function besideClone(bench: Bench, name: string, sim: Simulator, ours: () => number): Promise<Measured> {
  const { state } = sim.snapshot().state.world.toArchive()
  return times(bench, name, bench.runs, ours, () =>
    meanMs(
      5,
      () => {},
      () => structuredClone(state),
    ),
  )
}
