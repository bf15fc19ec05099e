import { describe, expect, test } from 'vitest'
import type { SimulatorClock } from '../../../src/simulator/clock/simulator-clock.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { sendTo } from '../../setup/send-to.ts'
import { wall } from '../../setup/wall-clock.ts'

const arranged = (status = 'deploying') =>
  createSimulator({
    fixtures: 'empty',
    with: { deployments: [{ model_name: 'acme/chat', status: status as 'deploying' }] },
  })
const statusOf = (sim: ReturnType<typeof arranged>) => sim.world.deployments.findLive('acme/chat')!.status

describe('advance', () => {
  test('returns what happened during the move', async () => {
    const happened = await arranged().clock.advance('10m')
    expect(happened).toMatchObject({
      from: '2026-01-01T00:00:00.000000+00:00',
      to: '2026-01-01T00:10:00.000000+00:00',
      counts: { 'instance.ready': 1, 'deployment.running': 1 },
    })
  })

  test('runs after the advance in progress when it is called twice at once', async () => {
    const sim = arranged()
    const both = await Promise.all([sim.clock.advance('5m'), sim.clock.advance('5m')])
    expect(both.map(one => one.to)).toEqual(['2026-01-01T00:05:00.000000+00:00', '2026-01-01T00:10:00.000000+00:00'])
  })

  test('wakes sleepers on the way, in order, and each sees its own time', async () => {
    const sim = arranged()
    const woken: string[] = []
    const sleeper = async (name: string, duration: string) => {
      await sim.clock.sleep(duration)
      woken.push(`${name} ${sim.clock.iso.slice(11, 19)}`)
    }
    const all = [sleeper('late', '20m'), sleeper('early', '10m')]
    await sim.clock.advance('1h')
    await Promise.all(all)
    expect(woken).toEqual(['early 00:10:00', 'late 00:20:00'])
  })

  test('rejects with its reason when the simulator is reset meanwhile, and so does a sleep', async () => {
    const sim = arranged()
    const sleep = expect(sim.clock.sleep('1h')).rejects.toThrow('the simulator was reset')
    const move = expect(sim.clock.advance('10m')).rejects.toThrow('the simulator was reset during the move')
    sim.reset()
    await Promise.all([sleep, move])
    await sim.clock.advance('10m')
    expect(statusOf(sim)).toBe('running')
  })

  test('says that the simulator was restored when it was', async () => {
    const sim = arranged()
    const before = sim.snapshot()
    const sleep = expect(sim.clock.sleep('1h')).rejects.toThrow('the simulator was restored')
    const move = expect(sim.clock.advance('10m')).rejects.toThrow(
      'the simulator was restored during the move. Await a move before you reset or restore.',
    )
    sim.restore(before)
    await Promise.all([sleep, move])
    const next = expect(sim.clock.advance('10m')).rejects.toThrow('the simulator was reset during the move')
    sim.reset()
    await next
  })
})

test('a time is read with microseconds and offset, and is rejected without an offset', async () => {
  const sim = arranged()
  await sim.clock.advanceTo('2026-01-01T01:00:00.000250+01:00')
  expect(sim.clock.iso).toBe('2026-01-01T00:00:00.000250+00:00')
  await sim.clock.advanceTo(sim.clock.iso)
  await expect(sim.clock.advanceTo('2026-01-01T05:00:00')).rejects.toThrow('Give ISO 8601 with an offset')
})

describe('an invalid argument', () => {
  const bad: Record<string, [move: (clock: SimulatorClock) => Promise<unknown>, says: string]> = {
    'NaN for a while': [clock => clock.advance(Number.NaN), 'the duration NaN: not a finite number'],
    'a while of more than a century': [clock => clock.advance('36526d'), 'longer than 100 years'],
    'a moment of another millennium': [clock => clock.advanceTo('9999-01-01T00:00:00Z'), 'more than 200 years'],
    'a day that is not in the calendar': [clock => clock.advanceTo('2026-02-30T00:00:00Z'), 'no time with an offset'],
    'an invalid Date': [clock => clock.advanceTo(new Date(Number.NaN)), 'Failed to advance to Invalid Date'],
    'a Date that has passed': [clock => clock.advanceTo(new Date(0)), 'time never goes back'],
    'nothing to wait for': [clock => clock.until(undefined as never), 'until takes a function'],
    'a mistyped option': [clock => clock.until(() => false, { witin: '1m' } as never), "Did you mean 'within'?"],
    'a negative wait': [clock => clock.next({ within: -1 }), 'time does not run backwards'],
    'a negative sleep': [clock => clock.sleep('-1s'), 'time does not run backwards'],
  }

  test.each(Object.entries(bad))('%s is refused, and nothing moves', async (_, [move, says]) => {
    const sim = arranged()
    await sim.clock.advance('1h')
    const before = [sim.clock.iso, sim.digest]
    await expect((async () => move(sim.clock))()).rejects.toThrow(says)
    expect([sim.clock.iso, sim.digest]).toEqual(before)
  })

  test('the clock rejects a move beyond its last time', async () => {
    const sim = createSimulator({ fixtures: 'empty' })
    await sim.clock.advance('36500d')
    await sim.clock.advance('36500d')
    const { iso } = sim.clock
    await expect(sim.clock.advance(1)).rejects.toThrow('more than 200 years')
    expect(sim.clock.iso).toBe(iso)
  })

  test.each([undefined, null, 5])('the clock rejects the setting %j', setting => {
    const sim = arranged()
    expect(() => sim.clock.set(setting as never)).toThrow(`unknown mode '${String(setting)}'`)
    expect(sim.clock.mode).toBe('manual')
  })
})

