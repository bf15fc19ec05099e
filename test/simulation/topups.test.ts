import { describe, expect, test } from 'vitest'
import type { ProfileInput } from '../../src/data/profiles/load.ts'
import type { FixtureInput } from '../../src/data/records/fixture.ts'
import { drawTopupDecline } from '../../src/simulation/account/chaos-draws.ts'
import { pass, passUntil, spec, stage, story } from './small-world.ts'

const CENT = 1_000_000
const MINUTE = 60_000_000
const RULE = { amount: 500, threshold: 800, enabled: true }

/** An H100 that runs on 1,000 cents: 220 an hour, below 800 after 54.5 min. */
function spending(account: Partial<FixtureInput['account']> = {}, profile: ProfileInput = {}) {
  const sim = stage([{}], { funds_cents: 1000, topup: RULE, ...account }, { profile })
  const chat = sim.world.deployments.createLlm(spec())
  passUntil(sim, () => chat.status === 'running')
  const entries = () => story(sim, 'acct_test')
  const until = (kind: string, within = '5h') => passUntil(sim, () => entries().at(-1) === kind, within)
  return { sim, chat, entries, until, ledger: sim.world.ledger }
}

const LATE: ProfileInput = { timings: { topup_delay: '30m' } }

describe('a top-up that takes its time', () => {
  test('is begun at the crossing and booked after the delay, once', () => {
    const { sim, entries, until, ledger } = spending({}, LATE)
    until('topup.begun')
    expect(ledger.balance).toBe(800 * CENT - 1)
    expect(until('topup.charged')).toBe(30 * MINUTE)
    // 30 minutes cost 110 cents.
    expect(ledger.balance).toBe((800 - 110 + 500) * CENT - 1)
    pass(sim, '1h')
    expect(entries()).toEqual(['topup.begun', 'topup.charged'])
  })

  test('comes in a fork as it does in its origin', () => {
    const { sim, until, ledger } = spending({}, LATE)
    until('topup.begun')
    const fork = sim.world.fork()
    fork.runTo(fork.clock.now + 30 * MINUTE)
    expect(fork.ledger.balance).toBe((800 - 110 + 500) * CENT - 1)
    expect(ledger.balance).toBe(800 * CENT - 1)
    pass(sim, '30m')
    expect([ledger.balance, sim.digest]).toEqual([fork.ledger.balance, fork.digest])
  })

  test('is not charged once the rule is switched off', () => {
    const { sim, entries, until, ledger } = spending({}, LATE)
    until('topup.begun')
    ledger.setTopupRule({ ...RULE, enabled: false })
    pass(sim, '2h')
    expect(entries()).toEqual(['topup.begun', 'topup.set'])
  })

  test('begins again with a new rule', () => {
    const { sim, entries, until, ledger } = spending({}, LATE)
    until('topup.begun')
    pass(sim, '20m')
    ledger.setTopupRule({ amount: 2000, threshold: 900, enabled: true })
    expect(until('topup.charged')).toBe(30 * MINUTE)
    expect(entries()).toEqual(['topup.begun', 'topup.set', 'topup.begun', 'topup.charged'])
    expect(sim.ledger.entries().filter(entry => entry.kind === 'topup')).toMatchObject([{ microcents: 2000 * CENT }])
  })

  test('is called off by funds that lift the balance to the threshold, and the next crossing fires again', () => {
    const { sim, entries, until, ledger } = spending({}, LATE)
    until('topup.begun')
    pass(sim, '10m')
    ledger.addFunds(10)
    expect(entries().at(-1)).toBe('funds.added')
    ledger.addFunds(190)
    pass(sim, '21m')
    expect(entries()).toEqual(['topup.begun', 'funds.added', 'funds.added', 'topup.calledOff'])
    until('topup.charged')
    expect(entries().slice(-2)).toEqual(['topup.begun', 'topup.charged'])
  })

  test('is declined when the card is by then, and tried again an hour later without the delay', () => {
    const { sim, entries, until, ledger } = spending({}, LATE)
    until('topup.begun')
    sim.cluster.card.decline()
    expect(until('topup.declined')).toBe(30 * MINUTE)
    expect(ledger.topups.hasFailed).toBe(true)
    expect(until('topup.declined', '61m')).toBe(0)
    passUntil(sim, () => entries().filter(kind => kind === 'topup.declined').length === 2)
    sim.cluster.card.accept()
    expect(entries().slice(-2)).toEqual(['card.accepted', 'topup.charged'])
    expect(ledger.topups.hasFailed).toBe(false)
    pass(sim, '2h')
    expect(entries().at(-1)).toBe('topup.charged')
  })
})

