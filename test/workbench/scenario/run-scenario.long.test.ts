/** A script that asks very often. */
import { expect, test } from 'vitest'
import { runScenario, scenario } from '../../../src/workbench/scenario/index.ts'

test('a script that polls while the clock does not move ends in an error', async () => {
  const polling = scenario('polls', { fixtures: 'two-nodes' }, async ({ api }) => {
    for (;;) await api.listApiTokens()
  })
  const { failure } = await runScenario(polling, { stuckTimeoutMs: 100 })
  expect(failure!.message).toMatch(
    /^Failed to go on: the script has asked 20000 times .* use clock\.until or clock\.advance/,
  )
})
