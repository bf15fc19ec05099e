import { describe, expect, test } from 'vitest'
import { loadProfile } from '../../src/data/profiles/load.ts'
import type { RequestOf } from '../../src/service/client/client.ts'
import { issues, refusal, refused, SECOND, service } from './service-world.ts'

type Llm = RequestOf<'createLlmDeployment'>
const llm = (change: Partial<Llm> = {}): Llm => ({
  model_name: 'acme/chat',
  gpu: 'H100-80GB',
  hub: { repo: 'acme/chat-8b' },
  ...change,
})

test('the refusal of too large weights lists parts that add up', async () => {
  const { client, world } = service('empty')
  const { deploy_id } = await client.createLlmDeployment(llm({ gpu: 'L4-24GB', hub: { repo: 'acme/chat-70b' } }))
  world.runTo(7200 * SECOND)
  const { fail_reason } = await client.getDeployment({ deploy_id })
  const [needed, weights, engine] = /needs ([\d.]+) GB \(weights ([\d.]+) GB, engine ([\d.]+) GB/
    .exec(fail_reason)!
    .slice(1)
    .map(Number) as [number, number, number]
  expect(Math.abs(weights + engine - needed)).toBeLessThan(0.2)
})

describe('creating an LLM deployment', () => {
  test('returns the record with its defaults', async () => {
    const { client } = service('empty')
    const created = await client.createLlmDeployment(llm())
    expect(created).toEqual({
      deploy_id: expect.stringMatching(/^[A-Za-z0-9]{16}$/),
      model_name: 'acme/chat',
      version: expect.stringMatching(/^[0-9a-f]{64}$/),
      task: 'text-generation',
      status: 'initializing',
      fail_reason: '',
      created_at: '2026-01-01T00:00:00.000000+00:00',
      updated_at: '2026-01-01T00:00:00.000000+00:00',
      type: 'llm',
      instances: { running: 0, pending: 1 },
      config: {
        gpu: 'H100-80GB',
        num_gpus: 1,
        max_batch_size: 96,
        weights: { repo: 'acme/chat-8b', revision: 'main', token: '' },
      },
      settings: { min_instances: 1, max_instances: 1 },
    })
    expect(await client.getDeployment({ deploy_id: created.deploy_id })).toEqual(created)
  })

  test('never returns a hub token', async () => {
    const { client } = service('empty')
    const created = await client.createLlmDeployment(llm({ hub: { repo: 'acme/chat-8b', token: 'hub_secret' } }))
    expect(created.config?.weights?.token).toBe('********')
    expect(JSON.stringify(await client.listDeployments())).not.toContain('hub_secret')
  })

  test('adds the owner prefix to a name without owner', async () => {
    const { client } = service('empty')
    expect((await client.createLlmDeployment(llm({ model_name: 'chat' }))).model_name).toBe('acme/chat')
  })

  test('takes weights from hub.repo, else base_model, else the hub repository of that name', async () => {
    const base = 'aurora-labs/aurora-8b-instruct'
    const { client } = service('default')
    const repoOf = async (change: Partial<Llm>) => {
      const { hub: _, ...rest } = llm({ gpu: 'A100-80GB', ...change })
      const created = await client.createLlmDeployment({ ...rest, ...(change.hub && { hub: change.hub }) })
      await client.deleteDeployment(created)
      return created.config?.weights?.repo
    }
    expect(await repoOf({ hub: { repo: 'acme/chat-8b' }, base_model: base })).toBe('acme/chat-8b')
    expect(await repoOf({ base_model: base })).toBe(base)
    expect(await repoOf({ model_name: 'acme/chat-8b' })).toBe('acme/chat-8b')
    expect(await repoOf({ model_name: 'chat-8b' })).toBe('acme/chat-8b')
    expect(await issues(repoOf({ model_name: 'acme/nothing-known' }))).toEqual(['body/hub value_error'])
  })

  test.each<[string, unknown, string]>([
    ['no fields', {}, 'body/model_name missing, body/gpu missing'],
    ['an unknown GPU', llm({ gpu: 'H100' as never }), 'body/gpu literal_error'],
    ['no GPUs', llm({ num_gpus: 0 }), 'body/num_gpus greater_than_equal'],
    ['nine GPUs', llm({ num_gpus: 9 }), 'body/num_gpus less_than_equal'],
    ['no batch', llm({ max_batch_size: 0 }), 'body/max_batch_size greater_than_equal'],
    ['too large a batch', llm({ max_batch_size: 257 }), 'body/max_batch_size less_than_equal'],
    ['null for a number', { ...llm(), num_gpus: null }, 'body/num_gpus int_type'],
    ['null for the hub', { ...llm(), hub: null }, 'body/hub value_error'],
    ['a hub without a repository', { ...llm(), hub: { token: 'x' } }, 'body/hub/repo missing'],
    ['an empty repository', llm({ hub: { repo: '' } }), 'body/hub/repo string_too_short'],
    ['two slashes', llm({ model_name: 'a/b/c' }), 'body/model_name value_error'],
    ['no name', llm({ model_name: '' }), 'body/model_name value_error'],
    ['fewer than none', llm({ settings: { min_instances: -1 } }), 'body/settings/min_instances greater_than_equal'],
    [
      'fewer than none at most',
      llm({ settings: { min_instances: -1, max_instances: -1 } }),
      'body/settings/min_instances greater_than_equal, body/settings/max_instances greater_than_equal',
    ],
    [
      'more than at most',
      llm({ settings: { min_instances: 3, max_instances: 2 } }),
      'body/settings/max_instances value_error',
    ],
    [
      'more than the default at most',
      llm({ settings: { min_instances: 2 } }),
      'body/settings/max_instances value_error',
    ],
    ['arguments that are not a list', { ...llm(), extra_args: '--x' }, 'body/extra_args list_type'],
  ])('%s: 422', async (_, body, expected) => {
    const { client, world } = service('empty')
    expect((await issues(client.createLlmDeployment(body as Llm))).join(', ')).toBe(expected)
    expect(world.deployments.count).toBe(0)
  })

  test.each<[string, Partial<Llm>]>([
    ['one GPU', { num_gpus: 1 }],
    ['eight GPUs, none at first', { num_gpus: 8, settings: { min_instances: 0 } }],
    ['a batch of one', { max_batch_size: 1 }],
    ['a batch of 256', { max_batch_size: 256 }],
    ['nulls where null may be', { base_model: null, container_image: null, extra_args: null }],
    ['everything else', { container_image: 'registry.example/serve:1', extra_args: ['--x'], settings: {} }],
  ])('%s: fine', async (_, change) => {
    expect((await service('empty').client.createLlmDeployment(llm(change))).status).toBe('initializing')
  })

  test('refuses in the order 422, 402, 400, 404, 403, 409', async () => {
    const { client, world } = service('default', {
      account: { funds_cents: 0, topup: { amount: 0, threshold: 0, enabled: false } },
    })
    const wrong = llm({ model_name: 'someone/else', gpu: 'other', base_model: 'no/such', num_gpus: 9 })
    expect(await issues(client.createLlmDeployment(wrong))).toEqual(['body/num_gpus less_than_equal'])
    wrong.num_gpus = 8
    expect((await refused(client.createLlmDeployment(wrong)))[0]).toBe(402)
    await client.addFunds({ amount: 100_000 })
    const expected = [400, 'model_name someone/else should start with acme/']
    expect(await refused(client.createLlmDeployment(wrong))).toEqual(expected)
    wrong.model_name = 'acme/assistant'
    expect(await refused(client.createLlmDeployment(wrong))).toEqual([400, expect.stringContaining("gpu 'other'")])
    wrong.gpu = 'H100-80GB'
    expect(await refused(client.createLlmDeployment(wrong))).toEqual([404, 'no base_model no/such'])
    wrong.base_model = 'aurora-labs/aurora-8b-instruct'
    expect(await refused(client.createLlmDeployment(wrong))).toEqual([403, expect.stringContaining('GPU limit')])
    wrong.num_gpus = 1
    expect(await refused(client.createLlmDeployment(wrong))).toEqual([409, expect.stringContaining('acme/assistant')])
    expect(world.deployments.findLive('acme/assistant')?.row.numGpus).toBe(2)
  })

  test('the GPU limit counts num_gpus × min_instances plus GPUs held and requested', async () => {
    const { client } = service('empty', { account: { gpu_limits: { 'H100-80GB': 4 } } })
    const create = (name: string, num_gpus: number, min_instances: number) =>
      client.createLlmDeployment(llm({ model_name: name, num_gpus, settings: { min_instances, max_instances: 4 } }))
    expect((await refused(create('a', 2, 3)))[0]).toBe(403)
    await create('a', 1, 2)
    expect((await refused(create('b', 1, 3)))[0]).toBe(403)
    await create('b', 2, 1)
    expect((await refused(create('c', 1, 1)))[0]).toBe(403)
    await create('c', 4, 0).catch(() => {})
  })

  test('a deleted deployment frees its name', async () => {
    const { client } = service('empty')
    const first = await client.createLlmDeployment(llm())
    await client.deleteDeployment(first)
    const second = await client.createLlmDeployment(llm())
    expect(second.deploy_id).not.toBe(first.deploy_id)
    expect(second.version).not.toBe(first.version)
  })
})

describe('listing deployments', () => {
  const statuses = async (ask: ReturnType<typeof service>['ask'], search: string) => {
    const { body } = await ask(`GET /deploy/list/${search}`)
    return body.map((one: { status: string }) => one.status)
  }

  test('returns all, also failed and deleted ones, oldest first', async () => {
    const { ask } = service()
    const { body } = await ask('GET /deploy/list/')
    expect(body).toHaveLength(9)
    expect((await ask('GET /deploy/list')).body).toEqual(body)
    const statuses = body.map((one: { status: string }) => one.status)
    expect(statuses).toEqual(expect.arrayContaining(['running', 'stopped', 'failed', 'deleted']))
    expect(body.map((one: { type: string }) => one.type)).toContain('legacy')
    const created = body.map((one: { created_at: string }) => one.created_at)
    expect(created).toEqual([...created].sort())
  })

  test.each([
    ['?status=deleted', ['deleted']],
    ['?status=stopped,failed', ['stopped', 'failed']],
    ['?status=%20stopped%20,%20failed', ['stopped', 'failed']],
    ['?status=stopped,,stopped,', ['stopped']],
    ['?status=downloading', []],
  ])('%s', async (search, expected) => {
    expect(await statuses(service().ask, search)).toEqual(expected)
  })

  test.each(['', '?status=', '?status=,', '?other=1'])('%s returns all', async search => {
    expect(await statuses(service().ask, search)).toHaveLength(9)
  })

  test('an unknown status is refused with its name', async () => {
    const { ask } = service()
    const { status, body } = await ask('GET /deploy/list?status=running,asleep')
    expect([status, body.error]).toEqual([400, expect.stringContaining("'asleep'")])
    expect((await ask('GET /deploy/list?status=Running')).status).toBe(400)
  })
})

describe('the lifecycle of a deployment', () => {
  test('create, run, stop, start, delete', async () => {
    const { client, world } = service('empty')
    const { deploy_id } = await client.createLlmDeployment(llm())
    const status = async () => (await client.getDeployment({ deploy_id })).status
    world.runTo(1200 * SECOND)
    expect(await status()).toBe('running')
    const expected = [400, `deployment ${deploy_id} is running, not stopped`]
    expect(await refused(client.startDeployment({ deploy_id }))).toEqual(expected)
    expect(await client.stopDeployment({ deploy_id })).toEqual({ deploy_id })
    expect(await status()).toBe('stopped')
    expect((await refused(client.stopDeployment({ deploy_id })))[0]).toBe(400)
    expect(await client.startDeployment({ deploy_id })).toEqual({ deploy_id })
    expect(await status()).toBe('initializing')
    world.runTo(2400 * SECOND)
    expect(await status()).toBe('running')
    expect(await client.deleteDeployment({ deploy_id })).toEqual({ deploy_id })
    expect(await status()).toBe('deleted')
    for (const again of [client.startDeployment, client.stopDeployment])
      expect((await refused(again({ deploy_id })))[0]).toBe(400)
    expect(await refused(client.deleteDeployment({ deploy_id }))).toEqual([
      404,
      `deployment ${deploy_id} is deleted already`,
    ])
  })

  test('a failed deployment starts only when the profile allows it', async () => {
    const failed = {
      deployments: [
        {
          model_name: 'acme/bad',
          status: 'failed' as const,
          fail_reason: 'it broke',
          weights: { repo: 'acme/chat-8b' },
        },
      ],
    }
    const strict = service('empty', failed)
    const { deploy_id } = (await strict.client.listDeployments())[0]!
    const expected = [400, `deployment ${deploy_id} is failed, not stopped`]
    expect(await refused(strict.client.startDeployment({ deploy_id }))).toEqual(expected)
    const kind = service('empty', failed, { profile: loadProfile({ policies: { failed_may_start: true } }) })
    await kind.client.startDeployment({ deploy_id })
    expect(await kind.client.getDeployment({ deploy_id })).toMatchObject({ status: 'initializing', fail_reason: '' })
    kind.world.runTo(2400 * SECOND)
    expect((await kind.client.getDeployment({ deploy_id })).status).toBe('running')
  })
})

describe('adapters', () => {
  const lora = (change = {}) => ({
    base_model: 'aurora-labs/aurora-8b-instruct',
    lora_name: 'tone',
    source: { type: 'modelhub' as const, modelhub_url: 'https://modelhub.example/acme/tone-8b' },
    private: true,
    ...change,
  })

  test('an adapter runs on a catalog model', async () => {
    const { client, world } = service('empty')
    const created = await client.createLora(lora())
    expect(created).toMatchObject({ type: 'lora', model_name: 'acme/tone', status: 'initializing' })
    expect(created.config).toMatchObject({ gpu: 'other', num_gpus: 0 })
    world.runTo(600 * SECOND)
    expect((await client.getDeployment(created)).status).toBe('running')
  })

  test('an adapter on a deployment of the account has its config', async () => {
    const { client } = service('empty')
    const base = await client.createLlmDeployment(llm({ num_gpus: 2 }))
    for (const base_model of ['acme/chat', 'chat']) {
      const created = await client.createLora(lora({ base_model, lora_name: `tone-${base_model.length}` }))
      expect(created.config).toEqual(base.config)
    }
  })

  test('invalid requests are refused', async () => {
    const { client } = service('empty')
    expect(await issues(client.createLora({} as never))).toEqual(
      ['base_model', 'lora_name', 'source', 'private'].map(name => `body/${name} missing`),
    )
    expect(await issues(client.createLora(lora({ source: { type: 'url', modelhub_url: '' }, private: 1 })))).toEqual([
      'body/source/type literal_error',
      'body/source/modelhub_url string_too_short',
      'body/private bool_type',
    ])
    expect(await issues(client.createLora(lora({ lora_name: 'a/b' })))).toEqual(['body/lora_name value_error'])
    expect(await refused(client.createLora(lora({ base_model: 'no/such' })))).toEqual([404, 'no base_model no/such'])
    await client.createLora(lora())
    expect((await refused(client.createLora(lora())))[0]).toBe(409)
    expect((await refused(client.createLora(lora({ base_model: 'acme/tone', lora_name: 'on-top' }))))[0]).toBe(404)
    const poor = service('empty', { account: { funds_cents: 0 } })
    expect((await refused(poor.client.createLora(lora())))[0]).toBe(402)
  })
})

test('a refusal has status and body', async () => {
  const { client } = service('empty')
  expect(await refusal(client.getDeployment({ deploy_id: 'x' }))).toEqual([404, { error: 'no deployment x' }])
})
