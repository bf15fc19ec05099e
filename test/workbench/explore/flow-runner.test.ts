/** Runs of a flow: what the flow sees, what is recorded, and what remains. */

import { pbkdf2, randomBytes } from 'node:crypto'
import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DeployClient } from '../../../examples/vitest/client.ts'
import type { FlowFunction, FlowOptions } from '../../../src/workbench/explore/flow.ts'
import type { Plan } from '../../../src/workbench/explore/plan/plan.ts'
import { createFlowRunner } from '../../../src/workbench/explore/run/flow-runner.ts'
import { batchFile } from '../../setup/batches.ts'
import { askTo, sendTo } from '../../setup/send-to.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

const MODEL = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const LOST_CREATE: Plan = [{ fault: { on: 'createLlmDeployment', nth: 1, fault: { kind: 'reset', effect: 'done' } } }]

const runnerOf = (run: FlowFunction, options: FlowOptions = {}) =>
  createFlowRunner({ name: 'flow', options: { fixtures: 'empty', ...options }, run })
const runOnce = (run: FlowFunction, plan: Plan = [], options: FlowOptions = {}) => runnerOf(run, options).run(plan)

const deploy: FlowFunction = ({ fetch, url, token, sleep }) =>
  new DeployClient({ baseUrl: url, token, fetch, sleep }).deploy(MODEL)
const create: FlowFunction<Response> = context => sendTo(context, 'POST /deploy/llm', MODEL)
const list: FlowFunction<Response> = context => sendTo(context, 'GET /deploy/list')

test('a flow runs in time of the world, and its requests are recorded as it saw them', async () => {
  const result = await runOnce(deploy)
  expect(result).toMatchObject({ end: 'returned', duration: 110_000_000, broken: [] })
  expect(result.requests.slice(0, 3).map(({ operation, status }) => [operation, status])).toEqual([
    ['listDeployments', 200],
    ['createLlmDeployment', 200],
    ['getDeployment', 200],
  ])
  expect(result.requests[1]).toMatchObject({ body: MODEL, answer: { deploy_id: expect.any(String) } })
})

test('two runs of one plan have equal digests and requests, in one runner and in another', async () => {
  const runner = runnerOf(deploy)
  const results = [await runner.run(LOST_CREATE), await runner.run(LOST_CREATE), await runOnce(deploy, LOST_CREATE)]
  for (const { digest, requests } of results) expect({ digest, requests }).toEqual(pick(results[0]!))
})

const pick = ({ digest, requests }: { digest: string; requests: unknown }) => ({ digest, requests })

test('a plan can have a named fault twice', async () => {
  const fault = { name: 'busy', on: 'listDeployments', nth: 1, fault: { kind: 'status', status: 503 } } as const
  const { fired } = await runOnce(list, [{ fault }, { fault }])
  expect([...fired]).toEqual([0])
})

test('a global fetch, timers, Date and node:timers/promises follow the world', async () => {
  const times: number[] = []
  const flow: FlowFunction = async ({ url, token, now }) => {
    const began = Date.now()
    expect(began).toBe(now())
    await new Promise(wake => setTimeout(wake, 60_000))
    times.push(Date.now() - began)
    await wait(3_600_000)
    times.push(now() - began)
    const { status } = await fetch(`${url}/deploy/list`, { headers: { authorization: `Bearer ${token}` } })
    return status
  }
  const before = { fetch: globalThis.fetch, setTimeout, Date, log: console.log, timeout: AbortSignal.timeout }
  const result = await runOnce(flow)
  expect(times).toEqual([60_000, 3_660_000])
  expect(result).toMatchObject({ end: 'returned', duration: 3_660_000_000 })
  expect({ fetch: globalThis.fetch, setTimeout, Date, log: console.log, timeout: AbortSignal.timeout }).toEqual(before)
})

test('a real timer of the process that is cleared during a run never fires', async () => {
  const connection = setTimeout(() => {}, 600_000)
  await runOnce(() => clearTimeout(connection))
  const isCleared = Reflect.get(connection, '_destroyed')
  clearTimeout(connection)
  expect(isCleared).toBe(true)
})

test('a request without an answer fails after 300 s of the world', async () => {
  const result = await runOnce(create, [{ fault: { on: 'createLlmDeployment', nth: 1, fault: { kind: 'hang' } } }])
  expect(result).toMatchObject({ end: 'threw', duration: 300_000_000, fired: new Set([0]) })
  expect(result.requests).toMatchObject([{ outcome: 'unanswered', status: 0, endedAt: undefined }])
})

