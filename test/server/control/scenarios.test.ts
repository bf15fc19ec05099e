/** Timelines of scenarios beside a live client: started, looked at, stopped, in the world of the request. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { ScenarioLibrary } from '../../../src/workbench/scenario/runner/library.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { running } from '../http/running-server.ts'

const OUTAGE = `title: an outage
steps:
  - at:
      10m: [{ fault: { verb: hub.down } }, { expect: { get: { balance: } } }]
      20m:
        - fault: { verb: hub.up }
        - fault: { name: slow, on: listDeployments, from: 1m, until: 5m, fault: { kind: status, status: 503 } }
  - every: { 1h: [{ fault: { verb: node.crash, target: h100-0 } }, { at: { 5m: [{ fault: { verb: node.repair, target: h100-0 } }] } }] }
    times: 2
`

function library(files: Readonly<Record<string, string>>): ScenarioLibrary {
  const folder = temporaryFolder()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return new ScenarioLibrary([folder])
}

async function served(files: Readonly<Record<string, string>> = { 'outage.yaml': OUTAGE }, fixtures = 'two-nodes') {
  const world = await running({ fixtures }, { scenarios: library(files) })
  const start = async (name = 'outage') => world.command(`/_sim/scenarios/${name}/start`)
  const where = async (name = 'outage') => await world.read(`/_sim/scenarios/${name}`)
  const advance = (by: string) => world.command('/_sim/clock/advance', { by })
  const list = async () => (await world.ask('/deploy/list')).status
  const events = (...kinds: string[]) =>
    world.sim.journal
      .entries()
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ kind, time }) => `${time / 60_000_000} ${kind}`)
  return { ...world, start, where, advance, list, events }
}

test('commands and fault rules apply at their times after the start while a client sends requests', async () => {
  const { start, where, advance, list, events } = await served()
  expect(await where()).toMatchObject({ state: 'ready', done: 0, of: 7, started_at: null })
  await advance('5m')
  const { status, body } = await start()
  expect([status, body]).toMatchObject([200, { title: 'an outage', state: 'playing', done: 0, of: 7 }])
  expect([body.started_at, body.next_at].map(at => at.slice(11, 19))).toEqual(['00:05:00', '00:15:00'])
  expect(body.problems).toEqual(['Left to the client: the steps at 4:44.'])
  await advance('20m')
  expect(await where()).toMatchObject({ state: 'playing', done: 3, next_at: '2026-01-01T01:05:00.000000+00:00' })
  expect(await list()).toBe(200)
  await advance('1m')
  expect(await list()).toBe(503)
  await advance('4m')
  expect(await list()).toBe(200)
  await advance('2h')
  expect(await where()).toMatchObject({ state: 'done', done: 7, of: 7, next_at: null })
  expect(events('hub.down', 'hub.up')).toEqual(['15 hub.down', '25 hub.up'])
  const repaired = ['65 node.crashed', '70 node.repaired', '125 node.crashed', '130 node.repaired']
  expect(events('node.crashed', 'node.repaired')).toEqual(repaired)
})

test('a stopped scenario runs no further steps and keeps the effects of the past ones', async () => {
  const { start, where, advance, command, sim, events } = await served()
  await start()
  expect((await start()).body.error).toBe(
    "Failed to start 'outage': it is already playing. DELETE /_sim/scenarios/outage stops it.",
  )
  expect((await start()).status).toBe(409)
  await advance('15m')
  expect(sim.faults.list()).toHaveLength(1)
  const stopped = (await command('/_sim/scenarios/outage', undefined, 'DELETE')).body
  expect(stopped).toMatchObject({ state: 'stopped', done: 1, of: 7, next_at: null })
  expect(sim.faults.list()).toEqual([])
  await advance('5h')
  expect(await where()).toEqual(stopped)
  expect(events('hub.down', 'hub.up', 'node.crashed')).toEqual(['10 hub.down'])
  expect((await start()).body).toMatchObject({ state: 'playing', done: 0 })
})

test('a repeated step goes on until its scenario is stopped, and a command without a target is listed under problems', async () => {
  const crash = 'verb: deployment.crash, target: ZULBVvLkUPftB8Mo'
  const files = {
    'again.yaml': 'title: again\nsteps:\n  - every: { 1h: [{ fault: { verb: hub.down } }] }\n',
    'gone.yaml': `title: gone\nsteps:\n  - advance: 1h\n  - fault: { ${crash} }\n`,
  }
  const { start, where, advance, command, events } = await served(files, 'default')
  expect((await start('again')).body).toMatchObject({ of: null, next_at: '2026-01-01T01:00:00.000000+00:00' })
  await start('gone')
  await advance('90m')
  expect(await where('again')).toMatchObject({ state: 'playing', done: 1 })
  expect((await where('gone')).problems).toEqual([expect.stringContaining('no engine of it runs')])
  await advance('2h')
  expect(events('hub.down')).toEqual(
    ['60 hub.down', '120 hub.down', '180 hub.down'].slice(0, events('hub.down').length),
  )
  await command('/_sim/scenarios/again', undefined, 'DELETE')
  expect(await where('again')).toMatchObject({ state: 'stopped', done: 3, of: null })
})

test.each([
  ['only what a client does', '- advance: 1m', 'it has no timeline'],
  [
    'what depends on its client',
    `- do: { listDeployments: }\n    as: all\n  - fault: { verb: node.crash, nodeOf: '\${all[0].deploy_id}' }`,
    '5:5: not played: it refers to a value saved',
  ],
  [
    'a time that is unknown in advance',
    '- until: { get: { balance: }, where: 1 }\n  - at: { 5m: [{ fault: { verb: hub.down } }] }',
    "its time depends on the 'until' at 3:5",
  ],
  ['a rule without end', "- every: { 1h: [{ fault: { on: '*', times: 1, fault: { kind: hang } } }] }", "needs 'times'"],
  ['an unknown node', '- at: { 5m: [{ fault: { verb: node.crash, target: h100-9 } }] }', 'none of that name'],
  ['an invalid time', '- at: { soon: [{ fault: { verb: hub.down } }] }', "3:11: invalid time 'soon'."],
  ['a mistake in the file', '- at: { 5m: [{ fault: { verb: hub.dwon } }] }', "story.yaml:3:27: invalid value 'hub.dwo"],
])('%s is refused with the reason and changes nothing', async (_, steps, reason) => {
  const { start, sim } = await served({ 'story.yaml': `title: a story\nsteps:\n  ${steps}\n` })
  const { digest } = sim
  const { status, body } = await start('story')
  expect([status, body.error]).toEqual([400, expect.stringContaining(reason)])
  expect([sim.digest, sim.faults.list(), sim.timelines.get('story')]).toEqual([digest, [], undefined])
})

test('each world has its own scenario, and a fork continues it', async () => {
  const { command, sim, start, read } = await served()
  const { world } = (await command('/_sim/worlds', {})).body
  await command(`/_sim/worlds/${world}/_sim/scenarios/outage/start`)
  const at = async (home: string) => (await read(`${home}/_sim/scenarios/outage`)).state
  expect([await at(''), await at(`/_sim/worlds/${world}`)]).toEqual(['ready', 'playing'])
  await start()
  await sim.clock.advance('5m')
  const twin = sim.fork()
  sim.timelines.stop('outage')
  await twin.clock.advance('3h')
  expect(twin.timelines.get('outage')).toMatchObject({ state: 'done', done: 7 })
  expect(twin.journal.entries().filter(({ kind }) => kind === 'node.repaired')).toHaveLength(2)
  expect(twin.faults.list()).toHaveLength(1)
  twin.reset()
  expect(twin.timelines.get('outage')).toMatchObject({ state: 'playing', done: 0 })
  twin.timelines.stop('outage')
  await twin.clock.advance('3h')
  expect(twin.journal.entries().filter(({ kind }) => kind === 'hub.down')).toEqual([])
  sim.reset()
  expect(sim.timelines.get('outage')).toBeUndefined()
})

test('a fork keeps the added fault rules and has them again after a reset', () => {
  const sim = createSimulator({ fixtures: 'empty' })
  sim.faults.add({ name: 'late', on: '*', fault: { kind: 'hang' } })
  const twin = sim.fork()
  sim.faults.clear()
  expect(twin.faults.list()).toMatchObject([{ id: 'late' }])
  twin.faults.clear()
  twin.reset()
  expect(twin.faults.list()).toMatchObject([{ id: 'late' }])
  expect(sim.fork({ fresh: true }).faults.list()).toEqual([])
})

const CREATED = `title: a deployment starts
given: { fixtures: two-nodes, seed: 7 }
steps:
  - do: { createLlmDeployment: { model_name: acme/chat, gpu: H100-80GB, hub: { repo: acme/chat-8b } } }
    as: made
  - until: { get: { getDeployment: { deploy_id: '\${made.deploy_id}' } }, where: { status: running }, within: 1h }
  - expect: { get: { getDeployment: { deploy_id: '\${made.deploy_id}' } }, is: { status: STATUS } }
`

describe('a whole run of a scenario', () => {
  const runOf = async (file: string, body: object = {}) => {
    const world = await running({ fixtures: 'two-nodes' }, { scenarios: library({ 'start.yaml': file }) })
    return { ...world, run: await world.command('/_sim/scenarios/start/run', body) }
  }

  test('says why it failed and at which line, and leaves the world as it is', async () => {
    const { run, sim } = await runOf(CREATED.replace('STATUS', 'failed'))
    expect(run.status).toBe(200)
    expect(run.body).toMatchObject({ name: 'start', passed: false, line: 7, seed: '7', world: null })
    expect(run.body.failure).toContain('status')
    expect(run.body.steps[0]).toMatchObject({
      at: '2026-01-01T00:00:00.000000+00:00',
      text: expect.stringContaining('api.createLlmDeployment'),
    })
    expect(run.body.seconds).toBeGreaterThan(60)
    expect([sim.clock.elapsed, sim.requests.length, sim.journal.entries()]).toEqual([0, 0, []])
  })

  test('opens its world with the digest of the run and its past', async () => {
    const { run, command, server } = await runOf(CREATED.replace('STATUS', 'running'), { open: true })
    expect(run.body).toMatchObject({ world: 'w1', checks: 1, failure: expect.stringContaining('.trace is missing') })
    const { sim } = server.worlds.get('w1')!
    expect([sim.digest, sim.clock.elapsed / 1e6]).toEqual([run.body.digest, run.body.seconds])
    const past = await command('/_sim/worlds/w1/_sim/past', undefined, 'GET')
    expect(past.body.kept_part.from_time).toBe(0)
    const again = await command('/_sim/scenarios/start/run', {})
    expect(again.body.digest).toBe(run.body.digest)
  })

  test('passes with its trace', { tags: 'slow' }, async () => {
    const { command, read } = await running({}, { scenarios: new ScenarioLibrary(['scenarios']) })
    const names = (await read('/_sim/scenarios')) as { name: string }[]
    const { status, body } = await command(`/_sim/scenarios/${names[0]!.name}/run`, {})
    expect([status, body.passed, body.failure]).toEqual([200, true, null])
  })

  test('is refused for a scenario that plays a client', async () => {
    const flow = 'title: a client\nflow: ./client.js\nexplore: 1\ngiven: { fixtures: empty, seed: 1 }\nplan: []\n'
    const { run } = await runOf(flow)
    expect([run.status, run.body.error]).toEqual([400, expect.stringContaining("Failed to run the scenario 'start'")])
  })
})