describe('one charge a crossing', () => {
  test('also when its amount does not reach the threshold: the next one needs a crossing of its own', () => {
    const { sim, entries, ledger } = spending({ topup: { ...RULE, enabled: false } })
    ledger.setTopupRule({ amount: 100, threshold: 5000, enabled: true })
    pass(sim, '3h')
    expect(entries()).toEqual(['topup.set', 'topup.charged'])
    ledger.addFunds(5000)
    pass(sim, '130m')
    expect(entries().slice(2)).toEqual(['funds.added', 'topup.charged'])
  })

  test('a rule that was declined and is set again is no longer failed', () => {
    const { sim, entries, until, ledger } = spending()
    sim.cluster.card.decline()
    until('topup.declined')
    ledger.setTopupRule({ ...RULE, enabled: false })
    expect(ledger.topups.hasFailed).toBe(false)
    pass(sim, '2h')
    expect(entries().at(-1)).toBe('topup.set')
  })
})

describe('the interval of top-ups', () => {
  test('puts off the charge of a crossing that comes sooner', () => {
    const { sim, entries, until, ledger } = spending()
    until('topup.charged')
    // 800 cents a minute.
    sim.cluster.price.set('H100-80GB', 48_000)
    until('topup.begun', '1m')
    expect(until('topup.charged', '1m')).toBeLessThan(MINUTE)
    const times = ledger.entries().flatMap(({ kind, time }) => (kind === 'topup' ? [time] : []))
    expect(times[1]! - times[0]!).toBe(MINUTE)
    expect(ledger.balance).toBe((1300 - 800 + 500) * CENT - 1)
    expect(entries().slice(-2)).toEqual(['topup.begun', 'topup.charged'])
  })

  test('limits the charges of an account that spends faster than they come, and it is suspended', () => {
    const { chat, sim, entries } = spending({ topup: { amount: 5000, threshold: 1000, enabled: true } })
    sim.cluster.price.set('H100-80GB', 1e9)
    pass(sim, '1h')
    expect(entries().filter(kind => kind === 'topup.charged').length).toBeLessThan(3)
    expect(entries()).toContain('account.suspended')
    expect(chat.status).toBe('stopped')
  })

  test('of 0s lets each crossing charge at once', () => {
    const { sim, entries } = spending({}, { timings: { topup_interval: '0s' } })
    sim.cluster.price.set('H100-80GB', 60_000)
    pass(sim, '1m')
    expect(entries().filter(kind => kind === 'topup.charged')).toHaveLength(2)
  })
})

describe('topup.delay and topup.normal', () => {
  test('put a top-up off, one under way included, and let a late one come at once', () => {
    const { sim, entries, until, ledger } = spending()
    sim.cluster.topup.delay('1h')
    until('topup.begun')
    pass(sim, '59m')
    expect(ledger.balance).toBeLessThan(800 * CENT)
    sim.cluster.topup.delay('90m')
    pass(sim, '2m')
    expect(entries().at(-1)).toBe('topup.delayed')
    sim.cluster.topup.normal()
    pass(sim, '1us')
    expect(entries().slice(-2)).toEqual(['topup.normal', 'topup.charged'])
    until('topup.charged', '3h')
  })

  test('normal leaves the usual delay of the service', () => {
    const { sim, entries, until } = spending({}, LATE)
    sim.cluster.topup.delay('1h')
    until('topup.begun')
    pass(sim, '10m')
    sim.cluster.topup.normal()
    pass(sim, '19m')
    expect(entries().at(-1)).toBe('topup.normal')
    pass(sim, '1m')
    expect(entries().at(-1)).toBe('topup.charged')
  })
})

describe('payment weather', () => {
  const pack = (about: { topup_declined?: number; topup_delayed?: number }): ProfileInput => ({
    weather: { pack: 'payments', packs: { payments: about }, topup_delay_lasts: '20m' },
  })

  test('declines a charge although the card is good; the next hour tries again', () => {
    const { sim, entries, until } = spending({}, pack({ topup_declined: 1 }))
    until('topup.declined')
    expect(sim.world.ledger.addFunds(1)).toBe(true)
    pass(sim, '1h')
    expect(entries().filter(kind => kind === 'topup.declined')).toHaveLength(2)
    // A repair of the card means that the charge succeeds.
    sim.cluster.card.accept()
    expect(entries().slice(-2)).toEqual(['card.accepted', 'topup.charged'])
    expect(sim.world.ledger.topups.hasFailed).toBe(false)
  })

  test('a declined charge is called off when funds reach the threshold by another way', () => {
    const { sim, entries, until, ledger } = spending({}, pack({ topup_declined: 1 }))
    until('topup.declined')
    ledger.addFunds(100)
    expect(ledger.topups.hasFailed).toBe(false)
    expect(entries().slice(-2)).toEqual(['funds.added', 'topup.calledOff'])
    pass(sim, '20m')
    expect(entries().at(-1)).toBe('topup.calledOff')
  })

  test('declines as many as it says, and each by its own draw', () => {
    const outcomes = (seed: number) => {
      const sim = stage([{}], {}, { profile: pack({ topup_declined: 0.3 }), seed })
      return Array.from({ length: 1000 }, (_, nth) => drawTopupDecline(sim.world, sim.world.ledger.uid, nth))
    }
    expect(outcomes(1).filter(draw => draw !== undefined).length / 1000).toBeCloseTo(0.3, 1)
    expect(outcomes(1)).toEqual(outcomes(1))
    expect(outcomes(2)).not.toEqual(outcomes(1))
  })

  test('delays a charge on top of the usual delay', () => {
    const { until } = spending({}, { ...LATE, ...pack({ topup_delayed: 1 }) })
    until('topup.begun')
    expect(until('topup.charged')).toBe(50 * MINUTE)
  })
})