test('AbortSignal.timeout ends a request in time of the world', async () => {
  const flow: FlowFunction = ({ fetch, url }) => fetch(`${url}/deploy/list`, { signal: AbortSignal.timeout(5_000) })
  const result = await runOnce(flow, [{ fault: { on: 'listDeployments', nth: 1, fault: { kind: 'hang' } } }])
  expect(result).toMatchObject({ end: 'threw', duration: 5_000_000 })
})

test('a flow that never ends is stopped at the bound of settles', { tags: 'slow' }, async () => {
  const flow: FlowFunction = async ({ sleep }) => {
    for (;;) await sleep(600_000)
  }
  const result = await runOnce(flow)
  expect(result).toMatchObject({ end: 'unsettled', duration: 7 * 24 * 3600 * 1e6 })
  expect(result.broken[0]!.words).toContain(
    " a longer limit of its own, allow it, as in invariants: { settles: '14d' }.",
  )
  expect(await runOnce(flow, [], { invariants: { settles: '2h' } })).toMatchObject({ duration: 2 * 3600 * 1e6 })
})

test('a flow that waits three days for a decision of people, and then gives up, holds settles', async () => {
  const flow: FlowFunction = async context => {
    for (let hour = 0; hour < 72; hour++) {
      await list(context)
      await context.sleep(3_600_000)
    }
  }
  expect(await runOnce(flow)).toMatchObject({ end: 'returned', broken: [] })
})

const NOTHING =
  'it waits for a promise that nothing settles: it has no request, no wait and no work outside of the world'

test('a flow that waits for a promise that nothing settles never ends, in a world with events too', {
  tags: 'slow',
}, async () => {
  const flow: FlowFunction = async context => {
    await create(context)
    randomBytes(8)
    await new Promise(() => {})
  }
  const worlds: FlowOptions[] = [{}, { fixtures: 'default' }]
  for (const world of worlds) {
    const result = await runOnce(flow, [], world)
    expect(result).toMatchObject({ end: 'unsettled', duration: 7 * 24 * 3600 * 1e6 })
    expect(result.broken.find(({ invariant }) => invariant === 'settles')!.words).toContain(NOTHING)
  }
})

test.each<[name: string, work: () => Promise<unknown>]>([
  ['a file', () => readFile(import.meta.filename)],
  ['a turn of the event loop', () => new Promise(turn => setImmediate(turn))],
])('a flow that waits for %s goes on, and no time of the world passes', async (_, work) => {
  const flow: FlowFunction = async ({ sleep, sim }) => {
    await work()
    await sleep(1_000)
    await work()
    await sim.clock.sleep(1_000)
    await work()
  }
  expect(await runOnce(flow)).toMatchObject({ end: 'returned', duration: 2_000_000 })
})

test('no time of the world passes while a flow writes files, although a limit of an earlier request is left', async () => {
  const folder = temporaryFolder()
  const flow: FlowFunction = async context => {
    const signal = AbortSignal.timeout(50_000)
    for (let line = 0; line < 10; line++) {
      await sendTo(context, 'GET /deploy/list', undefined, { signal })
      await appendFile(join(folder, 'lines.txt'), `${line}\n`)
    }
  }
  expect(await runOnce(flow)).toMatchObject({ end: 'returned', duration: 0 })
})

test('a flow that listens to the world goes on when it happens', { tags: 'slow' }, async () => {
  const flow: FlowFunction = async context => {
    await create(context)
    await new Promise<void>(heard => context.sim.journal.listen(({ kind }) => kind === 'instance.ready' && heard()))
  }
  const { end, duration } = await runOnce(flow)
  expect(end).toBe('returned')
  expect(duration).toBeGreaterThan(60_000_000)
  expect(duration).toBeLessThan(600_000_000)
})

test('data and blob URLs are read as outside of a run, and count as no request of the client', async () => {
  const url = URL.createObjectURL(new Blob(['a blob']))
  onTestFinished(() => URL.revokeObjectURL(url))
  const answers: string[] = []
  const flow: FlowFunction = async context => {
    const inputs = ['data:text/plain,hi', new URL('DATA:,url'), new Request('data:,request'), url]
    for (const send of [context.fetch, globalThis.fetch, context.sim.fetch]) {
      for (const input of inputs) {
        const answer = await send(input)
        answers.push(`${answer.status} ${await answer.text()}`)
      }
    }
    await list(context)
  }
  expect(await runOnce(flow)).toMatchObject({ end: 'returned', requests: [{ index: 1, operation: 'listDeployments' }] })
  const each = ['200 hi', '200 url', '200 request', '200 a blob']
  expect(answers).toEqual([...each, ...each, ...each])
})

