/** Webhooks of native inference: results that are posted when simulated time brings them. */
import { describe, expect, test } from 'vitest'
import type { Entry } from '../../src/kernel/journal.ts'
import { countAlive } from '../../src/simulation/deployments/deployment-row.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import type { DeliverWebhook } from '../../src/simulator/webhook-options.ts'
import { wavFile } from '../service/media/audio-files.ts'
import { askTo, sendTo } from '../setup/send-to.ts'

const TEXT = 'aurora-labs/aurora-8b-instruct'
const HOOK = 'http://127.0.0.1:8123/hook'

/** A file of audio. */
const AUDIO = `data:audio/wav;base64,${Buffer.from(wavFile()).toString('base64')}`

/** A world with a deployment that scales to zero. */
const SLEEPING: SimulatorOptions = {
  fixtures: 'two-nodes',
  with: {
    deployments: [{ model_name: 'acme/chat', status: 'running', settings: { min_instances: 0, max_instances: 1 } }],
  },
}

interface Delivery {
  readonly url: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever the simulator posts
  readonly body: any
  /** The time of the world, in seconds since the epoch. */
  readonly at: number
}

/** Creates a simulator whose webhooks answer with the given statuses in turn, the last one for all others. */
function webhookWorld(statuses: readonly (number | Error)[] = [200], options: SimulatorOptions = {}) {
  const deliveries: Delivery[] = []
  const deliver: DeliverWebhook = async (url, { body }) => {
    const answer = statuses[Math.min(deliveries.length, statuses.length - 1)]!
    deliveries.push({ url, body: JSON.parse(body), at: sim.clock.elapsed / 1e6 })
    if (answer instanceof Error) throw answer
    return { status: answer }
  }
  const sim = createSimulator({ seed: 1, check: true, webhooks: { deliver }, ...options })
  return { sim, deliveries, ask: asker(sim) }
}

const asker =
  (sim: Simulator) =>
  (body: object, path = `/v1/inference/${TEXT}`) =>
    askTo(sim, `POST ${path}`, body)

/** Returns how many timers keep the process alive. */
function countHeldTimers(): number {
  return process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
}

function webhookEntries(sim: Simulator): (readonly [string, Entry['fields']])[] {
  return sim.journal
    .entries()
    .filter(({ kind }) => kind.startsWith('webhook.'))
    .map(({ kind, fields }) => [kind.slice('webhook.'.length), fields] as const)
}

