/** Serving of requests: places, queues, wake-up, loss of an instance, clients that abort. */
import { describe, expect, test } from 'vitest'
import { formatReport } from '../../../src/cli/report-text.ts'
import { createSimulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { sendTo } from '../../setup/send-to.ts'
import { batchOf, CATALOG, many } from '../../simulation/batch-world.ts'
import { HELLO, type OpenaiWorld, openaiWorld } from './openai-world.ts'

const ASK = { model: 'acme/chat', messages: HELLO }

function stream({ sim }: OpenaiWorld, signal?: AbortSignal, body: object = ASK): Promise<Response> {
  return sendTo(sim, 'POST /v1/chat/completions', { ...body, stream: true }, signal && { signal })
}

/** A world with inferencePace clock. */
const paced = (options: SimulatorOptions = {}) => openaiWorld({ inferencePace: 'clock', ...options })

describe('an instance', () => {
  test('answers one request per place; further requests wait in order', async () => {
    const one = paced()
    const answers = Array.from({ length: 6 }, (_, n) =>
      one.client.chat.completions.create({ ...ASK, messages: [{ role: 'user', content: `Number ${n}` }] }),
    )
    const done: number[] = []
    for (const [n, answer] of answers.entries()) answer.then(() => done.push(n))
    await one.sim.clock.advance('1ms')
    expect(one.sim.world.inferenceRequests.countsOfDeployment(0)).toEqual({ running: 4, waiting: 2 })
    expect(done).toEqual([])
    await one.sim.clock.advance('30s')
    expect(done).toHaveLength(6)
    expect(one.inferenceKinds()).toEqual([...Array(2).fill('queued'), ...Array(6).fill('served')])
    expect(one.sim.world.inferenceRequests.inFlightCount).toBe(0)
  })

  test('takes longer to the first token when it is busy, and longer for each token of a larger model', {
    tags: 'slow',
  }, async () => {
    const timesOf = async (options: SimulatorOptions, others: number) => {
      const one = paced(options)
      for (let i = 0; i < others; i++) (await stream(one)).body!.getReader()
      const from = one.sim.clock.elapsed
      const times: number[] = []
      const reader = (await stream(one, undefined, { ...ASK, max_tokens: 40 })).body!.getReader()
      const read = (async () => {
        for (let piece = await reader.read(); !piece.done; piece = await reader.read())
          times.push(one.sim.clock.elapsed - from)
      })()
      await one.sim.clock.advance('1m')
      await read
      return { first: times[0]!, each: (times.at(-1)! - times[0]!) / 39 }
    }
    const alone = await timesOf({}, 0)
    // The engine alone: 19.5 ms before it and one step, then 7 ms per token.
    expect(alone.first / 1000).toBeCloseTo(26.7, 0)
    expect(alone.each / 1000).toBeCloseTo(7.1, 0)
    // Half a step more: the rest of the one that runs.
    const busy = await timesOf({}, 3)
    expect((busy.first - alone.first) / 1000).toBeCloseTo(3.6, 0)
    const weights = { repo: 'acme/chat-70b' }
    const deployments = [{ model_name: 'acme/chat', num_gpus: 8, max_batch_size: 4, weights }]
    const large = await timesOf({ with: { deployments: deployments as never } }, 0)
    expect(large.each).toBeGreaterThan(alone.each * 1.2)
  })

  test('breaks its answers when it is lost; waiting requests go to another instance', async () => {
    const one = paced()
    const [{ deploy_id }] = (await one.ask('/deploy/list')).body
    const answer = await stream(one)
    const text = answer.text().then(
      () => 'whole',
      (error: Error) => `${error.message}: ${(error.cause as { code?: string }).code}`,
    )
    const whole = one.client.chat.completions.create(ASK).then(
      () => 'whole',
      (error: { status: number; headers: Headers }) => [error.status, error.headers.get('retry-after')],
    )
    await one.sim.clock.advance('200ms')
    one.sim.cluster.nodeOf(deploy_id).crash()
    expect(await text).toBe('terminated: UND_ERR_SOCKET')
    expect(await whole).toEqual([503, '1'])
    expect(one.inferenceKinds()).toEqual(['broken', 'broken'])
    const next = one.client.chat.completions.create(ASK)
    await one.sim.clock.advance('30m')
    expect((await next).choices).toHaveLength(1)
  })
})

describe('a request is refused', () => {
  test('when it exceeds the requests in flight of a token and model, or the queue', async () => {
    const limits = { requests_in_flight: 5, queue_per_deployment: 1 }
    const one = paced({ profile: { extends: 'realistic', limits } as never })
    const open = await Promise.all(Array.from({ length: 4 }, () => stream(one)))
    const waiting = stream(one)
    await one.sim.clock.advance('1us')
    const digest = one.sim.digest
    const sixth = await stream(one)
    const expected = [429, '5 requests to acme/chat are in flight with this token']
    expect([sixth.status, (await sixth.json()).error.message]).toEqual(expected)
    expect(sixth.headers.get('retry-after')).toBe('1')
    // Every spelling means the same model.
    const [{ deploy_id }] = (await one.ask('/deploy/list')).body
    for (const model of ['chat', `deploy_id:${deploy_id}`]) {
      const more = await stream(one, undefined, { ...ASK, model })
      const expected = [429, `5 requests to ${model} are in flight with this token`]
      expect([more.status, (await more.json()).error.message]).toEqual(expected)
    }
    expect(one.sim.digest).toBe(digest)
    const { token: other } = one.sim.world.apiTokens.create('another')
    const queued = await one.sim.fetch('http://sim/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${other}` },
      body: JSON.stringify(ASK),
    })
    expect([queued.status, (await queued.json()).error.message]).toEqual([429, '1 requests wait for acme/chat already'])
    await open[0]!.body!.cancel()
    expect((await waiting).status).toBe(200)
  })
})

