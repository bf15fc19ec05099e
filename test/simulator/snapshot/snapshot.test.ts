import { expect, onTestFinished, test } from 'vitest'
import { createSimulator, type FaultRule, type Simulator, type SimulatorOptions, Snapshot } from '../../../src/index.ts'
import { Row } from '../../../src/kernel/row.ts'
import { readEnvelope, writeEnvelope } from '../../../src/simulator/checkpoint/envelope.ts'
import { sendTo } from '../../setup/send-to.ts'

const DOWN: FaultRule = { on: 'listDeployments', chance: 0.5, fault: { kind: 'status', status: 503 } }

test('a snapshot is restored any number of times in this simulator and in others', { tags: 'slow' }, async () => {
  const sim = createSimulator({ seed: 3 })
  await sim.clock.advance('10m')
  const before = sim.snapshot()
  expect(before).toMatchObject({ fixtures: 'default', seed: '3', profile: 'realistic', digest: sim.digest })
  expect([before.epoch, before.now]).toEqual(['2026-01-01T00:00:00.000Z', '2026-01-01T00:10:00.000000+00:00'])
  const at = [sim.digest, sim.clock.iso, sim.ledger.balance]
  await sim.clock.advance('1h')
  const later = sim.digest
  for (const snapshot of [before, before, before.toBytes(), Snapshot.from(before.toBytes())]) {
    for (const one of [sim, createSimulator({ fixtures: 'empty', seed: 9 })]) {
      one.restore(snapshot)
      expect([one.digest, one.clock.iso, one.ledger.balance]).toEqual(at)
      expect([one.seed, one.token, one.journal.entries()]).toEqual(['3', 'sim_default_token', []])
      await one.clock.advance('1h')
      expect(one.digest).toBe(later)
    }
  }
})

test('reset returns to the start of the simulator, not to the restored snapshot', async () => {
  const other = createSimulator({ seed: 3 })
  other.faults.add(DOWN)
  await other.clock.advance('10m')
  const sim = createSimulator({ fixtures: 'empty' })
  const first = [sim.digest, sim.token, sim.faults.list()]
  sim.restore(other.snapshot())
  expect(sim.faults.list()).toHaveLength(1)
  sim.reset()
  expect([sim.digest, sim.token, sim.faults.list()]).toEqual(first)
  expect(sim.snapshot().fixtures).toBe('empty')
})

test('a snapshot and a fork keep the scripted answers and their counts', { tags: 'slow' }, async () => {
  const sim = createSimulator({ answers: [{ contains: 'first', answer: { text: 'From the start.' } }] })
  const ask = async (one: Simulator) => {
    const body = { model: 'acme/assistant', messages: [{ role: 'user', content: 'Hello!' }] }
    const answer = await sendTo(one, 'POST /v1/chat/completions', body)
    return ((await answer.json()) as { choices: { message: { content: string } }[] }).choices[0]!.message.content
  }
  sim.inference.add({ times: 2, answer: { text: 'Twice.' } })
  expect(await ask(sim)).toBe('Twice.')
  const snapshot = sim.snapshot()
  const listed = sim.inference.list()
  const expected = [
    ['script-1', 0],
    ['script-2', 1],
  ]
  expect(listed.map(({ name, hits }) => [name, hits])).toEqual(expected)
  sim.inference.clear()
  const restored = createSimulator({ fixtures: 'empty' })
  restored.restore(snapshot.toBytes())
  const made = createSimulator({ fixtures: Snapshot.from(snapshot.toBytes()) })
  sim.restore(snapshot)
  for (const one of [sim, restored, made, sim.fork()]) {
    expect(one.inference.list()).toEqual(listed)
    expect(await ask(one)).toBe('Twice.')
    expect(await ask(one)).not.toBe('Twice.')
    expect(one.inference.add({ answer: { text: 'x' } }).name).toBe('script-3')
  }
  made.reset()
  expect(made.inference.list()).toEqual(listed)
  sim.reset()
  expect(sim.inference.list()).toEqual([{ ...listed[0], hits: 0 }])
})

