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
    for (const field of ['requests', 'errors', 'input_tokens', 'output_tokens', 'total_tokens'] as const) {
      expect([field, parts.reduce((sum, part) => sum + part[field], 0)]).toEqual([field, whole[field]])
    }
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
    const cut = { model: 'acme/chat', prefix: 'x-', token: 't', hash: 'h', promptTokens: 7, answerTokens: 90 }
    sim.world.inferenceRequests.submit({ ...cut, longestAnswer: 90 }, findModelTarget(sim.world, 'acme/chat')!)
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
      sim.world.history.onRequestArrived(row())
      sim.world.history.onRequestEnded(row(), 'served', { prompt: 3, answer: 5, time: milliseconds * 1000 })
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
        sim.world.history.onRequestArrived(row())
        sim.world.history.onRequestEnded(row(), 'served', { prompt: 3, answer: 5, time: 500_000 })
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
    expect(await issues(stats({ from: 'soon', to: 'later' }))).toEqual([
      'query/from value_error',
      'query/to value_error',
    ])
    expect(await issues(stats({ to: 'now-6h' }))).toEqual(['query/from value_error'])
    expect(await issues(api.getDeploymentStats({ deploy_id } as never))).toEqual(['query/from missing'])
  })
})
