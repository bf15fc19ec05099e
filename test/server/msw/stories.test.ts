/** What a test of an integration does with the handlers, from the first call to the last. */
import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { documentedOperations } from '../../../src/service/index.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { handlers, listenOptions } from '../../../src/workbench/testing/msw.ts'
import { batchFile } from '../../setup/batches.ts'
import { ask as askCase, firstOfEachStatus, ROWS, type Seen } from '../request-table.ts'

const BASE = 'https://api.example.test'
const PREFIXED = 'https://gateway.example.test:8443/models-api/v9'
const SINGLY = 'https://singly.example.test'

const sim = createSimulator({ seed: 1 })
const other = createSimulator({ seed: 2, fixtures: 'empty' })
const usually = [...handlers(sim, { baseUrl: BASE }), ...handlers(other, { baseUrl: PREFIXED })]
const server = setupServer(...usually)

beforeAll(() => server.listen(listenOptions))
beforeEach(() => {
  sim.reset()
  other.reset()
})
// What resetHandlers is given stays for the resets after it.
afterEach(() => server.resetHandlers(...usually))
afterAll(() => server.close())

/** A client of one base address with the token of its world. */
function clientOf(base: string, token: string) {
  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${base}${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })
  return {
    call,
    // biome-ignore lint/suspicious/noExplicitAny: whatever the service answers
    json: async (path: string, init?: RequestInit): Promise<any> => (await call(path, init)).json(),
    post: (path: string, body: unknown) => call(path, { method: 'POST', body: JSON.stringify(body) }),
  }
}

const client = clientOf(BASE, sim.token)
/** Weights that no node has in its cache, so that every state shows. */
const CHAT = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/fresh-8b' } }

/** One case for each status at this base address; the world behind it is fresh for each. */
async function answersAt(base: string, world: typeof sim, operation: string): Promise<[string, Seen][]> {
  const found: [string, Seen][] = []
  for (const one of firstOfEachStatus(ROWS.find(row => row.operation === operation)!).cases.slice(0, 2)) {
    if (one.world !== 'usual') continue
    world.reset()
    found.push([`${one.status} ${one.name}`, await askCase(one, world.token, (path, init) => fetch(base + path, init))])
  }
  return found
}

describe('a walk with a plain client', () => {
  test('list, create, wait, see it run, stop it', async () => {
    const before = await client.json('/deploy/list/')
    const { deploy_id } = await (await client.post('/deploy/llm', CHAT)).json()
    const seen = new Set<string>()
    for (let i = 0; i < 60 && !seen.has('running'); i++) {
      seen.add((await client.json(`/deploy/${deploy_id}`)).status)
      await sim.clock.advance('5s')
    }
    expect([...seen]).toEqual(['initializing', 'downloading', 'deploying', 'running'])
    expect(await client.json('/deploy/list/')).toHaveLength(before.length + 1)

    expect((await client.post(`/deploy/${deploy_id}/stop`, undefined)).status).toBe(200)

    expect((await client.json(`/deploy/${deploy_id}`)).status).toBe('stopped')
  })

  test('a large body, there and back', async () => {
    const content = '{"custom_id":"ü"}\n'.repeat(10_000)
    const { id, bytes } = await client.json('/v1/files', { method: 'POST', body: batchFile(content) })
    expect(bytes).toBe(Buffer.byteLength(content))
    expect(await (await client.call(`/v1/files/${id}/content`)).text()).toBe(content)
  })

  test('twenty calls at once are each answered as if alone', async () => {
    const alone = await (await client.call('/deploy/list')).text()
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, i) =>
        i % 2 === 0
          ? (await client.call('/deploy/list')).text()
          : (await client.post('/payment/topup', { amount: i })).text(),
      ),
    )
    expect(new Set(answers)).toEqual(new Set([alone, '{}']))
  })
})

describe('an override', () => {
  const broken = (base: string) =>
    http.post(`${base}/deploy/llm`, () => HttpResponse.json({ error: 'try again' }, { status: 503 }))

  test('takes precedence until the handlers are reset, and the world never receives the call', async () => {
    const before = sim.digest
    server.use(broken(BASE))
    const refused = await client.post('/deploy/llm', CHAT)
    expect([refused.status, await refused.json()]).toEqual([503, { error: 'try again' }])
    expect([sim.digest, sim.journal.entries()]).toEqual([before, []])

    server.resetHandlers()

    expect((await client.post('/deploy/llm', CHAT)).status).toBe(200)
    expect(sim.digest).not.toBe(before)
  })
})