describe('a request with a webhook', () => {
  test('is queued at once, and its result is posted when the answer is complete', async () => {
    const { sim, deliveries, ask } = webhookWorld()
    const whole = await ask({ input: 'Rivers' })
    const { status, body } = await ask({ input: 'Rivers', webhook: HOOK })
    expect(status).toBe(200)
    expect(body).toEqual({
      request_id: expect.stringMatching(/^R/),
      inference_status: { status: 'queued', runtime_ms: 0, cost: 0, tokens_generated: null, tokens_input: null },
    })
    expect(deliveries).toEqual([])
    await sim.clock.advance('1h')
    const { runtime_ms } = whole.body.inference_status
    expect(deliveries).toEqual([
      { url: HOOK, body: { ...whole.body, request_id: body.request_id }, at: expect.closeTo(runtime_ms / 1000, 2) },
    ])
    expect(webhookEntries(sim)).toEqual([
      ['sent', { url: HOOK, attempt: 1 }],
      ['delivered', { status: 200, attempt: 1 }],
    ])
  })

  test('posts the same result for every type of model as their answers have', async () => {
    const { sim, deliveries, ask } = webhookWorld()
    const bodies = {
      '/v1/inference/cedarline/cedar-embed-base': { inputs: ['a river'] },
      '/v1/inference/cedarline/cedar-rerank-base': { queries: ['a river'], documents: ['a river', 'a stone'] },
      '/v1/inference/inkfold/canvas-fast': { prompt: 'A river', width: 64, height: 64 },
      '/v1/inference/larkspur-audio/lark-tts-2': { text: 'Hello.' },
      '/v1/inference/larkspur-audio/lark-scribe-large': { audio: AUDIO },
      '/v1/inference/acornworks/acorn-pii-tagger': { document: 'Ann' },
      '/v1/inference/deploy/2cZeTxVFN7tKxCCh': { input: 'Rivers' },
    }
    for (const [path, body] of Object.entries(bodies)) {
      const whole = await ask(body, path)
      const { request_id } = (await ask({ ...body, webhook: HOOK }, path)).body
      await sim.clock.advance('10m')
      expect(deliveries.at(-1)!.body).toEqual({ ...whole.body, request_id })
    }
    expect(deliveries).toHaveLength(7)
  })

  test('has its place and is charged until its end, as every request is', async () => {
    const { sim, deliveries, ask } = webhookWorld()
    await ask({ input: 'Rivers', webhook: HOOK })
    expect(sim.world.inferenceRequests.inFlightCount).toBe(1)
    await sim.clock.advance('1h')
    expect(sim.world.inferenceRequests.inFlightCount).toBe(0)
    const charged = sim.ledger.entries().filter(({ subject }) => subject === TEXT)
    const dollars = charged.reduce((sum, { microcents }) => sum - microcents, 0) / 1e8
    expect(deliveries[0]!.body.inference_status.cost).toBeCloseTo(dollars, 8)
  })

  test('ignores stream', async () => {
    const { sim, deliveries, ask } = webhookWorld()
    expect((await ask({ input: 'Rivers', stream: true, webhook: HOOK })).body.inference_status.status).toBe('queued')
    await sim.clock.advance('1h')
    expect(deliveries[0]!.body.results).toHaveLength(1)
  })

  test('posts a failure when its deployment stops while it waits', async () => {
    const { sim, deliveries, ask } = webhookWorld([200], SLEEPING)
    await sim.clock.until(() => countAlive(sim.world.deployments.findLive('acme/chat')!.row) === 0)
    const { body } = await ask({ input: 'Rivers', webhook: HOOK }, '/v1/inference/acme/chat')
    await ask({}, `/deploy/${sim.world.deployments.findLive('acme/chat')!.deploy_id}/stop`)
    await sim.clock.advance('1h')
    expect(deliveries.map(delivery => delivery.body)).toEqual([
      {
        request_id: body.request_id,
        inference_status: { status: 'failed', runtime_ms: 0, cost: 0, tokens_generated: 0, tokens_input: 2 },
      },
    ])
  })

  test('posts a failure when its instance is lost', async () => {
    const { sim, deliveries, ask } = webhookWorld()
    const { body } = await ask({ input: 'Rivers', webhook: HOOK }, '/v1/inference/acme/assistant')
    sim.cluster.nodeOf('2cZeTxVFN7tKxCCh').crash()
    await sim.clock.advance('1m')
    expect(deliveries).toEqual([
      {
        url: HOOK,
        body: {
          request_id: body.request_id,
          inference_status: { status: 'failed', runtime_ms: 0, cost: 0, tokens_generated: 0, tokens_input: 2 },
        },
        at: 0,
      },
    ])
  })

  test('waits for the cold start of a deployment that sleeps', async () => {
    const { sim, deliveries, ask } = webhookWorld([200], SLEEPING)
    await sim.clock.until(() => countAlive(sim.world.deployments.findLive('acme/chat')!.row) === 0)
    const before = sim.clock.elapsed / 1e6
    await ask({ input: 'Rivers', webhook: HOOK }, '/v1/inference/acme/chat')
    await sim.clock.advance('1h')
    expect(deliveries).toHaveLength(1)
    expect(deliveries[0]!.at - before).toBeGreaterThan(30)
    expect(deliveries[0]!.body.inference_status.runtime_ms).toBeLessThan(30_000)
  })
})