describe('a sleeping deployment', () => {
  const SLEEPS = { deployments: [{ model_name: 'acme/chat', settings: { min_instances: 0, max_instances: 2 } }] }

  test('is woken by a request, which waits for the cold start, and sleeps again', async () => {
    const one = openaiWorld({ with: SLEEPS })
    await one.sim.clock.advance('10m')
    const [{ instances, status }] = (await one.ask('/deploy/list')).body
    expect([instances, status]).toEqual([{ running: 0, pending: 0 }, 'running'])
    const answer = one.client.chat.completions.create(ASK)
    await one.sim.clock.advance('20m')
    expect((await answer).choices).toHaveLength(1)
    expect((await one.ask('/deploy/list')).body[0].instances.running).toBe(0)
    expect(one.inferenceKinds()).toEqual(['queued', 'served'])
  })

  test('answers 429 and stays unchanged when the GPU limit allows no instance', async () => {
    const one = openaiWorld({ with: SLEEPS })
    await one.sim.clock.advance('10m')
    one.sim.cluster.limit.set('H100-80GB', 0)
    const digest = one.sim.digest
    const { status, body, headers } = await one.ask('/v1/chat/completions', ASK)
    expect([status, body.error.message]).toEqual([429, expect.stringContaining('the limit of H100-80GB is reached')])
    expect(headers.get('retry-after')).toBe('10')
    expect(one.sim.digest).toBe(digest)
  })
})

test('requests in flight scale a deployment like a load, until they end', {
  tags: 'slow',
  timeout: 20_000,
}, async () => {
  const settings = { min_instances: 1, max_instances: 3 }
  const one = paced({
    profile: 'quick',
    with: { deployments: [{ model_name: 'acme/chat', max_batch_size: 4, settings }] },
  })
  const clients = Array.from({ length: 8 }, async () => {
    for (let i = 0; i < 40; i++) await one.client.chat.completions.create(ASK)
  })
  await one.sim.clock.advance('15s')
  expect((await one.ask('/deploy/list')).body[0].instances.running).toBe(3)
  await one.sim.clock.advance('20m')
  await Promise.all(clients)
  expect((await one.ask('/deploy/list')).body[0].instances.running).toBe(1)
})

