import { expect, test } from 'vitest'
import { planTest } from '../../../src/evidence/export/steps.ts'
import { parseRecording } from '../../../src/evidence/recording/file.ts'
import { createSimulator } from '../../../src/index.ts'

test('the plan of a test moves time from zero again after a reset', async () => {
  const sim = createSimulator({ fixtures: 'two-nodes', seed: 3 })
  const recording = sim.record()
  const list = () => sim.fetch('http://sim/deploy/list', { headers: { authorization: `Bearer ${sim.token}` } })
  await sim.clock.advance('1h')
  await list()
  sim.reset()
  await sim.clock.advance('10m')
  await list()
  await sim.clock.advance('5m')
  recording.stop()
  const { steps, digest } = await planTest(parseRecording(recording.text, 'run'), 'run')
  const words = steps.map(step => (step.kind === 'advance' ? step.by / 60e6 : step.kind))
  expect(words).toEqual([60, 'send', 'act', 10, 'send', 5])
  expect(digest).toBe(sim.digest)
})
