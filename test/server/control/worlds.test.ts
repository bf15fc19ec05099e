/** Several worlds behind one server: each an account of its own. */
import { describe, expect, test, vi } from 'vitest'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { askTo, formOf } from '../../setup/send-to.ts'
import { wall } from '../../setup/wall-clock.ts'
import { type Running, running } from '../http/running-server.ts'

const MODEL = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

interface Made {
  world: string
  token: string
  base_url: string
}

async function world(server: Running, body: object = {}): Promise<Made> {
  const { status, body: made } = await server.command('/_sim/worlds', body)
  const expected = [200, { world: expect.any(String), token: expect.any(String), base_url: expect.any(String) }]
  expect([status, made]).toEqual(expected)
  return made
}

/** Status, JSON and hint of a request with a token of its own. */
async function ask({ server }: Running, path: string, token?: string, init: RequestInit & { json?: unknown } = {}) {
  const response = await fetch(path.startsWith('http') ? path : `${server.url}${path}`, {
    ...init,
    ...(init.json !== undefined && { method: init.method ?? 'POST', body: JSON.stringify(init.json) }),
    headers: {
      ...(token !== undefined && bearer(token)),
      ...(init.json !== undefined && { 'content-type': 'application/json' }),
      ...init.headers,
    },
  })
  const text = await response.text()
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers
  const body: any = text === '' ? '' : JSON.parse(text)
  return { status: response.status, body, hint: response.headers.get('x-sim-hint'), headers: response.headers }
}

describe('a world of its own', () => {
  test('has the name of its fixture, also as a fork of the past', async () => {
    const server = await running({ fixtures: 'two-nodes' })
    await server.command('/_sim/past')
    await server.command('/_sim/clock/advance', { by: '20m' })
    await world(server, { from: 'default', at: '10m' })
    await world(server, { from: 'default' })
    const { body } = await ask(server, '/_sim/worlds')
    expect(body.map(({ fixtures }: { fixtures: string }) => fixtures)).toEqual(['two-nodes', 'two-nodes', 'two-nodes'])
  })

  test('is reached by its token at the root and under its own address, and no other world sees it', async () => {
    const server = await running({ fixtures: 'empty' })
    const [one, two] = [await world(server), await world(server)]
    expect([one.world, two.world]).toEqual(['w1', 'w2'])
    expect(one).toMatchObject({ token: 'sim_empty_token.w1', base_url: `${server.server.url}/_sim/worlds/w1` })

    const before = server.sim.digest
    const created = await ask(server, '/deploy/llm', one.token, { json: MODEL })
    expect(created.status).toBe(200)

    const list = async (path: string, token: string) => (await ask(server, path, token)).body
    expect(await list('/deploy/list', one.token)).toEqual([created.body])
    expect(await list(`${one.base_url}/deploy/list`, 'sim_empty_token')).toEqual([created.body])
    expect(await list('/deploy/list', two.token)).toEqual([])
    expect(await list('/deploy/list', 'sim_empty_token')).toEqual([])
    expect(server.sim.digest).toBe(before)
  })

  test.each(['', 9_007_199_254_740_992, 0.5])('has no seed %j', async seed => {
    const server = await running({ fixtures: 'empty' })
    const refused = await server.command('/_sim/worlds', { seed })
    expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'seed'] }] } })
    expect(JSON.stringify(refused.body)).toContain('a text in quotes, or a safe integer')
  })

  test('has its own clock, selected by its token or its address', async () => {
    const server = await running({ fixtures: 'empty' })
    const [one, two] = [await world(server), await world(server)]
    await ask(server, '/_sim/clock/advance', one.token, { json: { by: '2h' } })
    await ask(server, `${two.base_url}/_sim/clock/advance`, undefined, { json: { by: '3h' } })
    const now = async (name: string) => (await ask(server, `/_sim/worlds/${name}/_sim/clock`)).body.elapsed_seconds
    expect([await now('w1'), await now('w2'), await now('default')]).toEqual([7200, 10_800, 0])
    expect((await ask(server, '/_sim/clock', one.token)).body.elapsed_seconds).toBe(7200)
    const keyed = await ask(server, '/_sim/clock', undefined, { headers: { 'alt-api-key': two.token } })
    expect(keyed.body.elapsed_seconds).toBe(10_800)
  })

  test('behaves as a simulator with the same options', async () => {
    const server = await running()
    const options = {
      fixtures: 'two-nodes',
      seed: 'seven',
      profile: 'quick',
      epoch: '2027-03-01T00:00:00Z',
      with: { deployments: [{ model_name: 'acme/chat' }] },
    }
    const made = await world(server, options)
    const twin = createSimulator(options)
    const created = await ask(server, '/deploy/llm', made.token, { json: MODEL })
    expect(created.body).toEqual((await askTo(twin, 'POST /deploy/llm', MODEL)).body)
    await ask(server, '/_sim/clock/advance', made.token, { json: { by: '1h' } })
    await twin.clock.advance('1h')
    expect((await ask(server, '/_sim/digest', made.token)).body).toEqual({ digest: twin.digest, now: twin.clock.iso })
  })

  test('has the options of the server by default, also after changes of the default world', async () => {
    const server = await running({ fixtures: 'empty', seed: 9, with: { deployments: [{ model_name: 'acme/chat' }] } })
    const fresh = server.sim.digest
    await server.ask('/deploy/llm', { method: 'POST', body: JSON.stringify(MODEL) })
    await server.command('/_sim/clock/advance', { by: '1d' })
    const made = await world(server)
    const inspected = (await ask(server, `/_sim/worlds/${made.world}`)).body
    const expected = { seed: '9', fixtures: 'empty', digest: fresh, now: '2026-01-01T00:00:00.000000+00:00' }
    expect(inspected).toMatchObject(expected)
    // Another seed on the same beginning, and another beginning without the records that stood beside the first.
    const other = await world(server, { seed: 10 })
    expect((await ask(server, `/_sim/worlds/${other.world}`)).body.counts.deployments).toBe(1)
    const nodes = await world(server, { fixtures: 'two-nodes' })
    expect((await ask(server, `/_sim/worlds/${nodes.world}`)).body.counts.deployments).toBe(0)
  })

  test('has its own reset', async () => {
    const server = await running({ fixtures: 'empty' })
    const [one, two] = [await world(server), await world(server)]
    for (const { token } of [one, two]) await ask(server, '/deploy/llm', token, { json: MODEL })
    await ask(server, '/_sim/reset', one.token, { method: 'POST' })
    expect((await ask(server, '/deploy/list', one.token)).body).toEqual([])
    expect((await ask(server, '/deploy/list', two.token)).body).toHaveLength(1)
  })
})

