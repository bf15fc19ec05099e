import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import manifest from '../../../package.json' with { type: 'json' }
import { endpoint } from '../../../src/index.ts'
import { VERSION } from '../../../src/lib/version.ts'
import { running } from '../http/running-server.ts'

const CHAT = { model_name: 'acme/chat2', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

test('troubles list a deployment that waits for GPUs that no node can have, without a command that undoes it', async () => {
  const world = await running({ fixtures: 'two-nodes', profile: { policies: { unknown_gpu_types: 'wait' } } })
  const body = JSON.stringify({ ...CHAT, model_name: 'acme/try', gpu: 'B300-270GB' })
  const created = await world.ask('/deploy/llm', { method: 'POST', body })
  const { deploy_id } = (await created.json()) as { deploy_id: string }
  const what = `deployment ${deploy_id} (acme/try) waits for 1xB300-270GB, which no node can have`
  expect(await world.read('/_sim/troubles')).toEqual([{ what }])
})

test.each([
  ['/_sim/faults', '{"on":"*","times":1,"times":2,"fault":{"kind":"empty"}}', 'times'],
  ['/_sim/faults', '{"on":"*","fault":{"kind":"status","status":503,"\\u0073tatus":500}}', 'status'],
  ['/_sim/clock/until', '{"get":"/deploy/list","where":{"a":1,"a":2}}', 'a'],
  ['/_sim/clock/advance', '{"by":"1s","by":"2s"}', 'by'],
])('%s refuses the body %s', async (path, body, key) => {
  const { sim, ask } = await running()
  const headers = { 'content-type': 'application/json' }
  const answer = await ask(path, { method: 'POST', body, headers })
  expect([answer.status, sim.clock.elapsed, sim.faults.list()]).toEqual([422, 0, []])
  expect(JSON.stringify(await answer.json())).toContain(`the key \\"${key}\\" is there twice`)
})

describe('health and overview', () => {
  test('health has version, seed and time', async () => {
    const { command } = await running({ seed: 'seven' })
    expect(await command('/_sim/health', undefined, 'GET')).toEqual({
      status: 200,
      body: { status: 'ok', version: manifest.version, seed: 'seven', now: '2026-01-01T00:00:00.000000+00:00' },
    })
    expect(VERSION).toBe(manifest.version)
  })

  test('health answers while time is being moved, and requests of the world wait for its end', async () => {
    const { sim, ask, command } = await running()
    let listed: Promise<Response> | undefined
    let isListed = false
    await sim.clock.untilInSlices(async () => {
      listed = ask('/deploy/list').finally(() => {
        isListed = true
      })
      expect((await command('/_sim/health', undefined, 'GET')).status).toBe(200)
      expect((await command('/_sim', undefined, 'GET')).status).toBe(200)
      return true
    })
    expect(isListed).toBe(false)
    expect((await listed)?.status).toBe(200)
  })

  test('the root and the overview answer 200', async () => {
    const { ask, command } = await running()
    const root = await ask('/')
    expect([root.status, await root.text()]).toEqual([200, expect.stringContaining('Nothing here is real')])
    const { body } = await command('/_sim', undefined, 'GET')
    expect(body.endpoints).toContainEqual({
      method: 'POST',
      path: '/_sim/clock/advance',
      operation: 'advanceClock',
      summary: expect.stringContaining('Advance time'),
      takes: [
        { in: 'body', name: 'by', type: 'string', required: false },
        { in: 'body', name: 'to', type: 'string', required: false },
      ],
      example: { target: '/_sim/clock/advance', body: { by: '2h' } },
    })
  })

  test('an unknown path names the nearest', async () => {
    const { command } = await running()
    expect(await command('/_sim/clck', undefined, 'GET')).toEqual({
      status: 404,
      body: {
        error: "Failed to find '/_sim/clck': unknown path of the control plane. Did you mean '/_sim/clock'?",
      },
    })
    expect((await command('/_sim/clock', {}, 'DELETE')).status).toBe(405)
    const other = await command('/_sim/answers', { answer: { text: 'Sunny.' } })
    expect(other.body.error).toBe(
      "Failed to find '/_sim/answers': unknown path of the control plane. Did you mean '/_sim/inference'?",
    )
  })
})

describe('the clock', () => {
  test('advances by a duration and to a time', async () => {
    const world = await running({ fixtures: 'empty' })
    await world.deploy(CHAT)
    const by = await world.command('/_sim/clock/advance', { by: '2h' })
    expect(by.body).toMatchObject({
      from: '2026-01-01T00:00:00.000000+00:00',
      to: '2026-01-01T02:00:00.000000+00:00',
      now: '2026-01-01T02:00:00.000000+00:00',
      counts: { 'deployment.running': 1 },
    })
    const to = await world.command('/_sim/clock/advance', { to: '2026-01-02T00:00:00Z' })
    expect(to.body.now).toBe('2026-01-02T00:00:00.000000+00:00')
  })

  test('refuses an unknown field and an invalid JSON body', async () => {
    const world = await running()
    expect((await world.command('/_sim/clock/advance', { bye: '1h' })).body.detail).toEqual([
      {
        loc: ['body', 'bye'],
        msg: "Extra inputs are not permitted: bye. Did you mean 'by'?",
        type: 'extra_forbidden',
      },
    ])
    const made = await world.command('/_sim/worlds', { seeed: 7, clock: { mode: 'scaled', sped: 60 }, nams: {} })
    expect(made.body.detail.map(({ loc, msg }: { loc: string[]; msg: string }) => [loc.join('.'), msg])).toEqual([
      ['body.clock.sped', "Extra inputs are not permitted: sped. Did you mean 'speed'?"],
      ['body.seeed', "Extra inputs are not permitted: seeed. Did you mean 'seed'?"],
      ['body.nams', "Extra inputs are not permitted: nams. Did you mean 'names'?"],
    ])
    for (const by of ['1e400', 'null', 'true']) {
      const wrong = await world.ask('/_sim/clock/advance', {
        method: 'POST',
        body: `{"by":${by}}`,
        headers: { 'content-type': 'application/json' },
      })
      expect([wrong.status, (await wrong.json()).detail[0].msg]).toEqual([
        422,
        "Value error, invalid duration. Give a text with a unit, as in '90s', '1h30m' or 'PT1H'",
      ])
    }
    const broken = await world.ask('/_sim/clock/advance', {
      method: 'POST',
      body: '{"by":',
      headers: { 'content-type': 'application/json' },
    })
    expect(broken.status).toBe(422)
  })

  test('moves to the next event, or to the next change that a client can see', async () => {
    const world = await running({ fixtures: 'empty' })
    const id = await world.deploy(CHAT)
    const next = await world.command('/_sim/clock/next')
    expect(next.body.events).toBeGreaterThan(0)

    const seen = []
    for (let i = 0; i < 20; i++) {
      await world.command('/_sim/clock/next', { visible: true, within: '1h' })
      seen.push(((await (await world.ask(`/deploy/${id}`)).json()) as { status: string }).status)
    }
    expect([...new Set(seen)]).toEqual(expect.arrayContaining(['deploying', 'running']))
  })

  test('stops at the end of `within` when no event comes before', async () => {
    const { command } = await running({ fixtures: 'empty' })
    const { body } = await command('/_sim/clock/next', { visible: true, within: '5m' })
    expect(body).toMatchObject({ events: 0, now: '2026-01-01T00:05:00.000000+00:00' })
  })

  test('does not move time when no event is scheduled and `within` is missing', async () => {
    const { command } = await running({ fixtures: 'empty' })
    for (const body of [undefined, { visible: true }]) {
      const next = await command('/_sim/clock/next', body)
      expect(next).toMatchObject({
        status: 200,
        body: { reached: false, events: 0, now: '2026-01-01T00:00:00.000000+00:00' },
      })
    }
    expect((await command('/_sim/health', undefined, 'GET')).status).toBe(200)
  })

  test('refuses a report by steps that are too short when the account has no deployments', async () => {
    const { command } = await running({ fixtures: 'empty' })
    await command('/_sim/clock/advance', { by: '1s' })
    expect((await command('/_sim/report?step=1ms', undefined, 'GET')).status).toBe(200)
    await command('/_sim/clock/advance', { by: '1h' })
    const refused = await command('/_sim/report?step=1us', undefined, 'GET')
    expect(refused.status).toBe(400)
    expect(JSON.stringify(refused.body)).toContain('that makes 3,601,000,000 steps')
  })

  test('switches between manual and scaled without a jump', async () => {
    const { command, sim } = await running()
    await command('/_sim/clock/advance', { by: '1h' })
    const expected = { mode: 'scaled', speed: 1e-6, now: expect.stringMatching(/^2026-01-01T01:00:00/) }
    expect((await command('/_sim/clock', { mode: 'scaled', speed: 1e-6 }, 'PUT')).body).toMatchObject(expected)
    expect((await command('/_sim/clock', { mode: 'manual' }, 'PUT')).body).toMatchObject({
      mode: 'manual',
      speed: null,
    })
    expect(sim.clock.iso).toMatch(/^2026-01-01T01:00:00/)
  })
})

describe('until', () => {
  test('answers when a GET matches the condition', async () => {
    const world = await running({ fixtures: 'empty' })
    const id = await world.deploy(CHAT)
    const { body } = await world.command('/_sim/clock/until', {
      get: `/deploy/${id}`,
      where: { status: 'running', instances: { running: 1 } },
      within: '15m',
    })
    expect(body).toMatchObject({ reached: true, happened: { counts: { 'deployment.running': 1 } } })
    expect(body.now).toBe(world.sim.clock.iso)
    expect(await (await world.ask(`/deploy/${id}`)).json()).toMatchObject({ status: 'running' })
  })

  test('answers 200 with reached: false and leaves the clock at the end when the time runs out', async () => {
    const world = await running({ fixtures: 'empty' })
    const id = await world.deploy(CHAT)
    const { status, body } = await world.command('/_sim/clock/until', {
      get: `/deploy/${id}`,
      where: { status: 'failed' },
      within: '10m',
    })
    expect([status, body.reached, body.now]).toEqual([200, false, '2026-01-01T00:10:00.000000+00:00'])
    expect(body.last).toMatchObject({ status: 200, body: { deploy_id: id, status: 'running' } })
  })

  test('finds the expected rows of a list in any order and among others', { tags: 'slow' }, async () => {
    const world = await running()
    const id = await world.deploy(CHAT)
    const { body } = await world.command('/_sim/clock/until', {
      get: '/deploy/list',
      where: [{ deploy_id: id, status: 'running' }, { status: 'stopped' }],
      within: '1h',
    })
    expect(body.reached).toBe(true)
    expect(body.last.body).toContainEqual(expect.objectContaining({ deploy_id: id, status: 'running' }))
  })

  test('finds the expected rows of a list within an object', async () => {
    const { command, sim } = await running()
    const where = { data: [{ id: 'acme/assistant' }] }
    const { body } = await command('/_sim/clock/until', { get: '/v1/models', where, within: '1h' })
    expect([body.reached, sim.clock.elapsed]).toEqual([true, 0])
  })
})

test('until refuses a where that no answer of an own endpoint can have', async () => {
  const Pod = z.object({ status: z.enum(['CREATED', 'RUNNING']) })
  const getPod = endpoint({
    ...{ route: 'GET /pods/{id}', summary: 'Get', returns: Pod },
    handle: () => ({ status: 'CREATED' as const }),
  })
  const { command } = await running({ fixtures: 'empty', endpoints: { getPod } })
  const { status, body } = await command('/_sim/clock/until', { get: '/pods/a', where: { status: 'RUNING' } })
  expect([status, body.error]).toEqual([400, expect.stringContaining("Did you mean 'RUNNING'?")])
})

describe('the journal', () => {
  test('is read in pages and by kind', async () => {
    const world = await running({ fixtures: 'empty' })
    await world.deploy(CHAT)
    await world.command('/_sim/clock/advance', { by: '30m' })

    const first = await world.read('/_sim/journal?limit=2')
    expect(first.entries.map(({ seq }: { seq: number }) => seq)).toEqual([1, 2])
    const rest = await world.read(`/_sim/journal?after=2`)
    expect([...first.entries, ...rest.entries].map(({ seq }) => seq)).toEqual(
      world.sim.journal.entries().map(one => one.seq),
    )
    expect([first.last, rest.last]).toEqual(Array(2).fill(world.sim.world.journal.last))
    const ready = (await world.read('/_sim/journal?kind=deployment.running')).entries
    expect(ready).toHaveLength(1)
    const both = (await world.read('/_sim/journal?kind=instance.*,%20request')).entries
    const kinds = new Set(both.map(({ kind }: { kind: string }) => kind.replace(/\..*/, '')))
    expect(kinds).toEqual(new Set(['request', 'instance']))
    const ahead = await world.command('/_sim/journal?kind=batch.completed', undefined, 'GET')
    expect([ahead.status, ahead.body.entries]).toEqual([200, []])
    expect(ready[0]).toMatchObject({ at: expect.stringMatching(/^2026-01-01T00:/), kind: 'deployment.running' })
  })

  test('holds requests and commands, but no reads of the control plane', async () => {
    const world = await running({ fixtures: 'empty' })
    await world.ask('/deploy/list')
    await world.command('/_sim/commands', { verb: 'card.decline' })
    await world.command('/_sim/journal', undefined, 'GET')
    await world.command('/_sim/health', undefined, 'GET')
    const { entries } = await world.read('/_sim/journal')
    expect(entries.map(({ kind, subject }: Record<string, string>) => `${kind} ${subject}`)).toEqual([
      'request GET /deploy/list',
      'request POST /_sim/commands',
      expect.stringMatching(/^card\.declined /),
    ])
    expect(entries[1].fields).toEqual({ operation: 'giveCommand', status: 200, decidedBy: 'none' })
  })
})

describe('the ledger', () => {
  test('has the balance, the postings and the current charges', async () => {
    const world = await running({ fixtures: 'empty' })
    const id = await world.deploy(CHAT)
    await world.command('/_sim/clock/advance', { by: '1h' })
    const { body } = await world.command('/_sim/ledger', undefined, 'GET')
    expect(body.balance_microcents).toBe(world.sim.ledger.balance)
    expect(body.entries).toContainEqual(
      expect.objectContaining({ kind: 'rent', subject: id, open: true, time: '2026-01-01T01:00:00.000000+00:00' }),
    )
  })

  test('is read between two times, in seconds or ISO 8601', async () => {
    const world = await running({ fixtures: 'empty' })
    await world.ask('/payment/funds', { method: 'POST', body: '{"amount":100}' })
    await world.command('/_sim/clock/advance', { by: '2h' })
    await world.ask('/payment/funds', { method: 'POST', body: '{"amount":200}' })
    const read = async (query: string) =>
      (await world.read(`/_sim/ledger?${query}`)).entries.map((entry: { microcents: number }) => entry.microcents / 1e6)
    expect(await read('')).toEqual([100, 200])
    expect(await read(`to=${Date.parse('2026-01-01T01:00:00Z') / 1000}`)).toEqual([100])
    expect(await read('from=2026-01-01T02:00:00%2B01:00')).toEqual([200])
    expect(await read('from=2026-01-01T02:00:00+01:00')).toEqual([200])
    expect((await world.command('/_sim/ledger?from=yesterday', undefined, 'GET')).body.error).toContain(
      "Failed to read the ledger from 'yesterday'",
    )
  })
})

describe('a failure of the fleet', () => {
  test('crashes a node of a deployment and repairs it', async () => {
    const world = await running({ fixtures: 'empty' })
    const id = await world.deploy(CHAT)
    expect((await world.command(`/_sim/cluster/deployments/${id}/node`, undefined, 'GET')).status).toBe(409)
    await world.command('/_sim/clock/advance', { by: '20m' })
    const { name } = await world.read(`/_sim/cluster/deployments/${id}/node`)

    const stateAfter = async (verb: string) => {
      expect((await world.command('/_sim/commands', { verb, target: name })).body).toMatchObject({ verb })
      const nodes = await world.read('/_sim/cluster/nodes')
      return nodes.find((node: { name: string }) => node.name === name).state
    }
    expect(await stateAfter('node.crash')).toBe('down')
    expect(await (await world.ask(`/deploy/${id}`)).json()).toMatchObject({ instances: { running: 0 } })
    expect(await stateAfter('node.repair')).toBe('ready')
    expect(await stateAfter('node.cordon')).toBe('cordoned')
    expect(await stateAfter('node.uncordon')).toBe('ready')
  })

  test('has the same effect over HTTP and in the process', async () => {
    const [here, there] = [await running(), await running()]
    here.sim.cluster.stockOut('H100-80GB')
    here.sim.cluster.card.decline()
    here.sim.cluster.limit.set('H100-80GB', null)
    here.sim.cluster.price.set('H100-80GB', 300)
    here.sim.funds.set(12.5)
    for (const command of [
      { verb: 'pool.stockOut', target: 'H100-80GB' },
      { verb: 'card.decline' },
      { verb: 'limit.set', target: 'H100-80GB', args: { limit: null } },
      { verb: 'price.set', target: 'H100-80GB', args: { cents: 300 } },
      { verb: 'funds.set', args: { usd: 12.5 } },
    ]) {
      const { status, body } = await there.command('/_sim/commands', command)
      expect([status, body]).toEqual([200, { verb: command.verb, at: there.sim.clock.iso }])
    }
    expect(there.sim.digest).toBe(here.sim.digest)
  })

  test('a command takes effect at a time in ISO 8601', async () => {
    const { command, sim } = await running()
    const { status, body } = await command('/_sim/commands', { verb: 'hub.down', at: '2026-01-01T01:00:00+00:00' })
    expect([status, body]).toEqual([200, { verb: 'hub.down', at: '2026-01-01T01:00:00.000000+00:00' }])
    await command('/_sim/clock/advance', { by: '59m' })
    expect(sim.cluster.activeFailures()).toEqual([])
    await command('/_sim/clock/advance', { by: '1m' })
    expect(sim.cluster.activeFailures()).toMatchObject([{ undo: { verb: 'hub.up' } }])
  })

  test('the list of commands names kinds of targets by words of users', async () => {
    const { command } = await running()
    const { body } = await command('/_sim/commands', undefined, 'GET')
    expect(body).toContainEqual(expect.objectContaining({ verb: 'pool.stockOut', target: 'gpuType' }))
    expect(JSON.stringify(body)).not.toContain('offeredGpuType')
  })
})

test('the weather says what it has struck, and its command undoes that', { tags: 'slow' }, async () => {
  const { sim, command } = await running({ fixtures: 'fleet', weather: 'rough', seed: 3 })
  const read = async () => (await command('/_sim/weather', undefined, 'GET')).body
  expect(await read()).toMatchObject({ pack: 'rough', packs: expect.arrayContaining(['none', 'realistic', 'rough']) })
  type Kind = { kind: string; strikes: number; active: { undo: object }[] }
  const struck = async () => ((await read()).kinds as Kind[]).flatMap(({ active }) => active)
  for (let hour = 0; hour < 500 && (await struck()).length === 0; hour++) await sim.clock.advance('1h')
  const [{ undo }] = (await struck()) as [{ undo: object }]
  const troubles = (await command('/_sim/troubles', undefined, 'GET')).body
  expect(troubles.map((trouble: { undo?: object }) => trouble.undo)).toContainEqual(undo)
  expect((await command('/_sim/commands', undo)).status).toBe(200)
  const later = (await command('/_sim/troubles', undefined, 'GET')).body
  expect(later.map((trouble: { undo?: object }) => trouble.undo)).not.toContainEqual(undo)
  const calm = await running({ fixtures: 'two-nodes', weather: 'none' })
  expect(await calm.read('/_sim/weather')).toMatchObject({ pack: 'none', kinds: [] })
})

test('a DELETE with a slash at its end removes nothing, because the name behind it is missing', async () => {
  const { sim, command } = await running()
  sim.faults.add({ on: '*', fault: { kind: 'empty' } })
  for (const path of ['/_sim/faults/', '/_sim/faults//', '/_sim/faults/?x=1', '/_sim/inference/', '/_sim/past/']) {
    const { status, body } = await command(path, undefined, 'DELETE')
    const expected = [404, expect.stringContaining('the name behind the slash is missing. Give it')]
    expect([status, body.error]).toEqual(expected)
  }
  const { body } = await command('/_sim/faults/', undefined, 'DELETE')
  expect(body.error).toBe(
    "Failed to delete '/_sim/faults/': the name behind the slash is missing. Give it, or send DELETE /_sim/faults.",
  )
  expect(sim.faults.list()).toHaveLength(1)
  expect((await command('/_sim/faults', undefined, 'DELETE')).body).toEqual({ removed: 1 })
})
