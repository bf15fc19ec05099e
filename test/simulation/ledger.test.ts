import { describe, expect, test } from 'vitest'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { pass, passUntil, spec, stage, story } from './small-world.ts'

const CENT = 1_000_000

function running(account: Parameters<typeof stage>[1], about: Parameters<typeof spec>[0] = {}) {
  const sim = stage([{ count: 2 }], account)
  const chat = sim.world.deployments.createLlm(spec(about))
  passUntil(sim, () => chat.status === 'running')
  return { sim, chat }
}

describe('rent', () => {
  test('costs GPUs × time × price from ready to gone, to the micro-cent, whenever it is read', () => {
    const { sim, chat } = running({}, { repo: 'acme/chat-70b', num_gpus: 2 })
    const before = sim.ledger.balance
    for (const step of ['7s', '1us', '59m', '13h']) {
      pass(sim, step)
      void sim.ledger.balance
    }
    const ran = 7_000_000 + 1 + 59 * 60e6 + 13 * 3600e6
    expect(before - sim.ledger.balance).toBe(Number((BigInt(ran) * 2n * 220_000_000n) / 3_600_000_000n))
    chat.stop()
    pass(sim, '1h')
    expect(before - sim.ledger.balance).toBe(Number((BigInt(ran + 10_000_000) * 2n * 220_000_000n) / 3_600_000_000n))
  })

  test('of a window counts the seconds inside it, over all instances, floored once', () => {
    const { sim, chat } = running({}, { min_instances: 2, max_instances: 2 })
    passUntil(sim, () => chat.toRecord().instances.running === 2)
    pass(sim, '1h')
    const { clock, ledger } = sim.world
    const now = clock.unix()
    expect(ledger.secondsBilled(now - 600, now)[chat.deploy_id]).toBeGreaterThanOrEqual(1199)
    expect(ledger.secondsBilled(now - 600, now)[chat.deploy_id]).toBeLessThanOrEqual(1201)
    expect(ledger.secondsBilled(now - 1200, now - 600)).toEqual({ [chat.deploy_id]: 1200 })
    expect(ledger.secondsBilled(now + 10, now + 20)).toEqual({})
    expect(ledger.secondsBilled(clock.unix(0) - 1000, clock.unix(0))).toEqual({})
  })

  test('follows a change of price from its moment on', () => {
    const { sim } = running({})
    const before = sim.ledger.balance
    pass(sim, '1h')
    sim.cluster.price.set('H100-80GB', 440)
    pass(sim, '1h')
    expect(before - sim.ledger.balance).toBe((220 + 440) * CENT)
  })

  test('appears in the ledger as postings and, while it runs, as an open entry; the entries sum to the balance', () => {
    const { sim, chat } = running({})
    pass(sim, '1h')
    const open = sim.ledger.entries().filter(entry => entry.open)
    expect(open).toEqual([
      { time: sim.world.clock.now, kind: 'rent', subject: chat.deploy_id, microcents: -220 * CENT, open: true },
    ])
    chat.stop()
    pass(sim, '1m')
    expect(sim.ledger.entries().filter(entry => entry.open)).toEqual([])
    const sum = sim.ledger.entries().reduce((total, entry) => total + entry.microcents, 1_000_000 * CENT)
    expect(sum).toBe(sim.ledger.balance)
  })
})

