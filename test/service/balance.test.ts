import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/service/client/client.ts'
import { createSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { batchLine, startBatch } from '../setup/batches.ts'
import { AccountReader } from './account-reader.ts'

const USD = 100_000_000
const CENT = 1_000_000
const model = 'aurora-labs/aurora-70b-instruct'

function account(options: SimulatorOptions = {}) {
  const sim = createSimulator({ fixtures: 'default', seed: 3, check: true, ...options })
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  const reader = new AccountReader((url, init) => sim.fetch(url, init), sim.token)
  return { sim, api, reader }
}

/** Runs a batch with one token, and some chats with another. */
async function work({ sim }: ReturnType<typeof account>, lines: number): Promise<void> {
  const body = (n: number) => ({ model, prompt: `${n}: ${'tell a story '.repeat(200)}` })
  const batch = Array.from({ length: lines }, (_, n) => batchLine(`${n}`, body(n), '/v1/completions'))
  await startBatch(sim, batch)
  const ci = createClient(sim.fetch, { baseUrl: 'http://sim', token: 'sim_ci_token' })
  for (let i = 0; i < 5; i++)
    await ci.createChatCompletion({ model, messages: [{ role: 'user', content: `No. ${i}` }] })
}

test('a reader that knows only the shapes shows the balance, the months and their parts that the report shows', {
  tags: 'slow',
}, async () => {
  const world = account()
  const { sim, reader } = world
  for (const time of [
    '2026-01-05T01:02:03Z',
    '2026-01-20T00:00:00Z',
    '2026-02-01T00:00:00Z',
    '2026-03-11T12:13:14.5Z',
  ]) {
    await work(world, 200)
    await sim.clock.advanceTo(time)
    const { money } = sim.report()
    expect(Math.round((await reader.left()) * USD)).toBe(money.closing_balance_microcents)
    expect(await reader.leftOfMe()).toBe(await reader.left())
  }

  const months = await reader.months()
  const periods = months.map(({ period }) => period)
  expect(periods).toEqual(['2025.08', '2025.09', '2025.10', '2025.11', '2025.12', '2026.01', '2026.02', '2026.03'])
  expect(months.map(({ invoice_id }) => (invoice_id.startsWith('invoice_') ? 'invoice' : invoice_id))).toEqual([
    ...['EMPTY', 'EMPTY', 'EMPTY', 'invoice', 'invoice', 'invoice', 'invoice', 'NOT_FINAL'],
  ])
  for (const { interval, items, total_cost } of months.slice(-3)) {
    const report = sim.report({ from: new Date(interval.fr), to: new Date(interval.to) })
    const { money } = report
    expect(total_cost).toBe(Math.floor((money.rent_microcents + money.tokens_microcents) / CENT))
    const shown = items.map(item => [item.pricing_type, item.model.model_name, item.cost]).sort()
    const reported = [
      ...report.deployments.map(one => ['uptime', one.model_name, one.rent_microcents] as const),
      ...money.hosted.map(one => ['uptime', one.name, one.rent_microcents] as const),
      ...money.tokens_by_model.map(one => ['tokens', one.model, one.tokens_microcents] as const),
    ]
    const expected = reported
      .filter(([, , cost]) => cost > 0)
      .map(([...row]) => [...row.slice(0, 2), Math.floor(row[2] / CENT)])
    expect(shown).toEqual(expected.sort())
    for (const { units, rate, cost } of items) expect(Math.abs(units * rate - cost)).toBeLessThan(1.01)
  }
  const running = sim.report({ from: '2026-03-01T00:00:00Z' }).money
  expect(Math.round((await reader.sinceInvoice()) * USD)).toBe(running.rent_microcents + running.tokens_microcents)

  const [from, to] = ['2026-01-25T00:00:00Z', '2026-02-10T00:00:00Z']
  const parts = [sim.report({ from, to: '2026-02-01T00:00:00Z' }), sim.report({ from: '2026-02-01T00:00:00Z', to })]
  const cents = parts.map(({ money }) => Math.floor((money.rent_microcents + money.tokens_microcents) / CENT))
  expect(await reader.cost(Date.parse(from) / 1000, Date.parse(to) / 1000)).toBe(cents[0]! + cents[1]!)
  const [mine, ofCi] = [
    await reader.costOfToken(sim.token, '2026.02'),
    await reader.costOfToken('sim_ci_token', '2026.02'),
  ]
  const february = sim.report({ from: '2026-02-01T00:00:00Z', to: '2026-03-01T00:00:00Z' }).money
  expect(Math.floor(february.tokens_microcents / CENT) - mine - ofCi).toBeLessThanOrEqual(1)
  expect(mine).toBeGreaterThan(0)
})

describe('account_balance', () => {
  const rented = {
    fixtures: 'empty',
    with: {
      account: { funds_cents: 1_000_000 },
      deployments: [{ model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' } }],
    },
  } satisfies SimulatorOptions

  test('stays while money is used, and moves when funds come and when the month ends', async () => {
    const { sim, api } = account(rented)
    const shown = async () => {
      const { account_balance, recent } = await api.getPaymentChecklist()
      return [account_balance, recent]
    }
    expect(await shown()).toEqual([-10_000, 0])
    await sim.clock.advanceTo('2026-01-11T00:00:00Z')
    expect(await shown()).toEqual([-10_000, 528])
    await api.addFunds({ amount: 5000 })
    expect(await shown()).toEqual([-10_050, 528])
    await sim.clock.advanceTo('2026-01-31T23:00:00Z')
    expect(await shown()).toEqual([-10_050, 1634.6])
    await sim.clock.advanceTo('2026-02-01T01:00:00Z')
    expect(await shown()).toEqual([-(10_050 - 744 * 2.2), 2.2])
    expect(await shown()).toEqual(await shown())
  })

  test('moves at midnight with daily invoices', async () => {
    const { sim, api } = account({ ...rented, profile: { policies: { invoice_closes: 'daily' } } })
    await sim.clock.advance('23h')
    expect(await api.getPaymentChecklist()).toMatchObject({ account_balance: -10_000, recent: 23 * 2.2 })
    await sim.clock.advance('2h')
    expect(await api.getPaymentChecklist()).toMatchObject({ account_balance: -(10_000 - 24 * 2.2), recent: 2.2 })
  })

  test('is positive for debt', async () => {
    const { sim, api } = account({ ...rented, profile: { policies: { overdraft_cents: 10_000_000 } } })
    await sim.clock.advanceTo('2026-08-01T00:00:00Z')
    const { account_balance, recent } = await api.getPaymentChecklist()
    expect(account_balance).toBeGreaterThan(0)
    expect(recent).toBe(0)
    expect(sim.ledger.balance).toBe(Math.round(-account_balance * USD))
  })
})

test('GET /v1/me and GET /payment/checklist show the record of the fixture', async () => {
  const { api } = account({
    fixtures: 'empty',
    with: {
      account: {
        email_verified: false,
        first_name: 'Ada',
        last_name: 'Byron',
        country: 'GB',
        is_team_account: true,
        team_role: 'owner',
        partner_connection: { user_id: 'u1', installation_id: 'i1' },
        billing_address: false,
        overdue_cents: 1250,
      },
    },
  })
  const me = await api.getMe({ checklist: true })
  expect(me).toMatchObject({
    email_verified: false,
    name: 'Ada Byron',
    country: 'GB',
    is_team_account: true,
    team_role: 'owner',
    partner_connection: { user_id: 'u1', team_id: null, installation_id: 'i1' },
    checklist: { email: false, billing_address: false, overdue_invoices: 12.5, payment_method: true },
  })
  expect((await api.getMe({})).checklist).toBeNull()
})
