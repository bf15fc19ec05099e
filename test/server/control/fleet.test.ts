/** The fleet as a page draws it: all of it once, and then what changed. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { FleetTracker, type FleetView } from '../../../src/server/control/views/fleet-tracker.ts'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { running } from '../http/running-server.ts'

const ID = 'Chat000000000001'
const deployments = [{ deploy_id: ID, model_name: 'acme/chat' }]

test('a look shows who holds each GPU, and a second one only what changed', async () => {
  const { command, sim } = await running({ fixtures: 'two-nodes', with: { deployments } })
  const look = async (query = '') => (await command(`/_sim/fleet${query}`, undefined, 'GET')).body
  const all = await look()
  expect(all).toMatchObject({ full: true, totals: { nodes: 2 }, removed: [] })
  const held = all.nodes.flatMap(([name, , , gpus, holders]: [string, number, string, number[], number[][]]) =>
    gpus.flatMap((holder, gpu) => (holder < 0 ? [] : [[name, gpu, all.owners[holders[holder]![0]!].id]])),
  )
  const { id, instances } = sim.world.deployments.read(sim.world.deployments.ordinalOf(ID)!)
  const { gpus, node } = sim.world.instances.read(instances[0]!)
  expect(gpus).toBe(1)
  expect(held).toEqual([[sim.world.nodes.read(node).id, 0, id]])
  expect(all.owners).toEqual([
    { id, kind: 'deployment', name: 'acme/chat', status: 'running', utilisation: expect.any(Number) },
  ])
  expect(await look(`?since=${all.revision}`)).toMatchObject({ revision: all.revision, full: false, nodes: [] })

  sim.cluster.node('h100-1').cordon()
  const changed = await look(`?since=${all.revision}`)
  expect(changed).toMatchObject({
    full: false,
    owners: [],
    nodes: [['h100-1', 0, 'cordoned', expect.anything(), [], 1, false]],
  })
  await command('/_sim/reset')
  expect(await look(`?since=${changed.revision}`)).toMatchObject({ full: true })
  expect((await command('/_sim/fleet?since=-1', undefined, 'GET')).status).toBe(422)
})

test('a look names the pools without GPUs, and who waits for GPUs: since when and why', async () => {
  const { command, sim } = await running({ fixtures: 'two-nodes', with: { deployments } })
  const look = async (query = '') => (await command(`/_sim/fleet${query}`, undefined, 'GET')).body
  const first = await look()
  expect(first).toMatchObject({ groups: [{ pool: 'pair', unavailable: null }], waiting: [], waiting_count: 0 })
  await sim.clock.advance('1m')
  sim.cluster.stockOut('H100-80GB')
  await sim.clock.advance('1m')
  sim.cluster.nodeOf(ID).crash()
  const out = await look(`?since=${first.revision}`)
  expect(out.revision).toBeGreaterThan(first.revision)
  const waiting = { id: ID, name: 'acme/chat', gpu: 'H100-80GB', gpus: 1, instances: 1 }
  expect(out).toMatchObject({
    groups: [{ unavailable: { cause: 'stock_out', since: '2026-01-01T00:01:00.000000+00:00', until: null } }],
    waiting: [{ ...waiting, since: '2026-01-01T00:02:00.000000+00:00', cause: 'stock_out' }],
    waiting_count: 1,
  })
  expect(out.waiting[0].sentence).toBe('It waits, because GPUs of the type H100-80GB are out of stock.')
  sim.cluster.restock('H100-80GB')
  await sim.clock.advance('1m')
  expect(await look(`?since=${out.revision}`)).toMatchObject({ groups: [{ unavailable: null }], waiting: [] })

  // An instance that the quota keeps from being requested has no row. Its wait begins with the loss of the one before.
  sim.cluster.limit.set('H100-80GB', 0)
  sim.cluster.nodeOf(ID).crash()
  await sim.clock.advance('5m')
  const since = '2026-01-01T00:03:00.000000+00:00'
  expect((await look()).waiting).toMatchObject([{ ...waiting, since, cause: 'quota' }])
  sim.cluster.zone('east-a').down()
  sim.cluster.limit.set('H100-80GB', null)
  await sim.clock.advance('1m')
  const gone = await look()
  expect(gone.groups[0].unavailable).toEqual({
    ...{ cause: 'zone_down', since: '2026-01-01T00:08:00.000000+00:00', until: null },
  })
  expect(gone.waiting).toMatchObject([{ id: ID, cause: 'node_down' }])
  // A fork begins with an empty journal: it knows what waits, and not since when.
  const fork = new FleetTracker(sim.fork()).look()
  expect(fork.waits.unavailable).toEqual([{ cause: 'zone_down', since: undefined, until: undefined }])
})

test('a pool whose spot nodes were taken back says when they return', async () => {
  const { command, sim } = await running({ fixtures: 'default' })
  const spot = sim.cluster.nodes().find(({ market }) => market === 'spot')!
  await sim.clock.advance('1m')
  sim.cluster.pool(spot.pool).preempt('2m')
  await sim.clock.advance('3m')
  const { groups } = (await command('/_sim/fleet', undefined, 'GET')).body
  const { unavailable } = groups.find(({ pool }: { pool: string }) => pool === spot.pool)
  expect(unavailable).toMatchObject({ cause: 'spot_away', since: '2026-01-01T00:01:00.000000+00:00' })
  await sim.clock.advanceTo(new Date(unavailable.until))
  await sim.clock.advance('1ms')
  const after = (await command('/_sim/fleet', undefined, 'GET')).body
  expect(after.groups.map(({ unavailable }: { unavailable: unknown }) => unavailable)).toEqual(
    after.groups.map(() => null),
  )
})

/** What a page has after some answers. */
class Page {
  nodes = new Map<string, string>()
  owners = new Map<string, string>()
  revision: number | undefined
  waits = ''

