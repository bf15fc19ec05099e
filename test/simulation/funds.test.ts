import { expect, test } from 'vitest'
import { COMMANDS } from '../../src/simulation/operations/commands.ts'
import { createSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'

const USD = 100_000_000

function rented(options: SimulatorOptions = {}) {
  const account = { funds_cents: 5000 }
  const deployments = [{ model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' } }]
  return createSimulator({ fixtures: 'empty', check: true, with: { account, deployments }, ...options })
}

const kinds = (sim: ReturnType<typeof rented>) =>
  sim.journal
    .entries()
    .map(({ kind }) => kind)
    .filter(kind => /^(?:funds|account|topup)\./.test(kind))

test('sim.funds.set sets the remaining funds, up or down, while a deployment runs', async () => {
  const sim = rented()
  await sim.clock.advance('1h')
  sim.funds.set(12.345678)
  expect(sim.ledger.balance).toBe(1_234_567_800)
  sim.funds.set(3)
  expect(sim.ledger.balance).toBe(3 * USD)
  await sim.clock.advance('1h')
  expect(sim.ledger.balance).toBe(3 * USD - 220_000_000)
  const { money } = sim.report()
  expect(money.adjustments_microcents).toBe(3 * USD - (50 * USD - 220_000_000))
  expect(money.closing_balance_microcents).toBe(sim.ledger.balance)
  expect(sim.ledger.entries().filter(({ kind }) => kind === 'adjustment')).toHaveLength(2)
})

test('funds of 0 suspend the account at the next move, and more funds resume it', async () => {
  const sim = rented()
  sim.funds.set(0)
  await sim.clock.advance('1s')
  expect(sim.world.ledger.suspensionReason).toBe('balance')
  sim.funds.set(10)
  expect(sim.world.ledger.suspensionReason).toBeUndefined()
  expect(kinds(sim)).toEqual(['funds.set', 'account.suspended', 'funds.set', 'account.resumed'])
})

test('funds below the threshold begin a top-up', async () => {
  const topup = { amount: 2000, threshold: 1000, enabled: true }
  const sim = rented({ with: { account: { funds_cents: 5000, topup } } })
  sim.funds.set(9.99)
  await sim.clock.advance('2h')
  expect(kinds(sim)).toContain('topup.charged')
  expect(sim.ledger.balance).toBe(29.99 * USD)
})

test('the command funds.set has the effect of sim.funds.set, also later', async () => {
  const [one, other] = [rented(), rented()]
  one.cluster.funds.set(7, { at: '5m' })
  await one.clock.advance('10m')
  await other.clock.advance('5m')
  other.funds.set(7)
  await other.clock.advance('5m')
  expect(one.ledger.balance).toBe(other.ledger.balance)
})

test('an amount that is not a dollars from 0 to 40,000,000 is rejected and changes nothing', () => {
  const sim = rented()
  const { digest } = sim
  for (const usd of [-1, Number.NaN, 40_000_001, '5' as unknown as number]) {
    expect(() => sim.funds.set(usd)).toThrow('Give US dollars from 0 to 40,000,000.')
  }
  expect([sim.digest, sim.ledger.balance]).toEqual([digest, 50 * USD])
})

test('the default world is out of funds after funds.set when the card declines, and is topped up otherwise', async () => {
  const create = async (declines: boolean) => {
    const sim = createSimulator({ seed: 1, check: true })
    if (declines) sim.cluster.card.decline()
    sim.cluster.funds.set(0)
    await sim.clock.advance('1s')
    return (
      await sendTo(sim, 'POST /deploy/llm', { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
    ).status
  }
  expect([await create(true), await create(false)]).toEqual([402, 200])
  expect(COMMANDS['funds.set'].description).toMatch(/top-up .* card\.decline/)
})
