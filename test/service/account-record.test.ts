/** The record of the account: its changes, its deletion and the address of its billing page. */
import { describe, expect, test } from 'vitest'
import { countsAgainstQuota } from '../../src/simulation/rentals/rental-row.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { issues, refused, SECOND, service } from './service-world.ts'

const HOUR = 3600 * SECOND

describe('PATCH /v1/me', () => {
  test('changes the given fields and keeps the others', async () => {
    const { client } = service()
    const before = await client.getMe({})
    const answer = await client.updateMe({ first_name: 'Ada', company: null, website: '', is_business_account: false })
    expect(answer).toEqual({
      ...before,
      name: `Ada ${before.last_name}`,
      first_name: 'Ada',
      website: '',
      is_business_account: false,
    })
    expect(await client.getMe({})).toEqual(answer)
    expect((await client.updateMe({ name: 'A. Lovelace' })).name).toBe('A. Lovelace')
  })

  test('an address that changed is not verified', async () => {
    const { client, world } = service()
    const { email } = await client.updateMe({ email: 'ada@acme.example' })
    expect([email, (await client.getPaymentChecklist({})).email]).toEqual(['ada@acme.example', false])
    await client.updateMe({ email: 'ada@acme.example', use_case: 'chat', attribution: 'a friend' })
    expect(world.journal.entries().filter(({ kind }) => kind === 'account.edited')).toHaveLength(1)
  })

  test('a new display_name owns new models', async () => {
    const { client } = service()
    await client.updateMe({ display_name: 'acme-robotics' })
    const { deploy_id } = await client.createLlmDeployment({
      model_name: 'helper',
      gpu: 'L4-24GB',
      num_gpus: 1,
      max_batch_size: 8,
      hub: { repo: 'aurora-labs/aurora-8b-instruct' },
    } as never)
    expect((await client.getDeployment({ deploy_id })).model_name).toBe('acme-robotics/helper')
  })

  test.each<[object, string]>([
    [{ name: '' }, 'body/name string_too_short'],
    [{ first_name: 'x'.repeat(129) }, 'body/first_name string_too_long'],
    [{ email: 'acme.example' }, 'body/email value_error'],
    [{ display_name: '-acme' }, 'body/display_name string_pattern_mismatch'],
    [{ display_name: 'x'.repeat(40) }, 'body/display_name string_too_long'],
    [{ use_case: '' }, 'body/use_case string_too_short'],
    [{ is_business_account: 7 }, 'body/is_business_account bool_type'],
  ])('an invalid change is 422: %#', async (change, expected) => {
    expect(await issues(service().client.updateMe(change as never))).toEqual([expected])
  })

  test('the owner of catalog models is taken', async () => {
    const expected = [409, expect.stringContaining('aurora-labs')]
    expect(await refused(service().client.updateMe({ display_name: 'aurora-labs' }))).toEqual(expected)
  })
})

describe('DELETE /v1/me', () => {
  test('answers the last record, and then every request is 401', async () => {
    const { client, ask, world } = service()
    const record = await client.getMe({})
    expect(await client.deleteMe()).toEqual(record)
    for (const request of ['GET /v1/me', 'DELETE /v1/me', 'GET /deploy/list', 'POST /v1/chat/completions'])
      expect((await ask(request, request.startsWith('POST') ? {} : undefined)).status, request).toBe(401)
    expect((await ask('GET /v1/me', undefined, { authorization: 'Bearer sim_ci_token' })).status).toBe(401)
    expect([
      world.store.tokens.size,
      world.store.sshKeys.size,
      world.store.voices.size,
      world.files.list().length,
    ]).toEqual([0, 0, 0, 0])
  })

  test('everything ends in its lifecycle, and no more money is spent', async () => {
    const { client, world } = service()
    await client.setTopup({ amount: 5000, threshold: 1_000_000_000 })
    await client.deleteMe()
    world.runTo(HOUR)
    expect(world.deployments.list().map(({ status }) => status)).toEqual([])
    expect(world.rentals.list('hosted', state => state !== 'deleted')).toEqual([])
    expect(world.rentals.list('container', countsAgainstQuota)).toEqual([])
    expect(new Set(world.batches.list().map(({ status }) => status))).toEqual(new Set(['completed', 'cancelled']))
    const { balance } = world.ledger
    world.runTo(48 * HOUR)
    expect(world.ledger.balance).toBe(balance)
    expect(world.gpuQuotas.held('H100-80GB')).toBe(0)
  })

  test('a revoked token cannot be restored, and a fork from before is untouched', async () => {
    const sim = createSimulator({ check: true })
    sim.cluster.token.revoke('continuous integration')
    const before = sim.fork()
    const ask = (one: typeof sim, method: string) =>
      one.fetch('http://sim/v1/me', { method, headers: { authorization: `Bearer ${before.token}` } })
    expect((await ask(sim, 'DELETE')).status).toBe(200)
    expect(() => sim.cluster.token.restore('continuous integration')).toThrow('Failed to find the token')
    expect((await ask(sim, 'GET')).status).toBe(401)
    expect((await ask(before, 'GET')).status).toBe(200)
    await sim.clock.advance('1d')
    await sim.reset()
    expect((await ask(sim, 'GET')).status).toBe(200)
  })
})

describe('GET /payment/billing-portal', () => {
  test('answers an address that repeats return_url', async () => {
    const { client } = service()
    const { url } = await client.getBillingPortal({ return_url: 'https://acme.example/billing?tab=2' })
    expect(new URL(url).searchParams.get('return_url')).toBe('https://acme.example/billing?tab=2')
    expect(await client.getBillingPortal({ return_url: 'https://acme.example/billing?tab=2' })).toEqual({ url })
    expect((await client.getBillingPortal({})).url).toMatch(/^https:\/\/billing\.service\.example\/session\/\w{24}$/)
  })

  test.each(['', 'acme.example', 'javascript:alert(1)', `https://acme.example/${'x'.repeat(2048)}`])(
    'an invalid return_url is 422: %#',
    async return_url => {
      expect(await issues(service().client.getBillingPortal({ return_url }))).toEqual(['query/return_url value_error'])
    },
  )
})