describe('two simulators behind two base addresses', () => {
  const elsewhere = clientOf(PREFIXED, other.token)

  test('share no time, tokens, resources and files', async () => {
    const digest = other.digest
    const { deploy_id } = await (await client.post('/deploy/llm', CHAT)).json()
    await sim.clock.advance('1h')
    expect(other.digest).toBe(digest)
    expect(await elsewhere.json('/deploy/list')).toEqual([])
    expect((await elsewhere.call(`/deploy/${deploy_id}`)).status).toBe(404)
    expect((await clientOf(PREFIXED, sim.token).call('/deploy/list')).status).toBe(401)
    const date = async (asked: typeof client) => (await asked.call('/v1/voices')).headers.get('date')
    expect(await date(elsewhere)).toBe('Thu, 01 Jan 2026 00:00:00 GMT')
    expect(await date(client)).toBe('Thu, 01 Jan 2026 01:00:00 GMT')
  })

  test('each answer 404 below their address and nothing outside it', async () => {
    for (const path of [
      '/no/such',
      '/',
      '',
      '/deploy',
      '/deploy/list/x',
      '/DEPLOY/LIST',
      '/models-api/v9/deploy/list',
    ]) {
      const response = await elsewhere.call(path)
      expect([path, response.status, await response.json()]).toEqual([path, 404, { detail: 'Not Found' }])
    }
    server.resetHandlers(
      ...handlers(other, { baseUrl: PREFIXED }),
      http.all(/gateway/, () => new HttpResponse(null, { status: 299 })),
    )
    for (const beside of ['/models-api/v99/deploy/list', '/models-api/deploy/list', '/deploy/list'])
      expect((await fetch(`https://gateway.example.test:8443${beside}`)).status, beside).toBe(299)
  })

  test('the journal has the path below the address', async () => {
    await elsewhere.call('/deploy/list?status=running')
    expect(other.journal.entries().map(({ subject }) => subject)).toEqual(['GET /deploy/list'])
  })
})

describe('model names', () => {
  const elsewhere = clientOf(PREFIXED, other.token)

  test.each(['acme/new', 'acme%2Fnew', 'acme%2fnew', '%61cme/new', 'new'])('%s is one model', async name => {
    const { version } = await (await elsewhere.post('/deploy/llm', CHAT)).json()
    const described = await elsewhere.json(`/models/${name}/schema/default?version=${version}`)
    expect(described.variant.key).toBe('default')
    expect((await elsewhere.call(`/models/${name}?version=ALL`, { method: 'DELETE' })).status).toBe(200)
    expect((await elsewhere.call(`/models/${name}?version=ALL`, { method: 'DELETE' })).status).toBe(404)
  })
})

describe('one handler for each endpoint', () => {
  const twin = createSimulator({ seed: 1 })
  const singly = handlers(twin, { baseUrl: SINGLY, perEndpoint: true })

  test.each(Object.keys(documentedOperations))(
    '%s answers as the catch-all does',
    { tags: 'slow' },
    async operation => {
      const together = await answersAt(BASE, sim, operation)
      expect(together.length).toBeGreaterThan(1)
      server.use(...singly)

      expect(await answersAt(SINGLY, twin, operation)).toEqual(together)
      expect(twin.digest).toBe(sim.digest)
    },
  )

  test('each answers only its own calls', { tags: 'slow' }, async () => {
    const usual = (operation: string) => ROWS.find(row => row.operation === operation)!.cases[0]!
    const behind = http.all(`${SINGLY}/*`, () => new HttpResponse(null, { status: 299 }))
    const [sentinel, endpoints] = [singly.at(-1)!, singly.slice(0, -1)]
    expect((sentinel.info as { path: RegExp }).path.test(`${SINGLY}/no/such`)).toBe(true)
    for (const operation of Object.keys(documentedOperations)) {
      const one = usual(operation)
      const status = async () => {
        twin.reset()
        return (await askCase(one, twin.token, (path, init) => fetch(SINGLY + path, init))).status
      }
      // Without the last, which answers for whatever the others leave.
      server.resetHandlers(...endpoints, behind)
      expect([operation, await status()]).toEqual([operation, 200])
      const { method } = documentedOperations[operation]!
      const rest = endpoints.filter(({ info }) => {
        const { method: its, path } = info as { method: string; path: RegExp }
        return !(its === method && path.test(SINGLY + one.request.path.split('?')[0]))
      })
      expect(rest.length).toBeLessThan(endpoints.length)
      server.resetHandlers(...rest, behind)
      expect([operation, await status()]).toEqual([operation, 299])
    }
  })
})

test('unknown paths that fall through leave no trace in the world', async () => {
  server.resetHandlers(
    ...handlers(sim, { baseUrl: BASE, unknown: 'fallthrough' }),
    http.get(`${BASE}/health`, () => HttpResponse.text('mine')),
  )
  expect(await (await client.call('/health')).text()).toBe('mine')
  expect((await client.call('/v1/voices/none')).status).toBe(404)
  expect(sim.journal.entries().map(({ subject }) => subject)).toEqual(['GET /v1/voices/none'])
})
