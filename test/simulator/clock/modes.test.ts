import { afterEach, describe, expect, test, vi } from 'vitest'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { batchLine, startBatch } from '../../setup/batches.ts'
import { askTo } from '../../setup/send-to.ts'
import { wall } from '../../setup/wall-clock.ts'

const get = async (sim: Simulator, path: string): Promise<Record<string, unknown>> =>
  (await askTo(sim, `GET ${path}`)).body

async function deploy(sim: Simulator, model_name = 'chat'): Promise<string> {
  const model = { model_name, gpu: 'H100-80GB', num_gpus: 1, max_batch_size: 96, hub: { repo: 'acme/chat-8b' } }
  return (await askTo(sim, 'POST /deploy/llm', model)).body.deploy_id
}

/** Polls as fast as it can, without a sleep: what time does is the clock's to say. */
async function statuses(sim: Simulator, path: string, most = 20): Promise<string[]> {
  const seen: string[] = []
  for (let poll = 0; poll < most; poll++) {
    const status = String((await get(sim, path)).status)
    seen.push(status)
    if (status === 'running' || status === 'completed' || status === 'expired') break
  }
  return seen
}

describe('a clock that moves on polls', () => {
  test('moves while a running deployment waits for more instances', async () => {
    const sim = createSimulator({ fixtures: 'empty', clock: 'on-poll' })
    const id = await deploy(sim)
    await statuses(sim, `/deploy/${id}`)
    await askTo(sim, `PUT /deploy/${id}`, { settings: { min_instances: 2, max_instances: 2 } })
    const seen: unknown[] = []
    for (let poll = 0; poll < 5; poll++) seen.push((await get(sim, `/deploy/${id}`)).instances)
    expect(seen).toContainEqual({ running: 1, pending: 1 })
    expect(seen.at(-1)).toEqual({ running: 2, pending: 0 })
  })

  test('shows each status once, in order', { tags: 'slow' }, async () => {
    const sim = createSimulator({ fixtures: 'empty', clock: 'on-poll' })
    const id = await deploy(sim)
    expect(await statuses(sim, `/deploy/${id}`)).toEqual(['initializing', 'downloading', 'deploying', 'running'])
    const { elapsed } = sim.clock
    await get(sim, `/deploy/${id}`)
    await get(sim, '/deploy/list')
    expect(sim.clock.elapsed).toBe(elapsed)
  })

  test('shows each state of a rental once, in order', async () => {
    const sim = createSimulator({ fixtures: 'empty', clock: 'on-poll' })
    const ask = async (request: string, body?: object) => (await askTo(sim, request, body)).body
    const states = async (path: string) => {
      const seen = [String((await get(sim, path)).state)]
      for (let poll = 0; poll < 8; poll++) {
        const { state } = await get(sim, path)
        if (state !== seen.at(-1)) seen.push(String(state))
      }
      return seen
    }
    const image = { container_image: 'registry.example/dev:1', cloud_init_user_data: '#cloud-config' }
    const asked = { name: 'trial', gpu_config: '1xL4-24GB', ...image }
    const container = `/v1/containers/${(await ask('POST /v1/containers', asked)).container_id}`
    expect(await states(container)).toEqual(['creating', 'starting', 'running'])
    await ask(`DELETE ${container}`)
    expect(await states(container)).toEqual(['shutting_down', 'deleted'])

    const hosted = `/v1/hosted/${(await ask('POST /v1/hosted', { name: 'bench', plan_id: 'small' })).instance_id}`
    expect(await states(hosted)).toEqual(['creating', 'starting', 'running'])
    await ask(`POST ${hosted}/expand_storage`, { new_size_gb: 40 })
    const storage = () =>
      sim.world.rentals.read(sim.world.rentals.list('hosted', state => state !== 'deleted')[0]!).storageGb
    expect(storage()).toBe(20)
    await get(sim, hosted)
    await get(sim, hosted)
    expect(storage()).toBe(40)
    await ask(`POST ${hosted}/stop`)
    expect(await states(hosted)).toEqual(['stopping', 'stopped'])
    const { elapsed } = sim.clock
    await get(sim, '/v1/containers')
    await get(sim, '/v1/hosted')
    expect(sim.clock.elapsed).toBe(elapsed)
  })

  test('ends a batch of 24 hours after a few polls', async () => {
    const sim = createSimulator({
      clock: 'on-poll',
      profile: { extends: 'realistic', timings: { batch_shared_tokens_per_second: 0.1 } },
    })
    const body = { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'Why?' }] }
    const lines = Array.from({ length: 400 }, (_, i) => batchLine(`line-${i}`, body))
    const batch = await startBatch(sim, lines)
    expect(await statuses(sim, `/v1/batches/${batch.id}`)).toEqual(['validating', 'in_progress', 'expired'])
    expect(sim.clock.elapsed).toBe(86_400e6)
  })

  test('goes to the earliest change of a list', async () => {
    const sim = createSimulator({ fixtures: 'empty', clock: 'on-poll' })
    const first = await deploy(sim, 'one')
    const second = await deploy(sim, 'two')
    await get(sim, '/deploy/list')
    const [one, two] = [sim.world.deployments.get(first)!.status, sim.world.deployments.get(second)!.status]
    expect([one, two]).toContain('downloading')
  })

  test('moves by a fixed step when it is set, and only for resources in progress', async () => {
    const sim = createSimulator({ fixtures: 'empty', clock: { mode: 'on-poll', step: '30s' } })
    await get(sim, '/deploy/list')
    expect(sim.clock.elapsed).toBe(0)
    const id = await deploy(sim)
    await get(sim, `/deploy/${id}`)
    await get(sim, `/deploy/${id}`)
    expect(sim.clock.elapsed).toBe(60e6)
  })

  test('does not move when the agenda has no change, as while a deployment waits for a GPU', async () => {
    const sim = createSimulator({ fixtures: 'empty', clock: 'on-poll' })
    sim.cluster.stockOut('H100-80GB')
    const id = await deploy(sim)
    expect(await statuses(sim, `/deploy/${id}`, 3)).toEqual(['initializing', 'initializing', 'initializing'])
    expect(sim.clock.elapsed).toBe(0)
    sim.cluster.restock('H100-80GB')
    expect(await statuses(sim, `/deploy/${id}`)).toEqual(['initializing', 'downloading', 'deploying', 'running'])
  })

  test('looks ahead without an effect: the digest is that of manual moves', async () => {
    const polled = createSimulator({ fixtures: 'empty', clock: 'on-poll' })
    await statuses(polled, `/deploy/${await deploy(polled)}`)
    const byHand = createSimulator({ fixtures: 'empty' })
    await deploy(byHand)
    await byHand.clock.advance(polled.clock.elapsed / 1000)
    expect(byHand.digest).toBe(polled.digest)
  })
})