test('a flow that throws at once sends nothing', async () => {
  const result = await runOnce(() => {
    throw new Error('no')
  })
  expect(result).toMatchObject({ end: 'threw', requests: [], duration: 0 })
})

test('a sleep below 0 ends at once, as a timer does, and NaN is an error', async () => {
  const past: FlowFunction = async ({ sleep, now }) => sleep(Date.parse('2001-01-01') - now())
  expect(await runOnce(past)).toMatchObject({ end: 'returned', duration: 0 })
  expect(await runOnce(({ sleep }) => sleep(Number.NaN))).toMatchObject({ end: 'threw' })
})

test('a request that is open when its client crashes has no timeout to give', async () => {
  const flow: FlowFunction = async ({ fetch, url, token, sleep }) => {
    const init = { headers: { authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(20_000) }
    const lists = await Promise.allSettled([fetch(`${url}/deploy/list`, init), fetch(`${url}/v1/models`, init)])
    await sleep(600_000)
    return lists.length
  }
  const hang = { fault: { on: 'listDeployments', nth: 1, fault: { kind: 'hang' } } } as const
  expect(await runOnce(flow, [hang, { crash: 2 }])).toMatchObject({ end: 'returned', broken: [] })
})

test('a client that crashes with a request starts again in the same world, and its first start never continues', async () => {
  const starts: string[] = []
  const flow: FlowFunction = async context => {
    starts.push('start')
    const { status } = await create(context)
    starts.push(`answered ${status}`)
  }
  const result = await runOnce(flow, [{ crash: 1 }])
  expect(starts).toEqual(['start', 'start', 'answered 409'])
  expect(result.requests.map(({ start, outcome }) => [start, outcome])).toEqual([
    [1, 'unanswered'],
    [2, 'answered'],
  ])
})

test('a request that was under way beside the one of the crash does not act after the next start has looked', async () => {
  const counts: number[] = []
  const flow: FlowFunction = async context => {
    const look = async () => {
      counts.push((await askTo(context, 'GET /v1/hosted')).body.length)
    }
    const make = () => sendTo(context, 'POST /v1/hosted', { name: 'pier', plan_id: 'small' })
    await look()
    if (counts.at(-1) === 0) await Promise.all([make(), look()])
    await context.sleep(60_000)
    await look()
  }
  const late = { on: 'createHosted', nth: 1, fault: { kind: 'latency', delay: '5s' } } as const
  await runOnce(flow, [{ fault: late }, { crash: 3 }])
  expect(counts).toEqual([0, 0, 0, 1])
})

test('no time of the world passes while a start after a crash begins with work outside of the world', {
  tags: 'slow',
}, async () => {
  const flow: FlowFunction<Response> = async context => {
    await promisify(pbkdf2)('a', 'b', 100_000, 32, 'sha512')
    return sendTo(context, 'POST /v1/text-to-speech/ada?output_format=wav', { text: 'The ferry leaves at noon.' })
  }
  const runner = runnerOf(flow)
  const usual = await runner.run([])
  expect(await runner.run([{ crash: 1 }])).toMatchObject({ end: 'returned', broken: [], duration: usual.duration })
})

test('a request of a start that has ended starts no other one, and the second start keeps its timers', async () => {
  let starts = 0
  const flow: FlowFunction = async context => {
    starts++
    const ask = () => sendTo(context, 'GET /deploy/list', undefined, { signal: AbortSignal.timeout(30_000) })
    const lists = await Promise.allSettled([ask(), ask()])
    await context.sleep(60_000)
    return lists.length
  }
  const hang = { fault: { on: 'listDeployments', nth: 3, fault: { kind: 'hang' } } } as const
  const result = await runOnce(flow, [{ crash: 1 }, { crash: 2 }, hang])
  expect(starts).toBe(2)
  expect(result).toMatchObject({ end: 'returned', broken: [], fired: new Set([0, 2]), duration: 90_000_000 })
  expect(result.requests.map(({ start, outcome }) => [start, outcome])).toEqual([
    ...[1, 1, 2].map(start => [start, 'unanswered']),
    [2, 'answered'],
  ])
})

test('a request that a flow left behind when it returned starts no other one', async () => {
  let starts = 0
  const flow: FlowFunction = async context => {
    starts++
    void list(context)
    return 'done'
  }
  const late = { fault: { on: 'listDeployments', nth: 1, fault: { kind: 'latency', delay: '10s' } } } as const
  expect(await runOnce(flow, [{ crash: 1 }, late])).toMatchObject({ end: 'returned', fired: new Set([1]) })
  expect(starts).toBe(1)
})

test.each<[name: string, read: (response: Response) => Promise<unknown>]>([
  ['a method', response => response.text()],
  ['pieces', response => response.body!.pipeTo(new WritableStream())],
])('a start that has ended reads no more of a body in %s, so it sends nothing', { tags: 'slow' }, async (_, read) => {
  const flow: FlowFunction = async ({ url, token, sleep }) => {
    const headers = { authorization: `Bearer ${token}` }
    const messages = [{ role: 'user', content: 'Why?' }]
    const body = JSON.stringify({ model: 'aurora-labs/aurora-8b-instruct', messages, stream: true })
    const chat = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    const rest = read(chat).then(() => fetch(`${url}/v1/models`, { headers }))
    await fetch(`${url}/deploy/list`, { headers })
    await rest
    await sleep(60_000)
  }
  const { requests } = await runOnce(flow, [{ crash: 2 }], { fixtures: 'default' })
  expect(requests.map(({ start, operation }) => [start, operation])).toEqual([
    ...[1, 2].flatMap(start => [
      [start, 'createChatCompletion'],
      [start, 'listDeployments'],
    ]),
    [2, 'listServedModels'],
  ])
})

test('a command strikes at its moment, and what has not happened by the end of the flow never fires', async () => {
  const plan: Plan = [
    { command: { verb: 'card.decline' }, after: { kind: 'start' } },
    {
      ...{ command: { verb: 'node.crash', target: 'h100-busy-0' }, after: { kind: 'instance.warming', offset: '1s' } },
      ...{ for: '1m', undo: { verb: 'node.repair', target: 'h100-busy-0' } },
    },
    { command: { verb: 'hub.down' }, after: { kind: 'deployment.failed' } },
  ]
  const result = await runOnce(deploy, plan)
  expect(result.fired).toEqual(new Set([0, 1]))
  expect(result.duration).toBeGreaterThan((await runOnce(deploy)).duration)
})

test('an invariant of the user is a finding with the place where the client went wrong', async () => {
  const flow: FlowFunction = async context => {
    const { ok, status } = await create(context)
    if (!ok) throw new Error(`status ${status}`)
    throw new Error('the answer was useless')
  }
  const leak = (observation: { created: readonly { isAlive: boolean; id: string }[] }) =>
    observation.created.some(({ isAlive }) => isAlive) ? 'something runs' : undefined
  const plan: Plan = [
    { fault: { on: 'getDeployment', nth: 3, fault: { kind: 'reset' } } },
    { fault: { on: 'createLlmDeployment', nth: 1, fault: { kind: 'status', status: 503, effect: 'done' } } },
  ]
  const result = await runOnce(flow, plan, { invariants: { leak } })
  const broken = result.broken.filter(({ invariant }) => invariant === 'leak')
  expect(broken).toMatchObject([{ signature: 'leak@createLlmDeployment/error', words: 'something runs' }])
  expect(result.fired).toEqual(new Set([1]))
  expect(result.lineage.get('leak@createLlmDeployment/error')).toEqual(new Set([1]))
})

test('an invariant that throws is a mistake of the user', async () => {
  const invariants = {
    mine: () => {
      throw new Error('oh')
    },
  }
  await expect(runOnce(deploy, [], { invariants })).rejects.toThrow("Failed to check the invariant 'mine': it threw")
})

test('the signature of a client that threw at a body it could not use is that of an error, however it read it', async () => {
  for (const read of ['text', 'json'] as const) {
    const flow: FlowFunction = async context => {
      const body = await (await create(context))[read]()
      return (typeof body === 'string' ? JSON.parse(body || 'null') : body).deploy_id
    }
    const empty = { fault: { on: 'createLlmDeployment', nth: 1, fault: { kind: 'empty' } } } as const
    const { broken } = await runOnce(flow, [empty])
    expect(broken.map(({ signature }) => signature)).toContain('noLeak@createLlmDeployment/error')
  }
})

test('healing at a request ends the faults before it', async () => {
  const outage: Plan = [{ fault: { on: 'getDeployment', fault: { kind: 'reset' } } }]
  const runner = runnerOf(deploy)
  expect(await runner.run(outage)).toMatchObject({ end: 'threw' })
  expect(await runner.run(outage, { healAt: { request: 4 } })).toMatchObject({ end: 'returned', fired: new Set([0]) })
})

test('an error that the flow does not handle ends it, as it would end its process', async () => {
  const rejects: FlowFunction = async ({ sleep }) => {
    void Promise.reject(new Error('without a handler'))
    await sleep(600_000)
  }
  const throws: FlowFunction = async ({ sleep }) => {
    setTimeout(() => {
      throw new Error('in a timer')
    }, 1000)
    await sleep(600_000)
  }
  const leaves: FlowFunction = () => {
    void Promise.reject(new Error('after its end'))
  }
  expect(await runOnce(rejects)).toMatchObject({ end: 'threw', duration: 0 })
  expect(await runOnce(leaves)).toMatchObject({ end: 'threw', duration: 0 })
  expect(await runOnce(throws)).toMatchObject({ end: 'threw', duration: 1_000_000 })
})

test('what a flow prints is recorded and not printed', async () => {
  const flow: FlowFunction = () => {
    console.log('by the console', { token: 1 })
    process.stdout.write('by the stream\n')
  }
  let output = ''
  const mine = (observation: { output: string }) => {
    output = observation.output
    return undefined
  }
  await runOnce(flow, [], { invariants: { mine } })
  expect(output).toBe('by the console {"token":1}\nby the stream\n')
})

test('requests that were sent beside a refused one do not ignore its Retry-After, and a later one does', async () => {
  const refusal: Plan = [{ fault: { on: 'listDeployments', nth: 1, fault: { kind: 'rateLimit', retryAfter: '20s' } } }]
  const both: FlowFunction = async context => {
    await Promise.all([list(context), list(context)])
  }
  const again: FlowFunction = async context => {
    await both(context)
    await list(context)
  }
  const ignored = async (flow: FlowFunction) =>
    (await runOnce(flow, refusal)).broken.filter(({ invariant }) => invariant === 'honoursRetryAfter')
  expect(await ignored(both)).toEqual([])
  expect(await ignored(again)).toMatchObject([
    { words: expect.stringMatching(/sent request 3 \(listDeployments, 200\) at once\.$/) },
  ])
})

test('the callback of a timer finds the world at its own time, also between events of the world', async () => {
  const times: number[] = []
  const flow: FlowFunction = async context => {
    await new Promise<void>(done => {
      const timer = setInterval(() => {
        times.push(context.sim.clock.elapsed)
        void list(context)
        if (times.length < 3) return
        clearInterval(timer)
        done()
      }, 1_000)
    })
  }
  const { requests } = await runOnce(flow, [], { fixtures: 'default' })
  expect(times).toEqual([1_000_000, 2_000_000, 3_000_000])
  expect(requests.map(({ sentAt }) => sentAt)).toEqual(times)
})

describe('a body that a flow reads', () => {
  const READERS: Readonly<Record<string, (response: Response) => unknown>> = {
    text: response => response.text(),
    json: async response => JSON.stringify(await response.json()),
    arrayBuffer: async response => Buffer.from(await response.arrayBuffer()).toString(),
    blob: async response => (await response.blob()).text(),
    // Node 20 has no method `bytes`.
    bytes: async response => Buffer.from((await response.bytes?.()) ?? (await response.arrayBuffer())).toString(),
    formData: response => response.formData().catch((error: Error) => error.name),
    body: response => readPieces(response),
    clone: async response => [await response.clone().text(), await response.text()][0],
  }
  async function readPieces(response: Response): Promise<string> {
    const pieces: Uint8Array[] = []
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) pieces.push(piece)
    return Buffer.concat(pieces).toString()
  }
  /** Expects each method to return what `matches` accepts, and `formData` to refuse it. */
  async function readWithEach(
    get: () => Promise<Response>,
    sleep: (ms: number) => Promise<void>,
    matches: (text: string) => boolean,
    names = Object.keys(READERS),
  ): Promise<void> {
    for (const name of names) {
      const found = String(await READERS[name]!(await get()))
      if (name === 'formData' ? found !== 'TypeError' : !matches(found)) throw new Error(`${name}: ${found}`)
      await sleep(2_000)
    }
  }

  test.each([65_536, 65_537, 200_000])(
    'is that of a stored file of %i bytes with each method',
    { tags: 'slow' },
    async size => {
      const content = JSON.stringify('x'.repeat(size - 2))
      const flow: FlowFunction = async context => {
        const { id } = await (await sendTo(context, 'POST /v1/files', batchFile(content))).json()
        const download = () => sendTo(context, `GET /v1/files/${id}/content`)
        await readWithEach(download, context.sleep, text => text === content)
      }
      const result = await runOnce(flow)
      expect(result).toMatchObject({ end: 'returned', broken: [] })
      const [, text, json, arrayBuffer] = result.requests
      for (const request of [text, json, arrayBuffer]) expect(request!.answer).toEqual(JSON.parse(content))
    },
  )

  test('is that of a stream with each method', { tags: 'slow' }, async () => {
    const model = 'aurora-labs/aurora-8b-instruct'
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Why?' }], stream: true })
    const flow: FlowFunction = ({ fetch, url, token, sleep }) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const chat = () => fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
      const isWhole = (text: string) => /^data: .*data: \[DONE\]\n\n$/s.test(text)
      return readWithEach(
        chat,
        sleep,
        isWhole,
        Object.keys(READERS).filter(name => name !== 'json'),
      )
    }
    expect(await runOnce(flow, [], { fixtures: 'default' })).toMatchObject({ end: 'returned', broken: [] })
  })
})

