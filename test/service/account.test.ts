import { describe, expect, test } from 'vitest'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { issues, refusal, refused, SECOND, service } from './service-world.ts'

const HOUR = 3600 * SECOND
const EPOCH = 1_767_225_600

test('GET /v1/api-tokens returns every token with its full value', async () => {
  const { client } = service()
  const tokens = await client.listApiTokens()
  expect(tokens).toHaveLength(4)
  expect(tokens[0]).toEqual({
    token: 'sim_default_token',
    token_id: expect.stringMatching(/^token_/),
    name: 'default',
    created_at: expect.any(Number),
    allowed_ips: [],
  })
})

describe('money', () => {
  test('added funds are in the balance at once', async () => {
    const { client, world } = service('empty', { account: { funds_cents: 0 } })
    expect(world.ledger.canSpend()).toBe(false)
    expect(await client.addFunds({ amount: 1 })).toEqual({})
    expect(world.ledger.canSpend()).toBe(true)
  })

  test.each<[unknown, string]>([
    [{}, 'body/amount missing'],
    [{ amount: 0 }, 'body/amount greater_than'],
    [{ amount: -5 }, 'body/amount greater_than'],
    [{ amount: 1.5 }, 'body/amount int_from_float'],
    [{ amount: '5.0' }, 'body/amount int_parsing'],
    [{ amount: null }, 'body/amount int_type'],
  ])('funds of %j: 422', async (body, expected) => {
    expect(await issues(service('empty').client.addFunds(body as never))).toEqual([expected])
  })

  test('POST /payment/topup has a default for every field', async () => {
    const { client, world } = service('empty')
    expect(await client.setTopup({})).toEqual({})
    expect(world.ledger.topups.rule).toEqual({ amount: 0, threshold: 0, enabled: true })
    await client.setTopup({ amount: 5000, threshold: 1000, enabled: false })
    expect(world.ledger.topups.rule).toEqual({ amount: 5000, threshold: 1000, enabled: false })
    expect(await issues(client.setTopup({ amount: -1, threshold: 0.5, enabled: 'yes' as never }))).toEqual([
      'body/amount greater_than_equal',
      'body/threshold int_from_float',
      'body/enabled bool_type',
    ])
  })

  test('GET /payment/usage/rent returns whole seconds inside the window', async () => {
    const { client, world } = service('empty', {
      hosted: [{ instance_id: 'inst_1', name: 'one', plan_id: 'small', created_at: EPOCH }],
    })
    world.runTo(HOUR)
    const rent = async (from: number, to?: number) =>
      (await client.getRentUsage({ from, ...(to !== undefined && { to }) })).id_to_duration
    expect(await rent(0)).toEqual({ inst_1: 3600 })
    expect(await rent(EPOCH + 60, EPOCH + 90)).toEqual({ inst_1: 30 })
    expect(await rent(EPOCH + 3000, EPOCH + 9000)).toEqual({ inst_1: 600 })
    expect(await rent(EPOCH + 3601)).toEqual({})
    expect(await rent(EPOCH, EPOCH)).toEqual({})
    expect(await rent(-5, Number.MAX_SAFE_INTEGER)).toEqual({ inst_1: 3600 })
    expect(await issues(rent(2, 1))).toEqual(['query/from value_error'])
    expect(await issues(client.getRentUsage({} as never))).toEqual(['query/from missing'])
    const expected = ['query/from int_parsing', 'query/to int_parsing']
    expect(await issues(client.getRentUsage({ from: 'x', to: '1.5' }))).toEqual(expected)
  })
})

describe('a request for a higher GPU limit', () => {
  const ask = (change = {}) => ({ gpu_type: 'H100-80GB', requested_limit: 16, reason: 'more traffic', ...change })

  test.each([
    [{ gpu_type: 'H100' }, 404],
    [{ gpu_type: 'other' }, 404],
    [{ gpu_type: '__proto__' }, 404],
    [{ requested_limit: 4 }, 400],
    [{ requested_limit: -1 }, 400],
    [{ gpu_type: 'L4-24GB' }, 400],
  ])('%j: %i', async (change, status) => {
    const { client } = service('empty', { account: { gpu_limits: { 'L4-24GB': null } } })
    expect((await refused(client.requestGpuLimit(ask(change))))[0]).toBe(status)
  })

  test('the length of reason counts code points', async () => {
    const { client } = service('empty')
    expect(await issues(client.requestGpuLimit(ask({ reason: '🦙'.repeat(2049) })))).toEqual([
      'body/reason string_too_long',
    ])
    expect(await client.requestGpuLimit(ask({ reason: '🦙'.repeat(2048) }))).toEqual({})
    const expected = ['body/gpu_type missing', 'body/requested_limit missing', 'body/reason missing']
    expect(await issues(client.requestGpuLimit({} as never))).toEqual(expected)
  })
})

describe('hosted instances', () => {
  const instance_id = 'inst_HmSomZNCU5EAVUqwFpxpN9vc'

  test.each([
    ['', 'string_too_short'],
    ['🦙'.repeat(65), 'string_too_long'],
    [7, 'string_type'],
  ])('a name %j: 422', async (name, type) => {
    const { client } = service()
    expect(await issues(client.renameHosted({ instance_id, name: name as string }))).toEqual([`body/name ${type}`])
  })

  test('PATCH accepts a name of 1 or 64 code points', async () => {
    const { client, world } = service()
    for (const name of ['x', '🦙'.repeat(64)]) {
      expect(await client.renameHosted({ instance_id, name })).toEqual({})
      expect(world.rentals.findById(instance_id)?.name).toBe(name)
    }
    expect((await refused(client.renameHosted({ instance_id: 'none', name: 'x' })))[0]).toBe(404)
  })

  test('storage grows after 60 s, one expansion at a time', async () => {
    const { client, world } = service()
    const expand = (new_size_gb: number, id = instance_id) =>
      client.expandHostedStorage({ instance_id: id, new_size_gb })
    expect(await refused(expand(120))).toEqual([400, expect.stringContaining('120 GB')])
    expect(await expand(121)).toEqual({})
    expect((await refused(expand(200)))[0]).toBe(409)
    expect(world.rentals.findById(instance_id)?.storageGb).toBe(120)
    await loadTokenizer()
    world.runTo(60 * SECOND)
    expect(world.rentals.findById(instance_id)?.storageGb).toBe(121)
    expect(await expand(512)).toEqual({})
    expect((await refused(expand(200, 'none')))[0]).toBe(404)
  })

  test.each([20, 513, 100.5])('%d GB: 422', async new_size_gb => {
    expect(await issues(service().client.expandHostedStorage({ instance_id, new_size_gb }))).toHaveLength(1)
  })

  test('expand_storage rejects a new_size_gb below 21', async () => {
    const small = { instance_id: 'inst_small', name: 's', plan_id: 'small', created_at: EPOCH }
    const { client } = service('empty', { hosted: [small] })
    expect(await client.expandHostedStorage({ instance_id: 'inst_small', new_size_gb: 21 })).toEqual({})
  })
})

describe('voices', () => {
  test('GET returns all voices, and one by its id', async () => {
    const { client } = service()
    const { voices } = await client.listVoices()
    expect(voices).toHaveLength(6)
    expect(voices[4]).toMatchObject({ name: 'Tomas', description: '' })
    expect(await client.getVoice({ voice_id: voices[0]!.voice_id })).toEqual(voices[0])
    expect(await refusal(client.getVoice({ voice_id: 'none' }))).toEqual([404, { error: 'no voice none' }])
  })
})