describe('an idle clock', () => {
  test('finishes the work without requests, and does not jump to distant deadlines', async () => {
    const sim = createSimulator({ fixtures: 'empty', clock: { mode: 'idle', after: 0 } })
    const id = await deploy(sim)
    await vi.waitFor(() => expect(sim.world.deployments.get(id)!.status).toBe('running'), {
      interval: 5,
      timeout: 5_000,
    })
    expect(sim.clock.elapsed).toBeLessThan(15 * 60e6)
  })

  test('stops when its simulator is disposed', async () => {
    const sim = createSimulator({ fixtures: 'empty', clock: { mode: 'idle', after: 0 } })
    await deploy(sim)
    await sim[Symbol.asyncDispose]()
    for (let turn = 0; turn < 3; turn++) {
      await new Promise(resolve => setTimeout(resolve, 1))
      await new Promise(resolve => setImmediate(resolve))
    }
    expect(sim.clock.elapsed).toBe(0)
  })
})

describe('an idle clock without work', () => {
  const CHAT = { model: 'acme/chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 }

  const chat = async (sim: Simulator) => (await askTo(sim, 'POST /v1/chat/completions', CHAT)).status

  /** Waits without requests until the clock has no work left. */
  async function resting(options: SimulatorOptions): Promise<Simulator> {
    const sim = createSimulator({ fixtures: 'two-nodes', ...options, clock: { mode: 'idle', after: 0 } })
    await sim.clock.advance('1h')
    await get(sim, '/deploy/list')
    let seen = -1
    for (let calm = 0; calm < 20; calm++) {
      await new Promise(resolve => setTimeout(resolve, 1))
      if (sim.clock.elapsed !== seen) calm = 0
      seen = sim.clock.elapsed
    }
    return sim
  }

  test('wakes a sleeping deployment for a request', async () => {
    const asleep = { model_name: 'acme/chat', settings: { min_instances: 0, max_instances: 1 } }
    const sim = await resting({ with: { deployments: [asleep] } })
    const began = sim.clock.elapsed
    expect(await chat(sim)).toBe(200)
    expect(sim.clock.elapsed - began).toBeGreaterThan(30e6)
  })

  test('jumps to the time of a slow answer', async () => {
    const sim = await resting({ inferencePace: 'clock', with: { deployments: [{ model_name: 'acme/chat' }] } })
    const began = sim.clock.elapsed
    expect(await chat(sim)).toBe(200)
    expect(sim.clock.elapsed).toBeGreaterThan(began)
  })

  test('jumps to the time of a delayed answer, and of a sleeping client', async () => {
    const sim = await resting({ faults: [{ on: 'getMe', fault: { kind: 'latency', delay: '90s' } }] })
    const began = sim.clock.elapsed
    await get(sim, '/v1/me')
    expect(sim.clock.elapsed - began).toBe(90e6)
    await sim.clock.sleep('5m')
    expect(sim.clock.elapsed - began).toBe(390e6)
  })
})

describe('an idle clock before a jump', () => {
  /** Until timers that were due before have fired, and what they set off has been done. */
  const waited = async () => {
    await new Promise(resolve => setTimeout(resolve, 1))
    for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
  }

  test('does not jump while it is held, and jumps afterwards', async () => {
    const sim = createSimulator({ fixtures: 'empty', clock: { mode: 'idle', after: 0 } })
    const id = await deploy(sim)
    const resume = sim.clock.pause('a look around')
    await waited()
    expect(sim.clock.elapsed).toBe(0)
    resume()
    await vi.waitFor(() => expect(sim.world.deployments.get(id)!.status).toBe('running'), {
      interval: 5,
      timeout: 5_000,
    })
  })

  test('waits for the new delay when its setting changes meanwhile', async () => {
    const sim = createSimulator({ fixtures: 'empty', clock: { mode: 'idle', after: 0 } })
    await deploy(sim)
    sim.clock.set({ mode: 'idle', after: 3_600_000 })
    await waited()
    expect(sim.clock.elapsed).toBe(0)
  })
})

describe('a clock that follows another clock', () => {
  test('ignores a time that is not finite', async () => {
    let now = 0
    const sim = createSimulator({ fixtures: 'empty', clock: { mode: 'follow', now: () => now } })
    for (const value of [1000, Number.POSITIVE_INFINITY, Number.NaN, Number.NEGATIVE_INFINITY]) {
      now = value
      await sim.fetch('http://sim/deploy/list')
      expect(sim.clock.iso).toBe('2026-01-01T00:00:01.000000+00:00')
    }
    now = 5000
    await sim.fetch('http://sim/deploy/list')
    expect(sim.clock.iso).toBe('2026-01-01T00:00:05.000000+00:00')
  })

  test('has the time of the other clock at each request, and never goes back', async () => {
    let now = 1_000_000
    const sim = createSimulator({ fixtures: 'empty', clock: { mode: 'follow', now: () => now } })
    const id = await deploy(sim)
    now += 10_500
    expect((await get(sim, `/deploy/${id}`)).status).toBe('initializing')
    now += 3_600_000
    expect((await get(sim, `/deploy/${id}`)).status).toBe('running')
    const { elapsed } = sim.clock
    now -= 5_000
    await get(sim, '/deploy/list')
    expect(sim.clock.elapsed).toBe(elapsed)
  })

  test('goes on from the end of a manual move', async () => {
    let now = 0
    const sim = createSimulator({ fixtures: 'empty', clock: { mode: 'follow', now: () => now } })
    await sim.clock.advance('1h')
    now += 60_000
    await get(sim, '/deploy/list')
    expect(sim.clock.elapsed).toBe(61 * 60e6)
  })

  test('warns once that time does not move when it has neither a clock nor fake timers', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const sim = createSimulator({ fixtures: 'empty', clock: 'follow' })
    await get(sim, '/deploy/list')
    await get(sim, '/deploy/list')
    expect(warned.mock.calls.map(([text]) => String(text))).toEqual([
      expect.stringContaining('no fake timers are installed'),
    ])
    warned.mockRestore()
  })
})