describe('a fork', () => {
  test('is listed with its origin and the time of the fork, also one of the past', async () => {
    const server = await running({ fixtures: 'two-nodes', seed: 1 })
    await server.command('/_sim/past', {})
    await server.command('/_sim/clock/advance', { by: '1h' })
    const [plain, past, fresh] = [
      await world(server, { from: 'default' }),
      await world(server, { from: 'default', at: '20m' }),
      await world(server),
    ]
    await ask(server, `/_sim/worlds/${plain.world}/_sim/clock/advance`, undefined, { json: { by: '1h' } })
    const { body: listed } = await ask(server, '/_sim/worlds')
    const originOf = (name: string) => listed.find(({ world: one }: Made) => one === name).fork_of
    expect(['default', plain.world, past.world, fresh.world].map(originOf)).toEqual([
      null,
      { world: 'default', at: expect.stringContaining('T01:00:00') },
      { world: 'default', at: expect.stringContaining('T00:20:00') },
      null,
    ])
  })

  test('continues from the state of its origin and is independent of it', async () => {
    const server = await running({ fixtures: 'empty' })
    const origin = await world(server)
    const { deploy_id } = (await ask(server, '/deploy/llm', origin.token, { json: MODEL })).body
    await ask(server, '/_sim/clock/advance', origin.token, { json: { by: '1m' } })
    const fork = await world(server, { from: origin.world })

    const seen = async (token: string) => (await ask(server, '/_sim/digest', token)).body
    expect(await seen(fork.token)).toEqual(await seen(origin.token))
    expect((await ask(server, '/_sim/journal', fork.token)).body.entries).toEqual([])

    await ask(server, '/_sim/commands', fork.token, { json: { verb: 'pool.stockOut', target: 'H100-80GB' } })
    for (const { token } of [origin, fork]) await ask(server, '/_sim/clock/advance', token, { json: { by: '1h' } })
    const status = async (token: string) => (await ask(server, `/deploy/${deploy_id}`, token)).body.status
    expect(await status(origin.token)).toBe('running')
    await ask(server, '/_sim/reset', fork.token, { method: 'POST' })
    expect((await ask(server, '/_sim/clock', fork.token)).body.elapsed_seconds).toBe(60)
  })

  test('continues at the speed and from the time of its origin', async () => {
    const server = await running()
    const origin = await world(server)
    await ask(server, '/_sim/clock/advance', origin.token, { json: { by: '1d' } })
    await ask(server, '/_sim/clock', origin.token, { method: 'PUT', json: { mode: 'scaled', speed: 2 } })
    const fork = await world(server, { from: origin.world })
    const clock = (await ask(server, '/_sim/clock', fork.token)).body
    expect(clock).toMatchObject({ mode: 'scaled', speed: 2 })
    expect(clock.elapsed_seconds).toBeGreaterThanOrEqual(86_400)
    expect(clock.elapsed_seconds).toBeLessThan(86_500)
  })
})

