/** Requests that wait for time on a paused clock: the warning and the list. */
import { expect, onTestFinished, test, vi } from 'vitest'
import type { SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { type Running, running } from '../../server/http/running-server.ts'
import { HELLO, openaiWorld } from './openai-world.ts'

const ASK = { model: 'acme/chat', messages: HELLO, max_tokens: 3 }
const SLEEPS: SimulatorOptions = {
  fixtures: 'two-nodes',
  with: { deployments: [{ model_name: 'acme/chat', settings: { min_instances: 0, max_instances: 2 } }] },
}

/** Collects stderr. Waits until it has a number of warnings. */
function captureWarnings() {
  const warn = vi.spyOn(console, 'warn')
  onTestFinished(() => warn.mockRestore())
  const said: string[] = []
  let look = () => {}
  warn.mockImplementation(line => {
    said.push(line)
    look()
  })
  const until = (lines: number) =>
    new Promise<void>(resolve => {
      look = () => {
        if (said.length >= lines) resolve()
      }
      look()
    })
  return { said, until }
}

const chat = ({ ask }: Running, body: object = ASK, path = '/v1/chat/completions') =>
  ask(path, { method: 'POST', body: JSON.stringify(body) })

test('every request that waits for time prints one warning with cause, end and remedy', async () => {
  const { said, until } = captureWarnings()
  const here = openaiWorld(SLEEPS)
  const real = await running({ ...SLEEPS, clock: 'manual' }, { latency: 'real' })
  const held = await running({ ...SLEEPS, clock: { mode: 'scaled', speed: 3600 } })
  for (const { sim } of [here, real]) await sim.clock.advance('10m')
  await held.sim.clock.advance('10m')
  held.sim.clock.pause('debugger')
  const resume = held.sim.clock.pause(`\u001b[2J\r\n\u009b${'x'.repeat(1000)}`)
  const answers = [here.client.chat.completions.create(ASK), chat(real), chat(held)]
  await until(3)
  const ours = said.find(line => line.includes("sim.clock.advance('"))!
  expect(ours).toMatch(
    /^modelhost-sim: POST \/v1\/chat\/completions \(model acme\/chat, chatcmpl-\w{24}\) waits for an instance of acme\/chat: none is ready, 1 is pending\. That comes at 2026-01-01T00:1\d:\d\d\.\d{6}\+00:00\. It is 2026-01-01T00:10:00\.000000\+00:00, and the clock is manual\. Move time: sim\.clock\.advance\('(\d+)s'\)$/,
  )
  const by = /advance\('(\d+s)'\)/.exec(ours)![1]!
  const overHttp = (one: Running) => said.find(line => line.includes(one.server.url))!
  expect(overHttp(real)).toContain(`Move time: curl --json '{"by":"${by}"}' ${real.server.url}/_sim/clock/advance`)
  // A terminal would interpret control characters.
  const owner = `\\u001b[2J\\u000d\\u000a\\u009b${'x'.repeat(93)}…`
  expect(overHttp(held)).toContain(`, and the clock is held by 'debugger', '${owner}'. Move time: `)
  resume()
  // Further time without an answer must not warn again.
  for (const { sim } of [here, real]) await sim.clock.advance('1s')
  const { body } = await real.command('/_sim/clock/advance', { by })
  expect(body.counts['instance.ready']).toBe(1)
  await here.sim.clock.advance(by)
  await held.command('/_sim/clock/resume', { owner: 'debugger' })
  const [inProcess, ...served] = await Promise.all(answers)
  expect(inProcess).toMatchObject({ usage: { completion_tokens: 3 } })
  expect(served).toMatchObject([{ status: 200 }, { status: 200 }])
  expect(said).toHaveLength(3)
})

test('a pending request is listed with cause and end until it is answered', async () => {
  const one = await running({ ...SLEEPS, clock: 'manual' }, { latency: 'real' })
  const { sim } = one
  await sim.clock.advance('10m')
  const { deploy_id } = sim.world.deployments.list()[0]!
  const { body: made } = await one.command('/_sim/worlds', { fixtures: 'empty', clock: 'manual' })
  const listed = async (path: string) => (await one.command(path, undefined, 'GET')).body.waiting
  expect(await listed('/_sim')).toEqual([])
  const answer = chat(one, ASK, '/v1/compat/chat/completions')
  await vi.waitFor(() => expect(sim.pendingRequests).toHaveLength(1))
  const waits = {
    operation: 'createChatCompletion',
    request: 'POST /v1/compat/chat/completions',
    id: expect.stringMatching(/^chatcmpl-/),
    model: 'acme/chat',
    deploy_id,
    since: '2026-01-01T00:10:00.000000+00:00',
    waited_seconds: expect.any(Number),
    for: 'an instance of acme/chat: none is ready, 1 is pending',
    until: expect.stringMatching(/^2026-01-01T00:1/),
  }
  const [listedNow] = await listed('/_sim')
  expect([listedNow]).toEqual([waits])
  expect(await listed('/_sim/worlds/default')).toEqual([{ ...waits, waited_seconds: expect.any(Number) }])
  expect(await listed('/_sim/worlds/default/_sim')).toHaveLength(1)
  expect(await listed(`/_sim/worlds/${made.world}`)).toEqual([])
  const digest = sim.digest
  expect(sim.digest).toBe(digest)
  await one.command('/_sim/clock/advance', { to: listedNow.until })
  expect((await answer).status).toBe(200)
  expect(await listed('/_sim')).toEqual([])
})

test('a pending request has no end without a scheduled event, and a queued one has its position', async () => {
  const limits = { queue_per_deployment: 10 }
  const one = openaiWorld({ profile: { extends: 'realistic', limits } as never, inferencePace: 'clock' })
  const asked = Array.from({ length: 6 }, () => one.client.chat.completions.create(ASK))
  await one.sim.clock.advance('1us')
  const [first, , , , fifth, sixth] = one.sim.pendingRequests
  expect(first).toMatchObject({ for: 'its answer, which an instance works on', until: expect.any(String) })
  expect(fifth).toMatchObject({ for: 'a place on acme/chat: it has 4, and 0 wait before it', until: first!.until })
  expect(sixth).toMatchObject({ for: 'a place on acme/chat: it has 4, and 1 waits before it' })
  expect(sixth!.since).toBe('2026-01-01T00:00:00.000000+00:00')
  await one.sim.clock.advance('30s')
  await Promise.all(asked)
  const sold = openaiWorld(SLEEPS)
  await sold.sim.clock.advance('10m')
  sold.sim.cluster.stockOut('H100-80GB')
  const controller = new AbortController()
  const never = sold.client.chat.completions.create(ASK, { signal: controller.signal }).catch(() => 'left')
  await vi.waitFor(() => expect(sold.sim.pendingRequests).toHaveLength(1))
  expect(sold.sim.pendingRequests).toMatchObject([{ until: undefined, for: expect.stringContaining('1 is pending') }])
  controller.abort()
  expect(await never).toBe('left')
  expect(sold.sim.pendingRequests).toEqual([])
})

test('an on-poll clock pauses while it is held and continues after the release', async () => {
  const one = openaiWorld({ ...SLEEPS, clock: 'manual' })
  await one.sim.clock.advance('10m')
  one.sim.clock.set('on-poll')
  const resume = one.sim.clock.pause('debugger')
  const answer = one.client.chat.completions.create(ASK)
  await vi.waitFor(() => expect(one.sim.pendingRequests).toHaveLength(1))
  expect(one.sim.clock.iso).toBe('2026-01-01T00:10:00.000000+00:00')
  resume()
  expect((await answer).usage?.completion_tokens).toBe(3)
})

test('a request leaves an on-poll clock where it is when no event brings an instance', async () => {
  const one = openaiWorld({ ...SLEEPS, clock: 'manual' })
  await one.sim.clock.advance('10m')
  one.sim.clock.set('on-poll')
  one.sim.cluster.stockOut('H100-80GB')
  // An event that does not help.
  one.sim.cluster.hub.down({ at: '1d' })
  const answer = one.client.chat.completions.create(ASK)
  await vi.waitFor(() => expect(one.sim.pendingRequests).toHaveLength(1))
  expect(one.sim.pendingRequests).toMatchObject([{ until: undefined }])
  expect(one.sim.clock.iso).toBe('2026-01-01T00:10:00.000000+00:00')
  one.sim.cluster.restock('H100-80GB')
  await one.client.models.list()
  expect((await answer).usage?.completion_tokens).toBe(3)
})

test('real latency does not depend on the speed or moves of the clock', async () => {
  const fast = await running({ clock: { mode: 'scaled', speed: 3600 }, ...awake }, { latency: 'real' })
  const body = { ...ASK, max_tokens: 20 }
  const moved = await running({ clock: 'manual', ...awake }, { latency: 'real' })
  const took = async (one: Running) => {
    const began = performance.now()
    const answer = chat(one, body)
    await vi.waitFor(() => expect(one.sim.journal.entries().some(({ kind }) => kind === 'request')).toBe(true))
    await one.command('/_sim/clock/advance', { by: '1h' })
    expect((await answer).status).toBe(200)
    return performance.now() - began
  }
  // 27 ms to the first token plus 19 times 7 ms.
  for (const ms of await Promise.all([took(fast), took(moved)])) expect(ms).toBeGreaterThan(150)
})

const awake: SimulatorOptions = {
  fixtures: 'two-nodes',
  with: { deployments: [{ model_name: 'acme/chat', max_batch_size: 4 }] },
}
