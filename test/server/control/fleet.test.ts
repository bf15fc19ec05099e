/** The fleet as a page draws it. */
import { expect, test } from 'vitest'
import { findFleetWaits } from '../../../src/server/control/views/fleet-waits.ts'
import { running } from '../http/running-server.ts'

const ID = 'Chat000000000001'
const deployments = [{ deploy_id: ID, model_name: 'acme/chat' }]

test('a look shows who holds each GPU, and says so if nothing has changed since an earlier one', async () => {
  const { ask, sim, read } = await running({ fixtures: 'two-nodes', with: { deployments } })
  const all = await read('/_sim/fleet')
  expect(all).toMatchObject({ totals: { nodes: 2 } })
  const held = all.nodes.flatMap(({ name, gpus, holders }: { name: string; gpus: number[]; holders: unknown[] }) =>
    gpus.flatMap((holder, gpu) => (holder < 0 ? [] : [[name, gpu, holders[holder]]])),
  )
  const { id, instances } = sim.world.deployments.read(sim.world.deployments.ordinalOf(ID)!)
  const { gpus, node } = sim.world.instances.read(instances[0]!)
  expect(gpus).toBe(1)
  expect(held).toEqual([[sim.world.nodes.read(node).id, 0, { id: `${id}-0`, owner: id, state: 'ready' }]])
  const engine = { class: 'default', band: 0.2, rows: 12, places: 96, limit: 'max_batch_size', is_assumed: true }
  expect(all.owners).toEqual([
    {
      ...{ id, kind: 'deployment', name: 'acme/chat', status: 'running', utilisation: expect.any(Number) },
      engine: { ...engine, tokens_per_second: expect.closeTo(6006, 0) },
    },
  ])

  const first = await ask('/_sim/fleet')
  const etag = first.headers.get('etag')!
  const again = await ask('/_sim/fleet', { headers: { 'if-none-match': etag } })
  expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
  sim.cluster.node('h100-1').cordon()
  const changed = await ask('/_sim/fleet', { headers: { 'if-none-match': etag } })
  expect([changed.status, changed.headers.get('etag') === etag]).toEqual([200, false])
  expect(await changed.json()).toMatchObject({ nodes: [{ state: 'ready' }, { name: 'h100-1', state: 'cordoned' }] })
})

test('a look names the pools without GPUs, and who waits for GPUs: since when and why', async () => {
  const { sim, read } = await running({ fixtures: 'two-nodes', with: { deployments } })
  const look = async () => await read('/_sim/fleet')
  expect(await look()).toMatchObject({ groups: [{ pool: 'pair', unavailable: null }], waiting: [], waiting_count: 0 })
  await sim.clock.advance('1m')
  sim.cluster.stockOut('H100-80GB')
  await sim.clock.advance('1m')
  sim.cluster.nodeOf(ID).crash()
  const out = await look()
  const waiting = { id: ID, name: 'acme/chat', gpu: 'H100-80GB', gpus: 1, instances: 1 }
  expect(out).toMatchObject({
    groups: [{ unavailable: { cause: 'stock_out', since: '2026-01-01T00:01:00.000000+00:00', until: null } }],
    waiting: [{ ...waiting, since: '2026-01-01T00:02:00.000000+00:00', cause: 'stock_out' }],
    waiting_count: 1,
  })
  expect(out.waiting[0].sentence).toBe('It waits, because GPUs of the type H100-80GB are out of stock.')
  sim.cluster.restock('H100-80GB')
  await sim.clock.advance('1m')
  expect(await look()).toMatchObject({ groups: [{ unavailable: null }], waiting: [] })

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
  expect(findFleetWaits(sim.fork().world).unavailable).toEqual([
    { cause: 'zone_down', since: undefined, until: undefined },
  ])
})

test('a pool whose spot nodes were taken back says when they return', async () => {
  const { sim, read } = await running({ fixtures: 'default' })
  const spot = sim.cluster.nodes().find(({ market }) => market === 'spot')!
  await sim.clock.advance('1m')
  sim.cluster.pool(spot.pool).preempt('2m')
  await sim.clock.advance('3m')
  const { groups } = await read('/_sim/fleet')
  const { unavailable } = groups.find(({ pool }: { pool: string }) => pool === spot.pool)
  expect(unavailable).toMatchObject({ cause: 'spot_away', since: '2026-01-01T00:01:00.000000+00:00' })
  await sim.clock.advanceTo(new Date(unavailable.until))
  await sim.clock.advance('1ms')
  const after = await read('/_sim/fleet')
  expect(after.groups.map(({ unavailable }: { unavailable: unknown }) => unavailable)).toEqual(
    after.groups.map(() => null),
  )
})