describe('routing words', () => {
  test('are on every token in an answer and never reach the world', async () => {
    const server = await running({ fixtures: 'default' })
    const made = await world(server)
    const tokens = (await ask(server, '/v1/api-tokens', made.token)).body as { token: string }[]
    expect(tokens.length).toBeGreaterThan(1)
    for (const { token } of tokens) expect(token).toMatch(/^[\w-]+\.w1$/)
    for (const { token } of tokens.filter(({ token }) => !token.includes('office'))) {
      expect((await ask(server, '/v1/voices', token)).status).toBe(200)
      expect((await ask(server, '/v1/voices', undefined, { headers: { 'alt-api-key': token } })).status).toBe(200)
    }
    const bare = (await ask(server, `${made.base_url}/v1/api-tokens`, server.sim.token)).body as { token: string }[]
    expect(bare.map(({ token }) => `${token}.w1`)).toEqual(tokens.map(({ token }) => token))
    const journal = JSON.stringify((await ask(server, '/_sim/journal', made.token)).body)
    expect(journal).not.toContain('w1')
    const head = await fetch(`${server.server.url}/v1/api-tokens`, { method: 'HEAD', headers: bearer(made.token) })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })

  test('do not change the answers of a world', async () => {
    const server = await running()
    const [one, two] = [await world(server), await world(server)]
    for (const path of ['/deploy/list', '/v1/voices/none', '/nowhere', '/aggregator/models', '/v1/batches?limit=x']) {
      const routed = await ask(server, path, one.token)
      const below = await ask(server, `${two.base_url}${path}`, server.sim.token)
      expect([path, routed.status, routed.body]).toEqual([path, below.status, below.body])
    }
    const digests = await Promise.all(
      [one, two].map(async ({ token }) => (await ask(server, '/_sim/digest', token)).body),
    )
    expect(digests[0]).toEqual(digests[1])
  })

  test.each([{}, { token: 'worker-3' }])('work below base_url, with the options %o', async options => {
    const server = await running()
    const made = await world(server, options)
    const listed = await ask(server, `${made.base_url}/deploy/list`, made.token)
    expect(listed).toMatchObject({ status: 200, hint: null })
    expect(await ask(server, `${made.base_url}/deploy/list`, server.sim.token)).toMatchObject({ status: 200 })
    expect(await ask(server, `${made.base_url}/deploy/list`, `${server.sim.token}.w9`)).toMatchObject({ status: 401 })
  })

  test('a token of another world alone is refused at the root with a hint', async () => {
    const server = await running({ fixtures: 'default' })
    const made = await world(server, { fixtures: 'two-nodes' })
    expect(made.token).toBe('sim_two_nodes_token.w1')
    const refused = await ask(server, '/deploy/list', 'sim_two_nodes_token')
    expect(refused).toMatchObject({ status: 401, hint: 'use base_url', body: { detail: expect.any(String) } })
    expect((await ask(server, '/_sim/clock/advance', 'sim_two_nodes_token', { json: { by: '1h' } })).status).toBe(404)
    expect((await ask(server, '/deploy/list', 'unknown')).hint).toBeNull()
  })

  test('an alias works as the first token and ends with it', async () => {
    const server = await running({ fixtures: 'default' })
    const made = await world(server, { token: 'worker-3' })
    expect(made.token).toBe('worker-3')
    expect((await ask(server, '/deploy/llm', 'worker-3', { json: MODEL })).status).toBe(200)
    expect((await ask(server, '/deploy/list', `${server.sim.token}.w1`)).body).toHaveLength(10)
    expect(JSON.stringify((await ask(server, '/_sim/journal', 'worker-3')).body)).not.toContain('worker-3')
    await ask(server, '/_sim/commands', 'worker-3', { json: { verb: 'token.revoke', target: 'default' } })
    expect((await ask(server, '/deploy/list', 'worker-3')).status).toBe(401)
    for (const taken of ['worker-3', server.sim.token]) {
      const { status, body } = await server.command('/_sim/worlds', { token: taken })
      expect([status, body.error]).toEqual([400, expect.stringContaining('the token leads to another one')])
    }
  })
})