describe('a client that aborts', () => {
  test('during a stream releases its place at once', async () => {
    const one = paced()
    const controller = new AbortController()
    const readers = await Promise.all(
      Array.from({ length: 4 }, async () => (await stream(one, controller.signal)).body!.getReader()),
    )
    const waiting = one.client.chat.completions.create(ASK)
    await one.sim.clock.advance('200ms')
    expect(one.sim.world.inferenceRequests.countsOfDeployment(0)).toEqual({ running: 4, waiting: 1 })
    controller.abort()
    for (const reader of readers) await expect(reader.read()).rejects.toThrow('aborted')
    expect(one.sim.world.inferenceRequests.countsOfDeployment(0)).toEqual({ running: 1, waiting: 0 })
    await one.sim.clock.advance('10s')
    await waiting
    expect(one.inferenceKinds()).toEqual(['queued', 'left', 'left', 'left', 'left', 'served'])
  })

  test('while waiting, or before its answer, releases its place', async () => {
    const one = paced()
    const controller = new AbortController()
    const asked = Array.from({ length: 6 }, () =>
      one.client.chat.completions.create(ASK, { signal: controller.signal }).catch(error => error.constructor.name),
    )
    await one.sim.clock.advance('1ms')
    expect(one.sim.world.inferenceRequests.inFlightCount).toBe(6)
    controller.abort()
    expect(await Promise.all(asked)).toEqual(Array(6).fill('APIUserAbortError'))
    expect(one.sim.world.inferenceRequests.inFlightCount).toBe(0)
    // The log has each of them, without an answer.
    expect(one.sim.requests.map(({ operation, status }) => `${operation} ${status}`)).toEqual(
      Array(6).fill('createChatCompletion 0'),
    )
    const entries = one.sim.journal.entries().filter(({ kind }) => kind === 'request')
    expect(entries.map(({ fields }) => fields?.status)).toEqual(Array(6).fill(0))
  })

  test('twenty times leaks nothing', async () => {
    const sim = createSimulator({
      fixtures: 'two-nodes',
      with: { deployments: [{ model_name: 'acme/chat', max_batch_size: 4 }] },
    })
    const one = { sim } as OpenaiWorld
    const planned = sim.world.agenda.size
    for (let i = 0; i < 20; i++) {
      const { body } = await stream(one)
      if (i % 2 === 0) await body!.cancel()
      else {
        const reader = body!.getReader()
        await reader.read()
        await reader.cancel()
      }
    }
    expect(sim.world.inferenceRequests.inFlightCount).toBe(0)
    expect(sim.world.inferenceRequests.countsOfDeployment(0)).toEqual({ running: 0, waiting: 0 })
    // An idle deployment schedules only these events.
    expect(sim.world.agenda.size).toBe(planned)
    expect((await stream(one)).status).toBe(200)
  }, 20_000)
})

test('a fork continues requests in flight without their clients', { tags: 'slow' }, async () => {
  const one = paced()
  const answers = Array.from({ length: 6 }, () => one.client.chat.completions.create(ASK))
  await one.sim.clock.advance('1ms')
  const twin = one.sim.fork()
  await twin.clock.advance('30s')
  expect(twin.world.inferenceRequests.inFlightCount).toBe(0)
  expect(one.sim.world.inferenceRequests.inFlightCount).toBe(6)
  await one.sim.clock.advance('30s')
  expect(twin.digest).toBe(one.sim.digest)
  await Promise.all(answers)
})

