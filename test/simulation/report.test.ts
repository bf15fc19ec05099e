import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatReport } from '../../src/cli/report-text.ts'
import { HOUR, MINUTE, SECOND } from '../../src/kernel/duration.ts'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { promptWait } from '../../src/simulation/load/prompt-wait.ts'
import { createReport } from '../../src/simulation/reporting/report.ts'
import type { Report } from '../../src/simulation/reporting/report-types.ts'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { forAllAsync } from '../setup/for-all.ts'
import { sendTo } from '../setup/send-to.ts'
import { action, perform } from './invariants/actions.ts'
import { pass, passUntil, spec, stage } from './small-world.ts'

const RUNS = Number(process.env.INVARIANT_RUNS ?? 2)
const PRICE = 220 * 1_000_000

/** A fixture's deployment that runs from the first moment on, offered a load. */
function loaded(load: object, settings = { min_instances: 1, max_instances: 1 }) {
  const weights = { repo: 'acme/chat-8b' }
  return { deployments: [{ model_name: 'acme/chat', max_batch_size: 96, weights, settings, load: load as never }] }
}

function only(report: Report) {
  expect(report.deployments).toHaveLength(1)
  return report.deployments[0]!
}

describe('a report', () => {
  test('names the fixture and lists the commands of its window, the newest 100', async () => {
    const sim = createSimulator({ fixtures: 'two-nodes' })
    expect(sim.report()).toMatchObject({ fixture: 'two-nodes', commands: { count: 0, newest: [] } })
    expect(stage([{}]).report().fixture).toBe('given')
    sim.cluster.hub.down()
    sim.cluster.hub.up({ at: '5m' })
    await sim.clock.advance('1h')
    const { commands } = sim.report()
    expect(commands).toEqual({
      count: 2,
      newest: [
        { at: expect.stringContaining('T00:00:00'), verb: 'hub.down', target: '' },
        { at: expect.stringContaining('T00:05:00'), verb: 'hub.up', target: '' },
      ],
    })
    expect(formatReport(sim.report())).toMatch(/fixture two-nodes, seed 1.*\n\n2 commands\n.*hub\.down\n.*hub\.up\n/)
    expect(sim.report({ from: MINUTE }).commands.count).toBe(1)
    for (let i = 0; i < 120; i++) sim.cluster.hub[i % 2 === 0 ? 'down' : 'up']()
    expect(sim.report().commands.count).toBe(122)
    expect(sim.report().commands.newest).toHaveLength(100)
    expect(formatReport(sim.report())).toContain('122 commands, the newest 100\n')
    expect(() => sim.cluster.node('no-such-node').crash()).toThrow()
    const snapshot = sim.snapshot().toBytes()
    const restored = createSimulator({ fixtures: 'two-nodes' })
    restored.restore(snapshot)
    expect(restored.report()).toEqual(sim.report())
    expect(sim.fork().report()).toEqual(sim.report())
  })

  test('counts a request to an adapter for the adapter, for its base, and once in the totals', async () => {
    const sim = createSimulator({ fixtures: 'default', seed: 1, check: true })
    await loadTokenizer()
    const send = async (model: string) => {
      const response = await sendTo(sim, 'POST /v1/chat/completions', {
        model,
        messages: [{ role: 'user', content: 'Hello!' }],
      })
      return (await response.json()).usage as { prompt_tokens: number; completion_tokens: number }
    }
    const before = sim.report().totals
    await sim.clock.advance('5m')
    const usages = [await send('acme/assistant-support-tone'), await send('acme/assistant')]
    const { deployments, totals } = sim.report()
    const served = (name: string) => deployments.find(one => one.model_name === name)!.requests.served
    expect([served('acme/assistant-support-tone'), served('acme/assistant')]).toEqual([1, 2])
    const total = (field: 'prompt_tokens' | 'completion_tokens') => usages.reduce((sum, one) => sum + one[field], 0)
    expect(totals.requests.served - before.requests.served).toBe(2)
    expect(totals.tokens).toEqual({
      input: before.tokens.input + total('prompt_tokens'),
      output: before.tokens.output + total('completion_tokens'),
    })
  })

  test('leaves the commands of weather out', { tags: 'slow' }, async () => {
    const sim = createSimulator({ fixtures: 'fleet', profile: { weather: { pack: 'rough', acceleration: 200 } } })
    await sim.clock.advance('2h')
    expect(sim.report().commands.count).toBe(0)
  })

  test('of one deployment is what one counts by hand', () => {
    const sim = stage([{ cached: false }])
    const { deploy_id } = sim.world.deployments.createLlm(spec())
    const moments = new Map<string, number>()
    sim.journal.listen(({ kind, time }) => moments.set(kind, time))
    passUntil(sim, () => sim.world.deployments.get(deploy_id)!.status === 'running')
    pass(sim, 2 * 3_600_000)
    sim.world.deployments.get(deploy_id)!.stop()
    pass(sim, 3_600_000)
    const at = (kind: string) => moments.get(kind)!
    const [placed, ready, gone] = [at('instance.placed'), at('instance.ready'), at('instance.gone')]
    const report = sim.report()
    const one = only(report)

    expect(placed).toBe(10 * SECOND)
    expect(gone - ready).toBe(2 * HOUR + 10 * SECOND)
    expect(one.held_gpu_hours).toBe((gone - placed) / HOUR)
    expect(one.billed_gpu_hours).toBe((gone - ready) / HOUR)
    expect([one.used_gpu_hours, one.wasted_gpu_hours]).toEqual([0, one.held_gpu_hours])
    expect(one.rent_microcents).toBe(Math.floor(((gone - ready) * PRICE) / HOUR))
    expect(report.money.rent_microcents).toBe(one.rent_microcents)
    expect(report.money.closing_balance_microcents).toBe(1_000_000_000_000 - one.rent_microcents)
    expect(one.seconds_in_status).toEqual({
      initializing: at('instance.pulling') / SECOND,
      downloading: (at('instance.loading') - at('instance.pulling')) / SECOND,
      deploying: (ready - at('instance.loading')) / SECOND,
      running: 7200,
      stopped: 3600,
      failed: 0,
    })
    expect(one.instance_seconds_in_state).toEqual({
      pending: 10,
      placed: 1,
      pulling: (at('instance.loading') - at('instance.pulling')) / SECOND,
      loading: (at('instance.warming') - at('instance.loading')) / SECOND,
      warming: (ready - at('instance.warming')) / SECOND,
      ready: 7200,
      draining: 10,
    })
    expect(report.cold_starts.count).toBe(1)
    const median = (phase: string) => report.cold_starts.phases![phase as 'total'].median_seconds
    expect(median('waiting_for_placement')).toBe(10)
    expect(median('image')).toBe((at('instance.imagePulled') - placed) / SECOND)
    expect(median('weights')).toBe((at('instance.loading') - at('instance.imagePulled')) / SECOND)
    expect(median('warm_up')).toBe((ready - at('instance.warming')) / SECOND)
    expect(median('total')).toBe(ready / SECOND)
    expect(report.gpus).toEqual([
      {
        gpu: 'H100-80GB',
        capacity_gpu_hours: (8 * sim.clock.elapsed) / HOUR,
        spot_gpu_hours: 0,
        others_gpu_hours: 0,
        capacity_cost_microcents: Math.floor((8 * sim.clock.elapsed * PRICE) / HOUR),
        held_gpu_hours: one.held_gpu_hours,
        billed_gpu_hours: one.billed_gpu_hours,
        used_gpu_hours: 0,
        wasted_gpu_hours: one.held_gpu_hours,
        container_gpu_hours: 0,
        utilisation: (gone - placed) / (8 * sim.clock.elapsed),
        rent_microcents: one.rent_microcents,
        quota: null,
        quota_refusals: 0,
      },
    ])
    expect(report.failures).toMatchObject({ instances_lost: 0, deployments_failed: 0, node_crashes: 0 })
  })

  test('counts requests and what they took of the GPUs, by the closed form', () => {
    const sim = stage([{}], {}, { with: loaded({ kind: 'constant', rps: 18.36, prompt_tokens: 500 }) })
    pass(sim, 3_600_000)
    const { load } = sim.world.deployments.read(0)
    const one = only(sim.report())
    expect(one.requests).toEqual({
      waiting_before: 0,
      arrived: 66_096,
      served: 66_096,
      refused: 0,
      failed: 0,
      left: 0,
      waiting: 0,
    })
    expect(one.used_gpu_hours).toBeCloseTo(18.36 / load!.speed.requestsPerSecond, 8)
    expect(one.mean_utilisation).toBeCloseTo(18.36 / load!.speed.requestsPerSecond, 8)
    expect(one.wasted_gpu_hours).toBeCloseTo(1 - one.used_gpu_hours, 12)
  })

  test('of a slow node tells a full instance as busy, and half of its GPU as wasted', () => {
    const sim = stage([{}], {}, { with: loaded({ kind: 'constant', rps: 1000 }) })
    sim.cluster.node('node-0').degrade(2)
    pass(sim, 3_600_000)
    const one = only(sim.report())
    expect(one.mean_utilisation).toBeCloseTo(1, 9)
    expect(one.used_gpu_hours).toBeCloseTo(0.5, 9)
    const { waiting_before, arrived, served, refused, waiting } = one.requests
    expect(waiting_before + arrived).toBe(served + refused + waiting)
    expect(refused).toBeGreaterThan(0)
  })

  test('tells how a deployment serves at its end: a calm one, a full one, and one that has no instance', () => {
    const { speed } = stage([{}], {}, { with: loaded({ kind: 'constant', rps: 10 }) }).world.deployments.read(0).load!
    const served = (rps: number, then?: (sim: Simulator) => void, more = {}) => {
      const sim = stage([{}], {}, { with: loaded({ kind: 'constant', rps, ...more }) })
      pass(sim, 3_600_000)
      then?.(sim)
      const { wait_seconds: wait, ...report } = only(sim.report()).serving!
      return { report, wait, row: sim.report({ step: '10m' }).series!.at(-1)! }
    }

    const calm = served(10)
    const { concurrency, firstTokenTime } = speed.atRate(10)
    expect(calm.report.concurrency).toBeCloseTo(concurrency, 9)
    expect(calm.report.tokens_per_second).toBeCloseTo(10 * speed.outputTokens, 9)
    const wait = promptWait(10, speed, 1, { burstiness: 1, promptSpread: 0 })
    expect(calm.report.time_to_first_token_seconds).toBeCloseTo(firstTokenTime + wait.mean, 9)
    expect(calm.row).toMatchObject(calm.report)
    expect(calm.wait!.p90).toBeLessThan(0.05)

    const bursty = served(10, undefined, { burstiness: 70 })
    expect(bursty.report.time_to_first_token_seconds).toBeGreaterThan(10 * calm.report.time_to_first_token_seconds!)
    expect(bursty.report.time_to_first_token_seconds).toBeGreaterThan(bursty.wait!.p50)
    expect(bursty.report.time_to_first_token_seconds).toBeLessThan(bursty.wait!.p99)

    const full = served(1000)
    expect(full.report.concurrency).toBe(96)
    expect(full.wait!.p50).toBeGreaterThan(1000 / speed.requestsPerSecond - 1)
    expect(full.report.tokens_per_second).toBeCloseTo(speed.tokensPerSecond, 9)
    expect(full.report.time_to_first_token_seconds).toBeGreaterThan(full.row.backlog / speed.requestsPerSecond)
    expect(full.row).toMatchObject(full.report)

    const nothing = { concurrency: 0, time_to_first_token_seconds: null, tokens_per_second: 0 }
    const stopped = served(10, sim => {
      sim.world.deployments.handle(0).stop()
      pass(sim, 60_000)
    })
    expect([stopped.report, stopped.row]).toEqual([nothing, expect.objectContaining(nothing)])
    const unasked = stage([{}])
    unasked.world.deployments.createLlm(spec())
    expect(only(unasked.report()).serving).toBeNull()
  })

  test('has no waiting requests once the queue is empty, however much was refused before', () => {
    const load = {
      kind: 'steps',
      steps: [
        { at: '0s', rps: 37.77 },
        { at: '1h', rps: 20.3 },
      ],
    }
    const sim = stage([{}], {}, { with: loaded(load) })
    pass(sim, 3_600_000)
    expect(only(sim.report()).requests.refused).toBeGreaterThan(0)
    pass(sim, 600_000)
    for (let i = 0; i < 50; i++) {
      pass(sim, 777)
      expect(only(sim.report()).requests.waiting).toBe(0)
    }
  })

  test('counts the work of batches as use, for as long as lines run', async () => {
    const sim = stage(
      [{}],
      {},
      { with: { deployments: [{ model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' } }] } },
    )
    await loadTokenizer()
    await perform(sim, { do: 'batch', lines: 40, model: 'acme/chat', broken: false })
    const moments = new Map<string, number>()
    sim.journal.listen(({ kind, time }) => moments.set(kind, time))
    pass(sim, 3_600_000)
    const ran = moments.get('batch.finalizing')! - moments.get('batch.in_progress')!
    const report = sim.report()
    expect(ran).toBeGreaterThan(0)
    expect(only(report).used_gpu_hours).toBe(ran / HOUR)
    expect(report.batches).toMatchObject({ created: 1, completed: 1, lines_done: 40, lines_failed: 0 })
  })

  test('ends the requests of a deployment with its deletion: waiting requests are refused, and no others arrive', () => {
    const sim = stage([{}], {}, { with: loaded({ kind: 'constant', rps: 40 }) })
    pass(sim, 100_000)
    expect(only(sim.report()).requests.waiting).toBeGreaterThan(90)
    sim.world.deployments.handle(0).delete()
    pass(sim, 3_600_000)
    const { arrived, served, refused, waiting } = only(sim.report()).requests
    expect([arrived, served + refused, waiting]).toEqual([4000, 4000, 0])
    expect(sim.report({ from: HOUR }).deployments).toEqual([])
  })

  test('as text names who was always running and lost an instance or started one', () => {
    const sim = stage([{}], {}, { with: loaded({ kind: 'constant', rps: 10 }, { min_instances: 2, max_instances: 2 }) })
    pass(sim, 3_600_000)
    expect(formatReport(sim.report())).not.toContain('Hours in each status')
    sim.cluster.deployment(sim.world.deployments.read(0).id).crash()
    pass(sim, 3_600_000)
    const report = sim.report({ from: HOUR })
    expect(only(report)).toMatchObject({ cold_starts: 1, seconds_in_status: { running: 3600 } })
    expect(formatReport(report)).toMatch(
      /Hours in each status, cold starts, instances lost\n.*\n {2}acme\/chat +1\.0 +1 /,
    )
  })

  test('tells what instances were lost to', () => {
    const cases: [string, (sim: Simulator) => void][] = [
      ['node_crash', ({ cluster }) => cluster.node('node-0').crash()],
      ['gpu', ({ cluster }) => cluster.gpu('node-0', 0).fail(79)],
      ['zone', ({ cluster }) => cluster.zone('zone-a').down()],
    ]
    for (const [what, breaks] of cases) {
      const sim = stage(
        [{}],
        {},
        { with: { deployments: [{ model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' } }] } },
      )
      pass(sim, 60_000)
      breaks(sim)
      pass(sim, 60_000)
      const { failures } = sim.report()
      expect([what, failures.instances_lost]).toEqual([what, 1])
      expect(Object.entries(failures.instances_lost_to).filter(([, times]) => times > 0)).toEqual([[what, 1]])
      expect(sim.report({ to: MINUTE - 1 }).failures.instances_lost).toBe(0)
    }
  })

  test('counts only GPUs that are up as capacity', () => {
    const sim = stage([{ count: 2 }])
    pass(sim, 3_600_000)
    sim.cluster.node('node-0').crash()
    pass(sim, 3_600_000)
    sim.cluster.node('node-0').repair()
    sim.cluster.gpu('node-1', 3).fail(79)
    pass(sim, 3_600_000)
    expect(sim.report().gpus[0]!.capacity_gpu_hours).toBe(16 + 8 + 15)
  })

  test('counts GPUs of other customers apart from the capacity, in the weather and in the fixture', async () => {
    const sim = createSimulator({ fixtures: 'two-nodes', weather: 'realistic', seed: 5, check: true })
    let [own, others] = [0, 0]
    for (let hour = 0; hour < 72; hour++) {
      for (const [, row] of sim.world.nodes.entries()) {
        const held = row.heldByOthers.toString(2).replaceAll('0', '').length
        if (row.state === 'ready') [own, others] = [own + row.group.gpus - held, others + held]
      }
      await sim.clock.advance('1h')
    }
    const { gpus, totals } = sim.report()
    expect(others).toBeGreaterThan(100)
    expect(gpus).toMatchObject([{ capacity_gpu_hours: own, others_gpu_hours: others }])
    expect(totals.capacity_gpu_hours).toBe(own)
    expect(formatReport(sim.report())).toMatch(/\n +of others +capacity +held .*\n {2}H100-80GB +[\d.]+ +[\d.]+ /)
    const day = { from: 24 * HOUR, to: 48 * HOUR }
    const parts = [sim.report({ to: day.from }), sim.report(day), sim.report({ from: day.to })]
    expect(parts.reduce((sum, part) => sum + part.gpus[0]!.others_gpu_hours, 0)).toBe(others)
    const nodes = [{ prefix: 'o', gpu: 'A100-80GB' as const, gpus_per_node: 8, count: 1, occupied: 3 }]
    const pools = [{ name: 'shared', zone: 'west-a', nodes }]
    const shared = createSimulator({ fixtures: 'two-nodes', with: { nodes: { pools } as never } })
    pass(shared, '1h')
    shared.cluster.gpu('o-0', 0).fail(79)
    pass(shared, '1h')
    shared.cluster.node('o-0').crash()
    pass(shared, '1h')
    const ofType = shared.report().gpus.find(({ gpu }) => gpu === 'A100-80GB')
    expect(ofType).toMatchObject({ capacity_gpu_hours: 5 + 5, others_gpu_hours: 3 + 2 })
  })

  test('has a lower cost for GPUs on spot nodes, to the micro-cent, until they are taken back', () => {
    const nodes = [{ prefix: 's', gpu: 'H100-80GB', gpus_per_node: 4, count: 1 }]
    const pools = [{ name: 'spot', zone: 'west-a', market: 'spot' as const, nodes }]
    const profile = { prices: { spot_share: 0.333 }, weather: { spot_away: '1d' } }
    const sim = createSimulator({ fixtures: 'two-nodes', check: true, profile, with: { nodes: { pools } as never } })
    pass(sim, 3_600_007)
    sim.cluster.node('s-0').preempt('2m')
    pass(sim, 7_200_000)
    const report = sim.report()
    const spotTime = (3600.007 + 120) * SECOND
    // The two nodes of the fixture have 16 GPUs on demand.
    const cost = (16 * sim.clock.elapsed * PRICE + 4 * spotTime * Math.round(PRICE * 0.333)) / HOUR
    expect(report.gpus).toMatchObject([{ spot_gpu_hours: (4 * spotTime) / HOUR }])
    expect(report.gpus[0]!.capacity_cost_microcents).toBe(Math.floor(cost))
    const middle = '2026-01-01T00:30:00.000001Z'
    const parts = [sim.report({ to: middle }), sim.report({ from: middle })]
    const sum = parts.reduce((total, part) => total + part.gpus[0]!.capacity_cost_microcents, 0)
    expect(sum).toBe(report.gpus[0]!.capacity_cost_microcents)
  })

  test('keeps the price of each stretch, and tells the same of a window later', () => {
    const sim = stage(
      [{}],
      {},
      { with: { deployments: [{ model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' } }] } },
    )
    pass(sim, 3_600_000)
    const first = sim.report()
    sim.cluster.price.set('H100-80GB', 100)
    pass(sim, 3_600_000)
    expect({ ...sim.report({ to: HOUR }), commands: first.commands }).toEqual(first)
    expect(sim.report({ from: HOUR }).money.rent_microcents).toBe(100_000_000)
    expect(sim.report().money.rent_microcents).toBe(320_000_000)
  })

  test('by steps that are too short is refused for an account without deployments too', () => {
    const sim = createSimulator({ fixtures: 'empty' })
    pass(sim, 86_400_000)
    expect(() => sim.report({ step: '1us' })).toThrow(
      'Failed to report every 1us: that makes 86,400,000,000 steps, and 1,000,000 are the most.',
    )
    expect(sim.report({ step: '1m' }).series).toEqual([])
  })

  test('by steps has rows whose costs and requests are those of the whole', () => {
    const load = { kind: 'burst', base: 10, peak: 90, every: '3h', lasts: '40m' }
    const sim = stage([{}], {}, { with: loaded(load, { min_instances: 1, max_instances: 4 }) })
    pass(sim, 86_400_000)
    const report = sim.report({ step: '7m' })
    const rows = report.series!
    expect(rows).toHaveLength(Math.ceil((24 * 60) / 7))
    const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((all, row) => all + of(row), 0)
    expect(sum(row => row.cost_microcents)).toBe(report.money.rent_microcents)
    expect(sum(row => row.served)).toBe(report.totals.requests.served)
    expect(sum(row => row.refused)).toBe(report.totals.requests.refused)
    expect(sum(row => row.held_gpu_hours)).toBeCloseTo(report.totals.held_gpu_hours, 6)
    expect(sum(row => row.used_gpu_hours)).toBeCloseTo(report.totals.used_gpu_hours, 6)
    const late = sim.report({ from: 5 * HOUR, to: 9 * HOUR, step: '11m' })
    expect(late.series!.reduce((all, row) => all + row.held_gpu_hours, 0)).toBeCloseTo(late.totals.held_gpu_hours, 6)
    expect(Math.max(...rows.map(row => row.ready))).toBeGreaterThan(1)
    const last = rows.at(-1)!
    const { ready, waiting, pulling, starting, status } = sim.world.deployments.read(0)
    expect([last.time, last.status, last.ready, last.pending]).toEqual([
      report.to,
      status,
      ready,
      waiting + pulling + starting,
    ])
  })
})

describe('a series', () => {
  test('has a row for a deployment that was deleted before it cost anything, if it held GPUs', async () => {
    const sim = createSimulator({ fixtures: 'default' })
    const send = (method: string, path: string, body?: object) => sendTo(sim, `${method} ${path}`, body)
    const model = { model_name: 'short', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
    const { deploy_id } = (await (await send('POST', '/deploy/llm', model)).json()) as { deploy_id: string }
    await sim.clock.advance('25s')
    expect((await send('DELETE', `/deploy/${deploy_id}`)).status).toBe(200)
    await sim.clock.advance('2h')
    const report = sim.report({ step: '1h' })
    const one = report.deployments.find(deployment => deployment.deploy_id === deploy_id)!
    expect([one.rent_microcents, one.held_gpu_hours > 0]).toEqual([0, true])
    const rows = report.series!.filter(row => row.deploy_id === deploy_id)
    expect(rows.map(row => [row.status, row.cost_microcents, row.held_gpu_hours])).toEqual([
      ['deleted', 0, one.held_gpu_hours],
    ])
  })
})

describe('laws of every report', () => {
  const world = () =>
    createSimulator({ fixtures: 'default', seed: 7, with: loaded({ kind: 'wave', low: 5, high: 80 }) })

  test('adjoining windows add up, money is the ledger’s, requests are conserved, and no more is used than there is', {
    tags: 'slow',
  }, async () => {
    await forAllAsync(
      [fc.array(action, { maxLength: 15 }), fc.array(fc.nat(1000), { minLength: 1, maxLength: 3 })],
      { numRuns: RUNS },
      async (actions, shares) => {
        const sim = world()
        for (const one of actions) await perform(sim, one)
        await sim.clock.advance('9h')
        const now = sim.clock.elapsed
        const cuts = [0, ...shares.map(share => Math.floor((now * share) / 1000)).sort((a, b) => a - b), now]
        const parts = cuts.slice(1).map((to, i) => sim.report({ from: cuts[i]!, to }))
        const whole = sim.report()
        for (const read of ADDITIVE) {
          // The first window of a life holds its first moment, so one of no time before it would count that twice.
          if (cuts[1] === 0) continue
          const sum = parts.reduce((all, part) => all + read(part), 0)
          expect(Math.abs(sum - read(whole)), String(read)).toBeLessThanOrEqual(Math.abs(read(whole)) * 1e-12)
        }
        for (const [i, part] of parts.entries()) {
          const { money } = part
          if (i > 0 && cuts[i] !== 0)
            expect(money.opening_balance_microcents).toBe(parts[i - 1]!.money.closing_balance_microcents)
        }
        expect(whole.money.closing_balance_microcents).toBe(sim.ledger.balance)
        for (const kind of ['rent', 'tokens'] as const) {
          const posted = sim.ledger.entries().filter(entry => entry.kind === kind)
          expect(posted.reduce((sum, entry) => sum - entry.microcents, 0)).toBe(whole.money[`${kind}_microcents`])
        }
        for (const { requests, held_gpu_hours, used_gpu_hours, mean_utilisation } of whole.deployments) {
          const { waiting_before, arrived, served, refused, failed, left, waiting } = requests
          expect(waiting_before + arrived).toBe(served + refused + failed + left + waiting)
          expect(used_gpu_hours).toBeLessThanOrEqual(held_gpu_hours * (1 + 1e-9))
          expect(mean_utilisation ?? 0).toBeLessThanOrEqual(1)
        }
        for (const { utilisation } of whole.gpus) expect(utilisation ?? 0).toBeLessThanOrEqual(1 + 1e-9)
        const { series = [], deployments } = sim.report({ from: cuts[1]!, step: '13m' })
        for (const one of deployments) {
          const rows = series.filter(row => row.deploy_id === one.deploy_id)
          expect(rows.reduce((sum, row) => sum + row.held_gpu_hours, 0)).toBeCloseTo(one.held_gpu_hours, 6)
          expect(rows.reduce((sum, row) => sum + row.used_gpu_hours, 0)).toBeCloseTo(one.used_gpu_hours, 6)
        }
      },
    )
  })

  test('the closing balance of any moment is the balance that a world which stops then has', {
    tags: 'slow',
  }, async () => {
    await forAllAsync(
      [fc.array(action, { maxLength: 10 }), fc.nat(5 * HOUR)],
      { numRuns: RUNS },
      async (actions, moment) => {
        const [sim, twin] = [world(), world()]
        for (const one of actions) {
          await perform(sim, one)
          await perform(twin, one)
        }
        // Requests of clients are recorded per ten seconds: exact at the end of each interval.
        const at = Math.ceil((twin.clock.elapsed + moment + 1) / 10e6) * 10e6 - 1
        await twin.clock.advance((at - twin.clock.elapsed) / 1000)
        await sim.clock.advance('6h')
        const then = sim.report({ to: at })
        expect(then.money.closing_balance_microcents).toBe(twin.ledger.balance)
        expect(then.deployments).toEqual(twin.report().deployments)
      },
    )
  })

  test('reading changes nothing, a fork reports the same, and both continue as without the read', {
    tags: 'slow',
  }, async () => {
    await forAllAsync([fc.array(action, { maxLength: 12 })], { numRuns: RUNS }, async actions => {
      const [sim, twin] = [world(), world()]
      for (const one of actions) {
        await perform(sim, one)
        await perform(twin, one)
        const before = [sim.digest, sim.journal.entries(), sim.ledger.entries(), sim.world.agenda.size]
        sim.report({ step: '10m' })
        expect([sim.digest, sim.journal.entries(), sim.ledger.entries(), sim.world.agenda.size]).toEqual(before)
      }
      const fork = sim.world.fork()
      expect(createReport(fork, { from: 0, to: fork.clock.now }, sim.report().fixture)).toEqual(sim.report())
      const report = sim.report()
      await sim.clock.advance('4h')
      await twin.clock.advance('4h')
      expect(createReport(fork, { from: 0, to: fork.clock.now }, sim.report().fixture)).toEqual(report)
      expect(sim.digest).toBe(twin.digest)
      expect(sim.report()).toEqual(twin.report())
    })
  })
})

/** What adds up over adjoining windows. */
const ADDITIVE: readonly ((report: Report) => number)[] = [
  report => report.money.rent_microcents,
  report => report.money.tokens_microcents,
  report => report.money.funds_microcents,
  report => report.money.topups_microcents,
  report => report.money.adjustments_microcents,
  report => report.totals.held_gpu_hours,
  report => report.totals.billed_gpu_hours,
  report => report.totals.used_gpu_hours,
  report => report.totals.capacity_gpu_hours,
  report => report.totals.container_gpu_hours,
  report => report.totals.requests.served,
  report => report.totals.requests.refused,
  report => report.totals.requests.arrived,
  report => report.cold_starts.count,
  report => report.failures.instances_lost,
  report => report.failures.deployments_failed,
  report => report.failures.node_crashes,
  report => report.batches.lines_done,
  report => report.batches.completed,
  report => report.batches.created,
  report => report.deployments.reduce((sum, one) => sum + one.seconds_in_status.running, 0),
  report => report.deployments.reduce((sum, one) => sum + one.instance_seconds_in_state.ready, 0),
]

describe('a window that makes no sense is refused', () => {
  test.each([
    [{ from: '2026-01-01T05:00:00Z', to: '2026-01-01T01:00:00Z' }, 'it ends before it begins. Swap the two.'],
    [{ to: '2026-01-02T00:00:00Z' }, 'what is to come is not known'],
    [{ from: '2025-12-31T00:00:00Z' }, 'the world began at 2026-01-01T00:00:00.000000+00:00'],
    [{ from: '2026-01-01' }, "Failed to report from '2026-01-01': no moment."],
    [{ to: new Date(Number.NaN) }, 'no moment'],
    [{ from: 0.5 }, 'whole microseconds'],
    [{ step: '0s' }, "a step of no time has no end. Give one, as in '5m'."],
    [{ step: 'often' }, 'no known form'],
    [{ step: '1us' }, 'Give a longer step'],
  ])('%j', { tags: 'slow' }, async (options, message) => {
    const sim = createSimulator()
    await sim.clock.advance('6h')
    expect(() => sim.report(options)).toThrow(RangeError)
    expect(() => sim.report(options)).toThrow(message)
  })

  test('a moment may be microseconds, a text or a Date', async () => {
    const sim = createSimulator()
    await sim.clock.advance('6h')
    const report = sim.report({ from: HOUR })
    expect(sim.report({ from: '2026-01-01T02:00:00+01:00' })).toEqual(report)
    expect(sim.report({ from: new Date('2026-01-01T01:00:00Z') })).toEqual(report)
  })
})
