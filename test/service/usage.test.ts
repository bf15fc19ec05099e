import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/service/client/client.ts'
import { accountBalance } from '../../src/simulation/reporting/monthly-usage.ts'
import { createSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { batchLine, startBatch } from '../setup/batches.ts'
import { sendTo } from '../setup/send-to.ts'
import { issues, refused } from './service-world.ts'

const ms = (iso: string) => Date.parse(iso)
const unix = (iso: string) => ms(iso) / 1000

function account(options: SimulatorOptions = {}) {
  const sim = createSimulator({ fixtures: 'empty', check: true, ...options })
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  const usage = (from: string | number, to?: string | number) => api.getUsage({ from, ...(to !== undefined && { to }) })
  return { sim, api, usage }
}

const rented = {
  with: { deployments: [{ model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' } }] },
} satisfies SimulatorOptions

const model = 'aurora-labs/aurora-8b-instruct'

describe('usage by month', () => {
  test('a month of one GPU costs its hours times its price', async () => {
    const { sim, api, usage } = account(rented)
    await api.addFunds({ amount: 100_000_000 })
    sim.cluster.price.set('H100-80GB', 200)
    await sim.clock.advanceTo('2026-03-01T12:00:00Z')
    const month = (period: string, from: string, to: string, hours: number) => {
      const interval = { fr: ms(from), to: ms(to) }
      const owner = { provider: 'acme', model_name: 'acme/chat', task: 'text-generation' }
      const item = {
        model: { ...owner, plan_id: null, private: true },
        units: hours * 3600,
        rate: 0.055555556,
        cost: hours * 200,
        pricing_type: 'uptime',
        discount: null,
        interval,
      }
      return { period, interval, items: [item], total_cost: hours * 200, invoice_id: expect.any(String) }
    }
    const january = await usage('2026.01')
    expect(january).toEqual({
      months: [month('2026.01', '2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z', 744)],
      initial_month: '2025.11',
    })
    const february = await usage('current-1')
    expect(february.months).toEqual([month('2026.02', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z', 672)])
    const march = await usage('current')
    expect(march.months).toEqual([month('2026.03', '2026-03-01T00:00:00Z', '2026-03-01T12:00:00Z', 12)])
    const invoices = [january, february, march].map(({ months }) => months[0]!.invoice_id)
    expect(invoices).toEqual([expect.stringMatching(/^invoice_\w{24}$/), expect.stringMatching(/^inv/), 'NOT_FINAL'])
    expect(new Set(invoices).size).toBe(3)
    await sim.clock.advance('60d')
    expect((await usage('2026.01')).months[0]!.invoice_id).toBe(invoices[0])
    expect((await usage('2025.12')).months).toMatchObject([{ items: [], total_cost: 0, invoice_id: 'EMPTY' }])
  })

  test('items are rounded down, and a total rounds the exact sum down', async () => {
    // Charged directly, without invariant checks.
    const { sim, usage } = account({ check: false })
    const { ledger } = sim.world
    ledger.chargeTokens(model, 1_700_000, { tokens: 100, token_id: 'a' })
    ledger.chargeTokens('aurora-labs/aurora-70b-instruct', 1_600_000, { tokens: 10, token_id: 'a' })
    const [month] = (await usage('current')).months
    const expected = [
      [100, 1, 0.017],
      [10, 1, 0.16],
    ]
    expect(month!.items.map(({ units, cost, rate }) => [units, cost, rate])).toEqual(expected)
    expect(month!.total_cost).toBe(3)
  })

  test('a range is a month, a part of it, or up to 31 days across two months', async () => {
    const { sim, api, usage } = account(rented)
    await api.addFunds({ amount: 100_000_000 })
    await sim.clock.advanceTo('2026-03-05T00:00:00Z')
    const { digest } = sim
    const shown = async (from: string | number, to?: string | number) =>
      (await usage(from, to)).months.map(({ period, interval }) => [
        period,
        new Date(interval.fr).toISOString().slice(5, 13),
        new Date(interval.to).toISOString().slice(5, 13),
      ])
    expect(await shown('current')).toEqual([['2026.03', '03-01T00', '03-05T00']])
    expect(await shown('2026.03')).toEqual(await shown('current'))
    expect(await shown('current', 'current')).toEqual(await shown('current'))
    expect(await shown('current-1')).toEqual([['2026.02', '02-01T00', '03-01T00']])
    expect(await shown('2026.01', '2026.01')).toEqual([['2026.01', '01-01T00', '02-01T00']])
    const from = unix('2026-02-10T06:00:00Z')
    expect(await shown(from)).toEqual([['2026.02', '02-10T06', '03-01T00']])
    const expected = [
      ['2026.02', '02-10T06', '03-01T00'],
      ['2026.03', '03-01T00', '03-05T00'],
    ]
    expect(await shown(String(from), 'current')).toEqual(expected)
    const day = await usage(unix('2026-02-10T00:00:00Z'), unix('2026-02-11T00:00:00Z'))
    expect(day.months).toMatchObject([{ period: '2026.02', total_cost: 24 * 220 }])
    expect(sim.digest).toBe(digest)
  })

  test('a range that is too long, too early, in the future or reversed is refused with 400', async () => {
    const { sim, usage } = account()
    await sim.clock.advanceTo('2026-03-05T00:00:00Z')
    const now = unix('2026-03-05T00:00:00Z')
    const ranges: (readonly [from: string | number, to?: string | number])[] = [
      ['2026.01', '2026.02'],
      [now - 31 * 86_400 - 1, now],
      ['current-2', 'current'],
      ['2025.10'],
      ['current-99'],
      [0],
      ['2026.04'],
      ['current', '2026.04'],
      ['current', now + 1],
      [now + 1],
      ['current', 'current-1'],
      [now, now - 1],
    ]
    for (const range of ranges) expect([range, (await refused(usage(...range)))[0]]).toEqual([range, 400])
    expect((await usage(now - 31 * 86_400, now)).months).toHaveLength(2)
    expect((await usage('2025.11')).months).toHaveLength(1)
  })

  test('an invalid period is refused with 422, and so is a request without from', async () => {
    const { sim, usage } = account()
    for (const from of ['2026.13', '2026-01', 'last', 'current+1', 'current-', '', '-5', '1.5', '2026.1'])
      expect([from, await issues(usage(from))]).toEqual([from, ['query/from value_error']])
    expect(await issues(usage('current', 'soon'))).toEqual(['query/to value_error'])
    expect((await sendTo(sim, 'GET /payment/usage')).status).toBe(422)
  })

  test('a charge at the boundary of two months is in the second of them only, and changes no closed invoice', async () => {
    // Charged directly, without invariant checks.
    const { sim, usage } = account({ check: false })
    await sim.clock.advanceTo('2026-02-01T00:00:00Z')
    const { owed } = accountBalance(sim.world)
    sim.world.ledger.chargeTokens(model, 5_000_000)
    for (const later of ['0s', '1h'] as const) {
      await sim.clock.advance(later)
      expect((await usage('2026.01')).months).toMatchObject([{ total_cost: 0, items: [], invoice_id: 'EMPTY' }])
      expect((await usage('current')).months).toMatchObject([{ total_cost: 5, items: [{ cost: 5 }] }])
      expect(accountBalance(sim.world).owed).toBe(owed)
    }
  })

  test('usage of tokens has no rent, and usage of one token has its requests and batches only', {
    tags: 'slow',
  }, async () => {
    const { sim, api } = account({ fixtures: 'default', seed: 3 })
    const messages = [{ role: 'user' as const, content: 'Tell a long story of a lighthouse.' }]
    const ci = createClient(sim.fetch, { baseUrl: 'http://sim', token: 'sim_ci_token' })
    for (let i = 0; i < 30; i++) await ci.createChatCompletion({ model, messages })
    const lines = Array.from({ length: 500 }, (_, n) =>
      batchLine(`${n}`, { model, prompt: `Say ${n}.` }, '/v1/completions'),
    )
    await startBatch({ fetch: sim.fetch, token: 'sim_ci_token' }, lines)
    await sim.clock.advance('2d')
    const from = 'current'
    const all = (await api.getUsage({ from })).months[0]!
    const tokens = (await api.getTokenUsage({ from })).months[0]!
    const ofCi = (await api.getUsageOfApiToken({ from, api_token: 'sim_ci_token' })).months[0]!
    const ofDefault = (await api.getUsageOfApiToken({ from, api_token: 'sim_default_token' })).months[0]!
    expect(new Set(all.items.map(({ pricing_type }) => pricing_type))).toEqual(new Set(['uptime', 'tokens']))
    expect(tokens.items).toEqual(all.items.filter(({ pricing_type }) => pricing_type === 'tokens'))
    const units = (month: typeof all) => month.items.find(one => one.model.model_name === model)!.units
    expect(units(ofCi)).toBeGreaterThan(1000)
    // The default token created the batch of the fixture.
    expect(units(ofDefault)).toBeGreaterThan(0)
    expect(units(ofCi) + units(ofDefault)).toBe(units(tokens))
    const byId = sim.world.store.tokens.all().find(({ token }) => token === 'sim_ci_token')!.token_id
    expect((await api.getUsageOfApiToken({ from, api_token: byId })).months).toEqual([ofCi])
    expect(await refused(api.getUsageOfApiToken({ from, api_token: 'rent2' }))).toEqual([404, 'API token not found'])
  })
})
