import { afterAll, describe, expectTypeOf } from 'vitest'
import type { DeploymentStatus, Fault, GpuType, SimulatorOptions } from '../../../src/index.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { formatFailureReport } from '../../../src/workbench/testing/failure-report.ts'
import type { ReceivedPattern } from '../../../src/workbench/testing/matchers.ts'
import { expect, test } from '../../../src/workbench/testing/vitest.ts'

const BASE = 'https://api.example.test'
const SPEC = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

function client(fetch: typeof globalThis.fetch, token: string, base = BASE) {
  const headers = { authorization: `Bearer ${token}` }
  const call = async (method: string, path: string, body?: unknown) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    return (await fetch(`${base}${path}`, { method, headers, ...sent })).json()
  }
  return {
    deploy: (spec: object) => call('POST', '/deploy/llm', spec) as Promise<{ deploy_id: string }>,
    stop: (id: string) => call('POST', `/deploy/${id}/stop`),
    get: (id: string) => call('GET', `/deploy/${id}`),
  }
}

test.override('simOptions', { fixtures: 'empty', seed: 5 })

describe('the simulator of a test', () => {
  const seen: unknown[] = []
  for (const name of ['one', 'another']) {
    test(`is ${name}'s own`, async ({ sim }) => {
      expect(seen).not.toContain(sim)
      seen.push(sim)
      expect(sim.requests).toEqual([])
      expect(sim.seed).toBe('5')
      await client(sim.fetch, sim.token).deploy(SPEC)
      expect(sim.requests).toMatchObject([{ operation: 'createLlmDeployment', status: 200, body: SPEC }])
    })
  }
})

describe('with a base address', () => {
  const before = globalThis.fetch
  test.override('simOptions', { fixtures: 'empty', baseUrl: BASE })
  test('MSW answers while the test runs', async ({ sim }) => {
    const { deploy_id } = await client(globalThis.fetch, sim.token).deploy(SPEC)
    await sim.clock.until(() => sim.world.deployments.get(deploy_id)?.status === 'running', { within: '1h' })
  })
  test('MSW answers in a test that does not name the simulator', async () => {
    const answer = await fetch(`${BASE}/deploy/list`, { headers: { authorization: 'Bearer sim_empty_token' } })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual([])
  })
  afterAll(() => {
    expect(globalThis.fetch).toBe(before)
  })
})

