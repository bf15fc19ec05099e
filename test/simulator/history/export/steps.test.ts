import { expect, test } from 'vitest'
import { createSimulator } from '../../../../src/index.ts'
import { planTest } from '../../../../src/simulator/history/export/steps.ts'
import { parseRecording } from '../../../../src/simulator/history/file.ts'
import { sendTo } from '../../../setup/send-to.ts'

test('the plan of a test moves time from zero again after a reset', async () => {
  const sim = createSimulator({ fixtures: 'two-nodes', seed: 3 })
  const recording = sim.record()
  const list = () => sendTo(sim, 'GET /deploy/list')
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

test('the plan of a test leaves a request that hangs at the end of its world, and waits for a slow answer', async () => {
  const sim = createSimulator({ fixtures: 'empty', seed: 3 })
  const recording = sim.record()
  const open: Promise<unknown>[] = []
  const send = (path: string) => {
    open.push(
      sendTo(sim, `GET ${path}`).then(
        answer => answer.text(),
        () => {},
      ),
    )
  }
  for (let world = 0; world < 2; world++) {
    sim.faults.add({ on: 'listVoices', times: 1, fault: { kind: 'hang' } })
    send('/v1/voices')
    sim.faults.add({ on: 'listDeployments', times: 1, fault: { kind: 'slowBody', bytesPerSecond: 1 } })
    send('/deploy/list')
    await sim.clock.advance('5s')
    if (world === 0) sim.reset()
  }
  recording.stop()
  await sim[Symbol.asyncDispose]()
  await Promise.all(open)
  const parsed = parseRecording(recording.text, 'run')
  const { steps } = await planTest(parsed, 'run')
  const words = steps.flatMap(step => {
    if (step.kind === 'act') return step.action.do === 'reset' ? 'reset' : []
    if (step.kind === 'advance') return `${step.by / 1e6}s`
    if (step.kind === 'send') return `send ${step.number}${step.isImmediate ? `: ${step.status}` : ''}`
    return `${step.kind} ${step.number}${step.kind === 'expect' ? `: ${step.status}` : ''}`
  })
  expect(words).toEqual([
    ...['send 1', 'send 2', '5s', 'expect 2: 200', 'leave 1', 'expect 1: 0', 'reset'],
    ...['send 3', 'send 4', '5s', 'expect 4: 200', 'leave 3', 'expect 3: 0'],
  ])
})
