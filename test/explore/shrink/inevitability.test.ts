/** From which request on nothing can save the client. */
import { expect, test } from 'vitest'
import { findInevitability } from '../../../src/explore/shrink/inevitability.ts'
import { type PlantedFlow, PlantedRunner, SIGNATURE } from './planted-flow.ts'

const plan = [{ fault: { on: 'getDeployment', nth: 3, fault: { kind: 'reset' } as const } }]

async function inevitability(saves: PlantedFlow['isSavedAt'], requests: number) {
  const causes = [{ operation: 'getDeployment', nth: 3 }]
  const runner = new PlantedRunner({ causes, lineage: 'exact', ...(saves && { isSavedAt: saves }) })
  const found = await findInevitability({ runner, plan, signature: SIGNATURE, requests, world: { seed: 4 } })
  return { ...found, runs: runner.runs }
}

test.each<[string, PlantedFlow['isSavedAt'], number | undefined, number[]]>([
  ['the client can be saved before the fault', request => request < 10, 10, []],
  ['nothing can save it at any time', () => false, 1, []],
  ['it can be saved up to its last request', () => true, undefined, []],
  ['there is a moment before at which it cannot be saved', request => request < 10 && request !== 4, 10, [4]],
])('%s', async (_, saves, request, exceptions) => {
  expect(await inevitability(saves, 80)).toEqual({ request, method: 'each', exceptions, runs: 80 })
})

test.each<[PlantedFlow['isSavedAt'], number | undefined, number]>([
  [request => request < 700, 700, 11],
  [() => false, 1, 11],
  [() => true, undefined, 1],
])('many requests are bisected', async (saves, request, runs) => {
  const found = await inevitability(saves, 1000)
  expect(found).toMatchObject({ request, method: 'bisection', exceptions: [] })
  expect(found.runs).toBeLessThanOrEqual(runs)
})
