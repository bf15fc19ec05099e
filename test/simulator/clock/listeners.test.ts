/** Listeners of the journal and of bugs that throw: the world stays whole, and the error reaches the test. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { sendTo } from '../../setup/send-to.ts'
import { spec, stage } from '../../simulation/small-world.ts'

const CHAT = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

const create = (sim: Simulator) => sendTo(sim, 'POST /deploy/llm', CHAT)

const list = (sim: Simulator) => sendTo(sim, 'GET /deploy/list')

/** Throws at every entry of that kind, an error that counts them. */
function throwAt(sim: Simulator, kind: string): void {
  let count = 0
  sim.journal.listen(entry => {
    if (entry.kind === kind) throw new Error(`${kind} ${++count}`)
  })
}

/** Uncaught errors, which the test runner does not see here. */
function uncaught(): unknown[] {
  const errors: unknown[] = []
  const others = process.listeners('uncaughtException')
  const hear = (error: unknown) => errors.push(error)
  process.removeAllListeners('uncaughtException').on('uncaughtException', hear)
  onTestFinished(() => {
    process.off('uncaughtException', hear)
    for (const other of others) process.on('uncaughtException', other)
  })
  return errors
}

const turn = () => new Promise(resolve => setImmediate(resolve))

describe('a listener that throws', () => {
  test('fails the move of time with its first error, when the move is complete', async () => {
    const moves = [
      (sim: Simulator) => sim.clock.advance('1h'),
      (sim: Simulator) => sim.clock.advanceInSlices('1h'),
      (sim: Simulator) => sim.clock.until(() => false, { within: '1h' }),
    ]
    for (const move of moves) {
      const [sim, twin] = [1, 2].map(() => createSimulator({ fixtures: 'empty', check: true })) as [
        Simulator,
        Simulator,
      ]
      throwAt(sim, 'instance.ready')
      for (const one of [sim, twin]) expect((await create(one)).status).toBe(200)
      await expect(move(sim)).rejects.toThrow('instance.ready 1')
      await move(twin).catch(() => {})
      expect([sim.clock.elapsed, sim.digest]).toEqual([twin.clock.elapsed, twin.digest])
      await sim.clock.advance('1h')
    }
  })

  test('during a request is an uncaught error, and its client gets the answer', async () => {
    const errors = uncaught()
    const [sim, twin] = [1, 2].map(() => createSimulator({ fixtures: 'empty', check: true })) as [Simulator, Simulator]
    throwAt(sim, 'instance.pending')
    let heard = 0
    sim.journal.listen(() => heard++)
    for (const one of [sim, twin]) expect((await create(one)).status).toBe(200)
    await turn()
    expect(errors.map(String)).toEqual(['Error: instance.pending 1'])
    expect(heard).toBe(sim.journal.entries().length)
    for (const one of [sim, twin]) await one.clock.advance('1h')
    expect(sim.digest).toBe(twin.digest)
  })

  test('during a request that a predicate awaits fails the move', async () => {
    const sim = createSimulator({ fixtures: 'empty', check: true })
    throwAt(sim, 'instance.pending')
    const statuses: number[] = []
    const moved = sim.clock.until(async () => statuses.push((await create(sim)).status) > 0)
    await expect(moved).rejects.toThrow('instance.pending 1')
    expect(statuses).toEqual([200])
  })
})

test('after a reset, a listener and the list of requests know nothing of a request of the world before', async () => {
  const sim = createSimulator({ fixtures: 'empty', seed: 1, inferencePace: 'clock' })
  const heard: string[] = []
  sim.journal.listen(({ kind }) => heard.push(kind))
  const client = new AbortController()
  const chat = (stream: boolean) => {
    const messages = [{ role: 'user', content: 'How is tea made?' }]
    const { signal } = client
    return sendTo(
      sim,
      'POST /v1/chat/completions',
      { model: 'aurora-labs/aurora-8b-instruct', messages, stream },
      { signal },
    )
  }
  const stream = await chat(true)
  // Its body is still being read at the reset.
  const answer = chat(false)
  sim.reset()
  heard.length = 0
  await sim.clock.advance('1h')
  expect((await answer).status).toBe(200)
  client.abort()
  await expect(stream.text()).rejects.toThrow()
  expect([heard, sim.requests]).toEqual([[], []])
  await list(sim)
  expect([heard, sim.requests.map(({ seq }) => seq)]).toEqual([['request'], [1]])
})

test.each(['GET', 'POST'])('an onBug that throws rejects the %s once, and the request is closed', async method => {
  const heard: string[] = []
  const sim = stage(
    [{}],
    {},
    {
      onBug: error => {
        heard.push(String(error))
        throw new Error('heard of a bug')
      },
    },
  )
  const { ordinal } = sim.world.deployments.createLlm(spec())
  sim.world.deployments.writable(ordinal).waiting++
  const asked = method === 'GET' ? list(sim) : create(sim)
  await expect(asked).rejects.toThrow('heard of a bug')
  expect(heard).toHaveLength(1)
  expect([
    sim.world.journal.cause,
    sim.journal.entries().findLast(({ kind }) => kind === 'request')?.fields?.status,
  ]).toEqual([0, 500])
  expect((await list(sim)).status).toBe(200)
})