describe('the top-up rule', () => {
  test('adds its amount at the microsecond at which the balance falls below the threshold, once a crossing', () => {
    const { sim } = running({ funds_cents: 1000, topup: { amount: 500, threshold: 800, enabled: true } })
    const [first] = passToTopup(sim)
    expect(sim.world.ledger.balance).toBe((800 + 500) * CENT - 1)
    pass(sim, '1h')
    const [second] = passToTopup(sim)
    // 500 cents last 500 ÷ 220 hours.
    expect(second! - first!).toBeGreaterThan((500 / 220) * 3600e6 - 100)
    expect(second! - first!).toBeLessThan((500 / 220) * 3600e6 + 100)
  })

  test('that is not enabled never fires', () => {
    const { sim } = running({ funds_cents: 1000, topup: { amount: 500, threshold: 800, enabled: false } })
    pass(sim, '24h')
    expect(story(sim, 'acct_test')).toEqual(['account.suspended', 'account.graceEnded'])
  })

  test('with a declined card fails, is tried again every hour, and is repaired when the card is', () => {
    const { sim } = running({
      funds_cents: 2000,
      card: 'declined',
      topup: { amount: 500, threshold: 1800, enabled: true },
    })
    pass(sim, '4h')
    expect(story(sim, 'acct_test').filter(kind => kind === 'topup.declined').length).toBeGreaterThanOrEqual(3)
    expect(sim.world.ledger.topups.hasFailed).toBe(true)
    sim.cluster.card.accept()
    pass(sim, '1s')
    expect(story(sim, 'acct_test').at(-1)).toBe('topup.charged')
    expect(sim.world.ledger.topups.hasFailed).toBe(false)
  })

  function passToTopup(sim: ReturnType<typeof stage>): number[] {
    const count = () => story(sim, 'acct_test').filter(kind => kind === 'topup.charged').length
    const before = count()
    passUntil(sim, () => count() > before, '48h')
    return [sim.world.clock.now]
  }
})

