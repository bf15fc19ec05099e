import { describe, expect, test } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { createClient } from '../../src/service/client/client.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { batchLine, startBatch } from '../setup/batches.ts'
import { issues, refused } from './service-world.ts'

const H100 = 'H100-80GB'
const EPOCH = 1_767_225_600

function world(options: SimulatorOptions = {}) {
  const sim = createSimulator({ fixtures: 'two-nodes', check: true, ...options })
  return { sim, ...reading(sim) }
}

function reading(sim: Simulator) {
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  const logs = async (
    deploy_id: string,
    query: { from?: string | number; to?: string | number; limit?: number } = {},
  ) => (await api.queryLogs({ deploy_id, ...query })).entries
  const texts = async (deploy_id: string, query = {}) => (await logs(deploy_id, query)).map(([, text]) => text)
  const create = (about: object = {}) =>
    api.createLlmDeployment({
      model_name: 'acme/chat',
      gpu: H100,
      num_gpus: 2,
      hub: { repo: 'acme/chat-8b' },
      ...about,
    })
  return { api, logs, texts, create }
}

describe('the logs of a deployment', () => {
  test('have the steps of a cold start at the times of its states', async () => {
    const { sim, api, create } = world()
    const { deploy_id } = await create()
    await sim.clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'running', { within: '1h' })
    const { entries } = await api.queryDeploymentLogs({ deploy_id })
    expect(Object.keys(entries).sort()).toEqual([`${deploy_id}-0`, `${deploy_id}-controller`])
    const pod = entries[`${deploy_id}-0`]!
    expect(pod.map(([, text]) => text)).toEqual([
      'INFO waiting for 2 H100-80GB on one node',
      expect.stringMatching(/^INFO placed on h100-[ab]?-?\d with 2 of its GPUs after \d+s$/),
      "INFO pulling the provider's image",
      expect.stringMatching(/^INFO container started after \d+m.*; downloading 16\.1 GB of acme\/chat-8b$/),
      expect.stringMatching(/^INFO weights complete after \d+s; loading 16\.1 GB into the memory of 2 H100-80GB$/),
      'INFO weights loaded after 16s; warming up for max_batch_size 96',
      expect.stringMatching(/^INFO ready after .*; serving acme\/chat$/),
    ])
    const events = sim.journal.entries().filter(({ subject }) => subject === `${deploy_id}-0`)
    const at = (micros: number) => (EPOCH + micros / 1_000_000).toFixed(6)
    expect(pod.map(([time]) => time)).toEqual(events.map(({ time }) => at(time)))
    const controller = entries[`${deploy_id}-controller`]!.map(([, text]) => text)
    expect(controller).toEqual([
      'INFO created: acme/chat on 2 H100-80GB an instance',
      'INFO status downloading',
      'INFO status deploying',
      'INFO status running',
    ])
  })

  test('name the cause of a failure: arguments, memory, hub, hardware', { tags: 'slow' }, async () => {
    const { sim, api, texts, create } = world()
    sim.cluster.limit.set(H100, null)
    sim.cluster.hub.gate('acme/closed')
    const crash = await create({ model_name: 'crash', extra_args: ['--max-modl-len', '5'] })
    const memory = await create({ model_name: 'big', num_gpus: 1, hub: { repo: 'acme/chat-405b' } })
    const closed = await create({ model_name: 'closed', hub: { repo: 'acme/closed' } })
    const lost = await create({ model_name: 'lost' })
    await sim.clock.until(async () => (await api.getDeployment(lost)).status === 'running', { within: '1h' })
    const { name } = sim.cluster.nodeOf(lost.deploy_id)
    for (let gpu = 0; gpu < 8; gpu++) sim.cluster.gpu(name, gpu).fail(79)
    await sim.clock.advance('2h')
    expect(await texts(crash.deploy_id)).toContain(
      'ERROR engine exited with code 2: unrecognized arguments: --max-modl-len 5 (did you mean --max-model-len?)',
    )
    for (const [one, reason] of [
      [memory, 'CUDA out of memory'],
      [closed, 'gated and no token was given'],
    ] as const) {
      const { entries } = await api.queryDeploymentLogs(one)
      const { fail_reason } = await api.getDeployment(one)
      expect(fail_reason).toContain(reason)
      const controller = `${one.deploy_id}-controller`
      const pods = Object.keys(entries).filter(pod => pod !== controller)
      expect(pods.flatMap(pod => entries[pod]!.map(([, text]) => text))).toContain(`ERROR ${fail_reason}`)
      expect(entries[controller]!.at(-1)![1]).toBe(`ERROR failed: ${fail_reason}`)
    }
    expect((await texts(lost.deploy_id)).join('\n')).toMatch(/ERROR lost while ready: GPU \d of h100-\S+: XID 79/)
  })

  test('have notices, drains, limits and scaling', async () => {
    const { nodes, ...rest } = loadFixture('two-nodes')
    const pools = nodes.pools.map(pool => ({ ...pool, market: 'spot' as const }))
    const { sim, api, texts, create } = world({ fixtures: { ...rest, nodes: { pools } } })
    const { deploy_id } = await create()
    await sim.clock.advance('30m')
    sim.cluster.limit.set(H100, 2)
    sim.cluster.nodeOf(deploy_id).preempt('2m')
    await sim.clock.advance('1h')
    sim.cluster.nodeOf(deploy_id).drain()
    await sim.clock.advance('1h')
    const lines = await texts(deploy_id, { from: 'now-3h' })
    expect(lines).toContainEqual(expect.stringMatching(/^WARNING h100-\S+ is taken back in 2m$/))
    expect(lines).toContainEqual(expect.stringMatching(/^WARNING h100-\S+ is being drained$/))
    expect(lines).toContain('WARNING no instance is requested: the limit of the account for H100-80GB is reached')
    expect(lines).toContain('INFO draining: no new requests; those in work are finished')
    sim.cluster.limit.set(H100, null)
    await api.updateDeployment({ deploy_id, settings: { min_instances: 2, max_instances: 3 } })
    await api.updateDeployment({ deploy_id, settings: { min_instances: 1, max_instances: 1 } })
    expect((await texts(deploy_id)).slice(-7)).toEqual(
      expect.arrayContaining([
        'INFO min_instances 2, max_instances 3',
        'INFO scaled from 1 to 2 instances',
        'INFO scaled from 2 to 1 instances',
      ]),
    )
  })

  test('count all requests of a load', async () => {
    const load = { kind: 'constant', rps: 60, prompt_tokens: 500, output_tokens: 200 } as const
    const deployments = [{ model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' }, load }]
    const { sim, api, texts } = world({ with: { deployments } })
    const { deploy_id } = (await api.listDeployments())[0]!
    await sim.clock.advance('62m')
    const counts = (await texts(deploy_id)).filter(text => text.includes('requests served'))
    expect(counts).toHaveLength(12)
    // One instance serves 30.0 requests/s. The rest waits until the queue is full, then it is refused.
    expect(counts[0]).toMatch(/^(INFO|WARNING) last 5m: \d{4} requests served, \d+ refused, \d+ waiting; 96 in work, /)
    const sums = counts.map(text =>
      text
        .match(/: (\d+) requests served, (\d+) refused/)!
        .slice(1)
        .map(Number),
    )
    const waiting = Number(counts.at(-1)!.match(/(\d+) waiting/)![1])
    const total = sums.flat().reduce((sum, one) => sum + one, waiting)
    expect(Math.abs(total - 60 * 3600)).toBeLessThanOrEqual(2)
    expect((await texts(deploy_id, { from: 'now-12m', to: 'now-3m' })).filter(text => text.includes('served'))).toEqual(
      counts.slice(-3, -1),
    )
  })

  test('have the creation of fixture deployments and of references to the catalog', async () => {
    const { sim, texts } = world({ fixtures: 'default' })
    const made = async (name: string) => {
      const row = sim.world.deployments.list().find(({ row }) => row.plan.modelName === name)!
      return (await texts(row.deploy_id))[0]
    }
    expect(await made('acme/assistant')).toBe(
      'INFO created at 2025-12-27T17:00:00.000000+00:00: acme/assistant on 2 H100-80GB an instance',
    )
    expect(await made('acme/assistant-support-tone')).toBe(
      'INFO created at 2025-12-28T15:00:00.000000+00:00: adapter acme/assistant-support-tone on acme/assistant',
    )
    expect(await made('aurora-labs/aurora-8b-instruct')).toBe(
      'INFO created at 2025-12-25T21:00:00.000000+00:00: aurora-labs/aurora-8b-instruct of the catalog, on GPUs of the provider',
    )
  })

  test('have batches; an adapter has its own logs', async () => {
    const { sim, api, texts, create } = world()
    const { deploy_id } = await create()
    await sim.clock.advance('30m')
    const source = { type: 'modelhub', modelhub_url: 'https://modelhub.example/a' } as const
    const adapter = await api.createLora({ base_model: 'chat', lora_name: 'tone', source, private: true })
    await sim.clock.advance('10m')
    expect(await texts(adapter.deploy_id)).toEqual([
      'INFO created: adapter acme/tone on acme/chat',
      'INFO status downloading',
      'INFO status deploying',
      `INFO loaded on ${deploy_id}-0`,
      'INFO status running',
    ])
    const batch = await startBatch(sim, [batchLine('a', { model: 'acme/chat', prompt: 'Hi' }, '/v1/completions')])
    await sim.clock.advance('10m')
    const lines = (await texts(deploy_id)).filter(text => text.includes(batch.id))
    expect(lines).toEqual(
      ['in_progress', 'finalizing', 'completed'].map(status => `INFO batch ${batch.id} is ${status}`),
    )
  })
})

describe('a window of logs', () => {
  test('has the newest lines, oldest first, for every way to name the window', async () => {
    const { sim, logs, create } = world()
    const { deploy_id } = await create()
    await sim.clock.advance('1h')
    const all = await logs(deploy_id, { limit: 10_000 })
    expect([...all].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))).toEqual(all)
    expect(await logs(deploy_id)).toEqual(all)
    expect(await logs(deploy_id, { limit: 3 })).toEqual(all.slice(-3))
    const epoch = EPOCH
    expect(await logs(deploy_id, { from: epoch, to: epoch + 3600 })).toEqual(all)
    expect(await logs(deploy_id, { from: 'now-60m', to: 'now' })).toEqual(all)
    for (const from of ['now-3600s', 'now-1h', 'now-1d', 'now-1w', 'now-1M', epoch - 5, epoch - 0.5])
      expect([from, await logs(deploy_id, { from, to: epoch + 86_400 })]).toEqual([from, all])
    const early = await logs(deploy_id, { from: epoch, to: epoch + 30 })
    expect(early).toEqual(all.filter(([time]) => Number(time) <= epoch + 30))
    expect(early.length).toBeGreaterThan(0)
    const [time] = all[3]!
    expect((await logs(deploy_id, { from: time, to: time })).map(([at]) => at)).toContain(time)
    expect(await logs(deploy_id, { from: 'now', to: 'now' })).toEqual([])
  })

  test('has the lines of one pod when pod_name names it', async () => {
    const { sim, api, logs, create } = world()
    const { deploy_id } = await create()
    await sim.clock.advance('1h')
    const { entries } = await api.queryDeploymentLogs({ deploy_id })
    const pod_name = `${deploy_id}-0`
    expect(Object.keys(entries)).toContain(pod_name)
    expect((await api.queryDeploymentLogs({ deploy_id, pod_name })).entries).toEqual({ [pod_name]: entries[pod_name] })
    expect((await api.queryLogs({ deploy_id, pod_name })).entries).toEqual(entries[pod_name])
    const newest = (await api.queryLogs({ deploy_id, pod_name, limit: 2 })).entries
    expect(newest).toEqual(entries[pod_name]!.slice(-2))
    expect((await api.queryDeploymentLogs({ deploy_id, pod_name: 'other' })).entries).toEqual({})
    expect((await logs(deploy_id)).length).toBeGreaterThan(entries[pod_name]!.length)
  })

  test('invalid windows are refused', async () => {
    const { api, create } = world()
    const { deploy_id } = await create()
    const ask = (query: object) => api.queryLogs({ deploy_id, ...query })
    expect(await refused(api.queryDeploymentLogs({ deploy_id: 'nope' }))).toEqual([404, 'no deployment nope'])
    expect(await issues(api.queryLogs({} as never))).toEqual(['query/deploy_id missing'])
    for (const from of ['yesterday', 'now+1h', 'now-5', 'now-5y', '-5', '1.', ''])
      expect([from, await issues(ask({ from }))]).toEqual([from, ['query/from value_error']])
    expect(await issues(ask({ from: 'now', to: 'now-1h' }))).toEqual(['query/from value_error'])
    const apart = [400, 'from and to are more than 31 days apart']
    expect(await refused(ask({ from: EPOCH - 31 * 86_400 - 1, to: EPOCH }))).toEqual(apart)
    expect(await refused(api.queryDeploymentLogs({ deploy_id, from: 0 }))).toEqual(apart)
    expect(await issues(ask({ limit: 0 }))).toEqual(['query/limit greater_than_equal'])
    expect(await issues(ask({ limit: 10_001 }))).toEqual(['query/limit less_than_equal'])
  })

  test('a fork and a snapshot keep the lines, and a reset removes them', async () => {
    const { sim, texts, create } = world()
    const { deploy_id } = await create()
    await sim.clock.advance('1m')
    const before = await texts(deploy_id)
    const fork = sim.fork()
    await fork.clock.advance('1h')
    const there = await reading(fork).texts(deploy_id)
    expect(there.slice(0, before.length)).toEqual(before)
    expect(there.length).toBeGreaterThan(before.length)
    expect(await texts(deploy_id)).toEqual(before)
    const elsewhere = createSimulator()
    elsewhere.restore(sim.snapshot().toBytes())
    expect(await reading(elsewhere).texts(deploy_id)).toEqual(before)
    sim.reset()
    const again = await create()
    await sim.clock.advance('1m')
    expect(await texts(again.deploy_id)).toEqual(before)
  })
})