describe('a change of the clock in a running world', () => {
  test('does not make time jump, from each mode to each other mode', async () => {
    let now = 0
    const sim = createSimulator({ fixtures: 'empty' })
    await sim.clock.advance('1h')
    const modes = [
      'on-poll',
      { mode: 'follow', now: () => now },
      'idle',
      'manual',
      { mode: 'scaled', speed: 0.001 },
    ] as const
    for (const mode of modes) {
      sim.clock.set(mode)
      await get(sim, '/deploy/list')
      expect(sim.clock.elapsed - 3_600e6).toBeLessThan(1e6)
      expect(sim.clock.elapsed).toBeGreaterThanOrEqual(3_600e6)
      now += 10
    }
  })

  test.each([
    [{ mode: 'on-pole' }, "unknown mode 'on-pole'. Did you mean 'on-poll'?"],
    [{ mode: 'manual', speed: 5 }, "'speed' is for the mode scaled, and the mode is manual"],
    [{ mode: 'scaled', sped: 5 }, "unknown setting 'sped'. Did you mean 'speed'?"],
    [{ mode: 'scaled', speed: 0 }, 'invalid speed 0'],
    [{ mode: 'on-poll', step: '-5m' }, 'time does not run backwards'],
    [{ mode: 'idle', after: Number.NaN }, 'invalid number of milliseconds NaN'],
    [{ mode: 'follow', now: 5 }, 'is not a function'],
  ])('is rejected without an effect for %o', async (setting, reason) => {
    const sim = createSimulator({ fixtures: 'empty' })
    expect(() => sim.clock.set(setting as never)).toThrow(reason)
    expect(sim.clock.mode).toBe('manual')
    expect(() => createSimulator({ clock: setting as never })).toThrow(reason)
  })
})

