/** Long answers and moves leave turns of the event loop to other clients, and no result depends on these turns. */
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { eventLoopTurn } from '../../src/lib/real-time.ts'
import { withoutPause } from '../../src/lib/slices.ts'
import { decodeContent, encodeContent } from '../../src/server/saved-page/content.ts'
import { BatchLineAnswerer } from '../../src/service/batch-line-answerer.ts'
import { Past } from '../../src/simulator/history/past/past.ts'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'
import { wall } from '../setup/wall-clock.ts'
import { batchOf, chat, linesIn, many, upload } from '../simulation/batch-world.ts'
import { running } from './http/running-server.ts'

// Each look at the real clock finds that the slice is over, so each pause is a turn.
beforeEach(() => {
  wall.ahead = 1_000
})

/** Returns the turns of the event loop until a promise settles. */
async function turnsOf(work: Promise<unknown>): Promise<number> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  let turns = 0
  for (; !isDone; turns++) await eventLoopTurn()
  await done
  return turns
}

test('the metrics page shows the world as it was at the request when a request changes the world meanwhile', async () => {
  const { ask, sim } = await running()
  const simulated = (text: string) => text.replaceAll(/^process_.*$/gm, '')
  const read = async () => simulated(await (await ask('/_sim/metrics')).text())
  const before = await read()
  let isDone = false
  const fork = vi.spyOn(sim.world, 'fork')
  const page = read().finally(() => {
    isDone = true
  })
  while (fork.mock.calls.length === 0 && !isDone) await eventLoopTurn()
  sim.cluster.node(sim.world.nodes.list()[0]!.name).crash()
  sim.world.runTo(sim.world.clock.now + 3_600e6)
  expect(isDone).toBe(false)
  expect(await page).toBe(before)
  expect(await read()).not.toBe(before)
})

test('the recording of a past ends where it began to be written when requests come meanwhile', async () => {
  const sim = createSimulator({ fixtures: 'empty', clock: 'manual' })
  const past = new Past(sim)
  const ask = () => sendTo(sim, 'GET /v1/models')
  await ask()
  const before = withoutPause(past.recording())
  const steps = past.recording()
  steps.next()
  await ask()
  expect(withoutPause(steps)).toBe(before)
  expect(withoutPause(past.recording())).not.toBe(before)
  past.stop()
})

test.each([0, 1, 262_144, 700_000])(
  'a page has the recordings that it was given when one has %i bytes',
  { tags: 'slow' },
  bytes => {
    const recording = Array.from({ length: bytes }, (_, i) => String.fromCharCode(32 + ((i * i) % 90))).join('')
    const content = { title: 'it', worlds: [{ title: 'the run', recording }] }
    expect(decodeContent(withoutPause(encodeContent(content)))).toEqual(content)
  },
)

test('a file leaves a turn for each 64 KiB of it', async () => {
  const sim = createSimulator({ fixtures: 'empty', clock: 'manual' })
  const response = await sendTo(sim, `GET /v1/files/${upload(sim, many(3_000))}/content`)
  const pieces = Math.ceil(Number(response.headers.get('content-length')) / 65_536)
  expect(pieces).toBeGreaterThan(4)
  expect(await turnsOf(response.arrayBuffer())).toBeGreaterThanOrEqual(pieces)
})

