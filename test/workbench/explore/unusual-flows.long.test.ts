/** Unusual flows: explore says what is wrong with them, or explores them, and leaves the process as it was. */
import { readFile } from 'node:fs/promises'
import { createSimulator } from 'modelhost-sim'
import { explore, type FlowContext, flow } from 'modelhost-sim/explore'
import OpenAI from 'openai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

const MODEL = JSON.stringify({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
const headersOf = ({ token }: FlowContext) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
const list = (context: FlowContext, init: RequestInit = {}) =>
  context.fetch(`${context.url}/deploy/list`, { headers: headersOf(context), ...init })
const create = (context: FlowContext, init: RequestInit = {}) =>
  context.fetch(`${context.url}/deploy/llm`, { method: 'POST', headers: headersOf(context), body: MODEL, ...init })
/** Never throws, and has a timeout: nothing breaks it. */
const calm = (context: FlowContext) => list(context, { signal: AbortSignal.timeout(30_000) }).catch(() => undefined)

const exploring = (run: (context: FlowContext) => unknown, options = {}) =>
  explore(flow('odd', { fixtures: 'empty' }, run), { faults: 'singles', budget: 50, ...options })
const signaturesOf = async (run: (context: FlowContext) => unknown) =>
  (await exploring(run)).findings.map(({ signature }) => signature)

const globals = () => [fetch, setTimeout, setInterval, Date, AbortSignal.timeout, console.log, process.stdout.write]
let before: unknown[]
beforeEach(() => {
  before = globals()
})
afterEach(() => {
  expect(globals()).toEqual(before)
})

const errorWithItself = new Error('odd')
errorWithItself.cause = errorWithItself
const unreadable = new Proxy({}, { ownKeys: () => expect.unreachable('it was read') })
const revoked = Proxy.revocable({}, {})
revoked.revoke()
const getter = {
  get id() {
    throw new Error('not now')
  },
}

test.each<[string, unknown]>([
  ['a text', 'text'],
  ['a symbol', Symbol('odd')],
  ['nothing', undefined],
  ['an object with a getter that throws', getter],
  ['an error that is its own cause', errorWithItself],
])('a flow that throws %s leaves what it created, which is found', async (_, thrown) => {
  const flow = async (context: FlowContext) => {
    await create(context, { signal: AbortSignal.timeout(30_000) })
    throw thrown
  }
  expect(await signaturesOf(flow)).toContain('noLeak@createLlmDeployment/ok')
})

test.each<[string, unknown]>([
  ['a getter that throws', getter],
  ['a proxy that throws', unreadable],
  ['a revoked proxy', { value: revoked.proxy }],
  ['a function', () => 1],
  ['a million values', Array.from({ length: 1_000_000 }, (_, i) => i)],
])('a flow that returns %s is explored', async (_, result) => {
  const flow = async (context: FlowContext) => {
    await calm(context)
    return result
  }
  expect(await signaturesOf(flow)).toEqual([])
})

const throwInTimer = ({ sleep }: FlowContext) => {
  setTimeout(() => expect.fail('odd'), 10)
  return sleep(1_000)
}

test.each<[string, (context: FlowContext) => unknown, string]>([
  ['sends nothing', () => 1, 'it sends no request, so there is nothing to break'],
  ['is a generator', async function* () {}, 'it sends no request'],
  ['throws a text', () => Promise.reject('no key'), 'it throws in a run without faults: "no key"'],
  ['throws in a timer', throwInTimer, 'AssertionError: odd. Correct'],
  ['moves time', ({ sim }) => sim.clock.advance('1h'), 'Failed to call sim.clock.advance: explore moves and ends'],
  ['sets the clock', ({ sim }) => sim.clock.set('idle'), 'Failed to call sim.clock.set'],
  [
    'resets the world',
    ({ sim }) => sim.reset(),
    'Failed to call sim.reset: explore moves and ends the runs of a flow.',
  ],
  ['restores a snapshot', ({ sim }) => sim.restore(sim.snapshot()), 'Failed to call sim.restore'],
  ['disposes the simulator', ({ sim }) => sim[Symbol.asyncDispose](), 'Leave it out, or work with sim.fork().'],
  ['removes the faults', ({ sim }) => sim.faults.clear(), 'the faults of the plan are among them'],
  ['sleeps without end', ({ sleep }) => sleep(Number.POSITIVE_INFINITY), 'Failed to sleep: Infinity is invalid.'],
])('a flow that %s gets an error that says so', async (_, run, message) => {
  await expect(exploring(run)).rejects.toThrow(message)
})

test('requests through sim.fetch, and those that are not awaited, are recorded', async () => {
  expect(await signaturesOf(({ sim, url, token }) => sim.fetch(`${url}/deploy/list?token=${token.length}`))).toEqual([
    'settles@noTimeout',
  ])
  const careless = (context: FlowContext) => void create(context)
  expect(await signaturesOf(careless)).toContain('noLeak@createLlmDeployment/ok')
})

const dropped = () => undefined
test.each<[string, string[], (context: FlowContext) => unknown]>([
  ['a timeout of 400 s', [], context => list(context, { signal: AbortSignal.timeout(400_000) }).catch(dropped)],
  [
    'the timeout of the openai package, which is 10 minutes',
    [],
    ({ fetch, url, token }) => new OpenAI({ baseURL: `${url}/v1`, apiKey: token, fetch }).models.list().catch(dropped),
  ],
  [
    'one timeout for all its requests',
    [],
    async context => {
      const signal = AbortSignal.timeout(3_600_000)
      await context.sleep(1000)
      await list(context, { signal }).catch(dropped)
    },
  ],
  ['a race with a wait', [], context => Promise.race([list(context), context.sleep(400_000)]).catch(dropped)],
  [
    'a timer of its start, but no timeout',
    ['settles@noTimeout'],
    async context => {
      setTimeout(dropped, 3_600_000)
      await context.sleep(1000)
      await list(context).catch(dropped)
    },
  ],
])('a client with %s is judged by its own timeout', async (_, signatures, run) => {
  expect(await signaturesOf(run)).toEqual(signatures)
})

test('a request whose body fails is an error of its fetch, as in Node', async () => {
  const errors: unknown[] = []
  const sending = async (context: FlowContext) => {
    const body = new ReadableStream({ pull: controller => controller.error(new Error('the disk is gone')) })
    const init = { method: 'POST', headers: headersOf(context), body, duplex: 'half' }
    await context.fetch(`${context.url}/deploy/llm`, init as RequestInit).catch(error => errors.push(error.message))
    expect(context.sim.world.deployments.list()).toEqual([])
  }
  expect(await signaturesOf(sending)).toEqual([])
  expect([...new Set(errors)]).toEqual(['fetch failed'])
})

test('a flow may fork its world, and read what it is', async () => {
  const flow = async (context: FlowContext) => {
    const { sim } = context
    const fork = sim.fork()
    await fork.clock.advance('1h')
    await calm(context)
    return [fork.clock.elapsed - sim.clock.elapsed, sim.cluster.pool.length, sim.journal.entries().length]
  }
  expect(await signaturesOf(flow)).toEqual([])
})

test('a timer that outlives the flow never fires', async () => {
  let fired = 0
  const flow = async (context: FlowContext) => {
    setInterval(() => fired++, 60_000)
    await calm(context)
  }
  await exploring(flow)
  expect(fired).toBe(0)
})

test('100,000 requests at once, or one after the other, are stopped at the limit', async () => {
  for (const requests of [
    (context: FlowContext) => Promise.all(Array.from({ length: 100_000 }, () => list(context))),
    async (context: FlowContext) => {
      for (let i = 0; i < 100_000; i++) await list(context)
    },
  ]) {
    const { findings, stoppedBecause } = await exploring(requests, { invariants: { pollsAtMost: false } })
    expect(stoppedBecause).toBe('unsettled')
    expect(findings).toMatchObject([
      { words: expect.stringContaining('it sent more than 2,000 requests, the limit of a run') },
    ])
  }
})

test('fifty requests at once come out the same twice', async () => {
  const fifty = (context: FlowContext) => Promise.all(Array.from({ length: 50 }, () => calm(context)))
  const { stoppedBecause } = await exploring(fifty, { invariants: { pollsAtMost: 1000, honoursRetryAfter: false } })
  expect(stoppedBecause).toBe('budget')
})

test.each<[string, (context: FlowContext) => Promise<unknown>]>([
  ['a signal that was aborted before', context => list(context, { signal: AbortSignal.abort('odd') })],
  ['a value that is not a signal', context => list(context, { signal: {} as AbortSignal })],
  ['an invalid address', ({ fetch }) => fetch('/deploy/list')],
  ['a body of a GET', context => list(context, { body: 'odd' })],
])('a request with %s fails at once, as in Node', async (_, send) => {
  const flow = async (context: FlowContext) => {
    await calm(context)
    await expect(send(context)).rejects.toThrow()
  }
  expect(await signaturesOf(flow)).toEqual([])
})

test('a signal that is aborted after the answer, or while it comes, changes nothing else', async () => {
  const late = async (context: FlowContext) => {
    const leave = new AbortController()
    const answer = list(context, { signal: AbortSignal.any([leave.signal, AbortSignal.timeout(30_000)]) })
    const response = await answer.catch(() => undefined)
    leave.abort()
    await response?.text().catch(() => {})
  }
  expect(await signaturesOf(late)).toEqual([])
  const atOnce = async (context: FlowContext) => {
    const leave = new AbortController()
    const answer = create(context, { signal: leave.signal }).catch(() => undefined)
    leave.abort()
    await answer
  }
  expect(await signaturesOf(atOnce)).toContain('noLeak@createLlmDeployment/ok')
})

test('bodies that are not read, cloned or read in part do not stop a run', async () => {
  const flow = async (context: FlowContext) => {
    const response = await calm(context)
    response?.clone().body?.getReader()
    await response?.text().catch(() => {})
    await response
      ?.text()
      .then(() => Promise.reject(new Error('a body was read twice')))
      .catch(() => {})
    const body = JSON.stringify({ model: 'aurora-labs/aurora-8b-instruct', stream: true, messages: [] })
    const init = { method: 'POST', headers: headersOf(context), body, signal: AbortSignal.timeout(60_000) }
    const stream = await context.fetch(`${context.url}/v1/chat/completions`, init).catch(() => undefined)
    await stream?.body
      ?.getReader()
      .read()
      .catch(() => {})
  }
  expect(await signaturesOf(flow)).toEqual([])
})

test('explorations at the same time come one after the other', async () => {
  const [one, other] = await Promise.all([exploring(calm), exploring(calm)])
  expect(other).toEqual(one)
})

test('fake timers of a test are refused', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'Date'] })
  try {
    await expect(exploring(calm)).rejects.toThrow(
      'Failed to explore odd: setTimeout is fake, and a flow has timers of its own world. ' +
        'Call vi.useRealTimers() or jest.useRealTimers() first.',
    )
  } finally {
    vi.useRealTimers()
  }
})