test('a refused snapshot changes nothing', () => {
  const sim = createSimulator()
  const was = [sim.digest, sim.clock.mode]
  const bytes = createSimulator({ fixtures: 'empty', clock: 'on-poll' }).snapshot().toBytes()
  const { about, content } = readEnvelope(bytes, 'it')
  const versioned = (text: Uint8Array, from: string, to: string) =>
    Buffer.from(Buffer.from(text).toString('latin1').replace(from, to), 'latin1')
  const cases: [given: unknown, message: RegExp][] = [
    [bytes.subarray(0, bytes.length - 1), /it is cut off: \d+ of \d+ bytes are there/],
    [bytes.subarray(0, 60), /it is damaged/],
    [new Uint8Array(), /it is not a snapshot of modelhost-sim/],
    [Buffer.from('{"account": {}}'), /it is not a snapshot of modelhost-sim/],
    [versioned(bytes, 'snapshot 8\n', 'snapshot 7\n'), /it is of format 7, and modelhost-sim .* reads format 8/],
    [Buffer.concat([bytes, bytes]), /it is damaged/],
    [
      writeEnvelope({ ...about, version: '0.0.9' }, [content]),
      /it was taken with modelhost-sim 0\.0\.9, and this is .*Use that version/,
    ],
    [writeEnvelope(about, [new Uint8Array(100)]), /its content makes no world of modelhost-sim/],
    [writeEnvelope(about, [content.subarray(0, 5000)]), /its content makes no world of modelhost-sim/],
    [null, /null is not a snapshot/],
    ['before.snapshot', /string is not a snapshot/],
  ]
  for (const [given, message] of cases) {
    expect(() => sim.restore(given as Uint8Array)).toThrow(message)
    expect(() => sim.restore(given as Uint8Array)).toThrow(expect.objectContaining({ name: 'SnapshotError' }))
  }
  expect([sim.digest, sim.clock.mode]).toEqual(was)
})

test('fault rules keep their chance, their hits and the next name', { tags: 'slow' }, async () => {
  await continued(
    { seed: 5 },
    async sim => {
      sim.faults.add(DOWN)
      sim.faults.add({ on: 'getMe', after: { kind: 'node.crashed' }, fault: { kind: 'status', status: 500 } })
      sim.faults.add({ on: 'addFunds', nth: 3, from: new Date('2026-01-01T00:00:00Z'), fault: { kind: 'reset' } })
      for (let i = 0; i < 5; i++) await ask(sim, '/deploy/list')
    },
    async sim => {
      const statuses: number[] = []
      for (let i = 0; i < 20; i++) statuses.push((await ask(sim, '/deploy/list')).status)
      sim.cluster.node('h100-0').crash()
      statuses.push((await ask(sim, '/v1/me')).status)
      sim.faults.add({ on: '*', times: 1, fault: { kind: 'status', status: 418 } })
      expect(statuses).toContain(503)
      expect(statuses.at(-1)).toBe(500)
      return [statuses, sim.faults.list()]
    },
  )
})

test('stale reads look back beyond the snapshot', { tags: 'slow' }, async () => {
  await continued(
    { fixtures: 'empty' },
    async sim => {
      sim.faults.add({ on: 'listDeployments', fault: { kind: 'stale', lag: '10m' } })
      await sim.clock.advance('1m')
      await sendTo(sim, 'POST /deploy/llm', {
        model_name: 'acme/chat',
        gpu: 'H100-80GB',
        hub: { repo: 'acme/chat-8b' },
      })
    },
    async sim => {
      const seen: unknown[] = []
      for (const time of ['5m', '5m', '2m', '10m']) {
        await sim.clock.advance(time)
        seen.push((await (await ask(sim, '/deploy/list')).json()).map((one: { status: string }) => one.status))
      }
      expect(seen[0]).toEqual([])
      expect(seen.at(-1)).not.toEqual([])
      return seen
    },
  )
})

