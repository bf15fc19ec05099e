import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GPUS } from '../../../src/data/gpu-specs.ts'
import type { GpuType } from '../../../src/data/records/gpu-config.ts'
import { isTerminal } from '../../../src/simulation/deployments/deployment-row.ts'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { forAllAsync } from '../../setup/for-all.ts'
import { type Action, action, perform } from './actions.ts'

/**
 * In two phases: a world is hurt, then healed, and from then on it must come to its ends in time. Healed is what verbs
 * can mend, and money, limits and prices with it.
 */
const RUNS = Number(process.env.INVARIANT_RUNS ?? 6)

async function hurt(actions: readonly Action[]): Promise<Simulator> {
  const sim = createSimulator({
    fixtures: 'default',
    seed: 11,
    check: true,
    onBug: error => {
      throw error
    },
  })
  for (const one of actions) await perform(sim, one)
  return sim
}

function heal(sim: Simulator): void {
  sim.cluster.recoverAll()
  for (const gpu of Object.keys(GPUS) as GpuType[]) {
    sim.cluster.limit.set(gpu, null)
    sim.cluster.price.set(gpu, 100)
  }
  sim.world.ledger.addFunds(100_000_000)
}

/** Whether an instance of the deployment waits for GPUs that no node has. */
function lacksCapacity(sim: Simulator, ordinal: number): boolean {
  const { deployments, instances } = sim.world
  const { gpu, numGpus } = deployments.read(ordinal)
  const waits = deployments.read(ordinal).instances.some(one => instances.read(one).state === 'pending')
  const most = sim.cluster.nodes().filter(node => node.gpu === gpu && node.free >= numGpus)
  return waits && most.length === 0
}

const trouble = fc.array(action, { minLength: 5, maxLength: 30 })

describe('a world that was hurt and is healed', () => {
  test('L1, L4: brings every deployment with capacity to its end, and to the instances it wants, within 2 h', async () => {
    await forAllAsync([trouble], { numRuns: RUNS }, async actions => {
      const sim = await hurt(actions)
      heal(sim)
      expect(sim.cluster.activeFailures()).toEqual([])
      await sim.clock.advance('2h')
      const stuck: string[] = []
      for (const [ordinal, row] of sim.world.deployments.entries()) {
        if (isTerminal(row.status) || row.plan.type === 'legacy' || row.plan.type === 'tts') continue
        const base = row.plan.base >= 0 ? sim.world.deployments.read(row.plan.base) : undefined
        if (lacksCapacity(sim, base === undefined ? ordinal : row.plan.base)) continue
        if (row.status !== 'running') stuck.push(`${row.plan.modelName} is ${row.status}`)
        else if (row.plan.base === -2 && row.ready !== row.desired) {
          stuck.push(`${row.plan.modelName} has ${row.ready} of ${row.desired}`)
        }
      }
      expect(stuck).toEqual([])
    })
  })

  test('L7: whatever is rented rests within the hour: it runs, is stopped, has failed or is deleted', async () => {
    await forAllAsync([trouble], { numRuns: RUNS }, async actions => {
      const sim = await hurt(actions)
      heal(sim)
      await sim.clock.advance('1h')
      const resting = ['running', 'stopped', 'failed', 'deleted']
      const stuck = [...sim.world.rentals.entries()].filter(([, row]) => !resting.includes(row.state))
      expect(stuck.map(([, row]) => `${row.id} is ${row.state}`)).toEqual([])
    })
  })

  test('L2: every batch is over an hour after its expires_at', async () => {
    await forAllAsync([trouble], { numRuns: RUNS }, async actions => {
      const sim = await hurt(actions)
      heal(sim)
      await sim.clock.advance('25h')
      expect(sim.world.batches.active.length).toBe(0)
    })
  })

  test('L3: a node that is drained is empty when its deadline is over', async () => {
    await forAllAsync([trouble, fc.nat(40)], { numRuns: RUNS }, async (actions, which) => {
      const sim = await hurt(actions)
      heal(sim)
      const nodes = sim.cluster.nodes()
      const { name } = nodes[which % nodes.length]!
      sim.cluster.node(name).drain()
      await sim.clock.advance(sim.world.profile.timings.drainDeadline / 1000 + 1000)
      const { tenants } = sim.world.nodes.read(sim.world.nodes.ordinalOf(name)!)
      // A hosted instance is a rented machine: it stays where it is.
      expect(tenants.filter(one => one >= 0)).toEqual([])
    })
  })

  test('L5: a client that repeats a refused create succeeds, and its deployment runs within 2 h', async () => {
    await forAllAsync([trouble, fc.constantFrom('suspended', 'limited')], { numRuns: RUNS }, async (actions, why) => {
      const sim = await hurt(actions)
      if (why === 'suspended') sim.cluster.account.suspend('admin')
      else sim.cluster.limit.set('H100-80GB', 0)
      const create: Action = {
        do: 'create',
        name: 'acme/late',
        gpu: 'H100-80GB',
        num_gpus: 1,
        min: 1,
        repo: 'acme/chat-8b',
        batch: 96,
      }
      expect(await perform(sim, create)).toBeGreaterThanOrEqual(400)
      heal(sim)
      expect(await perform(sim, create)).toBe(200)
      await sim.clock.advance('2h')
      expect(sim.world.deployments.findLive('acme/late')!.status).toBe('running')
    })
  })
})

describe('heal', () => {
  test('lists what is wrong with what mends it, and mends it', () => {
    const sim = createSimulator({ fixtures: 'default', check: true })
    const [first, second, third] = sim.cluster.nodes().map(node => node.name) as [string, string, string]
    sim.cluster.node(first).crash()
    sim.cluster.node(second).cordon()
    sim.cluster.node(third).degrade(3)
    sim.cluster.gpu(third, 0).fail(48)
    sim.cluster.gpu(third, 1).fail(79)
    sim.cluster.disk.fill(third)
    sim.cluster.stockOut('H100-80GB')
    sim.cluster.hub.down()
    sim.cluster.hub.throttle(0.1)
    sim.cluster.hub.gate('acme/chat-8b')
    sim.cluster.registry.down()
    sim.cluster.autoscaler.freeze()
    sim.cluster.provisioning.slow(3)
    sim.cluster.card.decline()
    sim.cluster.account.suspend('admin')
    sim.cluster.token.revoke(sim.world.store.tokens.all()[0]!.token_id)
    const verbs = sim.cluster.recoverAll().map(({ undo }) => undo.verb)
    expect([...verbs].sort()).toEqual([
      'account.resume',
      'autoscaler.free',
      'card.accept',
      'disk.free',
      'gpu.reset',
      'hub.open',
      'hub.unthrottle',
      'hub.up',
      'node.recover',
      'node.repair',
      'node.repair',
      'node.uncordon',
      'pool.restock',
      'provisioning.normal',
      'registry.up',
      'token.restore',
    ])
    expect(sim.cluster.activeFailures()).toEqual([])
  })

  test('brings a zone back', () => {
    const sim = createSimulator({ fixtures: 'default', check: true })
    const { zone } = sim.cluster.nodes()[0]!
    sim.cluster.zone(zone).down()
    expect(sim.cluster.recoverAll()).toEqual([
      { description: `zone ${zone} is down`, undo: { verb: 'zone.up', target: zone } },
    ])
    expect(sim.cluster.nodes().every(node => node.state === 'ready')).toBe(true)
  })
})
