/** Code that a request loads on first use: on a busy machine that takes seconds, which no client is to blame for. */
import { expect, test } from 'vitest'
import { InFlightRequests } from '../../../src/simulator/client-requests.ts'
import { FakeTimers } from '../../../src/simulator/clock/fake-timers.ts'
import { Quiescence } from '../../../src/simulator/clock/quiescence.ts'

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => setImmediate(resolve))
}

/** A request, and a machine that is so busy that each look at the clock comes five seconds after the one before. */
function arrange() {
  const inFlight = new InFlightRequests()
  let ms = 0
  const quiescence = new Quiescence({ inFlight }, new FakeTimers(), () => {
    ms += 5_000
    return ms
  })
  let answer = (_: Response) => {}
  const answered = new Promise<Response>(resolve => {
    answer = resolve
  })
  void inFlight.track(new Request('http://sim/v1/chat/completions', { method: 'POST' }), answered)
  return { inFlight, quiescence, answer }
}

test('a request that waits for code is not stuck, however long that takes', async () => {
  const { inFlight, quiescence, answer } = arrange()
  let end = () => {}
  inFlight.onLoading(
    new Promise<void>(resolve => {
      end = resolve
    }),
  )
  const idle = quiescence.whenIdle()
  await turns(20)
  end()
  answer(new Response())
  await idle
})

test('a request that waits for nothing is stuck', async () => {
  const { quiescence } = arrange()
  await expect(quiescence.whenIdle()).rejects.toThrow('POST /v1/chat/completions has been in flight for 2 s')
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