describe('toHaveReceived', () => {
  test('counts the matching requests', async ({ sim }) => {
    const { deploy, get } = client(sim.fetch, sim.token)
    const { deploy_id } = await deploy(SPEC)
    await deploy(SPEC)
    await get(deploy_id)
    expect(sim).toHaveReceived('createLlmDeployment', { times: 2 })
    expect(sim).toHaveReceived('createLlmDeployment', { times: 1, status: 409 })
    expect(sim).toHaveReceived('createLlmDeployment', { body: { hub: { repo: 'acme/chat-8b' } } })
    expect(sim).toHaveReceived('getDeployment')
    expect(sim).not.toHaveReceived('stopDeployment')
  })

  test('sees requests that a fault changed, with their bodies, and status 0 when no answer came', async ({ sim }) => {
    sim.faults.add({ on: 'createLlmDeployment', times: 1, fault: { kind: 'status', status: 503 } })
    const { deploy } = client(sim.fetch, sim.token)
    await deploy(SPEC)
    await deploy(SPEC)
    expect(sim).toHaveReceived('createLlmDeployment', { times: 2, body: SPEC })
    expect(sim).toHaveReceived('createLlmDeployment', { times: 1, status: 503, body: { gpu: 'H100-80GB' } })
    sim.faults.add({ on: 'getDeployment', times: 1, fault: { kind: 'refused' } })
    await client(sim.fetch, sim.token)
      .get('none')
      .catch(() => {})
    expect(sim).toHaveReceived('getDeployment', { times: 1, status: 0 })
  })

  test('shows near misses', async ({ sim }) => {
    await client(sim.fetch, sim.token).deploy(SPEC)
    expect(() => expect(sim).toHaveReceived('createLlmDeployment', { body: { gpu: 'L4-24GB' } })).toThrow(
      'expected createLlmDeployment to be called at least once: it was called 1 time, 0 of them as expected\n' +
        '  POST /deploy/llm → 200 {"model_name":"acme/chat","gpu":"H100-80GB","hub":{"repo":"acme/chat-8b"}}\n' +
        '    body.gpu: expected "L4-24GB", received "H100-80GB"',
    )
    expect(() => expect(sim).toHaveReceived('createLlmDeployment', { times: 0 })).toThrow(
      'to be called 0 times: it was called 1 time\n  POST /deploy/llm → 200',
    )
    expect(sim).toHaveReceived('createLlmDeployment', {
      body: { gpu: expect.stringMatching(/^H100/), model_name: /chat$/ },
    })
    expect(() =>
      expect(sim).toHaveReceived('createLlmDeployment', { body: { gpu: expect.stringContaining('L4') } }),
    ).toThrow('body.gpu: expected StringContaining "L4", received "H100-80GB"')
    expect(() => expect(sim).toHaveReceived('stopDeployment')).toThrow(
      /its last requests:\n\s+POST \/deploy\/llm → 200/,
    )
    expect(() => expect(sim).toHaveReceived('create*' as 'stopDeployment', { times: 2 })).toThrow(
      'expected create* to be called 2 times: it was called 1 time',
    )
    expect(() => expect(sim).toHaveReceived('create*' as 'stopDeployment', { status: 409 })).toThrow(
      'it was called 1 time, 0 of them as expected\n  POST /deploy/llm → 200',
    )
    await sim.fetch(`${BASE}/deploys?page=2`)
    expect(() => expect(sim).toHaveReceived('stopDeployment')).toThrow('GET /deploys?page=2 → 404')
    expect(() => expect(sim).toHaveReceived('stopDeploymnt' as 'stopDeployment')).toThrow(
      "Did you mean 'stopDeployment'?",
    )
  })
})

test('toHaveReceived says why the last near miss was refused', async ({ sim }) => {
  const { deploy } = client(sim.fetch, sim.token)
  await deploy(SPEC)
  await deploy(SPEC)
  expect(() => expect(sim).toHaveReceived('createLlmDeployment', { times: 2, status: 200 })).toThrow(
    /→ 409 .*\n {4}status: expected 200, .*\n {2}the last of them was refused because:\n {4}A deployment of the model acme\/chat was created: \w+\.\n {4}A client sent the request/,
  )
})

test('toBeQuiet names everything that runs, and passes when nothing does', async ({ sim }) => {
  const { deploy, stop } = client(sim.fetch, sim.token)
  expect(sim).toBeQuiet()
  const { deploy_id } = await deploy(SPEC)
  await sim.clock.advance('10m')
  expect(() => expect(sim).toBeQuiet()).toThrow(`instance ${deploy_id}-0 of acme/chat is ready`)
  await stop(deploy_id)
  await sim.clock.advance('1m')
  expect(sim).toBeQuiet()
})

test('toBeQuiet names every rental', async ({ sim }) => {
  const { rentals } = sim.world
  const image = 'registry.example/dev:1'
  const ordinal = rentals.create({ kind: 'container', name: 'trial', gpu: 'L4-24GB', numGpus: 1, image })
  expect(() => expect(sim).toBeQuiet()).toThrow(`container ${rentals.read(ordinal).id} is creating`)
  rentals.delete(ordinal)
  expect(sim).toBeQuiet()
})

test('toHaveCost is in dollars, for the world or for one subject', async ({ sim }) => {
  const { deploy_id } = await client(sim.fetch, sim.token).deploy(SPEC)
  await sim.clock.advance('10h')
  expect(sim).toHaveCost({ min: 21, max: 22 })
  expect(sim).toHaveCost({ of: deploy_id, min: 21 })
  expect(() => expect(sim).toHaveCost({ max: 1 })).toThrow(
    new RegExp(`to have cost at most \\$1: it cost \\$2\\d\\.\\d+\\n {2}\\$2\\d\\.\\d+ ${deploy_id} \\(acme/chat\\)$`),
  )
})

