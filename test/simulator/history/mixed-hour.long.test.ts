import { expect, test } from 'vitest'
import { createSimulator } from '../../../src/index.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import { replayRecording } from '../../../src/simulator/history/replay/perform-lines.ts'
import { playMixedHour } from './mixed-hour.ts'

async function recordHour() {
  const sim = createSimulator({ seed: 5, weather: 'bad-week', inferencePace: 'clock' })
  const recording = sim.record()
  await playMixedHour(sim, (input, init) => sim.fetch(input, init), 'http://sim')
  recording.stop()
  await sim[Symbol.asyncDispose]()
  return parseRecording(recording.text, 'hour')
}

test('an hour of three clients, faults, weather, streams and a batch replays', async () => {
  const recording = await recordHour()
  const kinds = ['wire', 'streamed', 'waits', 'read', 'action'] as const
  for (const kind of kinds) expect(recording.lines.some(line => kind in line)).toBe(true)
  expect(recording.cut).toBeUndefined()

  const result = await replayRecording(recording, 'hour')
  expect(result.divergence).toBeUndefined()
  expect(result.requests).toBeGreaterThan(80)
})
