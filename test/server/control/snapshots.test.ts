/** Snapshots of the worlds of a server: kept by name, gone back to, carried elsewhere, and what worlds are made from. */
import { expect, test } from 'vitest'
import { createSimulator } from '../../../src/index.ts'
import { formOf } from '../../setup/send-to.ts'
import { type Running, running } from '../http/running-server.ts'

const SNAPSHOTS = '/_sim/snapshots'

function upload({ server }: Running, name: string, bytes: BlobPart): Promise<Response> {
  const body = formOf({ file: new File([bytes], 'x.snapshot') })
  return fetch(`${server.url}${SNAPSHOTS}/${name}/import`, { method: 'POST', body })
}

test('a snapshot is restored any number of times, and the world continues as before', { tags: 'slow' }, async () => {
  const world = await running({ fixtures: 'default', seed: 4 })
  await world.command('/_sim/clock/advance', { by: '10m' })
  const taken = await world.command(SNAPSHOTS, { name: 'before-the-storm' })
  const digest = world.sim.digest
  expect(taken).toMatchObject({
    status: 200,
    body: { snapshot: 'before-the-storm', digest, seed: '4', profile: 'realistic' },
  })
  expect((await world.command(SNAPSHOTS, {})).body.snapshot).toBe('snapshot-2')
  await world.command('/_sim/clock/advance', { by: '1h' })
  const later = world.sim.digest
  for (let i = 0; i < 2; i++) {
    const restored = await world.command(`${SNAPSHOTS}/before-the-storm/restore`, {})
    expect(restored).toMatchObject({ status: 200, body: { digest, now: taken.body.now } })
    await world.command('/_sim/clock/advance', { by: '1h' })
    expect(world.sim.digest).toBe(later)
  }
  await world.command('/_sim/reset', {})
  const kept = await world.command(SNAPSHOTS, undefined, 'GET')
  expect(kept.body.map((one: { snapshot: string }) => one.snapshot)).toEqual(['before-the-storm', 'snapshot-2'])
  expect((await world.command(`${SNAPSHOTS}/snapshot-2`, undefined, 'DELETE')).status).toBe(200)
  expect(await world.read(SNAPSHOTS)).toHaveLength(1)
})

test('a snapshot is carried to another server, under another name', { tags: 'slow' }, async () => {
  const [here, there] = [await running({ seed: 4, clock: 'on-poll' }), await running({ fixtures: 'empty' })]
  await here.command(SNAPSHOTS, { name: 'mine' })
  const exported = await fetch(`${here.server.url}${SNAPSHOTS}/mine/export`)
  expect([exported.status, exported.headers.get('content-type')]).toEqual([200, 'application/octet-stream'])
  const imported = await upload(there, 'yours', await exported.blob())
  expect([imported.status, await imported.json()]).toMatchObject([200, { snapshot: 'yours', digest: here.sim.digest }])
  await there.command(`${SNAPSHOTS}/yours/restore`, {})
  expect([there.sim.digest, there.sim.seed, there.sim.clock.mode]).toEqual([here.sim.digest, '4', 'on-poll'])
})

test('worlds made from a snapshot are independent of each other and of the world that kept it', async () => {
  const world = await running({ fixtures: 'default', seed: 4 })
  const made = (await world.command('/_sim/worlds', { from: 'default' })).body
  const at = `/_sim/worlds/${made.world}${SNAPSHOTS}`
  await world.command(at, { name: 'mine' })
  const { digest } = world.sim
  await world.command(`/_sim/worlds/${made.world}/_sim/clock/advance`, { by: '1d' })
  const forks = []
  for (let i = 0; i < 2; i++)
    forks.push((await world.command('/_sim/worlds', { from: made.world, snapshot: 'mine', clock: 'manual' })).body)
  await world.command(`/_sim/worlds/${made.world}`, undefined, 'DELETE')
  await world.command(`/_sim/worlds/${forks[0].world}/_sim/clock/advance`, { by: '1d' })
  const [one, two] = forks.map(fork => world.server.worlds.get(fork.world)!.sim)
  expect([two!.digest, one!.digest === digest]).toEqual([digest, false])
  expect(forks[1].token).toBe('sim_default_token.w3')
  // What a world keeps is its own.
  expect(await world.read(SNAPSHOTS)).toEqual([])
  expect(await world.command(at, undefined, 'GET')).toMatchObject({
    status: 404,
    body: { error: expect.stringMatching(/unknown world 'w1': it never existed, was deleted/) },
  })
})