test('subjects of the fixture are counted too, each named once, the most expensive first', async () => {
  const sim = createSimulator()
  expect(() => expect(sim).toBeQuiet()).toThrow(/\n {2}batch batch_\w+ is in_progress\n/)
  await sim.clock.advance('3h')
  let text = ''
  try {
    expect(sim).toHaveCost({ max: 1 })
  } catch (error) {
    text = (error as Error).message
  }
  const lines = [...text.matchAll(/^ {2}\$([\d.]+) (.*)$/gm)].map(
    ([, dollars, what]) => [what, Number(dollars)] as const,
  )
  expect(lines[0]![0]).toMatch(/^\w+ \(acme\/assistant\)$/)
  expect(lines.some(([what]) => what!.startsWith('batch_'))).toBe(true)
  expect(new Set(lines.map(([what]) => what)).size).toBe(lines.length)
  expect(lines.map(([, dollars]) => dollars)).toEqual(lines.map(([, dollars]) => dollars).sort((a, b) => b - a))
  const total = Number(/it cost \$([\d.]+)/.exec(text)![1])
  expect(lines.reduce((sum, [, dollars]) => sum + dollars, 0)).toBeCloseTo(total, 4)
})

test('the failure report of a test shows the requests, the events and the command to run it again', async ({ sim }) => {
  const { deploy, get } = client(sim.fetch, sim.token)
  const { deploy_id } = await deploy(SPEC)
  await get(deploy_id)
  await sim.clock.advance('1m')
  const account = formatFailureReport(sim, { test: 'waits for its model', file: 'test/wait.test.ts' })
  expect(account).toContain('The simulator of \'waits for its model\' at 2026-01-01T00:01:00.000000+00:00, seed "5":')
  expect(account).toContain('  Last requests of the client, with their simulated second:')
  expect(account).toContain('    0.000000 POST /deploy/llm → 200 {"model_name":"acme/chat"')
  expect(account).toContain(`    0.000000 GET /deploy/${deploy_id} → 200\n`)
  expect(account).toContain(`    0.000000 deployment.created ${deploy_id} `)
  expect(account).toMatch(/ {4}\d+\.\d+ instance\.placed /)
  const command = "npx vitest run test/wait.test.ts -t 'waits for its model'"
  expect(account).toContain(`\n  run it again: ${command}\n`)
  const recorded = `  with a recording and a page of it: MODELHOST_SIM_RECORD=recordings ${command}\n`
  expect(account).toContain(recorded)
  // It is in the report only as long as there is no recording.
  expect(formatFailureReport(sim, { test: 'waits for its model', file: 'test/wait.test.ts' }, true)).toBe(
    account.replace(recorded, ''),
  )
})

/** Returns the message that a matcher throws. */
function errorOf(run: () => void): string {
  try {
    run()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('the matcher passed')
}

test('neither the failure report nor a matcher shows a credential of the client', async ({ sim }) => {
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ ...SPEC, hub: { ...SPEC.hub, token: 'hf_of_the_client' } })
  await sim.fetch('http://sim/deploy/llm?api_key=key_of_the_client', { method: 'POST', headers, body })
  await sim.fetch('http://sim/deploy/llm', { method: 'POST', headers, body: body.slice(0, -1) })
  const texts = [
    formatFailureReport(sim, { test: 'a test', file: 'a.test.ts' }),
    errorOf(() => expect(sim).toHaveReceived('stopDeployment')),
    errorOf(() => expect(sim).toHaveReceived('createLlmDeployment', { body: { gpu: 'L4-24GB' } })),
  ]
  for (const text of texts) {
    expect(text).toContain('POST /deploy/llm')
    expect(text).not.toContain('of_the_client')
  }
  expect(texts[0]).toContain('?api_key=(hidden) → 200')
  expect(texts[0]).toContain('"token":"(hidden)"')
})

