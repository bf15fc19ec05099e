/** The same scripts in this process and on a running server: one record, one outcome. */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { serve } from '../../../src/server/http/server.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { type Play, type Result, runFiles, runScenario, scenario } from '../../../src/workbench/scenario/index.ts'
import { findScenarioFiles } from '../../../src/workbench/scenario/runner/files.ts'
import type { ScenarioOptions } from '../../../src/workbench/scenario/scenario.ts'
import { BIN } from '../cli/process.ts'

const chat = { model_name: 'acme/chat', gpu: 'H100-80GB', num_gpus: 4, hub: { repo: 'acme/chat-8b' } } as const
const files = findScenarioFiles(['scenarios/**/*']).map(file => relative('.', file))
/** One scenario of each folder at least. In this process `npm test` plays all of them. */
const sample = files.filter((_, i) => i % Math.ceil(files.length / 10) === 3)

// Started with everything else than what a scenario is: nothing of it may show.
const SERVER = ['serve', '--port', '0', '--fixtures', 'full', '--seed', '99', '--profile', 'quick', '--speed', '9999']
let child: ChildProcess
let url = ''

beforeAll(async () => {
  child = spawn(process.execPath, [BIN, ...SERVER, '--documented-only'], { stdio: ['ignore', 'pipe', 'inherit'] })
  let banner = ''
  for await (const data of child.stdout!) {
    banner += String(data)
    url = /http:\/\/[\d.:]+/.exec(banner)?.[0] ?? ''
    if (url !== '') break
  }
}, 60_000)
afterAll(() => {
  child.kill('SIGKILL')
})

async function worlds(): Promise<unknown[]> {
  return (await fetch(`${url}/_sim/worlds`)).json() as Promise<unknown[]>
}

/** What a run leaves behind, beside how long it took. */
function left({ trace, digest, elapsed, checks, passed, failure }: Result) {
  const { message, at, differences, events } = failure ?? {}
  return { trace, digest, elapsed, checks, passed, message, at, differences, events }
}

async function both(play: Play, options: ScenarioOptions = {}): Promise<Result> {
  const story = scenario('a story', { fixtures: 'two-nodes', seed: 7, ...options }, play)
  const here = await runScenario(story)
  const there = await runScenario(story, { against: url })
  expect(left(there)).toEqual(left(here))
  return there
}

test.each(sample)('%s passes on a server and equals its trace', async file => {
  const results = await runFiles([file], { against: url })
  expect(results.map(({ failure }) => failure)).toEqual(results.map(() => undefined))
  expect(results.map(({ traceOutcome: traceWas }) => traceWas)).toEqual(results.map(() => 'equal'))
  expect(await worlds()).toHaveLength(1)
})

test('every kind of command is the same on a server', async () => {
  const { trace } = await both(
    async ({ api, clock, cluster, check, expectRefusal }) => {
      const { deploy_id } = await api.createLlmDeployment(chat)
      cluster.hub.throttle(0.5)
      cluster.token.allowIps('two-nodes', ['127.0.0.1'])
      cluster.limit.set('H100-80GB', 8)
      cluster.zone('east-a').down({ at: '20m' })
      cluster.gpu('h100-1', 3).fail(79, { at: '90s' })
      await clock.advance('10m')
      await cluster.nodeOf(deploy_id).cordon()
      check(await cluster.node('h100-0').view(), { state: 'cordoned' })
      check(await cluster.nodes(), [{ name: 'h100-0' }, { name: 'h100-1', broken: 1 }])
      cluster.account.suspend('overdue-invoices')
      await expectRefusal(api.createLlmDeployment({ ...chat, model_name: 'acme/more' }), 402)
      cluster.account.resume()
      cluster.stockOut('H100-80GB')
      await clock.advance('30m')
    },
    { with: { account: { gpu_limits: { 'H100-80GB': 16 } } } },
  )
  expect(trace.length).toBeGreaterThan(20)
})

test('active failures are listed and recovered from on a server as in this process', async () => {
  await both(async ({ clock, cluster, check }) => {
    await cluster.hub.down()
    await cluster.node('h100-0').crash()
    await clock.advance('1m')
    check(await cluster.activeFailures(), [{ undo: { verb: 'node.repair' } }, { undo: { verb: 'hub.up' } }])
    check((await cluster.recoverAll()).length, 2)
    check(await cluster.activeFailures(), [])
  })
})

test('a node without a name is rejected on a server as in this process', async () => {
  await both(async ({ cluster, check }) => {
    const error = await cluster
      .node(undefined as never)
      .crash()
      .catch((error: Error) => error)
    check((error as Error).message, /^Failed to select a node: its name is missing\./)
  })
})

