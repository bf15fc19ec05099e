import { expect, onTestFinished, test } from 'vitest'
import { createSimulator } from '../../../src/index.ts'
import { serve } from '../../../src/server/http/server.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import { replayAtServer } from '../../../src/simulator/history/replay/remote-replay.ts'
import { replayRecording } from '../../../src/simulator/history/replay/replay.ts'
import { playMixedHour } from './mixed-hour.ts'

async function recordHour() {
  const sim = createSimulator({ seed: 5, weather: 'bad-week', inferencePace: 'clock' })
  const recording = sim.record()
  await playMixedHour(sim, (input, init) => sim.fetch(input, init), 'http://sim')
  recording.stop()
  await sim[Symbol.asyncDispose]()
  return parseRecording(recording.text, 'hour')
}

test('an hour of three clients, faults, weather, streams and a batch replays here and at a server', async () => {
  const recording = await recordHour()
  const kinds = ['wire', 'streamed', 'waits', 'read', 'action'] as const
  for (const kind of kinds) expect(recording.lines.some(line => kind in line)).toBe(true)
  expect(recording.cut).toBeUndefined()

  const here = await replayRecording(recording, 'hour')
  expect(here.divergence).toBeUndefined()
  expect(here.requests).toBeGreaterThan(80)

  const server = await serve(createSimulator({ clock: 'manual' }), { port: 0 })
  onTestFinished(() => server.close())
  const there = await replayAtServer(recording, 'hour', async (method, path, body) => {
    const init = {
      method,
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    }
    const answer = await fetch(`${server.url}/_sim/${path}`, init)
    if (!answer.ok) throw new Error(await answer.text())
    return answer.json()
  })
  expect(there.divergence).toBeUndefined()
  expect(there.requests).toBe(here.requests)
}, 60_000)
