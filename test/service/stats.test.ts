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
    api.getDeploymentStats({ deploy_id, ...window })
  return { sim, api, deploy_id, stats }
}

describe('stats of a deployment', () => {
  test('match its load', async () => {
    const { sim, deploy_id, stats } = loaded()
    await sim.clock.advance('2h')
    const { series, serving, utilisation, ...rest } = await stats({ from: 'now-1h' })
    expect(rest).toEqual({
      deploy_id,
      from: EPOCH + 3600,
      to: EPOCH + 7200,
      requests: { waiting_before: 0, arrived: 72_000, served: 72_000, refused: 0, failed: 0, left: 0, waiting: 0 },
      tokens: { input: 36_000_000, output: 14_400_000 },
      instance_seconds: 3600,
      cost_usd: 2.2,
    })
    expect(utilisation).toBeCloseTo(20 / 36.7, 2)
    expect(serving).toMatchObject({ tokens_per_second: 4000 })
    expect(series).toHaveLength(60)
    expect(series.map(({ served }) => served)).toEqual(Array(60).fill(1200))
    expect(series.at(-1)).toMatchObject({ time: sim.clock.iso, ready: 1, pending: 0, arrival_rate: 20, backlog: 0 })
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
    const sum = (of: (part: (typeof parts)[number]) => number) => parts.reduce((all, part) => all + of(part), 0)
    expect(whole.requests).toMatchObject({ served: sum(p => p.requests.served), refused: sum(p => p.requests.refused) })
    expect(whole.tokens).toEqual({ input: sum(p => p.tokens.input), output: sum(p => p.tokens.output) })
    expect(whole.cost_usd).toBeCloseTo(
      sum(p => p.cost_usd),
      7,
    )
    expect(whole.instance_seconds).toBeCloseTo(
      sum(p => p.instance_seconds),
      6,
    )
    expect(whole.requests.refused).toBeGreaterThan(0)
    expect(Math.max(...whole.series.map(point => point.ready))).toBeGreaterThan(1)
    const all = whole.series.reduce((served, point) => served + point.served, 0)
    expect(all).toBe(whole.requests.served)
    expect(whole.tokens.output / whole.requests.served).toBeCloseTo(150, 1)
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
    const { requests, tokens, series } = await stats({ from: EPOCH + 3600 - 1 })
    const offered = 20 * 181
    expect(requests).toMatchObject({ arrived: offered + 4, served: offered + 3, refused: 0, failed: 1, waiting: 0 })
    expect(tokens).toEqual({ input: offered * 500 + input + 7, output: offered * 200 + output })
    expect(series.reduce((sum, { served }) => sum + served, 0)).toBe(offered + 3)
    expect((await stats({ from: EPOCH, to: EPOCH + 3000 })).requests).toMatchObject({ served: 60_000, failed: 0 })
    await sim.clock.advance('2m')
    const { entries } = await api.queryLogs({ deploy_id, from: 'now-1m' })
    expect(entries.at(-1)![1]).toMatch(/^WARNING last 5m: 36\d\d requests served, \d+ refused, 1 cut off, 1000 waiting/)
    const fork = sim.fork()
    const there = createClient(fork.fetch, { baseUrl: 'http://fork', token: fork.token })
    expect((await there.getDeploymentStats({ deploy_id })).requests.failed).toBe(1)
  })

  test('use memory that grows with time, not with requests', async () => {
    const { sim, deploy_id, stats } = loaded(null)
    const row = () => sim.world.deployments.writable(sim.world.deployments.ordinalOf(deploy_id)!)
    for (let second = 0; second < 60; second++) {
      for (let i = 0; i < 10; i++) {
        sim.world.history.onRequestArrived(row())
        sim.world.history.onRequestEnded(row(), 'served', { prompt: 3, answer: 5 })
      }
      await sim.clock.advance('1s')
    }
    expect(row().lastRequestsLine).toBe(4)
    expect(await stats({ from: EPOCH })).toMatchObject({
      requests: { served: 600 },
      tokens: { input: 1800, output: 3000 },
    })
    // Counts are exact to ten seconds.
    expect((await stats({ from: EPOCH, to: EPOCH + 20 })).requests.served).toBe(200)
    expect((await stats({ from: EPOCH + 20, to: EPOCH + 60 })).requests.served).toBe(400)
  })

  test('without a load have no requests, but the rent', async () => {
    const { sim, api, deploy_id, stats } = loaded(null)
    await sim.clock.advance('10h')
    expect(await stats()).toMatchObject({
      from: EPOCH + 5 * 3600,
      to: EPOCH + 10 * 3600,
      requests: { arrived: 0 },
      tokens: { input: 0, output: 0 },
      serving: null,
      cost_usd: 11,
      instance_seconds: 18_000,
    })
    await api.deleteDeployment({ deploy_id })
    await sim.clock.advance('10h')
    expect(await stats({ from: 'now-2h' })).toMatchObject({ cost_usd: 0, instance_seconds: 0, series: [] })
    expect((await stats({ from: 0 })).cost_usd).toBeGreaterThan(21.9)
    expect(await stats({ from: 'now', to: 'now' })).toMatchObject({ cost_usd: 0, series: [] })
  })

  test('do not count requests that are refused at once', async () => {
    const { sim, api, deploy_id, stats } = loaded(null)
    const messages = [{ role: 'user' as const, content: 'Hi' }]
    await api.createChatCompletion({ model: 'acme/chat', messages })
    await api.stopDeployment({ deploy_id })
    const asked = await refused(api.createChatCompletion({ model: 'acme/chat', messages }))
    expect(asked).toEqual([404, 'model does not exist: acme/chat'])
    await sim.clock.advance('1m')
    expect((await stats()).requests).toMatchObject({ arrived: 1, served: 1, refused: 0, failed: 0 })
  })

  test('refuse invalid windows', async () => {
    const { api, stats } = loaded()
    expect(await refused(api.getDeploymentStats({ deploy_id: 'nope' }))).toEqual([404, 'no deployment nope'])
    expect(await issues(stats({ from: 'soon', to: 'later' }))).toEqual([
      'query/from value_error',
      'query/to value_error',
    ])
    expect(await issues(stats({ to: 'now-6h' }))).toEqual(['query/from value_error'])
  })
})