test('until moves time for a sleep in its predicate on a server as in this process', async () => {
  const { elapsed } = await both(async ({ api, clock, cluster }) => {
    await api.createLlmDeployment(chat)
    cluster.stockOut('A100-80GB', { at: '2m' })
    let sleeps = 0
    await clock.until(async () => {
      await clock.sleep('1m')
      sleeps++
      return sleeps === 2
    })
  })
  expect(elapsed).toBeGreaterThanOrEqual(120_000_000)
})

test('calls without an await run in their order', async () => {
  const { trace } = await both(async ({ api, cluster, check, clock }) => {
    const created = [1, 2, 3].map(n => api.createLlmDeployment({ ...chat, model_name: `acme/chat-${n}`, num_gpus: 1 }))
    await Promise.all(created)
    cluster.node('h100-0').cordon()
    check(1, 1, 'after the cordon, before the drain')
    cluster.node('h100-0').drain()
    cluster.node('h100-0').uncordon()
    await clock.next()
    check(2, 2)
  })
  const kinds = trace.slice(1).map(line => line.split(' ')[1])
  expect(kinds.indexOf('check')).toBe(kinds.indexOf('node.cordoned') + 1)
  expect(kinds.indexOf('node.drained')).toBe(kinds.indexOf('check') + 1)
})

test('clients that sleep on the clock wake at the same times', async () => {
  await both(async ({ api, clock, check }) => {
    const seen: string[] = []
    const client = async (name: string, pause: string) => {
      const { deploy_id } = await api.createLlmDeployment({ ...chat, model_name: `acme/${name}` })
      for (let polls = 1; ; polls++) {
        await clock.sleep(pause)
        const { status } = await api.getDeployment({ deploy_id })
        seen.push(`${clock.elapsed} ${name} ${status}`)
        if (status === 'running') return polls
      }
    }
    const [one, two] = [client('one', '41s'), client('two', '67s')]
    await clock.advance('100s')
    const happened = await clock.until(async () => (await api.listDeployments({ status: 'running' })).length === 2, {
      within: '1h',
    })
    check(happened.counts, { 'deployment.running': 2 })
    await clock.next()
    await clock.advance('30s')
    check([await one, await two].join(), [await one, await two].join(), seen.join('; '))
    check(seen.join('; ').length > 100, true, seen.at(-1))
  })
})

test('moves return the same results', async () => {
  await both(async ({ api, clock, check }) => {
    await api.createLlmDeployment(chat)
    for (const happened of [
      await clock.next(),
      await clock.advance(1500),
      await clock.advance('PT1M'),
      await clock.advanceTo('2026-01-01T00:10:00Z'),
      await clock.advanceTo(new Date('2026-01-01T01:00:00Z')),
      await clock.until(() => true),
      await clock.next(),
    ]) {
      check(1, 1, JSON.stringify({ ...happened, counts: Object.entries(happened.counts).sort() }))
    }
    check(1, 1, `${clock.iso} ${clock.elapsed} ${clock.now.toISOString()}`)
  })
})

test('a fetch of the script, uploads and bytes reach the same world', async () => {
  const line =
    '{"custom_id":"a","method":"POST","url":"/v1/completions","body":{"model":"aurora-labs/aurora-8b-instruct","prompt":"ü"}}\n'
  await both(
    async ({ api, fetch, baseUrl, token, ledger, check, clock, journal }) => {
      const { id } = await api.uploadFile({ purpose: 'batch', file: line, filename: 'ü.jsonl' })
      check(await api.getFileContent({ file_id: id }), line)
      const headers = { authorization: `Bearer ${token}` }
      for (const base of [baseUrl, 'https://api.example.test']) {
        const answer = await fetch(`${base}/v1/files/${id}/content`, { headers })
        check([answer.status, await answer.text()], [200, line])
        check((await fetch(`${base}/deploy/nope?x=1`, { method: 'DELETE', headers })).status, 404)
      }
      await api.createBatch({ input_file_id: id, endpoint: '/v1/completions', completion_window: '24h' })
      await clock.advance('1h')
      check(1, 1, JSON.stringify(await ledger.entries()))
      check((await journal.entries()).filter(entry => entry.kind !== 'request').length > 5, true)
    },
    { fixtures: 'default', profile: 'rough', epoch: '2026-05-05T10:00:00+02:00' },
  )
})

