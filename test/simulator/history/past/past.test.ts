/** How much of a past is kept. */
import { expect, test } from 'vitest'
import { createSimulator } from '../../../../src/index.ts'
import { eventLoopTurn } from '../../../../src/lib/real-time.ts'
import { Past } from '../../../../src/simulator/history/past/past.ts'
import { sendTo } from '../../../setup/send-to.ts'

/** Lists the deployments every minute, and lets checkpoints come. Returns the digests by minute. */
async function poll(sim: ReturnType<typeof createSimulator>, minutes: number): Promise<string[]> {
  const digests: string[] = []
  for (let minute = 0; minute < minutes; minute++) {
    await (await sendTo(sim, 'GET /deploy/list')).text()
    await sim.clock.advance('1m')
    digests.push(sim.digest)
    for (let turn = 0; turn < 3; turn++) await eventLoopTurn()
  }
  return digests
}

test('the oldest part is dropped at the limit, and the rest is as it was', { tags: 'slow' }, async () => {
  const sim = createSimulator({ fixtures: 'default', weather: 'rough' })
  const past = new Past(sim as never, { maxBytes: 50_000, checkpointAfter: { inputs: 2, entries: 1000 } })
  const digests = await poll(sim, 60)
  const { from, bytes, isFromStart, inputs, droppedInputs, checkpoints } = past.state!
  expect(bytes).toBeLessThanOrEqual(50_000)
  expect([isFromStart, inputs + droppedInputs]).toEqual([false, 60])
  expect(droppedInputs).toBeGreaterThan(10)
  expect(checkpoints.length).toBeGreaterThan(2)
  await expect(past.forkAt({ time: from - 1 })).rejects.toThrow('the past is kept since')
  for (const [index, digest] of digests.entries()) {
    const time = (index + 1) * 60e6
    if (time < from) continue
    const fork = await past.forkAt({ time })
    expect([time, fork.digest]).toEqual([time, digest])
  }
})

test('a past has at most 100 checkpoints, and the way between two is gone once', { tags: 'slow' }, async () => {
  const sim = createSimulator({ fixtures: 'default' })
  const past = new Past(sim as never, { checkpointAfter: { inputs: 1, entries: 20 } })
  const digests = await poll(sim, 150)
  expect(past.state!.checkpoints.length).toBeLessThanOrEqual(100)
  expect(past.state!.checkpoints[0]!.at).toEqual([0, 0])
  expect((await past.forkAt({ time: 75 * 60e6 })).digest).toBe(digests[74])

  const far = createSimulator({ fixtures: 'fleet' })
  const ofFar = new Past(far as never, { checkpointAfter: { inputs: 1000, entries: 200 } })
  // One move of a simulator in the process leaves no moment for a checkpoint.
  await far.clock.advance('3h')
  const fork = await ofFar.forkAt({ time: 2 * 3600e6 })
  expect(ofFar.state!.checkpoints.filter(({ at: [time] }) => time === 2 * 3600e6)).toHaveLength(1)
  expect((await ofFar.forkAt({ time: 2 * 3600e6 })).digest).toBe(fork.digest)
  expect((await ofFar.forkAt({ time: 3 * 3600e6 })).digest).toBe(far.digest)
})

test('a request in progress delays the start of a past, and a stopped one leaves no observer', async () => {
  const sim = createSimulator({ fixtures: 'two-nodes', inferencePace: 'clock' })
  const chat = { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'Hello' }] }
  const answer = sendTo(sim, 'POST /v1/chat/completions', chat)
  await expect.poll(() => sim.pendingRequests.length).toBe(1)
  expect(() => new Past(sim as never)).toThrow('a request is in progress')
  await sim.clock.advance('10m')
  await (await answer).text()
  const past = new Past(sim as never)
  expect(() => new Past(sim as never)).toThrow('is in progress')
  past.stop()
  expect((sim as unknown as { observer: unknown }).observer).toBeUndefined()
})

test('a request of the past has its number among those of clients', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const past = new Past(sim as never)
  await poll(sim, 2)
  const expected = ['GET /deploy/list (request 1)', 'GET /deploy/list (request 2)']
  expect(sim.requests.map(({ seq }) => past.requestOf(seq)?.name)).toEqual(expected)
})
