import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/service/client/client.ts'
import { findModelTarget } from '../../src/simulation/deployments/model-lookup.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { issues, refused } from './service-world.ts'

const EPOCH = 1_767_225_600

function loaded(load: object | null = { kind: 'constant', rps: 20, prompt_tokens: 500, output_tokens: 200 }) {
  const deployments = [{ model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' }, ...(load && { load }) }] as never
  const sim = createSimulator({ fixtures: 'two-nodes', with: { deployments }, check: true })
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  const { deploy_id } = sim.world.deployments.list()[0]!
  const stats = (window: { from?: string | number; to?: string | number } = {}) =>
    api.getDeploymentStats({ deploy_id, from: 'now-5h', ...window })
  return { sim, api, deploy_id, stats }
}

describe('stats of a deployment', () => {
  test('match its load', async () => {
    const { sim, stats } = loaded()
    await sim.clock.advance('2h')
    const { avg_time, avg95_time, total_time, ...counts } = await stats({ from: 'now-1h' })
    expect(counts).toEqual({
      requests: 72_000,
      input_tokens: 36_000_000,
      output_tokens: 14_400_000,
      total_tokens: 50_400_000,
      total_amount: 220,
      errors: 0,
    })
    expect(avg95_time).toBeCloseTo(avg_time, 6)
    expect(total_time).toBe(Math.round((72_000 * avg_time) / 1000))
    expect(avg_time).toBeGreaterThan(500)
    expect(avg_time).toBeLessThan(10_000)
  })

  test('follow refusals, waiting and scaling; adjoining windows add up', async () => {
    const { sim, api, deploy_id, stats } = loaded({
      kind: 'steps',
      steps: [
        { at: '0s', rps: 10 },
        { at: '30m', rps: 90 },
        { at: '90m', rps: 0 },
      ],
      prompt_tokens: 400,
      output_tokens: 150,
    })
    await sim.clock.advance('50m')
    await api.updateDeployment({ deploy_id, settings: { min_instances: 1, max_instances: 4 } })
    await sim.clock.advance('2h')
    const cuts = [0, 1_111, 2_500, 4_000, 10_200].map(second => EPOCH + second)
    const parts = await Promise.all(cuts.slice(1).map((to, i) => stats({ from: cuts[i]!, to })))
    const whole = await stats({ from: EPOCH })
    for (const field of ['requests', 'errors', 'input_tokens', 'output_tokens', 'total_tokens'] as const)
      expect([field, parts.reduce((sum, part) => sum + part[field], 0)]).toEqual([field, whole[field]])
    const amounts = parts.reduce((sum, part) => sum + part.total_amount, 0)
    expect(whole.total_amount - amounts).toBeLessThan(parts.length)
    const times = parts.reduce((sum, part) => sum + part.total_time, 0)
    expect(Math.abs(whole.total_time - times)).toBeLessThanOrEqual(parts.length)
    expect(whole.errors).toBeGreaterThan(0)
    expect(whole.output_tokens / (whole.requests - whole.errors)).toBeCloseTo(150, 1)
  })

  test('count client requests with those of the load, also in logs', async () => {
    const { sim, api, deploy_id, stats } = loaded()
    await sim.clock.advance('1h')
    let [input, output] = [0, 0]
    for (let i = 0; i < 3; i++) {
      const { usage } = await api.createChatCompletion({
        model: 'acme/chat',
        messages: [{ role: 'user', content: `Tell me ${i}.` }],
      })
      input += usage.prompt_tokens
      output += usage.completion_tokens
      await sim.clock.advance('1m')
    }
    const cut = { prefix: 'x-', hash: 'h', promptTokens: 7, answerTokens: 90, longestAnswer: 90 }
    const caller = { model: 'acme/chat', token: 't' }
    sim.world.inferenceRequests.submit(cut, caller, findModelTarget(sim.world, 'acme/chat')!)
    sim.cluster.deployment(deploy_id).crash()
    const offered = 20 * 181
    expect(await stats({ from: EPOCH + 3600 - 1 })).toMatchObject({
      requests: offered + 4,
      errors: 1,
      input_tokens: offered * 500 + input + 7,
      output_tokens: offered * 200 + output,
    })
    expect(await stats({ from: EPOCH, to: EPOCH + 3000 })).toMatchObject({ requests: 60_000, errors: 0 })
    await sim.clock.advance('2m')
    const { entries } = await api.queryLogs({ deploy_id, from: 'now-1m' })
    expect(entries.at(-1)![1]).toMatch(/^WARNING last 5m: 36\d\d requests served, \d+ refused, 1 cut off, 1000 waiting/)
    const fork = sim.fork()
    const there = createClient(fork.fetch, { baseUrl: 'http://fork', token: fork.token })
    const window = { deploy_id, from: EPOCH }
    expect(await there.getDeploymentStats(window)).toEqual(await api.getDeploymentStats(window))
  })

  test('have the times of client requests, with a 95th percentile within 3 %', async () => {
    const { sim, deploy_id, stats } = loaded(null)
    const row = () => sim.world.deployments.writable(sim.world.deployments.ordinalOf(deploy_id)!)
    const end = (milliseconds: number) => {
      sim.world.history.requests.onArrived(row(), sim.clock.elapsed)
      sim.world.history.requests.onEnded(row(), sim.clock.elapsed, 'served', {
        prompt: 3,
        answer: 5,
        time: milliseconds * 1000,
      })
    }
    // 100 requests of 100, 200, … 10,000 ms, in no order.
    for (let i = 0; i < 100; i++) {
      end((((i * 37) % 100) + 1) * 100)
      await sim.clock.advance('1s')
    }
    const { total_time, avg_time, avg95_time } = await stats()
    expect([total_time, avg_time]).toEqual([505, 5050])
    expect(Math.abs(avg95_time - 9500) / 9500).toBeLessThan(0.03)
    const [first, second] = [await stats({ from: EPOCH, to: EPOCH + 50 }), await stats({ from: EPOCH + 50 })]
    expect(Math.abs(first.total_time + second.total_time - 505)).toBeLessThanOrEqual(1)
    const back = createSimulator({ fixtures: sim.snapshot() })
    const there = createClient(back.fetch, { baseUrl: 'http://sim', token: back.token })
    expect(await there.getDeploymentStats({ deploy_id, from: 'now-5h' })).toEqual(await stats())
  })

  test('have the whole time of an answer that a standing clock gives at once', async () => {
    const { sim, api, stats } = loaded(null)
    const messages = [{ role: 'user' as const, content: 'Hi' }]
    const { usage } = await api.createChatCompletion({ model: 'acme/chat', messages, max_tokens: 200 })
    await sim.clock.advance('1m')
    const { avg_time, avg95_time, requests } = await stats()
    expect(requests).toBe(1)
    // More than 2 ms and less than 100 ms a token.
    expect(avg_time / usage.completion_tokens).toBeGreaterThan(2)
    expect(avg_time / usage.completion_tokens).toBeLessThan(100)
    expect(Math.abs(avg95_time / avg_time - 1)).toBeLessThan(0.03)
  })

  test('use memory that grows with time, not with requests', async () => {
    const { sim, deploy_id, stats } = loaded(null)
    const row = () => sim.world.deployments.writable(sim.world.deployments.ordinalOf(deploy_id)!)
    for (let second = 0; second < 60; second++) {
      for (let i = 0; i < 10; i++) {
        sim.world.history.requests.onArrived(row(), sim.clock.elapsed)
        sim.world.history.requests.onEnded(row(), sim.clock.elapsed, 'served', { prompt: 3, answer: 5, time: 500_000 })
      }
      await sim.clock.advance('1s')
    }
    expect([row().lastRequestsLine, row().requests.timesLine]).toEqual([4, 4])
    expect(await stats({ from: EPOCH })).toMatchObject({ requests: 600, input_tokens: 1800, output_tokens: 3000 })
    // Counts are exact to ten seconds.
    expect((await stats({ from: EPOCH, to: EPOCH + 20 })).requests).toBe(200)
    expect((await stats({ from: EPOCH + 20, to: EPOCH + 60 })).requests).toBe(400)
  })

  test('without a load have no requests, but the rent, and are 410 after the deletion', async () => {
    const { sim, api, deploy_id, stats } = loaded(null)
    await sim.clock.advance('10h')
    const none = { requests: 0, total_time: 0, total_tokens: 0, input_tokens: 0, output_tokens: 0 }
    expect(await stats()).toEqual({ ...none, total_amount: 1100, avg_time: 0, avg95_time: 0, errors: 0 })
    expect(await stats({ from: 'now', to: 'now' })).toMatchObject({ total_amount: 0 })
    await api.deleteDeployment({ deploy_id })
    expect(await refused(stats())).toEqual([410, `deployment ${deploy_id} is deleted`])
  })

  test('do not count requests that are refused at once', async () => {
    const { sim, api, deploy_id, stats } = loaded(null)
    const messages = [{ role: 'user' as const, content: 'Hi' }]
    await api.createChatCompletion({ model: 'acme/chat', messages })
    await api.stopDeployment({ deploy_id })
    const asked = await refused(api.createChatCompletion({ model: 'acme/chat', messages }))
    expect(asked).toEqual([404, 'model does not exist: acme/chat'])
    await sim.clock.advance('1m')
    expect(await stats()).toMatchObject({ requests: 1, errors: 0 })
  })

  test('refuse invalid windows', async () => {
    const { api, deploy_id, stats } = loaded()
    const unknown = api.getDeploymentStats({ deploy_id: 'nope', from: 'now-5h' })
    expect(await refused(unknown)).toEqual([404, 'no deployment nope'])
    const expected = ['query/from value_error', 'query/to value_error']
    expect(await issues(stats({ from: 'soon', to: 'later' }))).toEqual(expected)
    expect(await issues(stats({ to: 'now-6h' }))).toEqual(['query/from value_error'])
    expect(await issues(api.getDeploymentStats({ deploy_id } as never))).toEqual(['query/from missing'])
  })
})

test('stats of the whole account are the sums of the stats of its deployments, also after a deletion', {
  tags: 'slow',
}, async () => {
  const sim = createSimulator({ seed: 1, check: true })
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  const chat = (model: string) =>
    api.createChatCompletion({ model, messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 5 })
  await Promise.all([chat('acme/assistant'), chat('acme/assistant-support-tone'), sim.clock.advance('5m')])
  for (const from of ['now-40d', 'now-1h']) {
    const deployments = (await api.listDeployments({})).filter(({ status }) => status !== 'deleted')
    const expected = new Map<string, number>()
    for (const { deploy_id, model_name } of deployments)
      expected.set(model_name, (await api.getDeploymentStats({ deploy_id, from })).requests)
    // The history has requests to a deployment that was deleted before the epoch.
    if (from === 'now-40d') expected.set('acme/prototype', 310)
    const stats = await api.getAccountStats({ from })
    expect(new Map(stats.map(({ model_name, requests }) => [model_name, requests]))).toEqual(expected)
    expect(stats.map(({ model_name }) => model_name)).toEqual([...expected.keys()].sort())
  }
  const assistant = async (from: string) =>
    (await api.getAccountStats({ from })).find(({ model_name }) => model_name === 'acme/assistant')?.requests
  expect(await assistant(String(EPOCH))).toBe(2)
  const before = await assistant('now-40d')
  await api.deleteDeployment({ deploy_id: '2cZeTxVFN7tKxCCh' })
  expect(await assistant('now-40d')).toBe(before)
  await sim.clock.advance('2h')
  expect(await assistant('now-1h')).toBeUndefined()
  expect(await issues(api.getAccountStats({ from: 'soon' }))).toEqual(['query/from value_error'])
})

test('stats of a reference to the catalog count the requests with its deploy_id alone', async () => {
  const sim = createSimulator({ seed: 1, check: true })
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  const deploy_id = 'NXbeHeMeJT6BGzJR'
  const chat = async (model: string) => {
    const answer = api.createChatCompletion({ model, messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 5 })
    await sim.clock.advance('1m')
    return (await answer).usage
  }
  await chat('aurora-labs/aurora-8b-instruct')
  const stats = () => api.getDeploymentStats({ deploy_id, from: 'now-1h' })
  expect((await stats()).requests).toBe(0)
  const { prompt_tokens, completion_tokens } = await chat(`deploy_id:${deploy_id}`)
  expect(await stats()).toMatchObject({
    ...{ requests: 1, errors: 0, total_amount: 0 },
    ...{ input_tokens: prompt_tokens, output_tokens: completion_tokens },
  })
  expect((await stats()).avg_time).toBeGreaterThan(0)
})

test('the cost of a window across the epoch loses no cent at the epoch', async () => {
  const sim = createSimulator({ seed: 1, check: true })
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  await sim.clock.advance('1h')
  const cents = async (from: number, to: number) =>
    (await api.getDeploymentStats({ deploy_id: '2cZeTxVFN7tKxCCh', from: EPOCH + from, to: EPOCH + to })).total_amount
  // Two H100 at 220 cents an hour each: 11 cents in 90 seconds.
  for (const before of [1, 10, 44, 89, 90]) expect([before, await cents(-before, 90 - before)]).toEqual([before, 11])
})

describe('GET /deploy/{deploy_id}/stats2', () => {
  test('has the times of language models to the first token and between tokens', async () => {
    const { sim, api, deploy_id, stats } = loaded()
    await sim.clock.advance('1h')
    const { llm, embeddings, time } = await api.getDetailedDeploymentStats({ deploy_id, from: 'now-1h' })
    expect([embeddings, time]).toEqual([null, null])
    const main = await stats({ from: 'now-1h' })
    expect(llm).toMatchObject({
      ...{ requests: main.requests, input_tokens: main.input_tokens, output_tokens: main.output_tokens },
      ...{ total_amount_cents: main.total_amount, errors: main.errors },
    })
    // The time of a request is that to its first token, and 199 times that between two tokens.
    expect(llm!.avg_ttft_ms + 199 * llm!.avg_tpt_ms).toBeCloseTo(main.avg_time, 3)
    expect(llm!.avg95_tpt_ms).toBeCloseTo(llm!.avg_tpt_ms, 6)
  })

  test('has the times of client requests within 3 %', async () => {
    const { sim, api, deploy_id } = loaded(null)
    const row = () => sim.world.deployments.writable(sim.world.deployments.ordinalOf(deploy_id)!)
    for (let i = 1; i <= 100; i++) {
      sim.world.history.requests.onArrived(row(), sim.clock.elapsed)
      const work = { prompt: 3, answer: 5, time: 900_000, firstTokenTime: i * 10_000, tokenTime: i * 100 }
      sim.world.history.requests.onEnded(row(), sim.clock.elapsed, 'served', work)
      await sim.clock.advance('1s')
    }
    const { llm } = await api.getDetailedDeploymentStats({ deploy_id, from: 'now-1h' })
    const near = (value: number, expected: number) => expect(Math.abs(value / expected - 1)).toBeLessThan(0.03)
    near(llm!.avg_ttft_ms, 505)
    near(llm!.avg95_ttft_ms, 950)
    near(llm!.avg_tpt_ms, 5.05)
    near(llm!.avg95_tpt_ms, 9.5)
  })

  test('has the figures of embeddings by input token, and those of other tasks by time', async () => {
    const sim = createSimulator({ seed: 1, check: true })
    const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
    const embedder = await api.deployModel({ model_name: 'aurora-labs/aurora-embed-large' })
    const speech = await api.deployModel({ model_name: 'larkspur-audio/lark-tts-1' })
    await sim.clock.advance('10m')
    const answer = api.createEmbeddings({ model: `deploy_id:${embedder.deploy_id}`, input: 'A river in spring.' })
    await sim.clock.advance('50m')
    await answer
    const from = 'now-1h'
    const main = await api.getDeploymentStats({ ...embedder, from })
    const detailed = await api.getDetailedDeploymentStats({ ...embedder, from })
    expect(detailed).toMatchObject({ llm: null, time: null, embeddings: { requests: 1, errors: 0 } })
    expect(detailed.embeddings!.avg_tpt_ms * main.input_tokens).toBeCloseTo(main.avg_time, 3)
    const { time } = await api.getDetailedDeploymentStats({ ...speech, from })
    const { total_amount } = await api.getDeploymentStats({ ...speech, from })
    expect(total_amount).toBeGreaterThan(20)
    expect(time).toEqual({
      ...{ requests: 0, total_time_s: 0, avg_time_ms: 0, avg95_time_ms: 0, errors: 0 },
      total_amount_cents: total_amount,
    })
  })

  test('is refused like the stats', async () => {
    const { api, deploy_id } = loaded()
    const call = (id: string) => refused(api.getDetailedDeploymentStats({ deploy_id: id, from: 'now-1h' }))
    expect(await call('none')).toEqual([404, 'no deployment none'])
    await api.deleteDeployment({ deploy_id })
    expect(await call(deploy_id)).toEqual([410, `deployment ${deploy_id} is deleted`])
  })
})