describe('a clock that follows another one', () => {
  test('has its present time for a command, a rule and the money', async () => {
    let now = 0
    const sim = createSimulator({ fixtures: 'two-nodes', clock: { mode: 'follow', now: () => now } })
    await deploy(sim)
    const { balance } = sim.ledger
    now += 3_600_000
    expect(sim.ledger.balance).toBeLessThan(balance)
    now += 3_600_000
    sim.cluster.node('h100-0').crash({ at: '1m' })
    now += 30_000
    await get(sim, '/deploy/list')
    const crashes = () => sim.journal.entries().filter(({ kind }) => kind === 'node.crashed')
    expect(crashes()).toEqual([])
    now += 3_600_000
    expect(sim.report().to).toBe('2026-01-01T03:00:30.000000+00:00')
    expect(crashes()).toMatchObject([{ time: 2 * 3_600e6 + 60e6 }])
    now += 3_600_000
    sim.faults.add({ on: 'listDeployments', until: '1h', fault: { kind: 'status', status: 503 } })
    expect((await askTo(sim, 'GET /deploy/list')).status).toBe(503)
  })

  test('is at its start after a reset, also with fault rules of its start', async () => {
    let now = 0
    const faults = [{ on: 'listDeployments', fault: { kind: 'status', status: 503 } }] as const
    const sim = createSimulator({ fixtures: 'two-nodes', faults, clock: { mode: 'follow', now: () => now } })
    now += 3_600_000
    sim.reset()
    expect(sim.clock.elapsed).toBe(0)
  })

  test('is not moved by a command within an event', async () => {
    let now = 0
    const sim = createSimulator({ fixtures: 'two-nodes', clock: { mode: 'follow', now: () => now } })
    const seen: number[] = []
    sim.journal.listen(({ kind, time }) => {
      if (kind !== 'node.crashed') return
      sim.cluster.node('h100-1').cordon()
      seen.push(time, sim.clock.elapsed)
    })
    sim.cluster.node('h100-0').crash({ at: '1m' })
    now += 3_600_000
    await get(sim, '/deploy/list')
    expect(seen).toEqual([60e6, 60e6])
    expect(sim.clock.elapsed).toBe(3_600e6)
  })
})

