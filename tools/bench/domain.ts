/** What happens in a cloud, without HTTP: deployments start, stop, and lose their nodes for days. */

import { loadFixture } from '../../src/data/fixtures/load.ts'
import type { FixtureInput } from '../../src/data/records/fixture.ts'
import { Chance, purpose } from '../../src/kernel/random.ts'
import { World } from '../../src/simulation/world.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { atLeast, atMost, type Bench, type Group, type Measured } from './figure.ts'
import { perCpuSecond, piece, times, type Window } from './measure.ts'
import { boundless, creation } from './stage.ts'
import { withoutJournal } from './without-journal.ts'

const MINUTE = 60_000_000
const DEPLOYMENTS = 200
const NODES = 100
const STEP = 10 * MINUTE

export const domain: Group = {
  name: 'domain',
  figures: [
    {
      name: 'domain_events_per_s',
      unit: 'journal entries per CPU second',
      goal: atLeast(1_500_000),
      run: async bench => eventful(bench),
    },
    {
      name: 'journal_domain_ms',
      unit: 'ms of CPU for a day',
      goal: atMost(1.15, 'ratio'),
      run: async bench => journaled(bench),
    },
    {
      name: 'journal_get_ms',
      unit: 'ms of CPU for 1,000 requests',
      goal: atMost(1.15, 'ratio'),
      run: async bench => journaledRequests(bench),
    },
  ],
}

function eventful(bench: Bench): Measured {
  const hours = bench.quick ? 6 : 10 * 24
  let best: Window | undefined
  for (let run = 0; run <= bench.runs; run++) {
    bench.progress(run === 0 ? 'domain_events_per_s: warming up' : `domain_events_per_s: ${run} of ${bench.runs}`)
    const cloud = new Cloud()
    const before = cloud.world.journal.last
    const window = piece(1, () => cloud.live(hours * 60 * MINUTE))
    const lived = { ...window, operations: cloud.world.journal.last - before }
    if (run > 0 && (best === undefined || perCpuSecond(lived) > perCpuSecond(best))) best = lived
  }
  const days = hours / 24
  const beside = `${best!.operations.toLocaleString('en')} entries in ${days} days of ${DEPLOYMENTS} deployments on ${NODES * 8} GPUs`
  return { value: perCpuSecond(best!), beside }
}

/** Days of the same fleet with its journal, and with one that keeps nothing. The first day of each compiles. */
function journaled(bench: Bench): Promise<Measured> {
  const day = (bench.quick ? 1 : 24) * 60 * MINUTE
  const live = () => {
    const cloud = new Cloud()
    const { cpuMicros } = piece(1, () => cloud.live(day))
    return { ms: cpuMicros / 1000, spent: cloud.world.ledger.balance }
  }
  const without = withoutJournal(live)
  if (live().spent !== without.spent) throw new Error('The world differs without its journal.')
  return times(
    bench,
    'journal_domain_ms',
    bench.quick ? 2 : 16,
    () => live().ms,
    () => withoutJournal(live).ms,
  )
}

/** Requests through `sim.fetch` to a world with its journal, and with one that keeps nothing. */
async function journaledRequests(bench: Bench): Promise<Measured> {
  const sim = createSimulator({ fixtures: 'default', clock: 'manual' })
  const init = { headers: { authorization: `Bearer ${sim.token}` } }
  const [{ deploy_id }] = (await (await sim.fetch('http://sim/deploy/list', init)).json()) as [{ deploy_id: string }]
  const send = async () => {
    const cpu = process.cpuUsage()
    for (let i = 0; i < 1_000; i++) await (await sim.fetch(`http://sim/deploy/${deploy_id}`, init)).json()
    const { user, system } = process.cpuUsage(cpu)
    return (user + system) / 1000
  }
  const warmUp = bench.quick ? 1 : 10
  for (let run = 0; run < warmUp; run++) await withoutJournal(send).then(send)
  const measured = await times(bench, 'journal_get_ms', bench.quick ? 2 : 24, send, () => withoutJournal(send))
  await sim[Symbol.asyncDispose]()
  return measured
}

/** A fleet under weather, and an account that goes on starting and stopping its deployments. */
class Cloud {
  readonly world: World
  readonly #ordinals: number[] = []
  readonly #chance = new Chance('bench')
  readonly #key = this.#chance.key('bench', 'cloud')
  readonly #what = purpose('bench.choice')
  #drawn = 0

  constructor() {
    const fleet: NonNullable<FixtureInput['nodes']>['pools'] = [
      { name: 'bench', zone: 'zone-a', nodes: [{ prefix: 'node', gpu: 'H100-80GB', gpus_per_node: 8, count: NODES }] },
    ]
    const world = new World({ fixture: withFleet(fleet), seed: 1 })
    this.world = world
    for (let i = 0; i < DEPLOYMENTS; i++) {
      const { hub, settings: _, ...rest } = creation(`domain-${i}`)
      const scale = { min_instances: 1 + (i % 4), max_instances: 4 }
      this.#ordinals.push(world.deployments.createLlm({ ...rest, ...scale, weights: hub }).ordinal)
    }
    world.runTo(60 * MINUTE)
  }

  live(micros: number): void {
    const { world } = this
    const end = world.clock.now + micros
    const down: number[] = []
    while (world.clock.now < end) {
      for (let i = 0; i < 20; i++) this.#toggle()
      const node = this.#pick(world.nodes.count)
      world.operationEffects.crash(node, 'node.crashed')
      down.push(node)
      if (down.length > 5) world.operationEffects.repair(down.shift()!)
      world.runTo(world.clock.now + STEP)
    }
  }

  #toggle(): void {
    const { deployments } = this.world
    const deployment = deployments.handle(this.#ordinals[this.#pick(this.#ordinals.length)]!)
    if (deployment.status === 'stopped' || deployment.status === 'failed') deployment.start()
    else deployment.stop()
  }

  #pick(below: number): number {
    return this.#chance.integer(below, this.#key, this.#what, this.#drawn++)
  }
}

function withFleet(pools: NonNullable<FixtureInput['nodes']>['pools']) {
  return loadFixture({ ...boundless(), nodes: { pools } })
}