test('timelines continue, and their missed steps are reported', async () => {
  await continued(
    { fixtures: 'two-nodes' },
    async sim => {
      sim.timelines.start({
        name: 'storm',
        title: 'A storm',
        problems: [],
        acts: [
          { at: 60e6, command: { verb: 'node.crash', target: 'h100-0' } },
          { at: 600e6, interval: 600e6, times: 3, command: { verb: 'node.repair', target: 'h100-0' } },
          { at: 900e6, rule: { on: '*', fault: { kind: 'status', status: 503 } } },
        ],
      })
      await sim.clock.advance('2m')
    },
    async sim => {
      await sim.clock.advance('15m')
      return [
        sim.timelines.get('storm'),
        sim.cluster.nodes(),
        sim.faults.list(),
        (await ask(sim, '/deploy/list')).status,
      ]
    },
  )
})

test.each([
  'manual',
  { mode: 'scaled', speed: 3600 },
  { mode: 'on-poll', step: 30_000 },
  { mode: 'idle', after: 1000 },
  'follow',
] as const)('a restored clock keeps its mode and its holds: %o', { tags: 'slow' }, setting => {
  const sim = createSimulator({ clock: setting })
  sim.clock.pause('debugger')
  const { clock } = sim
  const back = createSimulator({ fixtures: 'empty' })
  // An idle clock moves in real time, also during the tests of other files.
  onTestFinished(() => back[Symbol.asyncDispose]())
  back.restore(sim.snapshot().toBytes())
  expect([back.clock.setting, back.clock.pausedBy]).toEqual([clock.setting, ['debugger']])
  expect(sim.fork().clock.setting).toEqual(clock.setting)
  back.clock.resume('debugger')
  expect(back.clock.pausedBy).toEqual([])
})

test('a snapshot keeps following its clock in this process and stops elsewhere', async () => {
  let ms = 1000
  const sim = createSimulator({ clock: { mode: 'follow', now: () => ms } })
  const [here, elsewhere] = [createSimulator(), createSimulator()]
  here.restore(sim.snapshot())
  elsewhere.restore(sim.snapshot().toBytes())
  ms += 60_000
  expect(here.clock.due).toBe(60_000_000)
  expect(elsewhere.clock.setting).toEqual({ mode: 'follow' })
})

test('a restore rejects sleeps on the clock, and listeners hear of the restored world', async () => {
  const sim = createSimulator({ fixtures: 'two-nodes' })
  const heard: string[] = []
  sim.journal.listen(({ kind }) => heard.push(kind))
  const before = sim.snapshot()
  const sleeping = expect(sim.clock.sleep('1h')).rejects.toThrow('Failed to sleep on')
  sim.restore(before)
  await sleeping
  sim.cluster.node('h100-0').crash()
  expect(heard).toEqual(['node.crashed'])
  expect(sim.requests).toEqual([])
})

test('a scheduled event has no cause in a journal that begins again', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  for (let i = 0; i < 3; i++) await ask(sim, '/deploy/list')
  sim.cluster.node('h100-0').crash()
  const twin = sim.fork()
  for (const one of [sim, twin]) for (let i = 0; i < 9; i++) await ask(one, '/deploy/list')
  await twin.clock.advance('1d')
  for (const { seq, kind } of twin.journal.entries()) {
    if (kind !== 'request') expect(twin.journal.why(seq).map(one => one.kind)).not.toContain('request')
  }
})

test('a snapshot as a fixture accepts options that equal its own and refuses others', async () => {
  const origin = createSimulator({ seed: 3, profile: 'quick', clock: 'on-poll', epoch: '2026-03-01T00:00:00Z' })
  origin.faults.add(DOWN)
  origin.clock.pause('debugger')
  const snapshot = origin.snapshot()
  const sim = createSimulator({ fixtures: snapshot, journalLimit: 50, maxStorageBytes: 1e6, documentedOnly: true })
  const expected = ['3', origin.digest, origin.clock.iso, 'on-poll']
  expect([sim.seed, sim.digest, sim.clock.iso, sim.clock.mode]).toEqual(expected)
  expect([sim.clock.pausedBy, sim.faults.list()]).toEqual([['debugger'], origin.faults.list()])
  expect([sim.world.journal.limit, sim.world.maxStorageBytes]).toEqual([50, 1e6])
  sim.faults.clear()
  sim.reset()
  expect(sim.faults.list()).toEqual(origin.faults.list())
  const same = { seed: 3, profile: 'quick', epoch: '2026-03-01T00:00:00Z', clock: 'manual' } as const
  expect(createSimulator({ fixtures: snapshot, ...same }).clock.mode).toBe('manual')
  const refused: [SimulatorOptions, string][] = [
    [{ seed: 4 }, "the snapshot has the seed '3', and the option is '4'. Leave the seed out."],
    [{ profile: 'realistic' }, "the snapshot has its profile 'quick' with its weather, and the option is 'realistic'"],
    [{ profile: 'quick', weather: 'rough' }, 'and the option is another of that name'],
    [
      { epoch: '2026-01-01T00:00:00Z' },
      'the snapshot has the epoch 2026-03-01T00:00:00.000Z, and the option is 2026-01-01',
    ],
    [{ with: {} }, "records cannot be added beside a snapshot. Leave 'with' out."],
    [{ faults: [] }, 'Leave the faults out.'],
    [{ answers: [] }, 'Leave the answers out.'],
  ]
  for (const [options, message] of refused)
    expect(() => createSimulator({ fixtures: snapshot, ...options })).toThrow(message)
})