describe('unknown tokens', () => {
  test('are refused when the server does not fork', async () => {
    const server = await running()
    await world(server)
    expect(await ask(server, '/deploy/list', 'worker-1')).toMatchObject({ status: 401, hint: null })
    expect(await server.read('/_sim/worlds')).toHaveLength(2)
  })

  test('each get a world of their own at first use when the server forks', async () => {
    const server = await running({ fixtures: 'empty' }, { unknownTokens: 'fork' })
    const workers = ['worker-1', 'worker-2', 'worker-3', 'worker.4']
    await Promise.all(workers.map(token => ask(server, '/_sim/clock/advance', token, { json: { by: '10m' } })))
    const created = await Promise.all(workers.map(token => ask(server, '/deploy/llm', token, { json: MODEL })))
    expect(new Set(created.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    for (const token of workers) expect((await ask(server, '/deploy/list', token)).body).toEqual([created[0]!.body])
    expect((await askTo(server.sim, 'GET /deploy/list')).body).toEqual([])
    const worlds = (await server.read('/_sim/worlds')) as { token: string }[]
    expect(worlds.map(({ token }) => token).sort()).toEqual(['…oken', '…er-1', '…er-2', '…er-3', '…rker.4'].sort())
  })

  test('a revoked token is not unknown, and a request without a token reaches the default world', async () => {
    const server = await running({}, { unknownTokens: 'fork' })
    await ask(server, '/_sim/commands', undefined, { json: { verb: 'token.revoke', target: 'continuous integration' } })
    expect((await ask(server, '/deploy/list', 'sim_ci_token')).status).toBe(401)
    expect((await ask(server, '/deploy/list')).status).toBe(401)
    expect((await ask(server, '/aggregator/models')).status).toBe(200)
    expect(await server.read('/_sim/worlds')).toHaveLength(1)
  })

  test('are answered 429 with a remedy when the server holds its maximum of worlds', async () => {
    const server = await running({}, { unknownTokens: 'fork', maxWorlds: 1 })
    expect((await ask(server, '/deploy/list', 'one')).status).toBe(200)
    for (const path of ['/deploy/list', '/_sim/clock']) {
      const { status, body } = await ask(server, path, 'two')
      expect([status, body.error]).toEqual([429, expect.stringContaining('--max-worlds')])
    }
    expect((await ask(server, '/deploy/list', 'one')).status).toBe(200)
  })
})

describe('the life of worlds', () => {
  test('worlds are listed, inspected and deleted', async () => {
    const server = await running()
    const made = await world(server, { seed: 5, fixtures: 'empty' })
    await ask(server, '/deploy/llm', made.token, { json: MODEL })
    const list = (await server.read('/_sim/worlds')) as Record<string, unknown>[]
    expect(list.map(({ world }) => world)).toEqual(['default', 'w1'])
    const expected = { seed: '5', fixtures: 'empty', requests: 1, base_url: made.base_url, token: '…oken.w1' }
    expect(list[1]).toMatchObject(expected)
    expect((await ask(server, '/_sim/worlds/w1')).body).toMatchObject({
      world: 'w1',
      token: '…oken.w1',
      profile: 'realistic',
      clock: { mode: 'manual', speed: null },
      digest: expect.stringMatching(/^[0-9a-f]{32}$/),
      counts: { deployments: 1, batches: 0, stored_bytes: 0 },
    })
    expect((await ask(server, '/_sim/worlds/w1', undefined, { method: 'DELETE' })).body).toEqual({ world: 'w1' })
    const gone = await ask(server, '/deploy/list', made.token)
    expect(gone).toMatchObject({ status: 401, hint: expect.stringContaining("unknown world 'w1'") })
    for (const path of ['/_sim/worlds/w1', '/_sim/worlds/w1/deploy/list', '/_sim/worlds/w1/_sim/clock']) {
      const { status, body } = await ask(server, path, 'x')
      expect([path, status, body.error]).toEqual([path, 404, expect.stringContaining('POST /_sim/worlds creates one')])
    }
    expect((await ask(server, '/_sim/reset', made.token, { method: 'POST' })).status).toBe(404)
    expect((await ask(server, '/_sim/worlds/default', undefined, { method: 'DELETE' })).status).toBe(409)
    expect((await world(server)).world).toBe('w2')
  })

  test('a world is deleted after an hour without requests, and the default world stays', async () => {
    wall.now = 1_000_000
    const server = await running()
    const [used, idle] = [await world(server), await world(server)]
    const passed = (minutes: number) => {
      wall.now = 1_000_000 + minutes * 60_000
    }
    passed(40)
    expect((await ask(server, '/deploy/list', used.token)).status).toBe(200)
    expect((await ask(server, `/_sim/worlds/${idle.world}`)).body.idle_seconds).toBe(2400)
    passed(61)
    expect((await ask(server, '/deploy/list', idle.token)).hint).toContain('was idle for 1h')
    const left = (await server.read('/_sim/worlds')) as { world: string }[]
    expect(left.map(({ world }) => world)).toEqual(['default', used.world])
  })

  test('an unused world makes room for another, and a world with a request in flight does not', async () => {
    wall.now = 1_000_000
    const server = await running({ fixtures: 'empty' }, { maxWorlds: 1 })
    const first = await world(server)
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    const served = server.server.worlds.get(first.world)!
    const moving = served.sim.clock.untilInSlices(async () => {
      await held
      return true
    })
    const answer = ask(server, '/deploy/list', first.token)
    await vi.waitFor(() => expect(served.requests).toBe(1), { interval: 5 })
    wall.now += 61 * 60_000
    expect((await server.command('/_sim/worlds', {})).status).toBe(429)
    release()
    await moving
    expect((await answer).status).toBe(200)
    wall.now += 61 * 60_000
    expect((await world(server)).world).toBe('w2')
  })

  test('the snapshots of a deleted world are deleted, and worlds and files made from them stay', async () => {
    wall.now = 1_000_000
    const server = await running({ fixtures: 'empty' })
    const idle = await world(server, { token: 'worker-1' })
    await ask(server, '/_sim/clock/advance', 'worker-1', { json: { by: '2h' } })
    const { digest } = (await ask(server, '/_sim/snapshots', 'worker-1', { json: { name: 'mine' } })).body
    wall.now += 50 * 60_000
    // To fork a world or to export its snapshot counts as use of it.
    const made = await world(server, { from: idle.world, snapshot: 'mine' })
    const bytes = await (await fetch(`${idle.base_url}/_sim/snapshots/mine/export`)).arrayBuffer()
    wall.now += 59 * 60_000
    expect((await ask(server, '/_sim/digest', made.token)).body.digest).toBe(digest)
    wall.now += 2 * 60_000
    for (const path of ['snapshots', 'snapshots/mine/export']) {
      const { status, body } = await ask(server, `${idle.base_url}/_sim/${path}`)
      expect([status, body.error]).toEqual([404, expect.stringContaining('was idle for 1h (--world-idle)')])
    }
    const { status, body } = await server.command('/_sim/worlds', { from: idle.world, snapshot: 'mine' })
    expect([status, body.error]).toEqual([404, expect.stringContaining(`unknown world '${idle.world}'`)])
    expect((await ask(server, '/_sim/snapshots', 'worker-1')).status).toBe(404)
    expect((await ask(server, '/_sim/snapshots')).body).toEqual([])

    const form = formOf({ file: new Blob([bytes]) })
    const carried = await fetch(`${made.base_url}/_sim/snapshots/mine/import`, { method: 'POST', body: form })
    expect([carried.status, await carried.json()]).toMatchObject([200, { digest }])
    await ask(server, '/_sim/clock/advance', made.token, { json: { by: '1h' } })
    await ask(server, `${made.base_url}/_sim/snapshots/mine/restore`, undefined, { method: 'POST' })
    expect((await ask(server, '/_sim/digest', made.token)).body.digest).toBe(digest)
  })

  test('a move of the clock in one world does not delay the others', async () => {
    const server = await running({ fixtures: 'empty' })
    const busy = await world(server)
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    let isAnswered = false
    // A second world of the server, in the middle of a move.
    const moving = server.server.worlds.get(busy.world)!.sim.clock.untilInSlices(async () => {
      await held
      return true
    })
    const waiting = ask(server, '/deploy/list', busy.token).then(({ status }) => {
      isAnswered = true
      return status
    })
    expect((await ask(server, '/deploy/list', server.sim.token)).status).toBe(200)
    expect((await ask(server, '/_sim/clock/advance', undefined, { json: { by: '1d' } })).status).toBe(200)
    await world(server)
    expect(isAnswered).toBe(false)
    release()
    await moving
    expect(await waiting).toBe(200)
  })
})

describe('an invalid request for a world', () => {
  const bad: Record<string, [body: unknown, status: number, says: string]> = {
    'an unknown fixture': [{ fixtures: 'two-node' }, 400, "Did you mean 'two-nodes'?"],
    'a path': [{ fixtures: './fixtures/worlds/empty' }, 400, 'only code and flags may name a file'],
    'a profile that extends a path': [
      { profile: { extends: '../secret.json' } },
      400,
      'only code and flags may name a file',
    ],
    'a profile by its path': [{ profile: '/etc/passwd' }, 400, 'only code and flags may name a file'],
    'an invalid fixture': [{ fixtures: { account: 7 } }, 400, 'account'],
    'records that cannot be': [{ with: { deployments: [{ model_name: 'x', gpu: 'T4' }] } }, 400, 'with.deployments'],
    'an unknown profile': [{ profile: 'quik' }, 400, "Did you mean 'quick'?"],
    'an unknown clock': [{ clock: 'manuel' }, 400, "Did you mean 'manual'?"],
    'a clock to follow': [{ clock: { mode: 'follow' } }, 400, 'a server has no clock to follow'],
    'a clock to follow, by its name': [{ from: 'default', clock: 'follow' }, 400, 'a server has no clock to follow'],
    'an invalid speed': [{ clock: { mode: 'scaled', speed: -1 } }, 400, 'invalid speed -1'],
    'an epoch without offset': [{ epoch: '2026-01-01' }, 400, 'no time with an offset'],
    names: [{ names: { fields: { hub: 'gpu' } } }, 400, "'gpu' is a field beside it in createLlmDeployment"],
    'an unknown field': [{ fixture: 'empty' }, 422, "Did you mean 'fixtures'?"],
    'a token with spaces': [{ token: 'a b' }, 422, 'token'],
    'no origin': [{ from: 'w9' }, 404, "unknown world 'w9'"],
    'a fork with a seed': [{ from: 'default', seed: 2 }, 400, 'a fork has the seed of its origin'],
    'an invalid seed': [{ seed: true }, 422, 'seed'],
  }

  test('is refused, and no world is added', { tags: 'slow' }, async () => {
    const server = await running({ fixtures: 'empty' })
    for (const [name, [body, status, says]] of Object.entries(bad)) {
      const refused = await server.command('/_sim/worlds', body)
      const expected = [name, status, expect.stringContaining(says)]
      expect([name, refused.status, JSON.stringify(refused.body)]).toEqual(expected)
      expect(await server.read('/_sim/worlds'), name).toHaveLength(1)
    }
  })
})

test('a world starts with the scripted answers of its body, and an invalid rule is 400', async () => {
  const server = await running()
  const answers = [{ name: 'sun', contains: 'weather', answer: { text: 'Sunny.' } }]
  const { body: made } = await server.command('/_sim/worlds', { answers })
  const { body } = await server.command(`/_sim/worlds/${made.world}/_sim/inference`, undefined, 'GET')
  expect(body.rules).toEqual([expect.objectContaining({ ...answers[0], hits: 0 })])
  const refused = await server.command('/_sim/worlds', { answers: [{ contains: 'weather' }] })
  expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining('answer')])
})