test('tokens of catalog models are charged, of their adapters at 1.5 times the price, of own deployments not', async () => {
  const model = 'aurora-labs/aurora-8b-instruct'
  const deployments = [
    {
      model_name: 'acme/tuned',
      type: 'lora' as const,
      base_model: model,
      source: { type: 'modelhub', modelhub_url: 'acme/tuned' },
      status: 'running' as const,
    },
  ]
  const one = openaiWorld({ fixtures: 'default', with: { deployments: deployments as never } })
  const cost = async (name: string) => {
    const before = one.sim.ledger.balance
    const { usage } = await one.client.chat.completions.create({ model: name, messages: HELLO, max_tokens: 50 })
    return { cost: before - one.sim.ledger.balance, usage: usage! }
  }
  const base = await cost(model)
  const offered = one.sim.world.store.hardware.get(model)!.hardware.find(({ type }) => type === 'serverless') as never
  const { cents_per_million_input_tokens: input, cents_per_million_output_tokens: output } = (
    offered as { pricing: Record<string, number> }
  ).pricing as Record<string, number>
  const expected = (share: number, { prompt_tokens, completion_tokens }: typeof base.usage) =>
    share * (prompt_tokens * input! + completion_tokens * output!)
  expect(base.cost).toBe(Math.floor(expected(1, base.usage)))
  const adapter = await cost('acme/tuned')
  expect(Math.abs(adapter.cost - expected(1.5, adapter.usage))).toBeLessThan(2)
  expect((await cost('acme/assistant')).cost).toBe(0)
})

test('the report and its series count client requests, those cut off as failed', async () => {
  const one = paced()
  const [{ deploy_id }] = (await one.ask('/deploy/list')).body
  const answers = [1, 2].map(() => one.client.chat.completions.create(ASK))
  await one.sim.clock.advance('1m')
  await Promise.all(answers)
  const lost = one.client.chat.completions.create(ASK).catch(() => {})
  await one.sim.clock.advance('100ms')
  one.sim.cluster.nodeOf(deploy_id).crash()
  await lost
  await one.sim.clock.advance('1m')
  const { deployments, totals, series } = one.sim.report({ step: '30s' })
  const requests = { waiting_before: 0, arrived: 3, served: 2, refused: 0, failed: 1, left: 0, waiting: 0 }
  expect([deployments[0]!.requests, totals.requests]).toEqual([requests, requests])
  const inAll = (what: 'served' | 'failed' | 'left') => series!.reduce((sum, step) => sum + step[what], 0)
  expect([inAll('served'), inAll('failed'), inAll('left')]).toEqual([2, 1, 0])
})

test('the report counts tokens by deployment and in total, with aborted requests, and windows add up', async () => {
  const one = paced()
  const [{ deploy_id }] = (await one.ask('/deploy/list')).body
  const first = one.client.chat.completions.create(ASK)
  await one.sim.clock.advance('1m')
  const { usage } = await first
  const expected = { input: usage!.prompt_tokens, output: usage!.completion_tokens }
  expect(one.sim.report().deployments[0]!.tokens).toEqual(expected)
  const middle = one.sim.clock.elapsed
  const controller = new AbortController()
  const busy = await Promise.all(Array.from({ length: 4 }, () => stream(one)))
  const waiting = one.client.chat.completions.create(ASK, { signal: controller.signal }).catch(() => {})
  await one.sim.clock.advance('300ms')
  controller.abort()
  await waiting
  for (const { body } of busy) await body!.cancel()
  await one.sim.clock.advance('1m')
  const { deployments, totals, series } = one.sim.report({ step: '10s' })
  const { tokens, requests } = deployments[0]!
  expect(totals.tokens).toEqual(tokens)
  expect(requests).toMatchObject({ arrived: 6, served: 5, left: 1 })
  expect(series!.reduce((sum, { left }) => sum + left, 0)).toBe(1)
  // Four more prompts, and their answers until the clients aborted.
  expect(tokens.input).toBe(5 * usage!.prompt_tokens)
  expect(tokens.output).toBeGreaterThan(usage!.completion_tokens)
  expect(tokens.output).toBeLessThan(5 * usage!.completion_tokens)
  const [before, after] = [one.sim.report({ to: middle }), one.sim.report({ from: middle })]
  expect(before.totals.tokens.output + after.totals.tokens.output).toBe(tokens.output)
  const stats = (await one.ask(`/deploy/${deploy_id}/stats?from=now-1h`)).body
  expect([stats.input_tokens, stats.output_tokens]).toEqual([tokens.input, tokens.output])
  expect([stats.requests, stats.errors]).toEqual([5, 0])
})

