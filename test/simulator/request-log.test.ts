/** The memory of requests is bounded by characters, not by their count alone. */
import { expect, test } from 'vitest'
import { RequestLog } from '../../src/simulator/request-log.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'

const REQUEST = {
  ...{ operationId: 'createLlmDeployment', method: 'POST', target: '/deploy/llm', decidedBy: 'none' as const },
  ...{ text: undefined, seq: undefined, unread: undefined, reason: undefined },
}

test('a log keeps at most 16 Mi characters, of the newest requests', () => {
  const log = new RequestLog()
  const unread = Array.from({ length: 100 }, (_, i) => `body ${String(i).padStart(10_000, 'x')}`)
  for (let i = 0; i < 200; i++) log.add({ ...REQUEST, target: `/${i}`, unread }, 422, 0)
  const kept = log.list(() => '')
  expect(kept.length).toBeGreaterThan(10)
  expect(kept.length).toBeLessThan(20)
  expect(kept.at(-1)!.path).toBe('/199')
  expect(log.unreadFields(true)).toHaveLength(100)
})

test('a log keeps 1,000 requests of usual size', () => {
  const log = new RequestLog()
  for (let i = 0; i < 5000; i++) log.add({ ...REQUEST, target: `/${i}`, text: '{}' }, 200, 0)
  expect(log.list(() => '').map(({ path }) => path)).toEqual(Array.from({ length: 1000 }, (_, i) => `/${4000 + i}`))
})

test('journal and log keep the beginning of a long path', async () => {
  const sim = createSimulator()
  await sim.fetch(`http://sim/deploy/${'x'.repeat(15_000)}`)
  expect(sim.requests[0]!.path.length).toBeLessThan(5_000)
  expect(sim.journal.entries().at(-1)!.subject.length).toBeLessThan(2_000)
})