test.each<[object, string]>([
  [{ budget: 0 }, 'the budget 0 is invalid'],
  [{ budget: Number.NaN }, 'the budget NaN is invalid'],
  [{ budget: '1 week' }, "Give a number of runs, or real time as in '60s'."],
  [{ faults: 'pair' }, "unknown faults 'pair'. Did you mean 'pairs'?"],
  [{ classes: ['hung'] }, "unknown class 'hung'. Did you mean 'hang'?"],
  [{ classes: [] }, 'classes is []. Give a list'],
  [{ classes: 'reset' }, 'classes is "reset". Give a list'],
  [{ fixtures: 'empti' }, "Did you mean 'empty'?"],
  [{ invariants: null }, 'invariants must be an object'],
  [{ invariants: { settles: 0 } }, 'Give a duration above 0'],
  [{ faultz: 'pairs' }, "unknown option 'faultz'. Did you mean 'faults'?"],
])('the options %j are refused', async (options, message) => {
  await expect(exploring(calm, options)).rejects.toThrow(message)
})

test('an own function that throws or returns something else is named', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const run = async (context: FlowContext) => (await create(context, { signal: AbortSignal.timeout(9_000) })).json()
  const broken = () => {
    throw new Error('odd')
  }
  const message = 'Failed to read the result of the flow: '
  await expect(sim.explore(run, { own: broken })).rejects.toThrow(`${message}own threw "odd". Return a list of ids.`)
  await expect(sim.explore(run, { own: () => 7 as never })).rejects.toThrow(`${message}own returned 7.`)
  await expect(sim.explore(run, { lines: broken })).rejects.toThrow(`${message}lines threw "odd".`)
  await expect(sim.explore(run, { lines: () => [7] })).rejects.toThrow(`${message}lines returned [7].`)
})

test('a flow that reads a file without end is given up once, not at each event of its world', async () => {
  const run = async (context: FlowContext) => {
    await list(context)
    while (true) await readFile('package.json')
  }
  const { findings, stoppedBecause } = await exploring(run, { fixtures: 'default' })
  expect(stoppedBecause).toBe('unsettled')
  expect(findings).toMatchObject([{ invariant: 'settles' }])
  expect(findings[0]!.words).toContain('it waits for something outside of the world.')
})