test('an answer has its address, and a request that is aborted while it is sent is not carried out', async () => {
  let seen: unknown
  const flow: FlowFunction = async ({ fetch, url, token, sleep, sim }) => {
    const controller = new AbortController()
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'ci' })
    const init = { method: 'POST', headers, body, signal: controller.signal }
    const sent = fetch(new Request(`${url}/v1/api-tokens`, init)).catch((error: Error) => error.message)
    controller.abort(new Error('left'))
    const reason = await sent
    await sleep(1000)
    seen = [reason, sim.requests.length, (await fetch(`${url}/v1/models?limit=1#top`)).url]
  }
  await runOnce(flow, [])
  expect(seen).toEqual(['left', 0, 'http://sim/v1/models?limit=1'])
})

describe('an abort after the head of an answer ends its body at once', () => {
  const silence = { kind: 'truncated', bytes: 0, end: 'silence' } as const
  const slow = { kind: 'slowBody', bytesPerSecond: 0.001 } as const
  const silentStream = { kind: 'stream', after: 1, end: 'silence' } as const
  const wholeText = (answer: Response) => answer.text()
  const inPieces = async (answer: Response) => {
    for await (const _ of answer.body!);
  }
  const late = (_: Response, sleep: (ms: number) => Promise<void>) => sleep(40_000).then(() => wholeText(_))
  const timeout = () => AbortSignal.timeout(30_000)
  const ownReason = () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('too slow')), 30_000)
    return controller.signal
  }
  const body = JSON.stringify({
    model: 'aurora-labs/aurora-8b-instruct',
    prompt: 'The sea',
    max_tokens: 4,
    stream: true,
  })

  test.each([
    ['a silent body', silence, timeout, wholeText, 30, 'TimeoutError'],
    ['a silent body in pieces', silence, timeout, inPieces, 30, 'TimeoutError'],
    ['an own reason', silence, ownReason, wholeText, 30, 'Error'],
    ['a slow body', slow, ownReason, inPieces, 30, 'Error'],
    ['a silent stream', silentStream, timeout, inPieces, 30, 'TimeoutError'],
    ['a body that is read after the abort', silence, timeout, late, 40, 'TimeoutError'],
    ['a whole body that is read after the abort', undefined, ownReason, late, 40, 'Error'],
  ])('%s', async (_, fault, signalOf, read, seconds, name) => {
    const isStream = fault === silentStream
    let ended: unknown
    const flow: FlowFunction = async ({ fetch, url, token, sleep, now }) => {
      const began = now()
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const init = { headers, signal: signalOf(), ...(isStream && { method: 'POST', body }) }
      const answer = await fetch(`${url}/v1/${isStream ? 'completions' : 'files'}`, init)
      const error: unknown = await read(answer, sleep).then(
        () => undefined,
        error => error,
      )
      ended = [(now() - began) / 1000, (error as Error | undefined)?.name]
    }
    const on = isStream ? 'createCompletion' : 'listFiles'
    const plan: Plan = fault === undefined ? [] : [{ fault: { on, nth: 1, fault } }]
    await runOnce(flow, plan)
    expect(ended).toEqual([seconds, name])
  })
})