test('a page of another origin cannot create, change or delete a world, and beyond loopback a token is required', async () => {
  const server = await running({ fixtures: 'empty' }, { hostname: '0.0.0.0', controlToken: 'secret' })
  const control = { 'x-sim-control-token': 'secret' }
  const foreign = { ...control, origin: 'https://evil.example' }
  expect((await ask(server, '/_sim/worlds', undefined, { json: {}, headers: foreign })).status).toBe(403)
  expect((await ask(server, '/_sim/worlds', undefined, { json: {} })).status).toBe(401)
  const made = (await ask(server, '/_sim/worlds', 'secret', { json: {} })).body as Made
  expect((await ask(server, `${made.base_url}/_sim/reset`, undefined, { method: 'POST' })).status).toBe(401)
  const reset = await ask(server, `${made.base_url}/_sim/reset`, undefined, { method: 'POST', headers: foreign })
  expect(reset.status).toBe(403)
  expect((await ask(server, '/_sim/worlds/w1', undefined, { method: 'DELETE' })).status).toBe(401)
  // The API of a world asks for its own tokens and for nothing else.
  expect((await ask(server, `${made.base_url}/deploy/list`, 'sim_empty_token')).status).toBe(200)
  expect((await ask(server, `${made.base_url}/deploy/list`)).status).toBe(401)
})

