/** The past of a world over HTTP: kept, read, and gone back to. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { endpoints } from '../../../examples/own-endpoints/pods.ts'
import { run } from '../../../src/cli/commands/run.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import { replayRecording } from '../../../src/simulator/history/replay/perform-lines.ts'
import { commandOutput } from '../../cli/command-output.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { recordMinute } from '../../simulator/recorded-minute.ts'
import { running } from '../http/running-server.ts'

const json = { 'content-type': 'application/json' }

test('a world is made as it was before a node crashed, and it ends in another way', { tags: 'slow' }, async () => {
  const server = await running({ fixtures: 'two-nodes' })
  const { command, sim } = server
  expect((await command('/_sim/past')).body).toMatchObject({
    kept: true,
    kept_part: { from: '2026-01-01T00:00:00.000000+00:00', from_start: true, inputs: 0, first_entry: 1 },
  })
  const id = await server.deploy()
  await command('/_sim/clock/advance', { by: '8m' })
  const before = { digest: sim.digest, journal: await server.read('/_sim/journal') }
  await command('/_sim/commands', { verb: 'node.crash', target: 'h100-0' })
  await command('/_sim/commands', { verb: 'node.crash', target: 'h100-1' })
  await command('/_sim/clock/advance', { by: '20m' })

  const crash = sim.journal.entries().find(({ kind }) => kind === 'node.crashed')!
  const { body: made } = await command('/_sim/worlds', { from: 'default', entry: crash.seq - 1 })
  const fork = server.server.worlds.get(made.world)!.sim
  expect({ digest: fork.digest, now: fork.clock.iso, mode: fork.clock.mode }).toEqual({
    ...{ digest: before.digest, now: '2026-01-01T00:08:00.000000+00:00', mode: 'manual' },
  })
  const there = `/_sim/worlds/${made.world}`
  const { entries } = await server.read(`${there}/_sim/journal`)
  expect(entries).toEqual((await server.read('/_sim/journal')).entries.slice(0, entries.length))
  expect((await server.read(`${there}/_sim/requests`)).requests).toHaveLength(1)

  expect((await server.read(`${there}/_sim/past`)).kept_part).toMatchObject({
    from: '2026-01-01T00:08:00.000000+00:00',
  })
  await command(`${there}/_sim/clock/advance`, { by: '20m' })
  const statusAt = async (path: string) => (await (await server.ask(`${path}/deploy/${id}`)).json()).instances.running
  expect([await statusAt(there), await statusAt('')]).toEqual([1, 0])
  // A reset of it leads to the moment of which it was made.
  await command(`${there}/_sim/reset`)
  expect(fork.clock.iso).toBe('2026-01-01T00:08:00.000000+00:00')
})

test('one can go back to a time and to the answer of a request, also twice and with a clock', async () => {
  const server = await running({ fixtures: 'two-nodes' })
  const { command, sim } = server
  await command('/_sim/past')
  await server.deploy()
  const [request] = sim.requests
  const created = sim.digest
  await command('/_sim/clock/advance', { by: '10m' })
  const later = sim.digest
  await command('/_sim/clock/advance', { by: '10m' })
  const digestOf = async (body: object) => {
    const { body: made } = await command('/_sim/worlds', { from: 'default', ...body })
    return server.server.worlds.get(made.world)!.sim.digest
  }
  expect(await digestOf({ after_request: request!.seq })).toBe(created)
  expect(await digestOf({ at: '10m' })).toBe(later)
  expect(await digestOf({ at: '2026-01-01T00:10:00Z' })).toBe(later)
  expect(await digestOf({ at: '20m' })).toBe(sim.digest)
  const { body: made } = await command('/_sim/worlds', {
    from: 'default',
    at: '10m',
    clock: { mode: 'scaled', speed: 2 },
  })
  const past = server.server.worlds.get(made.world)!.sim
  onTestFinished(() => past[Symbol.asyncDispose]())
  expect([past.clock.mode, past.clock.speed]).toEqual(['scaled', 2])
})

test('the recording of a past replays, and keeping it twice changes nothing', async () => {
  const server = await running({ fixtures: 'two-nodes' })
  const { command, ask } = server
  expect(await server.read('/_sim/past')).toEqual({ kept: false, waiting: false, kept_part: null })
  await command('/_sim/past')
  await server.deploy()
  await command('/_sim/clock/advance', { by: '10m' })
  const before = await server.read('/_sim/past')
  expect((await command('/_sim/past')).body).toEqual(before)
  const text = await (await ask('/_sim/past/recording')).text()
  const recording = parseRecording(text, 'past')
  expect(recording.header.snapshot).toBeUndefined()
  expect(await replayRecording(recording, 'past')).toMatchObject({ divergence: undefined, cut: undefined, requests: 1 })

  await command('/_sim/past', undefined, 'DELETE')
  expect(await server.read('/_sim/past')).toMatchObject({ kept: false })
  expect((await command('/_sim/past/recording', undefined, 'GET')).status).toBe(409)
  // One that begins later has the state at its start.
  await command('/_sim/past')
  await server.deploy()
  const later = parseRecording(await (await ask('/_sim/past/recording')).text(), 'later')
  expect(later.header.snapshot).toBeDefined()
  expect(await replayRecording(later, 'later')).toMatchObject({ divergence: undefined, requests: 1 })
})

test('a past and a recording are kept side by side, and a reset begins the past again', async () => {
  const server = await running({ fixtures: 'two-nodes' })
  const { sim, command } = server
  await command('/_sim/past')
  await server.deploy()
  const recording = (await import('../../../src/simulator/history/record.ts')).recordSimulator(sim)
  await server.deploy()
  recording.stop()
  expect(await replayRecording(parseRecording(recording.text, 'later'), 'later')).toMatchObject({
    ...{ divergence: undefined, requests: 1 },
  })
  expect((await server.read('/_sim/past')).kept_part.inputs).toBeGreaterThanOrEqual(2)
  await command('/_sim/reset')
  expect((await server.read('/_sim/past')).kept_part).toMatchObject({ inputs: 0, from_start: true })
})

test.each([
  [{ at: '1h' }, 400, 'is in the future'],
  [{ at: 'yesterday' }, 400, "at 'yesterday' is an invalid time"],
  [{ entry: 99_999 }, 400, 'the past has the journal entries'],
  [{ after_request: 1 }, 400, 'the journal entry 1 is not a request'],
  [{ at: '1m', entry: 1 }, 400, 'at and entry contradict'],
  [{ at: '1m', seed: 7 }, 400, 'a fork has the seed of its origin'],
  [{ at: '1m', from: undefined }, 400, 'Give that world in from'],
  [{ at: '1m', from: 'w9' }, 404, "unknown world 'w9'"],
])('a moment %j that the past does not have is refused', { tags: 'slow' }, async (body, status, says) => {
  const server = await running({ fixtures: 'two-nodes' })
  await server.command('/_sim/past')
  server.sim.cluster.node('h100-0').crash()
  await server.command('/_sim/clock/advance', { by: '10m' })
  const answer = await server.command('/_sim/worlds', { from: 'default', ...body })
  expect([answer.status, answer.body.error]).toEqual([status, expect.stringContaining(says)])
  expect(server.server.worlds.all()).toHaveLength(1)
})

test('going back is refused when the past is not kept, and when no further world is allowed', async () => {
  const server = await running({ fixtures: 'two-nodes' }, { maxWorlds: 0 })
  const { command } = server
  const back = () => command('/_sim/worlds', { from: 'default', at: '0s' })
  expect(await back()).toMatchObject({ status: 409, body: { error: expect.stringContaining('POST /_sim/past') } })
  await command('/_sim/past')
  expect((await back()).status).toBe(429)
  const { body, status } = await command('/_sim/recordings', { recording: recordMinute() })
  expect([status, body.error]).toEqual([429, expect.stringContaining('--max-worlds')])
  expect(server.server.worlds.all()).toHaveLength(1)
})

test('a world that runs a recording again, and one of the past, have the own endpoints of the server', {
  tags: 'slow',
}, async () => {
  const { ask, command } = await running({ endpoints })
  await command('/_sim/past')
  const pod = JSON.stringify({ name: 'chat', gpuTypeId: 'H100' })
  expect((await ask('/rest/v1/pods', { method: 'POST', headers: json, body: pod })).status).toBe(200)
  await command('/_sim/clock/advance', { by: '1m' })
  const recording = await (await ask('/_sim/past/recording')).text()
  expect((await command('/_sim/recordings', { recording })).body).toMatchObject({ problem: null })
  const { body: made } = await command('/_sim/worlds', { from: 'default', at: '30s' })
  expect(await (await ask(`/_sim/worlds/${made.world}/rest/v1/pods`)).json()).toMatchObject([
    { desiredStatus: 'CREATED' },
  ])
})

test('clicks become a scenario that passes, and requests can be left out of it', { tags: 'slow' }, async () => {
  const server = await running({ fixtures: 'two-nodes' })
  const { command, ask } = server
  await command('/_sim/past')
  await server.deploy()
  await command('/_sim/clock/advance', { by: '8m' })
  await command('/_sim/commands', { verb: 'node.crash', target: 'h100-0' })
  await command('/_sim/faults', { on: 'listDeployments', times: 1, fault: { kind: 'status', status: 503 } })
  await command('/_sim/clock/advance', { by: '5m' })
  const whole = await (await ask('/_sim/past/scenario')).text()
  const folder = temporaryFolder()
  const play = async (text: string) => {
    writeFileSync(join(folder, 'past.yaml'), text)
    const { written, output } = commandOutput()
    return { code: await run({ scenarios: ['past.yaml'], update: true }, { ...output, folder }), ...written }
  }
  expect(await play(whole)).toMatchObject({ code: 0, error: '' })
  expect(whole).toContain('POST /deploy/llm')

  const actions = await (await ask('/_sim/past/scenario?only=actions')).text()
  expect(actions).not.toContain('/deploy/llm')
  expect(actions).toMatch(/node\.crash[\s\S]*listDeployments/)
  expect(await play(actions)).toMatchObject({ code: 0, error: '' })
  expect(await (await ask('/_sim/past/scenario?format=typescript')).text()).toContain('export default')

  const empty = await running({ fixtures: 'two-nodes' })
  expect((await empty.command('/_sim/past/scenario', undefined, 'GET')).status).toBe(409)
  await empty.command('/_sim/past')
  expect((await empty.command('/_sim/past/scenario', undefined, 'GET')).status).toBe(400)
})
