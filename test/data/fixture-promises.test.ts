import { expect, test } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { MODEL_TASKS, VARIANT_KEYS } from '../../src/data/records/enums.ts'
import { DEFAULT_EPOCH_MS } from '../../src/kernel/clock.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'

const world = loadFixture('default')
const NAMES = ['default', 'empty', 'fleet', 'full', 'two-nodes'] as const

const lines = (id: string) => {
  const content = world.files.find(file => file.id === id)?.content ?? ''
  return content
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}
const groups = (name: (typeof NAMES)[number]) => loadFixture(name).nodes.pools.flatMap(pool => pool.nodes)
const batch = (status: string) => world.batches.find(each => each.status === status)!

test.each(NAMES)('%s loads, frozen to the last field', name => {
  const fixture = loadFixture(name)
  const frozen = (value: unknown): boolean =>
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen))
  expect(frozen(fixture)).toBe(true)
  expect(fixture.account.display_name).toBe('acme')
  expect(fixture.api_tokens.length).toBeGreaterThan(0)
})

test.each(NAMES)('in %s, no deployment fails in the first hour', async name => {
  const sim = createSimulator({ fixtures: name })
  const failed = () =>
    sim.report().deployments.flatMap(({ model_name, status }) => (status === 'failed' ? [model_name] : []))
  const before = failed()
  await sim.clock.advance('1h')
  expect(failed()).toEqual(before)
})

test('the default account has funds, a good card and an enabled top-up', () => {
  const { funds_cents, topup, card } = world.account
  expect(card).toBe('good')
  expect(topup.enabled).toBe(true)
  expect(topup.threshold).toBeGreaterThan(0)
  expect(funds_cents).toBeGreaterThan(topup.threshold)
  // A night at speed 60 is a month: the amount has to outlast many hours of what runs, or it fires all the time.
  expect(topup.amount).toBeGreaterThan(100 * 220)
})

test('two GPUs of the H100 quota are unused, and a node has four free H100 for every placement', () => {
  const held = world.deployments
    .filter(
      each => each.type === 'llm' && ['initializing', 'downloading', 'deploying', 'running'].includes(each.status),
    )
    .filter(each => each.gpu === 'H100-80GB')
    .reduce((sum, each) => sum + each.num_gpus * each.settings.min_instances, 0)
  expect(world.account.gpu_limits['H100-80GB']).toBe(held + 2)
  const free = world.nodes.pools
    .filter(pool => pool.market === 'on-demand')
    .flatMap(pool => pool.nodes)
    .filter(group => group.gpu === 'H100-80GB')
    .map(group => group.gpus_per_node - group.occupied)
  expect(Math.max(...free) - held).toBeGreaterThanOrEqual(4)
})

test('forty catalog models and more, of every task, some deprecated, some of partners, with hardware for each', () => {
  expect(world.models.length).toBeGreaterThanOrEqual(40)
  expect(new Set(world.models.map(model => model.type))).toEqual(new Set(MODEL_TASKS))
  const replaced = world.models.filter(model => model.replaced_by !== null)
  expect(replaced.length).toBeGreaterThanOrEqual(3)
  expect(replaced.every(model => model.deprecated !== null)).toBe(true)
  expect(world.models.some(model => model.is_partner)).toBe(true)
  expect(world.models.every(model => model.description !== '' && model.tags.length > 0)).toBe(true)
  const byName = new Map(world.hardware.map(entry => [entry.model_name, entry.hardware]))
  for (const model of world.models) {
    const types = byName.get(model.model_name)!.map(option => option.type)
    expect(types).toContain('serverless')
    if (model.type === 'text-generation' && model.deprecated === null) {
      expect(types, model.model_name).toContain('dedicated')
      expect(model.max_tokens).not.toBeNull()
    }
  }
})

test('ten aggregator entries and more, each a catalog model', () => {
  expect(world.aggregator.length).toBeGreaterThanOrEqual(10)
  const models = new Set(world.models.map(model => model.model_name))
  expect(world.aggregator.filter(entry => !models.has(entry.id))).toEqual([])
})

test('an endpoint for every variant word, and a default for every task', () => {
  expect(new Set(world.schemas.map(schema => schema.variant))).toEqual(new Set(VARIANT_KEYS))
  const defaults = world.schemas.filter(schema => schema.variant === 'default').map(schema => schema.type)
  expect(new Set(defaults)).toEqual(new Set(MODEL_TASKS))
  const voices = world.schemas.filter(schema => schema.variant.endsWith('-voice') || schema.variant === 'list-voices')
  expect(new Set(voices.map(schema => schema.type))).toEqual(new Set(['text-to-speech']))
})

test('twelve hub repositories with the sizes of their weights, and one of an adapter', () => {
  const adapters = world.hub.repositories.filter(each => each.adapter_of !== undefined)
  expect([world.hub.repositories.length, adapters.length]).toEqual([13, 1])
  const bytes = (repo: string) => world.hub.repositories.find(each => each.repo === repo)!.bytes / 1e9
  expect(bytes('acme/chat-8b')).toBeCloseTo(16, 0)
  expect(bytes('acme/chat-70b')).toBeLessThan(80 * 2 * 0.9)
  expect(bytes('acme/chat-405b')).toBeGreaterThan(400)
  expect(world.hub.repositories.find(each => each.repo === 'acme/private-70b')!.gated).toBe(true)
})

