import { describe, expect, test } from 'vitest'
import type { FixturePatch } from '../../src/data/records/fixture.ts'
import { createClient } from '../../src/service/client/client.ts'
import { createSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'

const USD = 100_000_000
const unix = (iso: string) => Date.parse(iso) / 1000

function account(options: SimulatorOptions) {
  const sim = createSimulator({ check: true, ...options })
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  return { sim, api }
}

const model = 'aurora-labs/aurora-8b-instruct'
const CHAT = { deploy_id: 'pastUsageChat001', model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' } }
const RENT = { kind: 'rent', id: CHAT.deploy_id, from: '2025-12-30T00:00:00Z', requests: 7 } as const

function withHistory(history: NonNullable<FixturePatch['history']>, epoch?: string) {
  return account({
    fixtures: 'empty',
    with: { deployments: [CHAT], history },
    ...(epoch !== undefined && { epoch }),
  })
}

describe('the past of an account', () => {
  test('the default world was rented before the epoch, and rent continues across it', async () => {
    const { sim, api } = account({ fixtures: 'default' })
    const rent = async (from: string, to: string) =>
      (await api.getRentUsage({ from: unix(from), to: unix(to) })).id_to_duration['2cZeTxVFN7tKxCCh'] ?? 0
    await sim.clock.advance('12h')
    expect(await rent('2025-12-31T12:00:00Z', '2026-01-01T00:00:00Z')).toBe(12 * 3600)
    expect(await rent('2025-12-31T12:00:00Z', '2026-01-01T12:00:00Z')).toBe(24 * 3600)
    expect(await rent('2025-11-01T00:00:00Z', '2025-12-01T00:00:00Z')).toBe(0)
    for (const from of ['2025.11', '2025.12']) {
      const [month] = (await api.getUsage({ from })).months
      expect(month!.total_cost).toBeGreaterThan(10_000)
      expect(month!.invoice_id).toMatch(/^invoice_/)
    }
  })

  test('its use is consistent with the opening balance to the micro-cent, at any epoch', async () => {
    for (const epoch of ['2026-01-01T00:00:00Z', '2026-01-17T05:43:21.5Z', '2026-02-28T23:59:59Z']) {
      const { sim, api } = account({ fixtures: 'default', epoch })
      const { account_balance, recent } = await api.getPaymentChecklist()
      expect(Math.round(-(account_balance + recent) * USD)).toBe(sim.world.ledger.openingFunds)
      const [month] = (await api.getUsage({ from: 'current' })).months
      expect(month!.total_cost).toBe(Math.floor(recent * 100 + 1e-9))
      expect(recent > 0).toBe(epoch !== '2026-01-01T00:00:00Z')
    }
  })

  test('parts of a month add up to the month, in the past and across the epoch', async () => {
    const { sim } = account({ fixtures: 'default', epoch: '2026-01-10T00:00:00Z', seed: 5 })
    await sim.clock.advance('3d')
    const { usageItems } = await import('../../src/simulation/reporting/monthly-usage.ts')
    const cost = (from: number, to: number) =>
      usageItems(sim.world, from, to).reduce((sum, { microcents }) => sum + microcents, 0)
    const start = sim.world.clock.elapsedAt('2025-11-01T00:00:00Z')
    const { now } = sim.world.clock
    const cuts = [start, start / 2, -123_456_789, -1, 0, 1, Math.floor(now / 3), now].map(Math.floor)
    const parts = cuts.slice(1).map((to, position) => cost(cuts[position]!, to))
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(cost(start, now))
    expect(parts.every(part => part >= 0)).toBe(true)
    expect(cost(0, now)).toBe(sim.world.ledger.openingFunds - sim.ledger.balance + funded(sim))
  })

  test('rent takes the price of the profile or of the record, and tokens that of the catalog', async () => {
    const { api } = withHistory([
      RENT,
      {
        kind: 'rent',
        id: CHAT.deploy_id,
        from: '2025-12-01T00:00:00Z',
        to: '2025-12-01T10:00:00Z',
        cents_per_hour: 100,
      },
      { kind: 'tokens', model, from: '2025-12-01T00:00:00Z', input_tokens: 1e9, price_share: 0.5 },
    ])
    const [month] = (await api.getUsage({ from: '2025.12' })).months
    const { hardware } = await api.getHardware({ model })
    const serverless = hardware.find(one => one.type === 'serverless') as
      | { pricing: Record<string, number> }
      | undefined
    const cents = 500 * serverless!.pricing.cents_per_million_input_tokens!
    const shown = month!.items.map(({ model, cost, units }) => [model.model_name, cost, units])
    expect(shown).toEqual([
      ['acme/chat', 48 * 220 + 10 * 100, 58 * 3600],
      [model, cents, 1e9],
    ])
  })

  test('stats of a deployment answer for windows before and across the epoch', async () => {
    const { sim } = withHistory([RENT])
    await sim.clock.advance('1h')
    const stats = async (from: string, to: string) => {
      const target = `http://sim/deploy/${CHAT.deploy_id}/stats?from=${unix(from)}&to=${unix(to)}`
      return (await sim.fetch(target, { headers: { authorization: `Bearer ${sim.token}` } })).json()
    }
    expect(await stats('2025-12-31T23:00:00Z', '2026-01-01T01:00:00Z')).toMatchObject({ total_amount: 2 * 220 })
    const past = await stats('2025-12-30T00:00:00Z', '2026-01-01T00:00:00Z')
    expect(past).toMatchObject({ requests: 7, errors: 0, total_amount: 48 * 220 })
    expect(past.avg_time).toBeGreaterThan(0)
  })

  test('the account is two months old by default, or as old as its fixture says', async () => {
    const initial = async (options: SimulatorOptions) =>
      (await account({ fixtures: 'empty', ...options }).api.getUsage({ from: 'current' })).initial_month
    expect(await initial({})).toBe('2025.11')
    expect(await initial({ epoch: '2026-05-31T12:00:00Z' })).toBe('2026.03')
    expect(await initial({ with: { account: { created_at: '2024-02-03T04:05:06Z' } } })).toBe('2024.02')
    const history = [{ kind: 'tokens' as const, model, from: '2025-03-01T00:00:00Z', input_tokens: 1 }]
    expect(await initial({ with: { history } })).toBe('2025.03')
  })

  test.each([
    [{ ...RENT, id: 'pastUsageChat002' }, '$[0].id: expected the id of a deployment, hosted instance or container'],
    [{ ...RENT, from: undefined }, "$[0].from: expected a time, since 'pastUsageChat001' has no created_at"],
    [{ ...RENT, to: '2025-12-29T00:00:00Z' }, '$[0].to: expected a time after 2025-12-30T00:00:00Z'],
    [{ ...RENT, to: '2026-01-02T00:00:00Z' }, "expected a time not later than the world's epoch"],
    [
      { kind: 'tokens', model: 'acme/none', from: '2025-12-30T00:00:00Z' },
      '$[0].model: expected a model of models.json',
    ],
    [{ kind: 'tokens', model, from: '2025-12-30T00:00:00Z', token_id: 'x' }, '$[0].token_id: expected the token_id'],
  ])('an impossible record is rejected with its place: %#', (record, message) => {
    expect(() => withHistory([record as typeof RENT])).toThrow(message)
  })

  test('use before the opening of the account is rejected', () => {
    const patch = { account: { created_at: '2025-12-31T00:00:00Z' }, deployments: [CHAT], history: [RENT] }
    expect(() => createSimulator({ fixtures: 'empty', with: patch })).toThrow('not before created_at of the account')
  })
})

function funded(sim: ReturnType<typeof createSimulator>): number {
  const { funds_microcents, topups_microcents } = sim.report().money
  return funds_microcents + topups_microcents
}