test('a client that never ends its request is named in the error, and the move ends', async () => {
  const sim = arranged()
  const body = new ReadableStream({ pull: () => new Promise(() => {}) })
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'multipart/form-data; boundary=x' }
  void sim.fetch('http://sim/v1/files', { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
  wall.ahead = 100
  await expect(sim.clock.advance('1s')).rejects.toThrow('POST /v1/files has been in flight for 2 s')
})

describe('next', () => {
  test('moves to the next journal entry when the agenda has entries', async () => {
    const sim = createSimulator({ with: { account: { topup: { amount: 5000, threshold: 249_000, enabled: true } } } })
    const kinds = new Set<string>()
    for (let i = 0; i < 300; i++) {
      const { events, counts } = await sim.clock.next()
      if (events === 0) break
      for (const kind of Object.keys(counts)) kinds.add(kind)
    }
    expect([...kinds]).toContain('topup.charged')
    const idle = createSimulator({ fixtures: 'empty' })
    expect((await idle.clock.next()).events).toBe(0)
  })

  test('does not move time when the agenda is empty', async () => {
    const sim = createSimulator({ fixtures: 'empty' })
    const moves = [
      () => sim.clock.next({ visible: true }),
      async () => (await sim.clock.nextInSlices()).result,
      async () => (await sim.clock.nextInSlices({ visible: true })).result,
    ]
    for (const move of moves) {
      expect((await move()).events).toBe(0)
      expect([sim.clock.elapsed, sim.world.next()]).toEqual([0, false])
    }
  })
})

describe('until', () => {
  test('moves to the time at which the predicate holds, and no further', async () => {
    const sim = arranged()
    await sim.clock.until(() => statusOf(sim) === 'running', { within: '15m' })
    const at = sim.clock.iso
    expect(sim.journal.entries().at(-1)).toMatchObject({ kind: 'deployment.running', time: sim.clock.elapsed })
    await sim.clock.until(() => statusOf(sim) === 'running')
    expect(sim.clock.iso).toBe(at)
  })

  test('rejects with the last entries and the seed at its limit', async () => {
    const sim = arranged()
    const wait = sim.clock.until(() => statusOf(sim) === 'failed', { within: '15m' })
    await expect(wait).rejects.toThrow(/within 15m.*seed 1.*deployment\.running/s)
    expect(sim.clock.iso).toBe('2026-01-01T00:15:00.000000+00:00')
  })

  test('rejects when its predicate throws, and the clock still works', async () => {
    const sim = arranged()
    const wait = sim.clock.until(() => {
      throw new Error('mine')
    })
    await expect(wait).rejects.toThrow('mine')
    await sim.clock.advance('10m')
    expect(statusOf(sim)).toBe('running')
  })

  test.each<[string, (clock: SimulatorClock) => Promise<unknown>]>([
    ['advances the clock', clock => clock.advance('1m')],
    ['advances the clock to a moment', clock => clock.advanceTo(new Date(clock.now.getTime() + 60_000))],
    ['awaits an until of its own', clock => clock.until(() => false, { within: '1m' }).catch(() => {})],
    ['sleeps on the clock', clock => clock.sleep('1m')],
    ['sleeps again after a request', async clock => clock.advance('30s').then(() => clock.sleep('30s'))],
  ])('ends when its predicate %s', async (_, passMinute) => {
    const sim = arranged()
    const seenAt: number[] = []
    await sim.clock.until(async () => {
      await passMinute(sim.clock)
      seenAt.push(Math.floor(sim.clock.elapsed / 1_000_000))
      return statusOf(sim) === 'running'
    })
    // It runs after 97 s, and the predicate lets a minute pass before it looks.
    expect(seenAt).toEqual([60, 157])
    expect((await sim.clock.advance('1m')).from).toMatch(/^2026-01-01T00:02:37\.269/)
  })

  test('rejects with the error of a move in its predicate when that move fails', async () => {
    const sim = arranged()
    const wait = sim.clock.until(async () => {
      await sim.clock.advanceTo('2025-01-01T00:00:00Z')
      return true
    })
    await expect(wait).rejects.toThrow('time never goes back')
  })

  test('looks once more at its limit, for what grows with time alone', async () => {
    const deployments = [{ model_name: 'acme/chat', status: 'running' as const }]
    const sim = createSimulator({ fixtures: 'empty', with: { deployments } })
    const get = async (path: string) => (await sendTo(sim, `GET ${path}`)).json()
    const [{ deploy_id }] = await get('/deploy/list')
    const rent = async () => (await get('/payment/usage/rent?from=1767225600')).id_to_duration[deploy_id] ?? 0
    await sim.clock.until(async () => (await rent()) >= 7200, { within: '5h' })
    expect(sim.clock.elapsed).toBe(5 * 3_600_000_000)
  })

  test('gives up at its limit when its predicate only moves time', async () => {
    const sim = arranged()
    const wait = sim.clock.until(
      async () => {
        await sim.clock.advance('4m')
        return false
      },
      { within: '10m' },
    )
    await expect(wait).rejects.toThrow('Failed to reach the condition within 10m')
  })

  test('ends before a move of other code when its predicate waits for an answer alone', async () => {
    const sim = arranged()
    const order: string[] = []
    const list = () => sendTo(sim, 'GET /deploy/list').then(r => r.json())
    let other: Promise<unknown> | undefined
    await sim.clock.until(async () => {
      other ??= Promise.resolve().then(async () => {
        await sim.clock.advance('1h')
        order.push('other')
      })
      const deployments = (await list()) as { status: string }[]
      return deployments[0]?.status === 'running'
    })
    order.push('until')
    expect(sim.clock.elapsed).toBeLessThan(3_600_000_000)
    await other
    expect(order).toEqual(['until', 'other'])
  })
})

test.each([
  [{ mode: 'scaled', speed: 0 }, 'invalid speed 0'],
  [{ mode: 'scaled', speed: Number.NaN }, 'invalid speed NaN'],
  ['scled', "Did you mean 'scaled'?"],
] as const)('a scaled clock rejects the invalid setting %j', (setting, message) => {
  expect(() => createSimulator({ clock: setting as never })).toThrow(message)
})

describe('createSimulator', () => {
  test.each([
    [{ fixture: 'empty' }, "unknown option 'fixture'. Did you mean 'fixtures'?"],
    [Promise.resolve({ seed: 2 }), 'expected an object of options, got Promise'],
    [new Map([['seed', 2]]), 'expected an object of options, got Map'],
    [[{ seed: 2 }], 'expected an object of options, got Array'],
    [{ seed: {} }, 'the seed is {}'],
    [{ seed: Number.NaN }, 'the seed is NaN. Give a text, or a number that is finite.'],
    [{ fixtures: '' }, "Failed to read fixture '': the path is empty. Give the path of a folder with account.json."],
    [{ fixtures: './package.json' }, "Failed to read fixture './package.json': it is not a folder. Give the path"],
    [{ epoch: 'yesterday' }, "Failed to read the epoch 'yesterday'"],
    [{ epoch: '9999-12-31T23:59:59Z' }, 'a world can become 200 years old, and the last year is 9999.'],
    [{ epoch: '2026-02-30T00:00:00Z' }, "Failed to read the epoch '2026-02-30T00:00:00Z': no time with an offset."],
    [{ journalLimit: 0 }, 'journalLimit is 0'],
    [{ timers: 'ignor' }, `timers is "ignor". Give 'drive' or 'ignore'.`],
    [{ check: 'yes' }, 'check is "yes". Give true or false.'],
    [{ inferencePac: 'clock' }, "unknown option 'inferencePac'. Did you mean 'inferencePace'?"],
    [{ inferencePace: 'clok' }, `inferencePace is "clok". Give 'clock' or 'instant'.`],
    [{ documentedOnly: 1 }, 'documentedOnly is 1. Give true or false.'],
    [{ profile: 'qick' }, "Did you mean 'quick'?"],
  ] as const)('refuses %j', (options, message) => {
    expect(() => createSimulator(options as never)).toThrow(message)
  })

  test('a fork accepts its own options, and rejects others', () => {
    const sim = createSimulator()
    expect(() => sim.fork({ frsh: true } as never)).toThrow("unknown option 'frsh'. Did you mean 'fresh'?")
    expect(() => sim.fork({ seed: 3 } as never)).toThrow(
      "Failed to fork: unknown option 'seed'. Options are clock, fresh.",
    )
  })

  test('creates two independent worlds when it is called twice', async () => {
    const [one, other] = [createSimulator(), createSimulator()]
    const before = other.digest
    await one.clock.advance('5h')
    expect([other.digest, other.clock.iso]).toEqual([before, '2026-01-01T00:00:00.000000+00:00'])
  })
})
