import { expect, test } from 'vitest'
import { createSimulator, replay, type Simulator } from '../../../src/index.ts'
import { recordSimulator } from '../../../src/simulator/history/record.ts'
import { sendTo } from '../../setup/send-to.ts'

const INFERENCE = '/v1/inference/aurora-labs/aurora-8b-instruct'

/** What may be scheduled, in progress or done at time zero. */
const BEGUN: Readonly<Record<string, (sim: Simulator) => unknown>> = {
  'a scheduled command': sim => sim.cluster.node('h100-0').crash({ at: '10s' }),
  'a result for a webhook': sim => sendTo(sim, `POST ${INFERENCE}`, { input: 'x', webhook: 'http://127.0.0.1:9/h' }),
  'an unread stream': async sim => {
    const chat = { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'x' }], stream: true }
    const response = await sendTo(sim, 'POST /v1/chat/completions', chat)
    await response.body?.getReader().read()
  },
  'an id that is used': sim => sendTo(sim, `POST ${INFERENCE}`, { input: 'x' }),
}

const CONTINUE: Readonly<Record<string, (sim: Simulator) => Simulator>> = {
  'that goes on': sim => sim,
  'of a fork': sim => sim.fork(),
  'of a restored snapshot': sim => {
    sim.restore(sim.snapshot())
    return sim
  },
}

const cases = Object.entries(BEGUN).flatMap(([what, begin]) =>
  Object.entries(CONTINUE).map(([world, next]) => ({ what, world, begin, next })),
)

test.each(cases)('a recording of a world $world has $what at time zero', { tags: 'slow' }, async ({ begin, next }) => {
  const first = createSimulator({ seed: 3, webhooks: { deliver: async () => ({ status: 200 }) } })
  await begin(first)
  const sim = next(first)
  const recording = recordSimulator(sim)
  await sendTo(sim, `POST ${INFERENCE}`, { input: 'y' })
  await sim.clock.advance('1m')
  await sendTo(sim, 'GET /deploy/list')
  recording.stop()
  expect(JSON.parse(recording.text.split('\n')[0]!)).toHaveProperty('snapshot')
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 2 })
})

test.each(Object.entries(CONTINUE))('a recording of an unchanged world %s has its options alone', (_, next) => {
  const sim = next(createSimulator({ seed: 3, fixtures: 'fleet', clock: 'on-poll' }))
  expect(JSON.parse(recordSimulator(sim).text.split('\n')[0]!)).not.toHaveProperty('snapshot')
})