describe('an empty balance', () => {
  test('suspends at once, and what runs stops when the grace is over', () => {
    const { sim, chat } = running({ funds_cents: 300 })
    passUntil(sim, () => sim.world.ledger.suspensionReason === 'balance', '3h')
    expect(sim.ledger.balance).toBeLessThanOrEqual(0)
    expect(sim.ledger.balance).toBeGreaterThan(-100)
    expect(sim.world.ledger.canSpend()).toBe(false)
    expect(chat.status).toBe('running')
    pass(sim, '9m59s')
    expect(chat.status).toBe('running')
    pass(sim, '1s')
    expect(chat.status).toBe('stopped')
    pass(sim, '24h')
    // The overdraft is what ran in the grace and the drain, and no more.
    expect(sim.ledger.balance).toBeGreaterThan(-38 * CENT)
  })

  test('from the first moment on stops what runs as well', () => {
    const sim = stage([{}], { funds_cents: 0 }, { with: { deployments: [{ model_name: 'acme/chat' }] } })
    expect(sim.world.ledger.canSpend()).toBe(false)
    pass(sim, '11m')
    expect(sim.world.deployments.findLive('acme/chat')?.status).toBe('stopped')
  })

  test('that is filled within the grace changes nothing for what runs', () => {
    const { sim, chat } = running({ funds_cents: 300 })
    passUntil(sim, () => sim.world.ledger.suspensionReason !== undefined, '3h')
    pass(sim, '5m')
    expect(sim.world.ledger.addFunds(10_000)).toBe(true)
    expect(sim.world.ledger.canSpend()).toBe(true)
    pass(sim, '2h')
    expect(chat.status).toBe('running')
    expect(story(sim, 'acct_test')).toEqual(['account.suspended', 'funds.added', 'account.resumed'])
  })

  test('ends batches on shared capacity with everything else, and funds let them go on', { tags: 'slow' }, async () => {
    // A tenth of the lines at a tenth of the capacity takes the same time.
    const profile = { timings: { batch_shared_tokens_per_second: 2500 } }
    const sim = stage([{}], { funds_cents: 0 }, { profile })
    await loadTokenizer()
    const model = 'aurora-labs/aurora-8b-instruct'
    const line = (i: number) => ({
      custom_id: `l${i}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model, messages: [{ role: 'user', content: 'x' }] },
    })
    const bytes = new TextEncoder().encode(Array.from({ length: 2_000 }, (_, i) => JSON.stringify(line(i))).join('\n'))
    const file = { filename: 'a', purpose: 'batch', chunks: [bytes], bytes: bytes.length, hash: 'x' }
    const batch = sim.world.batches.create({
      input_file_id: sim.world.files.create(file).id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      metadata: null,
    })
    pass(sim, '11m')
    const { completed } = batch.toRecord().request_counts!
    expect(completed).toBeGreaterThan(0)
    pass(sim, '5h')
    expect(batch.toRecord().request_counts!.completed).toBe(completed)
    sim.world.ledger.addFunds(100)
    passUntil(sim, () => batch.status === 'completed', '10h')
  })

  test('that is filled by too little stays suspended', () => {
    const { sim } = running({ funds_cents: 300 })
    passUntil(sim, () => sim.world.ledger.suspensionReason !== undefined, '3h')
    pass(sim, '9m')
    sim.world.ledger.addFunds(1)
    expect(sim.world.ledger.suspensionReason).toBe('balance')
  })

  test('a declined card adds nothing', () => {
    const { sim } = running({ card: 'declined' })
    const before = sim.ledger.balance
    expect(sim.world.ledger.addFunds(100)).toBe(false)
    expect(sim.ledger.balance).toBe(before)
  })
})

describe('GPU limits', () => {
  test('a request is pending until its review, then the limit is what was asked for', () => {
    const sim = stage([{}], { gpu_limits: { 'H100-80GB': 4 } })
    sim.world.gpuQuotas.fileRequest('H100-80GB', 16, 'launch')
    expect(sim.world.gpuQuotas.hasPendingRequest('H100-80GB')).toBe(true)
    pass(sim, '3h59m')
    expect(sim.world.gpuQuotas.get('H100-80GB')).toBe(4)
    pass(sim, '1m')
    expect([sim.world.gpuQuotas.get('H100-80GB'), sim.world.gpuQuotas.hasPendingRequest('H100-80GB')]).toEqual([
      16,
      false,
    ])
  })

  test('a request for more than the policy gives is denied', () => {
    const sim = stage([{}], { gpu_limits: { 'H100-80GB': 4 } })
    sim.world.gpuQuotas.fileRequest('H100-80GB', 65, 'everything')
    pass(sim, '5h')
    expect(sim.world.gpuQuotas.get('H100-80GB')).toBe(4)
  })

  test('a type that the fixture does not name has 4, null means none', () => {
    const sim = stage()
    expect([sim.world.gpuQuotas.get('B200-180GB'), sim.world.gpuQuotas.get('H100-80GB')]).toEqual([4, null])
  })
})

describe('hosted instances', () => {
  const hosted = {
    instance_id: 'inst_1',
    name: 'bench',
    plan_id: 'small',
    storage_gb: 50,
    created_at: 1_767_000_000,
  }

  test('hold no GPUs, are billed while they run, and grow 60 s after they were asked to', () => {
    const sim = stage([{}], {}, { with: { hosted: [hosted] } })
    expect(sim.cluster.node('node-0').free).toBe(8)
    const before = sim.ledger.balance
    pass(sim, '1h')
    expect(before - sim.ledger.balance).toBe(3 * CENT)
    const { rentals } = sim.world
    rentals.expand(rentals.ordinalOf('inst_1')!, 80)
    expect(rentals.findById('inst_1')).toMatchObject({ storageGb: 50, expansionTargetGb: 80 })
    pass(sim, '60s')
    expect(rentals.findById('inst_1')).toMatchObject({ storageGb: 80, expansionTargetGb: 0 })
  })

  test('fail with their machine, and stop when the money is gone', () => {
    const sim = stage([{ count: 1 }], { funds_cents: 2 }, { with: { hosted: [hosted] } })
    pass(sim, '1h')
    expect(sim.world.rentals.findById('inst_1')?.state).toBe('stopped')
    const other = stage([{}], {}, { with: { hosted: [hosted] } })
    other.cluster.hosted('inst_1').crash()
    expect(other.world.rentals.findById('inst_1')?.state).toBe('failed')
    const spent = other.ledger.balance
    pass(other, '1h')
    expect(other.ledger.balance).toBe(spent)
  })
})
