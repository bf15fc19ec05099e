/** Code that a request loads on first use: on a busy machine that takes seconds, which no client is to blame for. */
import { createSimulator } from 'modelhost-sim'
import { expect, test, vi } from 'vitest'
import { InFlightRequests } from '../../src/simulator/in-flight-requests.ts'

const loading = vi.hoisted(() => ({ end: () => {} }))
vi.mock('../../src/service/http/prerequisites.ts', () => ({
  isAnyMissing: () => true,
  loadPrerequisites: () =>
    new Promise<void>(resolve => {
      loading.end = resolve
    }),
}))
// A machine that is so busy that each look at the clock comes five seconds after the one before.
const real = vi.hoisted(() => ({ ms: 0 }))
vi.mock('../../src/lib/real-time.ts', async original => ({
  ...(await original<typeof import('../../src/lib/real-time.ts')>()),
  monotonicMs: () => {
    real.ms += 5_000
    return real.ms
  },
}))

test('time moves when code has been loaded that took longer than a request may be stuck', async () => {
  const sim = createSimulator({ fixtures: 'two-nodes' })
  void sim.fetch('http://sim/v1/chat/completions', { method: 'POST', body: '{}' })
  const beganMs = real.ms
  const moved = sim.clock.advance('1s')
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
  expect(real.ms - beganMs).toBeGreaterThan(2_000)
  loading.end()
  await moved
  expect(sim.clock.elapsed).toBe(1_000_000)
})

test('requests count as loading until their code is loaded or cannot be', async () => {
  const requests = new InFlightRequests()
  const code = Promise.resolve()
  const broken = Promise.reject(new Error('no such file'))
  requests.onLoading(code)
  requests.onLoading(broken)
  expect(requests.isLoading).toBe(true)
  await Promise.allSettled([code, broken])
  expect(requests.isLoading).toBe(false)
})
