import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/service/client/client.ts'
import { createSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { issues } from './service-world.ts'

const ms = (iso: string) => Date.parse(iso)

function account(options: SimulatorOptions = {}) {
  const sim = createSimulator({ fixtures: 'empty', check: true, ...options })
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  const usage = (from?: string | number, to?: string | number) =>
    api.getUsage({ ...(from !== undefined && { from }), ...(to !== undefined && { to }) })
  return { sim, api, usage }
}

const rented = {
  with: { deployments: [{ model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' } }] },
} satisfies SimulatorOptions

describe('usage by month', () => {
  test('a month of one GPU costs its hours times its price', async () => {
    const { sim, api, usage } = account(rented)
    await api.addFunds({ amount: 100_000_000 })
    sim.cluster.price.set('H100-80GB', 200)
    await sim.clock.advanceTo('2026-03-01T12:00:00Z')
    const { months, initial_month } = await usage('2026.01')
    const [id] = sim.world.deployments.list().map(one => one.deploy_id)
    const item = (hours: number) => ({
      type: 'rent',
      id,
      name: 'acme/chat',
      gpu: 'H100-80GB',
      gpu_hours: hours,
      cost: hours * 200,
    })
    expect(initial_month).toBe('2026.01')
    expect(months.map(({ invoice_id: _, ...month }) => month)).toEqual([
      {
        period: '2026.01',
        interval: { from: ms('2026-01-01T00:00:00Z'), to: ms('2026-02-01T00:00:00Z') },
        items: [item(744)],
        total_cost: 148_800,
      },
      {
        period: '2026.02',
        interval: { from: ms('2026-02-01T00:00:00Z'), to: ms('2026-03-01T00:00:00Z') },
        items: [item(672)],
        total_cost: 134_400,
      },
      {
        period: '2026.03',
        interval: { from: ms('2026-03-01T00:00:00Z'), to: ms('2026-03-01T12:00:00Z') },
        items: [item(12)],
        total_cost: 2_400,
      },
    ])
    const invoices = months.map(month => month.invoice_id)
    expect(invoices).toEqual([expect.stringMatching(/^invoice_\w{24}$/), expect.stringMatching(/^invoice_/), null])
    expect(new Set(invoices).size).toBe(3)
    await sim.clock.advance('60d')
    expect((await usage('2026.01', '2026.03')).months.map(month => month.invoice_id).slice(0, 2)).toEqual(
      invoices.slice(0, 2),
    )
  })

  test('the months add up to the total of the ledger', async () => {
    const { sim, api, usage } = account({ fixtures: 'default', seed: 3 })
    const line = (n: number, model: string) =>
      JSON.stringify({
        custom_id: `line-${n}`,
        method: 'POST',
        url: '/v1/completions',
        body: { model, prompt: `Tell me ${n}.` },
      })
    const model = 'aurora-labs/aurora-8b-instruct'
    const batches: string[] = []
    for (const at of ['2026-01-20T00:00:00Z', '2026-01-31T23:59:59Z', '2026-02-13T05:00:00Z']) {
      await sim.clock.advanceTo(at)
      const file = Array.from({ length: 50 }, (_, n) => line(n, model)).join('\n')
      const { id } = await api.uploadFile({ purpose: 'batch', file })
      const batch = await api.createBatch({ input_file_id: id, endpoint: '/v1/completions', completion_window: '24h' })
      batches.push(batch.id)
      sim.cluster.price.set('H100-80GB', 211.17 + Number(at.slice(8, 10)))
    }
    await sim.clock.advanceTo('2026-04-02T01:02:03Z')
    const { months } = await usage('2026.01')
    const hostedName = sim.world.hostedInstances.list().find(({ state }) => state === 'running')!.name
    const { ledger } = sim.world
    const spent = ledger.entries().reduce((sum, { microcents }) => sum + Math.max(0, -microcents), 0)
    const micro = (cost: number) => Math.round(cost * 1_000_000)
    expect(months.map(({ period }) => period)).toEqual(['2026.01', '2026.02', '2026.03', '2026.04'])
    expect(months.reduce((sum, month) => sum + micro(month.total_cost), 0)).toBe(spent)
    for (const { items, total_cost } of months) {
      expect(items.reduce((sum, { cost }) => sum + micro(cost), 0)).toBe(micro(total_cost))
      expect(items.map(({ cost }) => cost)).toEqual(items.map(({ cost }) => cost).sort((a, b) => b - a))
    }
    const tokens = months.flatMap(({ items }) => items).filter(({ type }) => type === 'tokens')
    expect(tokens.filter(({ name }) => name === model).map(({ id }) => id)).toEqual(expect.arrayContaining(batches))
    expect(months[0]!.items.map(({ name }) => name)).toContain(hostedName)
    // Split within a month, the parts still add up.
    const cut = ms('2026-02-13T12:34:56Z') / 1000
    const parts = [...(await usage('2026.01', cut)).months, ...(await usage(cut)).months]
    expect(parts).toHaveLength(5)
    expect(parts.reduce((sum, month) => sum + micro(month.total_cost), 0)).toBe(spent)
    expect(parts[1]!.interval.to).toBe(parts[2]!.interval.from)
  })

  test('periods can be names or Unix seconds', async () => {
    const { sim, api, usage } = account(rented)
    await api.addFunds({ amount: 100_000_000 })
    await sim.clock.advanceTo('2026-03-05T00:00:00Z')
    const { digest } = sim
    const periods = async (from?: string | number, to?: string | number) =>
      (await usage(from, to)).months.map(({ period }) => period)
    expect(await periods()).toEqual(['2026.03'])
    expect(await periods('current-1')).toEqual(['2026.02', '2026.03'])
    expect(await periods('current-1', 'current-1')).toEqual(['2026.02'])
    expect(await periods('2026.01', '2026.02')).toEqual(['2026.01', '2026.02'])
    expect(await periods('2025.01', 'current-2')).toEqual(['2026.01'])
    expect(await periods('2020.01', '2025.12')).toEqual([])
    expect(await periods('2026.04', '2026.05')).toEqual([])
    expect(await periods('2026.04')).toEqual([])
    expect(await periods(ms('2027-01-01T00:00:00Z') / 1000)).toEqual([])
    expect(await periods('current-99999')).toEqual(['2026.01', '2026.02', '2026.03'])
    expect(await periods(0, ms('2026-01-05T00:00:00Z') / 1000)).toEqual(['2026.01'])
    const day = await usage(ms('2026-02-10T00:00:00Z') / 1000, ms('2026-02-11T00:00:00Z') / 1000)
    expect(day.months).toMatchObject([{ period: '2026.02', total_cost: 24 * 220 }])
    expect(sim.digest).toBe(digest)
  })

  test('the first month has no items at the start of the account', async () => {
    const { usage } = account()
    const now = ms('2026-01-01T00:00:00Z')
    expect(await usage()).toEqual({
      months: [{ period: '2026.01', interval: { from: now, to: now }, items: [], total_cost: 0, invoice_id: null }],
      initial_month: '2026.01',
    })
  })

  test('a charge at the boundary of two months is in the first of them only', async () => {
    // Charged directly, without invariant checks.
    const { sim, usage } = account({ check: false })
    await sim.clock.advanceTo('2026-02-01T00:00:00Z')
    sim.world.ledger.chargeTokens('aurora-labs/aurora-8b-instruct', 5_000_000)
    await sim.clock.advance('1h')
    const { months } = await usage('2026.01')
    expect(months.map(month => month.total_cost)).toEqual([5, 0])
    expect(months[0]!.items).toMatchObject([{ type: 'tokens', name: 'aurora-labs/aurora-8b-instruct', cost: 5 }])
    expect((await usage('current')).months.map(month => month.total_cost)).toEqual([0])
  })

  test('an invalid period is refused', async () => {
    const { usage } = account()
    for (const from of ['2026.13', '2026-01', 'last', 'current+1', 'current-', '', '-5', '1.5', '2026.1']) {
      expect([from, await issues(usage(from))]).toEqual([from, ['query/from string_pattern_mismatch']])
    }
    expect(await issues(usage('2026.02', '2026.01'))).toEqual(['query/from value_error'])
    expect(await issues(usage('2026.02', 'current'))).toEqual(['query/from value_error'])
  })
})