test('five llm deployments in five states, rows of tts and legacy, a lora on the running base', () => {
  const of = (type: string) => world.deployments.filter(each => each.type === type)
  expect(of('llm').map(each => each.status)).toEqual(['running', 'stopped', 'failed', 'deploying', 'deleted'])
  expect(of('llm')[0]).toMatchObject({ gpu: 'H100-80GB', num_gpus: 2 })
  expect(of('llm').find(each => each.status === 'failed')!.fail_reason).not.toBe('')
  expect(of('tts')).not.toEqual([])
  expect(of('legacy')).not.toEqual([])
  expect(of('lora')).toMatchObject([{ base_model: of('llm')[0]!.model_name, status: 'running' }])
  const weekBefore = DEFAULT_EPOCH_MS - 7 * 86_400_000
  for (const each of world.deployments) expect(Date.parse(each.created_at!)).toBeGreaterThanOrEqual(weekBefore)
})

test('the completed batch has its answers: every custom_id once, in another order, none in the error file', () => {
  const done = batch('completed')
  const asked = lines(done.input_file_id)
  expect(asked).toHaveLength(20)
  const answered = lines(done.output_file_id!)
  const failed = lines(done.error_file_id!)
  const order = [...answered, ...failed].map(line => line.custom_id)
  expect(order).not.toEqual(asked.map(line => line.custom_id))
  expect(order.sort()).toEqual(asked.map(line => line.custom_id))
  for (const line of answered) {
    const position = asked.findIndex(one => one.custom_id === line.custom_id)
    expect(line.id).toBe(`${done.id.replace('batch_', 'batch_req_')}_${String(position).padStart(6, '0')}`)
    expect(line.response).toMatchObject({
      endpoint: done.endpoint,
      body: { usage: { estimated_cost: expect.any(Number) } },
    })
    expect(line).toMatchObject({ response: { status_code: 200, body: { object: 'chat.completion' } }, error: null })
  }
  const outputs = world.files.filter(file => file.purpose === 'batch_output').map(file => file.id)
  expect(outputs).toEqual([done.output_file_id, done.error_file_id])
})

test('the batch in progress has two hundred lines for one current text-generation model', () => {
  const asked = lines(batch('in_progress').input_file_id)
  expect(asked).toHaveLength(200)
  expect(new Set(asked.map(line => line.custom_id)).size).toBe(200)
  const models = new Set(asked.map(line => line.body.model))
  expect(models.size).toBe(1)
  const model = world.models.find(each => models.has(each.model_name))
  expect(model).toMatchObject({ type: 'text-generation', deprecated: null })
})

test('empty has no resources and offers the same as default', () => {
  const empty = loadFixture('empty')
  for (const key of ['deployments', 'files', 'batches', 'voices', 'hosted'] as const) expect(empty[key]).toEqual([])
  expect(empty.api_tokens).toHaveLength(2)
  expect(empty.account.funds_cents).toBeGreaterThan(0)
  expect(empty.account.gpu_limits).toEqual({})
  for (const key of ['models', 'hardware', 'schemas', 'aggregator', 'hub', 'nodes'] as const) {
    expect(empty[key], key).toEqual(world[key])
  }
})

test('full is empty with every GPU in use', () => {
  const { nodes, account, api_tokens, ...full } = loadFixture('full')
  const empty = loadFixture('empty')
  expect(empty).toMatchObject(full)
  expect(account.funds_cents).toBe(empty.account.funds_cents)
  expect(api_tokens).toHaveLength(2)
  expect(nodes.pools.map(pool => pool.name)).toEqual(empty.nodes.pools.map(pool => pool.name))
  for (const group of groups('full')) expect(group.occupied).toBe(group.gpus_per_node)
})

test('two-nodes has two cold H100 nodes of eight and unused quota', () => {
  const pair = loadFixture('two-nodes')
  expect(groups('two-nodes')).toMatchObject([
    { gpu: 'H100-80GB', gpus_per_node: 8, count: 2, occupied: 0, image_cached: false, weights_cached: [] },
  ])
  expect(pair.account.gpu_limits['H100-80GB']).toBeGreaterThanOrEqual(8)
  expect(pair.hub).toEqual(world.hub)
  expect(pair.models.length).toBeLessThan(world.models.length)
  expect(pair.api_tokens).toHaveLength(2)
  expect(pair.deployments).toEqual([])
})

test('fleet has 1,000 GPUs in two zones, a spot pool that grows, every kind of load, adapters, and no quotas', () => {
  const fleet = loadFixture('fleet')
  expect(groups('fleet').reduce((sum, { count, gpus_per_node }) => sum + count * gpus_per_node, 0)).toBe(1000)
  expect(new Set(fleet.nodes.pools.map(pool => pool.zone)).size).toBe(2)
  const [spot] = fleet.nodes.pools.filter(pool => pool.market === 'spot').flatMap(pool => pool.nodes)
  expect(spot!.min).toBeLessThan(spot!.count)
  expect(spot!.max).toBeGreaterThan(spot!.count)
  const loads = new Set(fleet.deployments.map(each => each.load?.kind))
  expect([...loads].filter(kind => kind !== undefined).sort()).toEqual([
    'burst',
    'constant',
    'ramp',
    'steps',
    'trace',
    'wave',
  ])
  expect(fleet.deployments.filter(each => each.type === 'lora')).toHaveLength(2)
  const types = new Set(groups('fleet').map(group => group.gpu))
  for (const gpu of types) expect(fleet.account.gpu_limits[gpu]).toBe(null)
})