describe('a batch', () => {
  const LINES = 600
  const create = () => createSimulator({ fixtures: 'empty', clock: 'manual', check: true, seed: 3 })
  type Move = (sim: Simulator, by: '1h' | '24h') => Promise<unknown>
  const atOnce: Move = (sim, by) => sim.clock.advance(by)
  const inSlices: Move = (sim, by) => sim.clock.advanceInSlices(by)

  test('gives a turn for each line that it answers, and for each line that it writes', async () => {
    const sim = create()
    const { id } = batchOf(sim, many(LINES))
    const work = [vi.spyOn(BatchLineAnswerer.prototype, 'answer'), vi.spyOn(BatchLineAnswerer.prototype, 'body')]
    const events = sim.world.agenda.taken
    const turns = await turnsOf(sim.clock.advanceInSlices('1h'))
    expect(sim.world.batches.get(id)!.status).toBe('completed')
    expect(turns).toBeGreaterThan(2 * LINES + sim.world.agenda.taken - events)
    // The events take the results, and do no line again.
    expect(work.map(({ mock }) => mock.calls.length)).toEqual([LINES, LINES])
    vi.restoreAllMocks()
  })

  const endings: Record<string, (sim: Simulator, move: Move) => Promise<string>> = {
    completes: async (sim, move) => {
      const { id } = batchOf(sim, many(LINES))
      await move(sim, '1h')
      return id
    },
    'has failed and scripted lines': async (sim, move) => {
      sim.inference.add({ contains: 'Question 7', times: 5, answer: { text: 'scripted' } })
      sim.faults.add({ on: 'createChatCompletion', in: 'batch', nth: 9, fault: { kind: 'status', status: 503 } })
      const { id } = batchOf(sim, many(LINES))
      await move(sim, '1h')
      return id
    },
    'has an invalid line': async (sim, move) => {
      sim.inference.add({ contains: 'Question 7', times: 5, answer: { text: 'scripted' } })
      const { id } = batchOf(sim, [...many(LINES), chat(LINES, { body: { max_tokens: -1 } })])
      await move(sim, '1h')
      return id
    },
    'is cancelled': async (sim, move) => {
      const { id } = batchOf(sim, many(LINES, { body: { max_tokens: 4_000 } }))
      await move(sim, '1h')
      sim.world.batches.get(id)!.cancel()
      await move(sim, '1h')
      return id
    },
    expires: async (sim, move) => {
      const { id } = batchOf(sim, many(LINES))
      for (let done = 0; done < LINES / 2; ) {
        await sim.clock.next()
        done = sim.world.batches.get(id)!.toRecord().request_counts?.completed ?? 0
      }
      sim.cluster.batch(id).stall()
      await move(sim, '24h')
      return id
    },
  }
  test.each(Object.entries(endings))('ends in slices as at once when it %s', { tags: 'slow' }, async (_, play) => {
    const [one, other] = [create(), create()]
    const ends = async (sim: Simulator, move: Move) => {
      const record = sim.world.batches.get(await play(sim, move))!.toRecord()
      const files = [record.output_file_id, record.error_file_id].map(id => id && linesIn(sim, id))
      return { record, files, digest: sim.digest, scripted: sim.inference.list() }
    }
    expect(await ends(one, inSlices)).toEqual(await ends(other, atOnce))
  })

  test('answers its lines by a rule that comes before all of them are answered', { tags: 'slow' }, async () => {
    const sim = create()
    const { id } = batchOf(sim, many(LINES))
    const move = sim.clock.advanceInSlices('1h')
    for (let turn = 0; turn < LINES / 2; turn++) await eventLoopTurn()
    expect(sim.world.batches.get(id)!.status).toBe('validating')
    sim.faults.add({ on: 'createChatCompletion', in: 'batch', times: 5, fault: { kind: 'status', status: 503 } })
    await move
    expect(sim.world.batches.get(id)!.toRecord().request_counts).toMatchObject({ failed: 5 })
  })

  test('completes when its client leaves before all lines are answered', async () => {
    const sim = create()
    const { id } = batchOf(sim, many(LINES))
    const client = new AbortController()
    const move = sim.clock.advanceInSlices('1h', client.signal)
    for (let turn = 0; turn < LINES / 2; turn++) await eventLoopTurn()
    expect(sim.world.batches.get(id)!.status).toBe('validating')
    client.abort()
    await move
    await sim.clock.advance('1h')
    expect(sim.world.batches.get(id)!.toRecord()).toMatchObject({
      ...{ status: 'completed', request_counts: { total: LINES, completed: LINES, failed: 0 } },
    })
  })
})
