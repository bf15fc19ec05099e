/** The spending limit: the moment at which it suspends the account, and what ends that. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FixturePatch } from '../../src/data/records/fixture.ts'
import { accountBalance } from '../../src/simulation/reporting/monthly-usage.ts'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { forAllAsync } from '../setup/for-all.ts'
import { askTo, sendTo } from '../setup/send-to.ts'

const MICROCENTS_PER_USD = 100_000_000
const HOUR = 3_600_000_000

const machine = (gpus: number, container_id: string) => ({
  ...{ container_id, name: container_id, gpu_config: `${gpus}xH100-80GB`, created_at: 1_767_139_200 },
  container_image: 'registry.example/train:1',
})

function rented(account: FixturePatch['account'] = {}, gpus: readonly number[] = [1], options = {}): Simulator {
  const containers = gpus.map((count, i) => machine(count, `cont_${i}`))
  return createSimulator({ fixtures: 'empty', with: { account, containers }, check: true, ...options })
}

const read = async (sim: Simulator, path: string) => (await askTo(sim, `GET ${path}`)).body
const limitTo = async (sim: Simulator, limit: number | null) =>
  (await askTo(sim, 'POST /payment/config', { limit })).body
const checklist = (sim: Simulator) => read(sim, '/payment/checklist')
const recent = (sim: Simulator) => accountBalance(sim.world).recent
const story = (sim: Simulator) =>
  sim.journal
    .entries()
    .filter(({ kind }) => kind.startsWith('account.'))
    .map(({ kind, fields }) => `${kind} ${(fields as { reason?: string } | undefined)?.reason ?? ''}`.trim())

describe('a spending limit', () => {
  test('is -1 at first, and null or no value keeps it', async () => {
    const sim = rented()
    expect(await read(sim, '/payment/config')).toEqual({ limit: -1 })
    expect((await checklist(sim)).limit).toBe(null)
    expect(await limitTo(sim, 12.34)).toEqual({ limit: 12.34 })
    expect(await limitTo(sim, null)).toEqual({ limit: 12.34 })
    expect((await checklist(sim)).limit).toBe(12.34)
    expect(await limitTo(sim, -5)).toEqual({ limit: -1 })
  })

  test('suspends the account at the micro-cent at which recent reaches it', async () => {
    const sim = rented({}, [1, 1, 2])
    await limitTo(sim, 10)
    const forecast = sim.fork()
    while (sim.world.ledger.suspensionReason === undefined) sim.world.next()
    expect(recent(sim)).toBeGreaterThanOrEqual(10 * MICROCENTS_PER_USD)
    const at = sim.world.clock.now
    forecast.world.runTo(at - 1)
    expect(forecast.world.ledger.suspensionReason).toBe(undefined)
    expect(recent(forecast)).toBeLessThan(10 * MICROCENTS_PER_USD)
    expect(await checklist(sim)).toMatchObject({ suspended: true, suspend_reason: 'limit-reached', limit: 10 })
    expect(story(sim)).toEqual(['account.suspended limit-reached'])
  })

  test('has the grace and the cut-off of an empty balance, and refuses what is new with 402', async () => {
    const sim = rented()
    await limitTo(sim, 5)
    while (sim.world.ledger.suspensionReason === undefined) sim.world.next()
    const refused = await sendTo(sim, 'POST /v1/chat/completions', {
      model: 'aurora-labs/aurora-8b-instruct',
      messages: [{ role: 'user', content: 'Hi' }],
    })
    expect([refused.status, await refused.text()]).toEqual([402, expect.stringContaining('POST /payment/config')])
    await sim.clock.advance('1d')
    expect(story(sim)).toEqual(['account.suspended limit-reached', 'account.graceEnded'])
    const price = sim.world.ledger.meters.priceCentsPerHour('H100-80GB') * 1_000_000
    const graceAndShutdown = sim.world.profile.policies.suspensionGrace + sim.world.profile.timings.rentalShutdown
    expect(recent(sim)).toBeLessThanOrEqual(5 * MICROCENTS_PER_USD + Math.ceil((graceAndShutdown * price) / HOUR) + 1)
  })

  test('suspends at once if it is low, and a higher one ends the suspension', async () => {
    const sim = rented()
    await sim.clock.advance('10h')
    await limitTo(sim, 1)
    expect(sim.world.ledger.suspensionReason).toBe('limit-reached')
    await limitTo(sim, 2)
    expect(story(sim)).toEqual(['account.suspended limit-reached'])
    await limitTo(sim, 1000)
    expect(sim.world.ledger.suspensionReason).toBe(undefined)
    await limitTo(sim, 0)
    await limitTo(sim, -1)
    expect(story(sim).slice(1)).toEqual(['account.resumed', 'account.suspended limit-reached', 'account.resumed'])
  })

  test('ends with the month, and counts from zero then', async () => {
    const sim = rented({ spending_limit_cents: 500, funds_cents: 100_000_000 })
    await sim.clock.advance('30d')
    expect(sim.world.ledger.suspensionReason).toBe('limit-reached')
    await sim.clock.advance('1d')
    expect([sim.world.ledger.suspensionReason, recent(sim)]).toEqual([undefined, 0])
    expect(story(sim)).toEqual(['account.suspended limit-reached', 'account.graceEnded', 'account.resumed'])
  })

  test('of a day ends with the day under invoice_closes daily', async () => {
    const sim = rented({ spending_limit_cents: 500 }, [1], { profile: { policies: { invoice_closes: 'daily' } } })
    await sim.clock.advance('23h 59m')
    expect(sim.world.ledger.suspensionReason).toBe('limit-reached')
    await sim.clock.advance('1m')
    expect(sim.world.ledger.suspensionReason).toBe(undefined)
  })

  test('counts the past of the month before the epoch', () => {
    const history = [{ kind: 'rent' as const, id: 'cont_0', from: '2026-01-10T00:00:00Z' }]
    const options = { epoch: '2026-01-15T00:00:00Z' }
    const with_ = (spending_limit_cents: number) =>
      createSimulator({
        ...{ fixtures: 'empty', check: true, ...options },
        with: {
          account: { spending_limit_cents, funds_cents: 1_000_000 },
          containers: [machine(1, 'cont_0')],
          history,
        } as never,
      })
    const used = recent(with_(1_000_000))
    expect(used).toBeGreaterThan(0)
    expect(with_(Math.floor(used / 1_000_000)).world.ledger.suspensionReason).toBe('limit-reached')
    expect(with_(Math.floor(used / 1_000_000) + 1).world.ledger.suspensionReason).toBe(undefined)
  })

  test('is one of three causes, and none of them ends another', async () => {
    const sim = rented({ funds_cents: 1000 })
    await limitTo(sim, 5)
    while (sim.world.ledger.suspensionReason === undefined) sim.world.next()
    sim.cluster.account.suspend()
    expect(sim.world.ledger.suspensionReason).toBe('admin')
    await limitTo(sim, 100)
    expect(sim.world.ledger.suspensionReason).toBe('admin')
    await limitTo(sim, 5)
    sim.cluster.account.resume()
    expect(sim.world.ledger.suspensionReason).toBe('limit-reached')
    expect(() => sim.cluster.account.resume()).toThrow('Raise it with POST /payment/config.')
    expect(sim.cluster.activeFailures()).toEqual([])
    sim.cluster.funds.set(0)
    while (sim.world.ledger.suspensionReason !== 'balance') sim.world.next()
    await limitTo(sim, 100)
    expect(sim.world.ledger.suspensionReason).toBe('balance')
    sim.cluster.funds.set(50)
    expect(sim.world.ledger.suspensionReason).toBe(undefined)
  })

  test('is never exceeded by more than the grace costs', { tags: 'slow' }, async () => {
    const actions = fc.array(
      fc.record({
        hours: fc.integer({ min: 0, max: 60 }),
        limit: fc.integer({ min: -1, max: 60 }),
        gpus: fc.integer({ min: 0, max: 2 }),
      }),
      { minLength: 1, maxLength: 8 },
    )
    await forAllAsync(
      [actions],
      { numRuns: Number(process.env.INVARIANT_RUNS ?? 10), seed: Number(process.env.FUZZ_SEED ?? 7) },
      async steps => {
        const sim = rented({ funds_cents: 10_000_000 }, [2, 1])
        for (const { hours, limit } of steps) {
          await limitTo(sim, limit)
          await sim.clock.advance(`${hours}h`)
          const { ledger, clock, profile } = sim.world
          const { limit: inForce } = ledger.spending
          if (inForce === undefined) expect(ledger.suspensionReason).toBe(undefined)
          else
            expect(recent(sim) >= inForce, `${recent(sim)} of ${inForce} at ${clock.now}`).toBe(
              ledger.suspensionReason === 'limit-reached',
            )
          expect(profile.policies.suspensionGrace).toBeGreaterThan(0)
        }
      },
    )
  })
})