describe('two reasons for a suspension', () => {
  test('an administrator holds an account that funds would free', () => {
    const { sim, ledger, chat } = spending({ topup: { ...RULE, enabled: false } })
    passUntil(sim, () => ledger.suspensionReason === 'balance', '6h')
    sim.cluster.account.suspend('admin')
    expect(ledger.suspensionReason).toBe('admin')
    ledger.addFunds(5000)
    expect([ledger.suspensionReason, ledger.canSpend()]).toEqual(['admin', false])
    pass(sim, '11m')
    expect(chat.status).toBe('stopped')
    sim.cluster.account.resume()
    expect([ledger.suspensionReason, ledger.canSpend()]).toEqual([undefined, true])
  })

  test('an account without funds stays suspended when what was imposed ends', () => {
    const { sim, ledger, entries } = spending({ topup: { ...RULE, enabled: false } })
    passUntil(sim, () => sim.ledger.balance < 300 * CENT, '6h')
    sim.cluster.account.suspend('bad-cc')
    sim.world.ledger.chargeTokens('acct_test', sim.ledger.balance)
    pass(sim, '10m')
    pass(sim, '1s')
    expect(ledger.suspensionReason).toBe('bad-cc')
    sim.cluster.account.resume()
    expect(ledger.suspensionReason).toBe('balance')
    expect(() => sim.cluster.account.resume()).toThrow(
      'the account is out of funds. Add some with POST /payment/funds.',
    )
    ledger.addFunds(100)
    expect(ledger.suspensionReason).toBeUndefined()
    // One grace for both reasons.
    expect(entries().filter(kind => kind === 'account.graceEnded')).toHaveLength(1)
  })
})

describe('overdraft and return', () => {
  const broke = (profile: ProfileInput) => spending({ funds_cents: 300, topup: { ...RULE, enabled: false } }, profile)

  test('an overdraft is spent before the account counts as out of funds, and paid back before it is free', () => {
    const { sim, ledger, chat } = broke({ policies: { overdraft_cents: 1000 } })
    passUntil(sim, () => ledger.suspensionReason === 'balance', '8h')
    expect(sim.ledger.balance).toBe(-1000 * CENT)
    passUntil(sim, () => chat.toRecord().instances.running === 0, '11m')
    pass(sim, '24h')
    // What ran in ten minutes of grace and ten seconds of draining, and no more: 37.3 cents.
    expect(sim.ledger.balance).toBe(-1000 * CENT - Math.floor((610 * 220 * CENT) / 3600))
    ledger.addFunds(1000)
    expect(ledger.suspensionReason).toBe('balance')
    ledger.addFunds(38)
    expect(ledger.suspensionReason).toBeUndefined()
  })

  test.each(['manual', 'restart'] as const)('what the empty balance stopped: %s', balance_returns => {
    const { sim, chat } = broke({ policies: { balance_returns } })
    const other = sim.world.deployments.createLlm(spec({ model_name: 'acme/other' }))
    passUntil(sim, () => other.status === 'running')
    other.stop()
    passUntil(sim, () => chat.status === 'stopped', '6h')
    sim.world.ledger.addFunds(10_000)
    expect(chat.status).toBe(balance_returns === 'restart' ? 'initializing' : 'stopped')
    pass(sim, '1h')
    expect(chat.status).toBe(balance_returns === 'restart' ? 'running' : 'stopped')
    // A deployment that the user stopped stays stopped.
    expect(other.status).toBe('stopped')
  })

  test('a price that changes within a run is charged to the micro-cent, each stretch at its own', () => {
    const { sim } = spending({ funds_cents: 1_000_000 })
    const before = sim.ledger.balance
    const prices = [220, 0, 137.25, 1_000_000, 3]
    let exact = 0n
    for (const [i, cents] of prices.entries()) {
      if (i > 0) sim.cluster.price.set('H100-80GB', cents)
      const micros = 7_777_777 * (i + 1) + i
      pass(sim, `${micros}us`)
      exact += BigInt(micros) * BigInt(Math.round(cents * CENT))
    }
    // What ran before `before` was floored with it: one floor for all of the meter.
    expect(Math.abs(before - sim.ledger.balance - Number(exact / 3_600_000_000n))).toBeLessThanOrEqual(1)
    const sum = sim.ledger.entries().reduce((total, entry) => total + entry.microcents, sim.world.ledger.openingFunds)
    expect(sum).toBe(sim.ledger.balance)
  })
})