test('a report has tokens of answers and batches by model, exact to the micro-cent', async () => {
  const { sim, client } = openaiWorld()
  const other = 'aurora-labs/aurora-70b-instruct'
  await sim.clock.advance('1s')
  const charged: Record<string, number> = {}
  const ask = async (model: string) => {
    const before = sim.ledger.balance
    await client.chat.completions.create({ model, messages: HELLO, max_tokens: 50 })
    charged[model] = (charged[model] ?? 0) + before - sim.ledger.balance
  }
  for (const model of [CATALOG, other, CATALOG]) await ask(model)
  const asked = sim.clock.elapsed
  const batch = batchOf(sim, many(10))
  await sim.clock.advance('30m')
  const { money } = sim.report()
  const ofBatch = money.tokens.find(({ batch_id }) => batch_id === batch.id)!
  expect(ofBatch).toMatchObject({ model: CATALOG, tokens_microcents: expect.any(Number) })
  const answers = money.tokens.filter(({ batch_id }) => batch_id === null)
  expect(Object.fromEntries(answers.map(one => [one.model, one.tokens_microcents]))).toEqual(charged)
  expect(money.tokens).toHaveLength(3)
  const byModel = Object.fromEntries(money.tokens_by_model.map(one => [one.model, one.tokens_microcents]))
  expect(byModel).toEqual({ [CATALOG]: charged[CATALOG]! + ofBatch.tokens_microcents, [other]: charged[other] })
  expect(money.tokens.reduce((sum, one) => sum + one.tokens_microcents, 0)).toBe(money.tokens_microcents)
  const [first, second] = [sim.report({ to: asked }), sim.report({ from: asked })]
  expect(second.money.tokens).toEqual([ofBatch])
  expect(first.money.tokens_microcents + ofBatch.tokens_microcents).toBe(money.tokens_microcents)
  const text = formatReport(sim.report())
  expect(text).toContain('- tokens of batches and answers')
  expect(text).toContain(`of it ${other}`)
})

test('a request counts as waiting until it ends, and as left when its client aborts before its turn', async () => {
  const one = paced()
  const [{ deploy_id }] = (await one.ask('/deploy/list')).body
  const since = () => one.sim.report().deployments[0]!.requests
  await one.sim.clock.advance('1m')
  const answers = Array.from({ length: 4 }, () => one.client.chat.completions.create(ASK))
  await one.sim.clock.advance('1ms')
  const controller = new AbortController()
  const impatient = one.client.chat.completions.create(ASK, { signal: controller.signal }).catch(() => {})
  await one.sim.clock.advance('100ms')
  expect(since()).toMatchObject({ arrived: 5, served: 0, left: 0, waiting: 5 })
  controller.abort()
  await impatient
  expect(since()).toMatchObject({ arrived: 5, served: 0, left: 1, waiting: 4 })
  await one.sim.clock.advance('5m')
  await Promise.all(answers)
  const over = { waiting_before: 0, arrived: 5, served: 4, refused: 0, failed: 0, left: 1, waiting: 0 }
  expect(since()).toEqual(over)
  expect(one.sim.report().totals.requests).toEqual(over)
  expect(formatReport(one.sim.report())).toMatch(/refused {2}left {2}waiting/)
  const { entries } = (await one.ask(`/v1/logs/query?deploy_id=${deploy_id}`)).body
  expect(entries.map(([, text]: string[]) => text)).toContainEqual(
    expect.stringMatching(/ 4 requests served, 0 refused, 1 left before their turn, 0 waiting/),
  )
})
