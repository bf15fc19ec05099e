import { expect, test } from 'vitest'
import { fillDeployments } from '../../src/data/bulk-records.ts'
import { loadEnglishFaker } from '../../src/data/faker.browser.ts'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { runScenario, scenario } from '../../src/workbench/scenario/index.ts'
import { running } from '../server/http/running-server.ts'
import { sendTo } from '../setup/send-to.ts'

const namesOf = (sim: ReturnType<typeof createSimulator>) =>
  [...sim.world.deployments.entries()].map(([, { plan }]) => plan.modelName)

test('fill adds deployments and models up to the numbers', () => {
  const sim = createSimulator({ fixtures: 'empty', fill: { models: 80, deployments: 30 }, seed: 7 })
  expect([...sim.world.store.models.all()]).toHaveLength(80)
  const expected = fillDeployments(loadFixture('empty'), 30, 7).deployments.map(each => each.model_name)
  expect(namesOf(sim).sort()).toEqual(expected.sort())
})

test('fill counts the records of `with`, and depends on the seed', () => {
  const deployments = [{ model_name: 'acme/mine', status: 'stopped' } as const]
  const options = { fixtures: 'empty', with: { deployments }, fill: { deployments: 5 } }
  const names = namesOf(createSimulator(options))
  expect(names).toHaveLength(5)
  expect(names).toContain('acme/mine')
  expect(namesOf(createSimulator(options))).toEqual(names)
  expect(namesOf(createSimulator({ ...options, seed: 2 }))).not.toEqual(names)
})

test('fill is refused when the fixture has more, and beside a snapshot', () => {
  expect(() => createSimulator({ fill: { deployments: 1 } })).toThrow(
    /^Failed to fill deployments: the fixture has \d+ already, and the requested number is 1\. Choose \d+ or more\.$/,
  )
  const snapshot = createSimulator().snapshot()
  expect(() => createSimulator({ fixtures: snapshot, fill: { deployments: 50 } })).toThrow(
    "Failed to make a simulator: records cannot be added beside a snapshot. Leave 'fill' out.",
  )
})

test('POST /_sim/worlds fills a world, and refuses invalid numbers', async () => {
  const server = await running({ fixtures: 'empty' })
  const made = await server.command('/_sim/worlds', { fixtures: 'empty', fill: { deployments: 12 } })
  expect(made.status).toBe(200)
  const headers = { authorization: `Bearer ${made.body.token}` }
  const list = await (await server.ask('/deploy/list', { headers })).json()
  const sim = createSimulator({ fixtures: 'empty', fill: { deployments: 12 } })
  const inProcess = await sendTo(sim, 'GET /deploy/list')
  expect(list.length).toBeGreaterThan(5)
  expect(await inProcess.json()).toHaveLength(list.length)
  const refused = await server.command('/_sim/worlds', { fill: { deployments: -1 } })
  expect(refused.status).toBe(422)
})

test('a scenario fills its world', async () => {
  let count = 0
  const filled = scenario('many deployments', { fixtures: 'empty', fill: { deployments: 12 } }, async ({ api }) => {
    count = (await api.listDeployments()).length
  })
  expect((await runScenario(filled)).failure).toBeUndefined()
  expect(count).toBeGreaterThan(5)
})

test('a page refuses fill', () => {
  expect(loadEnglishFaker).toThrow('Failed to fill a world: bulk records need Node.')
})
