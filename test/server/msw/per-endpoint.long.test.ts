/** A handler for each endpoint answers every request of the list as the handler for all endpoints does. */
import { setupServer } from 'msw/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { handlers, listenOptions } from '../../../src/workbench/testing/msw.ts'
import { ask, ROWS } from '../request-table.ts'

const TOGETHER = 'https://api.example.test'
const SINGLY = 'https://singly.example.test'
const [sim, twin] = [createSimulator({ seed: 1 }), createSimulator({ seed: 1 })]
const together = setupServer(...handlers(sim, { baseUrl: TOGETHER }))

beforeAll(() => {
  together.listen(listenOptions)
  together.use(...handlers(twin, { baseUrl: SINGLY, perEndpoint: true }))
})
afterAll(() => together.close())

test.each(ROWS)('$operation', async ({ cases }) => {
  for (const one of cases.filter(({ world }) => world === 'usual')) {
    for (const world of [sim, twin]) world.reset()
    const answer = await ask(one, sim.token, (path, init) => fetch(TOGETHER + path, init))
    expect(await ask(one, twin.token, (path, init) => fetch(SINGLY + path, init)), one.name).toEqual(answer)
    expect(twin.digest).toBe(sim.digest)
  }
})