/** What a simulator, a fork of it, and one that was put back from bytes make of the same: the same. */
async function continued(
  options: SimulatorOptions,
  before: (sim: Simulator) => Promise<void>,
  after: (sim: Simulator) => Promise<unknown>,
): Promise<void> {
  const sim = createSimulator(options)
  await before(sim)
  const snapshot = sim.snapshot()
  const restored = createSimulator({ fixtures: 'full', seed: 99 })
  restored.restore(snapshot)
  const read = createSimulator({ fixtures: 'full', seed: 99 })
  read.restore(snapshot.toBytes())
  const fork = sim.fork()
  const expected = [await after(sim), sim.digest]
  for (const one of [fork, restored, read]) expect([await after(one), one.digest]).toEqual(expected)
}

function ask(sim: Simulator, path: string): Promise<Response> {
  return sendTo(sim, `GET ${path}`)
}

/** Returns how often a graph of objects refers to each row. */
function countRows(root: object): Map<Row, number> {
  const counts = new Map<Row, number>()
  const seen = new Set<object>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return
    if (value instanceof Row) counts.set(value, (counts.get(value) ?? 0) + 1)
    if (seen.has(value)) return
    seen.add(value)
    const parts = value instanceof Map ? [...value].flat() : value instanceof Set ? value : Object.values(value)
    for (const part of parts) visit(part)
  }
  visit(root)
  return counts
}

test('one world refers to each of its rows once, so its snapshot looks up none', async () => {
  for (const fixtures of ['default', 'two-nodes', 'empty'] as const) {
    const sim = createSimulator({ fixtures, seed: 5 })
    const created = await sendTo(sim, 'POST /deploy/llm', {
      model_name: 'acme/twice',
      gpu: 'L4-24GB',
      num_gpus: 1,
      hub: { repo: 'acme/chat-8b' },
    })
    await created.text()
    await sim.clock.advance('6h')
    const counts = countRows(sim.snapshot().state.world.toArchive())
    expect(counts.size).toBeGreaterThan(0)
    expect([...counts].filter(([, count]) => count !== 1).map(([{ id }, count]) => [id, count])).toEqual([])
  }
})

test('the worlds of the past that a snapshot keeps share their rows in its bytes, too', async () => {
  const sim = createSimulator({ seed: 3 })
  sim.faults.add({ on: 'listDeployments', fault: { kind: 'stale', lag: '10m' } })
  for (let i = 0; i < 5; i++) {
    await sim.clock.advance('1m')
    sim.cluster.account[i % 2 === 0 ? 'suspend' : 'resume']()
  }
  const snapshot = sim.snapshot()
  const archived = ({ state: { world, faults } }: Snapshot) =>
    [world, ...faults.past.map(past => past.world)].map(one => ('toArchive' in one ? one.toArchive() : one))
  const rows = countRows(archived(snapshot))
  expect(snapshot.state.faults.past.length).toBeGreaterThan(3)
  expect([...rows.values()].filter(count => count > 3).length).toBeGreaterThan(10)
  expect(countRows(archived(Snapshot.from(snapshot.toBytes()))).size).toBe(rows.size)
})