describe('an attempt without a 2xx', () => {
  test.each([
    ['a status of 500', 500, { status: 500 }],
    ['a redirect', 302, { status: 302 }],
    ['a refused connection', new Error('connect ECONNREFUSED'), { reason: 'connect ECONNREFUSED' }],
  ])('is repeated after the back-off: %s', { tags: 'slow' }, async (_, answer, fields) => {
    const { sim, deliveries, ask } = webhookWorld([answer, answer, 204])
    await ask({ input: 'Rivers', webhook: HOOK })
    await sim.clock.advance('1h')
    const [first, second, third] = deliveries.map(({ at }) => at)
    expect([second! - first!, third! - second!]).toEqual([expect.closeTo(10, 5), expect.closeTo(20, 5)])
    expect(new Set(deliveries.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(webhookEntries(sim)).toEqual([
      ['sent', { url: HOOK, attempt: 1 }],
      ['failed', { ...fields, attempt: 1 }],
      ['sent', { url: HOOK, attempt: 2 }],
      ['failed', { ...fields, attempt: 2 }],
      ['sent', { url: HOOK, attempt: 3 }],
      ['delivered', { status: 204, attempt: 3 }],
    ])
  })

  test('is the last one after the attempts of the profile', async () => {
    const { sim, deliveries, ask } = webhookWorld([503], {
      profile: { timings: { webhook_attempts: 2, webhook_back_off: '3s' } },
    })
    await ask({ input: 'Rivers', webhook: HOOK })
    await sim.clock.advance('1h')
    expect(deliveries.map(({ at }) => at - deliveries[0]!.at)).toEqual([0, expect.closeTo(3, 5)])
    expect(webhookEntries(sim).at(-1)).toEqual(['gaveUp', { attempts: 2 }])
    expect(sim.world.webhooks.nextAttemptAt).toBe(Number.POSITIVE_INFINITY)
  })
})

test('results are posted in the order in which the requests end', async () => {
  const { sim, deliveries, ask } = webhookWorld()
  sim.inference.add({ contains: 'long', answer: { text: 'word '.repeat(400) } })
  sim.inference.add({ contains: 'short', answer: { text: 'word' } })
  const long = await ask({ input: 'long', webhook: HOOK })
  const short = await ask({ input: 'short', webhook: HOOK })
  await sim.clock.advance('1h')
  expect(deliveries.map(({ body }) => body.request_id)).toEqual([short.body.request_id, long.body.request_id])
})

test('equal seeds, requests and outcomes give equal worlds', async () => {
  const play = async () => {
    const { sim, ask } = webhookWorld([500, 200])
    await ask({ input: 'Rivers', webhook: HOOK })
    await ask({ input: 'Stones', webhook: HOOK })
    await sim.clock.advance('1h')
    return sim.digest
  }
  expect(await play()).toBe(await play())
})

describe('the address of a webhook', () => {
  test.each([
    'http://example.com/hook',
    'https://169.254.169.254/latest/meta-data',
    'http://10.0.0.1/',
    'http://0.0.0.0:8123/',
    'http://localhost.example.com/',
    'http://127.0.0.1.example.com/',
    'http://user:secret@127.0.0.1/',
    'http://user@localhost/',
    'http://hooks.example:81/',
  ])('is refused when it is neither loopback nor allowed: %s', { tags: 'slow' }, async url => {
    const { sim, deliveries, ask } = webhookWorld([200], { webhooks: { allow: ['hooks.example:80'] } })
    const { status, body } = await ask({ input: 'Rivers', webhook: url })
    expect([status, body.error]).toEqual([
      400,
      expect.stringContaining(`webhook ${JSON.stringify(url.replace(/\/\/.*@/, '//(hidden)@'))} is not allowed`),
    ])
    expect(body.error).not.toMatch(/--|flag/)
    await sim.clock.advance('1h')
    expect(deliveries).toEqual([])
  })

  test.each(['ftp://127.0.0.1/', 'hook', '', 'http://', '//127.0.0.1/'])(
    'is 422 when it is not an address: %s',
    async url => {
      const { ask } = webhookWorld()
      const { status, body } = await ask({ input: 'Rivers', webhook: url })
      expect([status, body.detail?.[0].loc]).toEqual([422, ['body', 'webhook']])
    },
  )

  test.each([
    'http://127.0.0.1/',
    'http://127.9.8.7:9000/x?y=1',
    'http://[::1]:8080/',
    'http://[::ffff:127.0.0.1]/',
    'http://localhost:3000/',
    'http://LOCALHOST/',
    'https://hooks.example/any/port',
    'http://hooks.example:8080/',
    'https://ports.example:8443/',
  ])('is accepted when it is loopback or allowed: %s', { tags: 'slow' }, async url => {
    const deliveries: string[] = []
    const deliver: DeliverWebhook = async target => {
      deliveries.push(target)
      return { status: 200 }
    }
    const { sim, ask } = webhookWorld([200], { webhooks: { allow: ['hooks.example', 'ports.example:8443'], deliver } })
    expect((await ask({ input: 'Rivers', webhook: url })).status).toBe(200)
    await sim.clock.advance('1h')
    expect(deliveries).toEqual([url])
  })

  test('is refused before any request when a snapshot brings one that is not allowed here', async () => {
    const { sim, ask } = webhookWorld([200], { webhooks: { allow: ['hooks.example'] } })
    await ask({ input: 'Rivers', webhook: 'http://hooks.example/' })
    const deliveries: string[] = []
    const other = createSimulator({
      fixtures: sim.snapshot(),
      webhooks: {
        deliver: async url => {
          deliveries.push(url)
          return { status: 200 }
        },
      },
    })
    await other.clock.advance('1h')
    expect(deliveries).toEqual([])
    expect(webhookEntries(other).slice(0, 2)).toEqual([
      ['sent', { url: 'http://hooks.example/', attempt: 1 }],
      ['failed', { reason: 'its host hooks.example is unknown', attempt: 1 }],
    ])
  })

  test.each([
    [{ allow: 'hooks.example' }],
    [{ allow: ['http://hooks.example'] }],
    [{ allow: ['hooks.example:99999'] }],
    [{ allow: [''] }],
    [{ deliver: 'fetch' }],
    [{ hosts: [] }],
  ])('needs a valid option: %j', webhooks => {
    expect(() => createSimulator({ webhooks: webhooks as never })).toThrow(
      /^Failed to make a simulator: webhooks is .*Give \{ allow, deliver \}/,
    )
  })
})

describe('a result that is not delivered yet', () => {
  test('stops time at each attempt also in a simulator that continues from a snapshot', async () => {
    const { sim, ask } = webhookWorld()
    await ask({ input: 'Rivers', webhook: HOOK })
    const continued = webhookWorld([500, 200], { fixtures: sim.snapshot(), seed: undefined } as never)
    await continued.sim.clock.advance('10m')
    const [first, second] = continued.deliveries
    expect(second!.at - first!.at).toBeCloseTo(10, 0)
  })

  test('survives a snapshot, and is delivered by the simulator that continues', async () => {
    const { sim, deliveries, ask } = webhookWorld()
    const { body } = await ask({ input: 'Rivers', webhook: HOOK })
    const continued = webhookWorld([200], { fixtures: sim.snapshot(), seed: undefined } as never)
    await continued.sim.clock.advance('1h')
    expect(continued.deliveries.map(delivery => delivery.body.request_id)).toEqual([body.request_id])
    expect(deliveries).toEqual([])
  })

  test('is delivered by a fork too, and by the origin once', async () => {
    const { sim, deliveries, ask } = webhookWorld()
    await ask({ input: 'Rivers', webhook: HOOK })
    const fork = sim.fork()
    await fork.clock.advance('1h')
    expect(deliveries).toHaveLength(1)
    await sim.clock.advance('1h')
    expect(deliveries).toHaveLength(2)
  })

  test('is not sent by copies of the world that run ahead', async () => {
    const { sim, deliveries, ask } = webhookWorld()
    await ask({ input: 'Rivers', webhook: HOOK })
    const ahead = sim.world.fork()
    ahead.runTo(3_600_000_000)
    expect(ahead.journal.entries().map(({ kind }) => kind)).toContain('webhook.sent')
    await Promise.resolve()
    expect(deliveries).toEqual([])
  })

  test('is sent again by a restored simulator when its attempt was under way', async () => {
    let settle = (_: { status: number }) => {}
    const bodies: string[] = []
    const { sim, ask } = webhookWorld([200], {
      webhooks: {
        deliver: (_, { body }) => {
          bodies.push(body)
          return new Promise(resolve => {
            settle = resolve
          })
        },
      },
    })
    await ask({ input: 'Rivers', webhook: HOOK })
    const move = sim.clock.advance('1h')
    while (bodies.length === 0) await new Promise(setImmediate)
    const snapshot = sim.snapshot()
    settle({ status: 200 })
    await move
    expect(webhookEntries(sim).map(([kind]) => kind)).toEqual(['sent', 'delivered'])
    sim.restore(snapshot)
    while (bodies.length === 1) await new Promise(setImmediate)
    expect(bodies[1]).toBe(bodies[0])
    settle({ status: 200 })
    await sim.clock.advance('1h')
    expect(webhookEntries(sim).map(([kind]) => kind)).toEqual(['delivered'])
  })

  test('is lost with its world when the simulator is reset or disposed', async () => {
    const { sim, deliveries, ask } = webhookWorld()
    await ask({ input: 'Rivers', webhook: HOOK })
    sim.reset()
    await sim.clock.advance('1h')
    expect(deliveries).toEqual([])
    await ask({ input: 'Rivers', webhook: HOOK })
    await sim[Symbol.asyncDispose]()
    await sim.clock.advance('1h')
    expect(deliveries).toEqual([])
  })

  test('has its attempt aborted when the simulator is disposed, and keeps the process alive until then', async () => {
    let signal: AbortSignal | undefined
    const { sim, ask } = webhookWorld([200], {
      webhooks: {
        deliver: (_, init) => {
          signal = init.signal
          return new Promise(() => {})
        },
      },
    })
    await ask({ input: 'Rivers', webhook: HOOK })
    const move = sim.clock.advance('1h').catch((error: unknown) => error)
    while (signal === undefined) await new Promise(setImmediate)
    const before = countHeldTimers()
    await sim[Symbol.asyncDispose]()
    expect(signal.aborted).toBe(true)
    await move
    // Nothing but microtasks has run since, so no other timer has ended.
    expect(countHeldTimers()).toBe(before - 1)
    expect(webhookEntries(sim).map(([kind]) => kind)).toEqual(['sent'])
  })
})

describe('the clock', () => {
  test('jumps to a result in the mode idle', async () => {
    const { deliveries, ask } = webhookWorld([500, 200], { clock: { mode: 'idle', after: 1 } as never })
    await ask({ input: 'Rivers', webhook: HOOK })
    while (deliveries.length < 2) await new Promise(setImmediate)
    expect(deliveries[1]!.at - deliveries[0]!.at).toBeCloseTo(10, 5)
  })

  test('runs to a result in the mode scaled, without another request', async () => {
    const { sim, deliveries, ask } = webhookWorld([200], { clock: { mode: 'scaled', speed: 100_000 } })
    await ask({ input: 'Rivers', webhook: HOOK })
    while (deliveries.length < 1) await new Promise(setImmediate)
    expect(deliveries[0]!.body.inference_status.status).toBe('succeeded')
    await sim[Symbol.asyncDispose]()
  })

  test('stays during an attempt, whose receiver may ask the service', async () => {
    const seen: string[] = []
    const { sim, ask } = webhookWorld([200], {
      webhooks: {
        deliver: async () => {
          const response = await sendTo(sim, 'GET /v1/me')
          seen.push(`${response.status} ${sim.clock.elapsed === sim.journal.entries().at(-1)!.time}`)
          return { status: 200 }
        },
      },
    })
    await ask({ input: 'Rivers', webhook: HOOK })
    await sim.clock.advance('1h')
    expect(seen).toEqual(['200 true'])
  })
})

test('the profile setting of attempts cannot be 0', () => {
  expect(() => createSimulator({ profile: { timings: { webhook_attempts: 0 } } })).toThrow(/webhook_attempts/)
})