test.each<[string, Play]>([
  [
    'a check that does not hold',
    async ({ api, check }) => {
      await api.createLlmDeployment(chat)
      check(await api.listDeployments(), [{ status: 'running' }])
    },
  ],
  [
    'an unexpected refusal',
    async ({ api }) => {
      await api.getDeployment({ deploy_id: 'nope' })
    },
  ],
  [
    'a condition that never holds',
    async ({ api, clock }) => {
      await api.createLlmDeployment(chat)
      await clock.until(() => false, { within: '10m' })
    },
  ],
  [
    'an unknown node',
    ({ cluster }) => {
      cluster.node('h100-9').crash()
    },
  ],
  [
    'the view of an unknown node',
    async ({ cluster }) => {
      await cluster.node('h100-9').view()
    },
  ],
  [
    'a deployment without a node',
    async ({ cluster }) => {
      await cluster.nodeOf('nope').view()
    },
  ],
  [
    'an unknown command',
    ({ cluster }) => {
      ;(cluster as unknown as { stokOut(): void }).stokOut()
    },
  ],
  [
    'an invalid duration',
    async ({ clock }) => {
      await clock.advance('a while')
    },
  ],
  [
    'a moment that has passed',
    async ({ clock }) => {
      await clock.advanceTo('2025-01-01T00:00:00Z')
    },
  ],
  [
    'a sleep that nothing ends',
    async ({ clock }) => {
      await clock.sleep('1h')
    },
  ],
])('fails in the same way: %s', async (_, play) => {
  const story = scenario('a story', { fixtures: 'two-nodes', seed: 7 }, play)
  const [here, there] = [
    await runScenario(story, { stuckTimeoutMs: 200 }),
    await runScenario(story, { stuckTimeoutMs: 200, against: url }),
  ]
  expect(here.passed).toBe(false)
  expect(left(there)).toEqual(left(here))
  expect(await worlds()).toHaveLength(1)
})

test('a fixture in a folder of the script is sent with its contents', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'against-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const name of ['default', 'two-nodes']) {
    cpSync(`fixtures/worlds/${name}`, join(folder, name), { recursive: true })
    await both(
      async ({ api, clock, check }) => {
        check((await api.listDeployments()).length, name === 'default' ? 9 : 0)
        await clock.advance('1d')
      },
      { fixtures: join(folder, name) },
    )
  }
})

test('invalid options, and addresses without a server, fail before any scenario', async () => {
  const story = (options: ScenarioOptions) => scenario('a story', options, () => expect.unreachable())
  const failure = async (options: ScenarioOptions, against: string) =>
    (await runScenario(story(options), { against })).failure?.message
  expect(await failure({ fixtures: 'two-node' }, url)).toContain("Did you mean 'two-nodes'?")
  expect(await failure({}, 'http://127.0.0.1:1')).toMatch(/^Failed to play against http:\/\/127\.0\.0\.1:1: no server/)
  expect(await failure({}, 'nonsense')).toMatch(/^Failed to play against nonsense: /)
})

test('answers are the same when they are late, missing or cut', async () => {
  const proxy = createServer((incoming, outgoing) => {
    const { url: path = '', method, headers } = incoming
    const passed = request(`${url}${path}`, { method, headers }, answer => {
      if (path.endsWith('/payment/funds')) return void incoming.socket.destroy()
      const more = path.endsWith('/v1/voices') ? { 'x-sim-delay': '30000000' } : {}
      const hang = path.endsWith('/aggregator/models') ? { 'x-sim-hang': '1' } : {}
      outgoing.writeHead(answer.statusCode!, { ...answer.headers, ...more, ...hang })
      answer.pipe(outgoing)
    })
    incoming.pipe(passed)
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void proxy.close())
  const story = scenario('a story', { fixtures: 'two-nodes' }, async ({ api, clock, check, ledger }) => {
    await api.listVoices()
    check(clock.elapsed, 30_000_000, 'the client has waited')
    const late = clock.sleep('10s').then(() => clock.elapsed)
    await api.listVoices()
    check(await late, 40_000_000, 'sleepers woke in time')
    const hung = await api.listAggregatorModels().catch(error => error.message)
    check([hung, clock.elapsed], [/^no answer to GET \/aggregator\/models within 1m$/, 120_000_000])
    const before = await ledger.balance()
    check(await api.addFunds({ amount: 100 }).catch(error => error), { broken: true })
    check(await ledger.balance(), before + 100_000_000, 'the work was done, the answer lost')
  })
  const address = proxy.address() as { port: number }
  const { failure } = await runScenario(story, { against: `http://127.0.0.1:${address.port}` })
  expect(failure).toBeUndefined()
})

test('a server beyond loopback accepts commands with its token', async () => {
  const server = await serve(createSimulator(), { port: 0, hostname: '0.0.0.0', controlToken: 'secret' })
  onTestFinished(() => server.close())
  const story = scenario('a story', { fixtures: 'two-nodes' }, async ({ api, clock }) => {
    await api.createLlmDeployment(chat)
    await clock.advance('1h')
  })
  const refused = await runScenario(story, { against: server.url })
  expect(refused.failure?.message).toContain('requires a token')
  const played = await runScenario(story, { against: { url: server.url, controlToken: 'secret' } })
  expect(played.failure).toBeUndefined()
})

test('wire faults are as in the process: late answers, a hang, and an answer lost after its work', async () => {
  const { elapsed } = await both(
    async ({ api, clock, check, expectRefusal, faults, always, at }) => {
      const failed = (call: Promise<unknown>) => call.catch((error: unknown) => error) as Promise<object>
      await faults.add({ on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } })
      check(await failed(api.createLlmDeployment(chat)), { broken: true })
      await expectRefusal(api.createLlmDeployment(chat), 409)
      const { deploy_id } = (await api.listDeployments())[0]!
      check(clock.elapsed, 3_000_000, 'the list was late')
      // Time does not move in a condition, so its answer comes at once, also when it is late for a client.
      always(async () => (await api.listDeployments()).length === 1, 'one deployment')
      at('20s', async () => check(await api.listDeployments(), [{ deploy_id }]))
      await clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'running', { within: '30m' })
      await faults.clear()
      await faults.add({ on: 'getDeployment', fault: { kind: 'hang' } })
      const before = clock.elapsed
      check(await failed(api.getDeployment({ deploy_id })), { broken: true, message: /no answer to GET .* within 1m/ })
      check(clock.elapsed - before, 60_000_000, 'a hang takes as long as the timeout of the client')
      await faults.add({ name: 'too-late', on: 'listDeployments', fault: { kind: 'latency', delay: '10m' } })
      at('1s', async () => check(await failed(api.listDeployments()), { broken: true }))
      await clock.advance('2s')
    },
    { faults: [{ on: 'list*', fault: { kind: 'latency', delay: '3s' } }] },
  )
  expect(elapsed).toBeGreaterThan(60_000_000)
})