  take({ isFull, nodes, owners, removed, revision, waits }: FleetView): void {
    if (isFull) {
      this.nodes.clear()
      this.owners.clear()
    }
    for (const name of removed) this.nodes.delete(name)
    for (const node of nodes) this.nodes.set(node.name, JSON.stringify(node))
    for (const owner of owners) this.owners.set(owner.id, JSON.stringify(owner))
    this.revision = revision
    this.waits = JSON.stringify(waits)
  }

  /** What it draws: owners without GPUs are nowhere on it. */
  get drawn(): unknown {
    const text = [...this.nodes.values()].join()
    return [[...this.nodes].sort(), [...this.owners].filter(([id]) => text.includes(id)).sort(), this.waits]
  }
}

const ACTIONS = [
  (sim: Simulator) => sim.cluster.node('h100-0').crash(),
  (sim: Simulator) => sim.cluster.node('h100-0').repair(),
  (sim: Simulator) => sim.cluster.node('h100-1').drain(),
  (sim: Simulator) => sim.cluster.node('h100-1').uncordon(),
  (sim: Simulator) => sim.cluster.node('h100-0').degrade(2),
  (sim: Simulator) => sim.cluster.zone('east-a').down(),
  (sim: Simulator) => sim.cluster.zone('east-a').up(),
  (sim: Simulator) => sim.cluster.stockOut('H100-80GB'),
  (sim: Simulator) => sim.cluster.restock('H100-80GB'),
  (sim: Simulator) => sim.reset(),
  (sim: Simulator) => sim.clock.advance('3m'),
]

test('differences add up to the whole fleet for pages that look often and seldom', async () => {
  const step = fc.record({ action: fc.nat(ACTIONS.length - 1), looks: fc.nat(2) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async steps => {
      const sim = createSimulator({ fixtures: 'two-nodes', with: { deployments }, weather: 'rough' })
      const tracker = new FleetTracker(sim)
      const [often, seldom] = [new Page(), new Page()]
      often.take(tracker.look())
      seldom.take(tracker.look())
      for (const { action, looks } of steps) {
        try {
          await ACTIONS[action]!(sim)
        } catch (error) {
          // A command can be impossible in this state.
          expect(error).toBeInstanceOf(RangeError)
        }
        for (let look = 0; look < looks; look++) often.take(tracker.look(often.revision))
      }
      const whole = new Page()
      whole.take(new FleetTracker(sim).look())
      for (const page of [often, seldom]) {
        page.take(tracker.look(page.revision))
        expect(page.drawn).toEqual(whole.drawn)
      }
    }),
    { numRuns: 10 },
  )
})