describe('the differences of two worlds', () => {
  const differences = async (server: Running, name: string) =>
    await server.read(`/_sim/worlds/${name}/_sim/differences?with=default`)

  test('name the entry with which they went apart, and what came of it', async () => {
    const server = await running({ fixtures: 'two-nodes' })
    await server.command('/_sim/past')
    const { body: created } = await ask(server, '/deploy/llm', server.sim.token, { json: MODEL })
    await server.command('/_sim/clock/advance', { by: '8m' })
    const { world: name } = await world(server, { from: 'default', at: '8m' })
    expect(await differences(server, name)).toMatchObject({ equal: true, differences: [], diverged: null })

    await server.command('/_sim/commands', { verb: 'node.crash', target: 'h100-0' })
    await server.command('/_sim/commands', { verb: 'node.crash', target: 'h100-1' })
    await server.command('/_sim/clock/advance', { by: '20m' })
    await server.command(`/_sim/worlds/${name}/_sim/clock/advance`, { by: '20m' })
    const found = await differences(server, name)
    expect(found).toMatchObject({
      ...{ world: name, with: 'default', equal: false, same_time: true },
      diverged: { at: '2026-01-01T00:08:00.000000+00:00', before: { kind: 'node.crashed', subject: 'h100-0' } },
    })
    const kinds = new Set(found.differences.map(({ kind }: { kind: string }) => kind))
    expect(kinds).toEqual(new Set(['state', 'money']))
    const nodes = found.differences.filter(({ subject }: { subject: string }) => subject === 'h100-0')
    expect(nodes).toEqual([
      {
        kind: 'state',
        subject: 'h100-0',
        before: expect.stringContaining('down'),
        after: expect.stringContaining('ready'),
      },
    ])
    const balances = found.differences.find(({ subject }: { subject: string }) => subject === 'balance')
    expect(balances.after).toBe(`${(server.server.worlds.get(name)!.sim.ledger.balance / 1e8).toFixed(6)} USD`)

    await ask(server, `${server.server.url}/_sim/worlds/${name}/deploy/${created.deploy_id}`, server.sim.token, {
      method: 'DELETE',
    })
    await server.command('/_sim/clock/advance', { by: '1m' })
    const later = await differences(server, name)
    expect(later.same_time).toBe(false)
    expect(later.differences).toContainEqual(
      expect.objectContaining({ kind: 'state', subject: created.deploy_id, after: expect.stringContaining('deleted') }),
    )
    const expected = { kind: 'request', subject: 'deleteDeployment: 200', before: '0', after: '1' }
    expect(later.differences).toContainEqual(expected)
  })

  test('of a world from the past begin after what it shares with its origin', async () => {
    const server = await running({ fixtures: 'default' })
    await server.command('/_sim/past')
    await server.command('/_sim/clock/advance', { by: '10m' })
    const { world: name } = await world(server, { from: 'default', at: '9m' })
    server.sim.cluster.node('h100-0').crash()
    await server.command(`/_sim/worlds/${name}/_sim/clock/advance`, { by: '1m' })
    expect((await differences(server, name)).diverged).toMatchObject({ before: { kind: 'node.crashed' }, after: null })
  })

  test('of a plain fork come from the time of the fork on, and an unknown world is refused', async () => {
    const server = await running({ fixtures: 'two-nodes' })
    server.sim.cluster.node('h100-0').crash()
    await server.command('/_sim/clock/advance', { by: '5m' })
    const { world: name } = await world(server, { from: 'default' })
    expect(await differences(server, name)).toMatchObject({ equal: true, differences: [], diverged: null })
    await server.command(`/_sim/worlds/${name}/_sim/commands`, { verb: 'zone.down', target: 'east-a' })
    expect(await differences(server, name)).toMatchObject({ equal: false, diverged: { after: { kind: 'zone.down' } } })
    const unknown = await server.command(`/_sim/worlds/${name}/_sim/differences?with=w9`, undefined, 'GET')
    expect([unknown.status, unknown.body.error]).toEqual([404, expect.stringContaining("unknown world 'w9'")])
  })

  test('tell requests apart from what they changed', async () => {
    const server = await running({ fixtures: 'two-nodes' })
    const { world: name } = await world(server, { from: 'default' })
    await ask(server, '/deploy/list', server.sim.token, {})
    const found = await differences(server, name)
    expect(found).toMatchObject({
      ...{ equal: true, diverged: null },
      differences: [{ kind: 'request', subject: 'listDeployments: 200', before: '1', after: '0' }],
    })
  })

  test('of a fork and its origin count the requests since the fork, in both directions', async () => {
    const server = await running({ fixtures: 'two-nodes' })
    const list = (name?: string) =>
      ask(server, `${name === undefined ? '' : `/_sim/worlds/${name}`}/deploy/list`, server.sim.token)
    for (let count = 0; count < 5; count++) await list()
    await server.command('/_sim/snapshots', { name: 'calm' })
    const { world: name } = await world(server, { from: 'default' })
    const of = async (path: string) => await server.read(path)
    const directions = [`/_sim/worlds/${name}/_sim/differences?with=default`, `/_sim/differences?with=${name}`]
    for (const path of [...directions, '/_sim/differences?snapshot=calm'])
      expect(await of(path)).toMatchObject({ equal: true, differences: [], requests_compared: true })

    await list(name)
    for (let count = 0; count < 2; count++) await list()
    const counted = { kind: 'request', subject: 'listDeployments: 200' }
    expect((await of(directions[0]!)).differences).toEqual([{ ...counted, before: '2', after: '1' }])
    expect((await of(directions[1]!)).differences).toEqual([{ ...counted, before: '1', after: '2' }])
    expect((await of('/_sim/differences?snapshot=calm')).differences).toEqual([{ ...counted, before: '0', after: '2' }])
  })

  test('of a fork of a fork leave out the requests before the first fork', { tags: 'slow' }, async () => {
    const server = await running({ fixtures: 'two-nodes' })
    const list = (name?: string) =>
      ask(server, `${name === undefined ? '' : `/_sim/worlds/${name}`}/deploy/list`, server.sim.token)
    for (let count = 0; count < 5; count++) await list()
    const { world: fork } = await world(server, { from: 'default' })
    await list(fork)
    const { world: forkOfFork } = await world(server, { from: fork })
    expect(await differences(server, forkOfFork)).toMatchObject({ differences: [], requests_compared: true })
    await list()
    const counted = { kind: 'request', subject: 'listDeployments: 200', before: '1', after: '0' }
    expect((await differences(server, forkOfFork)).differences).toEqual([counted])
  })

  test('of a fork leave requests out if its origin has dropped the entries since the fork', async () => {
    const server = await running({ fixtures: 'two-nodes' })
    await ask(server, '/deploy/list', server.sim.token)
    const { world: name } = await world(server, { from: 'default' })
    const { journal } = server.sim.world
    await ask(server, '/deploy/list', server.sim.token)
    for (let count = 0; count < journal.limit; count++) journal.recordUndigested(0, 'node.crashed', 'h100-0')
    const found = await differences(server, name)
    expect(found.requests_compared).toBe(false)
    expect(found.differences.filter(({ kind }: { kind: string }) => kind === 'request')).toEqual([])
  })

  test('since the start are those from a fresh copy of the world', async () => {
    const server = await running({ fixtures: 'two-nodes' })
    const since = async () => await server.read('/_sim/differences?fresh=true')
    expect(await since()).toMatchObject({ world: 'default', with: 'start', equal: true, differences: [] })
    await server.command('/_sim/commands', { verb: 'node.crash', target: 'h100-0' })
    await server.command('/_sim/clock/advance', { by: '10m' })
    const { differences: found, same_time: isSameTime } = await since()
    expect(isSameTime).toBe(false)
    expect(found).toContainEqual({
      ...{ kind: 'state', subject: 'h100-0' },
      ...{ before: expect.stringContaining('ready'), after: expect.stringContaining('down') },
    })
    expect(server.server.worlds.all()).toHaveLength(1)
    await server.command('/_sim/past')
    await ask(server, '/deploy/list', server.sim.token)
    await server.command('/_sim/clock/advance', { by: '1m' })
    const { world: name } = await world(server, { from: 'default', at: '11m' })
    const ofFork = await server.command(`/_sim/worlds/${name}/_sim/differences?fresh=true`, undefined, 'GET')
    expect(ofFork.body).toMatchObject({ equal: true, differences: [], requests_compared: false })
  })

  test('of worlds with other epochs have the same time when as much has passed', async () => {
    const server = await running({ fixtures: 'empty' })
    const { world: name } = await world(server, { fixtures: 'empty', epoch: '2027-01-01T00:00:00Z' })
    expect(await differences(server, name)).toMatchObject({ same_time: true, differences: [] })
  })

  test('of a snapshot are those since then, and one of with, snapshot and fresh is required', async () => {
    const server = await running({ fixtures: 'two-nodes' })
    await server.command('/_sim/snapshots', { name: 'calm' })
    const since = (query: string) => server.command(`/_sim/differences?${query}`, undefined, 'GET')
    expect((await since('snapshot=calm')).body).toMatchObject({ with: 'calm', equal: true, differences: [] })
    await server.command('/_sim/commands', { verb: 'node.crash', target: 'h100-0' })
    const { body } = await since('snapshot=calm')
    expect(body.differences).toContainEqual({
      ...{ kind: 'state', subject: 'h100-0' },
      ...{ before: expect.stringContaining('ready'), after: expect.stringContaining('down') },
    })
    for (const query of ['', 'with=default&snapshot=calm', 'snapshot=calm&fresh=true'])
      expect((await since(query)).status).toBe(400)
    expect((await since('snapshot=other')).status).toBe(404)
    expect(server.server.worlds.all()).toHaveLength(1)
  })
})