test('the failure report is valid for any test name and any request', async ({ sim }) => {
  sim.faults.add({ on: 'listDeployments', fault: { kind: 'refused' } })
  const { get } = client(sim.fetch, sim.token)
  await get('%zz')
  await client(sim.fetch, sim.token)
    .get('../deploy/list')
    .catch(() => {})
  const account = formatFailureReport(sim, { test: "isn't it (at most) $5?", file: 'test/a b.test.ts' })
  expect(account).toContain('GET /deploy/list → no answer')
  expect(account).toContain('faults that acted: fault-1 (refused), once')
  expect(account).toContain("run it again: npx vitest run 'test/a b.test.ts' -t 'isn'\\''t it \\(at most\\) \\$5\\?'")
})

test('an invalid expectation is refused', async ({ sim }) => {
  const { deploy_id } = await client(sim.fetch, sim.token).deploy(SPEC)
  const calls: [() => void, string][] = [
    [() => expect({}).toBeQuiet(), 'it is not a simulator'],
    [() => expect(undefined).toHaveCost({ max: 1 }), 'it is not a simulator'],
    [() => expect(sim).toHaveReceived('getDeployment', { time: 1 } as never), "Did you mean 'times'?"],
    [
      () => expect(sim).toHaveReceived('getDeployment', { times: -1 }),
      'Failed to call toHaveReceived: times is -1. Give a whole number from 0.',
    ],
    [() => expect(sim).toHaveCost({}), 'no range is given. Give min, max or both, as in { max: 5 }.'],
    [
      () => expect(sim).toHaveCost(0 as never),
      'Failed to call toHaveCost: expected an object of options, got 0. Give min, max, of.',
    ],
    [
      () => expect(sim).toHaveCost(undefined as never),
      'Failed to call toHaveCost: expected an object of options, got nothing.',
    ],
    [
      () => expect(sim).toHaveReceived('getDeployment', 2 as never),
      'Failed to call toHaveReceived: expected an object of options, got 2. Give times,',
    ],
    [() => expect(sim).toHaveCost({ min: 5, max: 1 }), 'is not a range'],
    [() => expect(sim).toHaveCost({ max: Number.NaN }), 'is not a range'],
    [() => expect(sim).toHaveCost({ max: 1, of: 'nothing' }), 'nothing of that id was billed'],
  ]
  for (const [call, says] of calls) expect(call).toThrow(says)
  expect(sim).toHaveCost({ max: 1, of: deploy_id })
})

declare function patternOf(pattern: ReceivedPattern<'createLlmDeployment'>): void

test('types refuse unknown operations and kinds', ({ sim }) => {
  expectTypeOf<'H100-80GB'>().toMatchTypeOf<GpuType>()
  expectTypeOf(sim.cluster.stockOut).parameter(0).toEqualTypeOf<GpuType>()
  type Pattern = Parameters<typeof patternOf>[0]
  expectTypeOf<'H100-80GB' | 'L4-24GB'>().toExtend<NonNullable<NonNullable<Pattern['body']>['gpu']>>()
  // @ts-expect-error a number is not a GPU
  const wrong: Pattern = { body: { gpu: 5 } }
  expect(wrong).toBeDefined()
  expectTypeOf<NonNullable<NonNullable<SimulatorOptions['with']>['deployments']>[number]['status']>().toEqualTypeOf<
    DeploymentStatus | undefined
  >()
  expectTypeOf<'latency' | 'rateLimit' | 'reset'>().toExtend<Fault['kind']>()
  // @ts-expect-error no such status
  const options: SimulatorOptions = { with: { deployments: [{ model_name: 'acme/chat', status: 'ready' }] } }
  expect(options).toBeDefined()
  // @ts-expect-error no such operation
  expect(() => expect(sim).toHaveReceived('createDeployment')).toThrow()
  // @ts-expect-error no such fault
  expect(() => sim.faults.add({ on: '*', fault: { kind: 'latencie' } })).toThrow("Did you mean 'latency'?")
})