test('an invalid request is refused and changes nothing', { tags: 'slow' }, async () => {
  const world = await running({ fixtures: 'empty' })
  await world.command(SNAPSHOTS, { name: 'mine' })
  const { digest } = world.sim
  const bytes = world.sim.snapshot().toBytes()
  const cases: [ask: () => Promise<{ status: number; body: unknown }>, status: number, says: RegExp][] = [
    [() => world.command(SNAPSHOTS, { name: 'mine' }), 409, /duplicate name\. Delete the other/],
    [() => world.command(SNAPSHOTS, { name: '../mine' }), 422, /should match pattern/],
    [
      () => world.command(`${SNAPSHOTS}/nine/restore`, {}),
      404,
      /unknown in the world 'default'\. Did you mean 'mine'\?/,
    ],
    [() => world.command(`${SNAPSHOTS}/nine/export`, undefined, 'GET'), 404, /Did you mean 'mine'\?/],
    [() => world.command(`${SNAPSHOTS}/zzzzzzzz`, undefined, 'DELETE'), 404, /GET \/_sim\/snapshots lists its/],
    [() => world.command('/_sim/worlds', { snapshot: 'nine' }), 404, /Did you mean 'mine'\?/],
    [
      () => world.command('/_sim/worlds', { snapshot: 'mine', seed: 3 }),
      400,
      /a snapshot brings the seed of its world/,
    ],
    [() => sent(upload(world, 'other', bytes.slice(0, 500))), 400, /the snapshot 'x\.snapshot': it is cut off/],
    [() => sent(upload(world, 'other', 'nothing')), 400, /it is not a snapshot of modelhost-sim/],
    [() => sent(upload(world, 'mine', new Uint8Array(bytes))), 409, /duplicate name/],
    [() => sent(upload(world, 'No', new Uint8Array(bytes))), 422, /should match pattern/],
  ]
  for (const [ask, status, says] of cases) {
    const { status: got, body } = await ask()
    expect([got, JSON.stringify(body)]).toEqual([status, expect.stringMatching(says)])
  }
  for (let i = 1; i < 100; i++) world.server.worlds.default.snapshots.set(`s${i}`, world.sim.snapshot())
  const expected = { status: 429, body: { error: expect.stringMatching(/100/) } }
  expect(await world.command(SNAPSHOTS, {})).toMatchObject(expected)
  expect(world.sim.digest).toBe(digest)
})

async function sent(answer: Promise<Response>): Promise<{ status: number; body: unknown }> {
  const response = await answer
  return { status: response.status, body: await response.json() }
}

test('a restored world of a server keeps its clock mode, because a server has no clock to follow', {
  tags: 'slow',
}, async () => {
  const followed = createSimulator({ seed: 9, clock: { mode: 'follow', now: () => 0 } })
  const world = await running({ fixtures: 'empty', clock: { mode: 'scaled', speed: 30 } })
  await upload(world, 'followed', followed.snapshot().toBytes() as BlobPart)
  const restored = await world.command(`${SNAPSHOTS}/followed/restore`, {})
  expect(restored).toMatchObject({
    status: 200,
    body: { digest: followed.digest, clock: { mode: 'scaled', speed: 30, paused_by: [] } },
  })
  expect(world.sim.clock.setting).toEqual({ mode: 'scaled', speed: 30 })
  const made = (await world.command('/_sim/worlds', { snapshot: 'followed' })).body
  expect(world.server.worlds.get(made.world)!.sim.clock.setting).toEqual({ mode: 'scaled', speed: 30 })
  const manual = (await world.command('/_sim/worlds', { snapshot: 'followed', clock: 'manual' })).body
  expect(world.server.worlds.get(manual.world)!.sim.clock.mode).toBe('manual')
  await world.command(SNAPSHOTS, { name: 'mine' })
  await world.command('/_sim/clock', { mode: 'on-poll' }, 'PUT')
  expect((await world.command(`${SNAPSHOTS}/mine/restore`, {})).body.clock).toMatchObject({ mode: 'scaled', speed: 30 })
})
