import { afterAll, expect, test } from 'vitest'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'
import { ObjectGraph } from './object-graph.ts'

const graph = new ObjectGraph()
afterAll(() => graph.close())

/** Fields that are not state, by class; `*` for all of a class that has tests of its own. */
const NOT_STATE: Readonly<Record<string, readonly string[]>> = {
  // Their arrays have unused ends, and a journal is empty in a fork.
  Agenda: ['*'],
  Journal: ['*'],
  Loop: ['*'],
  NumberLog: ['#lastBlock', '#lastStart'],
  // Caches, and an object that is used again.
  DeploymentLogs: ['#formOfKind'],
  DeploymentRecorder: ['#usesByKind'],
  UsageHistory: ['#segmentTotals'],
  // A fork shares every index until its first write.
  Nodes: ['#ownTypes'],
  // Two are work space, and only the start of a world asks whether it is used.
  Chance: ['#words', '#codes', 'isUsed'],
  Clock: ['#cachedIso', '#cachedIsoAt'],
  // It sends for its own world alone.
  Webhooks: ['sender'],
  // The rules and their counts belong to the simulator. A fork of the world alone has a copy.
  LineFaults: ['#owner', '#onHits'],
  SimulationContext: ['#visibleChanges', '#nextEntryIsCause', '#lastRequest'],
}

function isSkipped(className: string, field: string): boolean {
  const fields = NOT_STATE[className] ?? []
  return fields.includes('*') || fields.includes(field)
}

/** A simulator with deployments, rentals, batches, requests, changes of the catalog, failures and a suspended account. */
async function busySimulator(): Promise<Simulator> {
  const sim = createSimulator({ fixtures: 'full', seed: 7, profile: { weather: { pack: 'bad-week' } } })
  await sim.clock.advance('3h')
  const { cluster } = sim
  sim.world.sshKeys.add('laptop', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f')
  cluster.model.setInputPrice('aurora-labs/aurora-8b-instruct', 1)
  cluster.model.deprecate('aurora-labs/aurora-8b-instruct', '10d')
  await sendTo(sim, 'POST /payment/config', { limit: 1_000 })
  await sendTo(sim, 'POST /v1/me/rate_limit/request', { rate_limit: 400, reason: 'more' })
  sim.world.access.requestCosts.add('request-1', 5)
  const [node] = cluster.nodes()
  cluster.node(node!.name).degrade(2)
  cluster.hub.throttle(0.5)
  cluster.topup.delay('5m')
  cluster.card.decline()
  cluster.token.revoke(sim.world.store.tokens.all()[0]!.token_id)
  cluster.account.suspend('admin')
  cluster.hub.down({ at: '2h' })
  await sim.clock.advance('90m')
  return sim
}

test('a fork has every field of its origin', async () => {
  const { world } = await busySimulator()
  expect(graph.differences(world, world.fork(), isSkipped)).toEqual([])
})

test('a world from a snapshot has every field of the original', { tags: 'slow' }, async () => {
  const sim = await busySimulator()
  const original = sim.world
  sim.restore(sim.snapshot().toBytes())
  expect(graph.differences(original, sim.world, isSkipped)).toEqual([])
})
