import { test as base, expect } from '@playwright/test'

const test = base.extend({
  /** The token of the user. The simulator does not know it yet, so it gets a world of its own. */
  token: async ({}, use, { testId, retry }) => use(`test-${testId}-${retry}`),
  /** The application, for this user. */
  app: async ({ playwright, baseURL, token }, use) => {
    const app = await playwright.request.newContext({ baseURL, extraHTTPHeaders: { cookie: `token=${token}` } })
    await use(app)
    await app.dispose()
  },
  /** The simulator behind it: the control plane of their world. */
  sim: async ({ playwright, token }, use, { config }) => {
    const sim = await playwright.request.newContext({
      baseURL: config.metadata.sim,
      extraHTTPHeaders: { authorization: `Bearer ${token}` },
    })
    await use(sim)
    await sim.dispose()
  },
})

const page = async app => (await app.get('/')).text()

test('a model is on its way, and some minutes later it runs', async ({ app, sim }) => {
  expect(await page(app)).toContain('Nothing is deployed.')
  expect(await (await app.post('/models?name=acme/chat')).text()).toBe('acme/chat is on its way')
  expect(await page(app)).toContain('acme/chat: initializing')

  await sim.post('/_sim/clock/advance', { data: { by: '10m' } })

  expect(await page(app)).toContain('acme/chat: running')
})

test('while there are no GPUs it waits, and says so', async ({ app, sim }) => {
  await sim.post('/_sim/commands', { data: { verb: 'pool.stockOut', target: 'H100-80GB' } })
  await app.post('/models?name=acme/chat')
  await sim.post('/_sim/clock/advance', { data: { by: '24h' } })
  expect(await page(app)).toContain('acme/chat: initializing')
})

test('what is deployed already cannot be deployed again', async ({ app }) => {
  await app.post('/models?name=acme/chat')
  const again = await app.post('/models?name=acme/chat')
  expect(again.status()).toBe(502)
  expect(await again.text()).toContain('deployed already')
})

test('when the service is in trouble, the page says so', async ({ app, sim }) => {
  const fault = { on: 'listDeployments', times: 1, fault: { kind: 'status', status: 503 } }
  await sim.post('/_sim/faults', { data: fault })
  expect(await page(app)).toBe('The service is in trouble. Try again in a moment.')
  expect(await page(app)).toContain('Nothing is deployed.')
})