test('chats that wait for an instance: time is moved for them, until their answers come or their clients time out', async () => {
  const ask = { model: 'acme/chat', messages: [{ role: 'user' as const, content: 'Tell me about rivers.' }] }
  const settings = { min_instances: 0, max_instances: 1 }
  const { trace, failure } = await both(
    async ({ api, clock, check, cluster, at, baseUrl, token, fetch }) => {
      const lost = (call: Promise<unknown>) => call.catch((error: unknown) => error)
      const asleep = async () => (await api.listDeployments())[0]!.instances?.running === 0
      await clock.until(asleep, { within: '1h' })
      at('1s', async () =>
        check(await lost(api.createChatCompletion(ask)), { broken: true, message: /time does not move in/ }),
      )
      await clock.advance('2s')

      let from = clock.elapsed
      const tooLate = { broken: true, message: /^no answer to POST \/v1\/chat\/completions within 1m$/ }
      check(await lost(api.createChatCompletion(ask)), tooLate)
      check(clock.elapsed - from, 60_000_000, 'a client waits a minute')

      // Their timeouts end after the move of another client, so they move time further themselves.
      from = clock.elapsed
      const both = [lost(api.createChatCompletion(ask)), lost(api.createChatCompletion(ask))]
      const slept = clock.sleep('20s').then(() => clock.elapsed - from)
      await clock.advance('40s')
      check([await slept, clock.elapsed - from], [20_000_000, 40_000_000])
      const outcomes = (await Promise.all(both)) as object[]

      let tries = 0
      const answered = async () => {
        tries++
        return 'choices' in ((await lost(api.createChatCompletion(ask))) as object)
      }
      while (tries < 9 && !(await answered()));
      check([outcomes.length, tries < 9], [2, true], 'who asks again is answered when it is awake')

      const headers = { authorization: `Bearer ${token}` }
      const body = JSON.stringify({ ...ask, stream: true })
      const streamed = async () =>
        (await fetch(`${baseUrl}/v1/chat/completions`, { method: 'POST', headers, body })).text()
      check(await streamed(), /data: \[DONE\]/)
      await clock.until(asleep, { within: '1h' })
      await cluster.stockOut('H100-80GB')
      check(await lost(streamed()), tooLate)
    },
    { with: { deployments: [{ model_name: 'acme/chat', settings }] } },
  )
  expect(failure).toBeUndefined()
  const idsOf = (fate: RegExp) => trace.flatMap(line => (fate.test(line) ? (/chatcmpl-\w+/.exec(line) ?? []) : []))
  const ended = idsOf(/ inference\.(served|left) /)
  expect(idsOf(/ inference\.left /).length).toBeGreaterThan(2)
  expect(idsOf(/ inference\.queued /).filter(id => !ended.includes(id))).toEqual([])
})