test('a sleep on a scaled clock ends without a request', async () => {
  const sim = createSimulator({ fixtures: 'empty', clock: { mode: 'scaled', speed: 1e6 } })
  const { elapsed } = sim.clock
  await sim.clock.sleep('1h')
  expect(sim.clock.elapsed - elapsed).toBeGreaterThanOrEqual(3_600e6)
})

describe('a pause', () => {
  afterEach(() => vi.restoreAllMocks())

  test('holds a scaled clock, and manual moves still move it', async () => {
    const sim = createSimulator({ fixtures: 'empty', clock: { mode: 'scaled', speed: 1e6 } })
    sim.clock.pause('debugger')
    const { elapsed } = sim.clock
    await get(sim, '/deploy/list')
    expect(sim.clock.elapsed).toBe(elapsed)
    await sim.clock.advance('1h')
    expect(sim.clock.elapsed).toBe(elapsed + 3_600e6)
    expect(sim.clock.pausedBy).toEqual(['debugger'])
    sim.clock.resume('debugger')
    expect(sim.clock.pausedBy).toEqual([])
  })

  test('holds a clock that moves on polls until the hold ends', async () => {
    const sim = createSimulator({ fixtures: 'empty', clock: 'on-poll' })
    const id = await deploy(sim)
    const resume = sim.clock.pause('debugger')
    await statuses(sim, `/deploy/${id}`, 3)
    expect(sim.clock.elapsed).toBe(0)
    resume()
    await get(sim, `/deploy/${id}`)
    expect(sim.clock.elapsed).toBeGreaterThan(0)
  })

  test('is not added to the time of a scaled clock', () => {
    const sim = createSimulator({ fixtures: 'empty', clock: { mode: 'scaled', speed: 60 } })
    sim.clock.pause('debugger')
    const { elapsed } = sim.clock
    const began = performance.now()
    while (performance.now() < began + 3);
    const before = performance.now()
    sim.clock.resume('debugger')
    const { due } = sim.clock
    expect(due - elapsed).toBeLessThanOrEqual((performance.now() - before) * 60_000 + 60)
  })

  test('causes a warning at a request when it is long', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    wall.now = 1000
    const sim = createSimulator({ fixtures: 'empty', clock: 'idle' })
    sim.clock.pause('debugger')
    wall.now += 4000
    await get(sim, '/deploy/list')
    expect(warned).not.toHaveBeenCalled()
    wall.now += 2000
    await get(sim, '/deploy/list')
    await get(sim, '/deploy/list')
    expect(warned.mock.calls.map(([text]) => String(text))).toEqual([
      "The clock has been asked for the time and is still held by 'debugger': time does not move until they resume it.",
    ])
  })

  test('ends when its last owner resumes, and names the other owners before', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const sim = createSimulator({ fixtures: 'empty' })
    const first = sim.clock.pause('first')
    sim.clock.pause('second')
    expect(() => sim.clock.resume('third')).toThrow("'third' does not hold it. It is held by 'first', 'second'")
    sim.clock.resume('second')
    expect(warned.mock.calls.map(([text]) => String(text))).toEqual([expect.stringContaining("still held by 'first'")])
    first()
    first()
    expect(sim.clock.pausedBy).toEqual([])
    expect(() => sim.clock.resume('first')).toThrow('It has no owner.')
    expect(() => sim.clock.pause(' ')).toThrow('the owner is missing')
  })
})
