/** After which request nothing can save the client. */
import { expect, test } from 'vitest'
import { RunStopped } from '../../../../src/workbench/explore/run/runner.ts'
import { findInevitability } from '../../../../src/workbench/explore/shrink/shrink.ts'
import { type PlantedFlow, PlantedRunner, SIGNATURE } from './planted-flow.ts'

const plan = [{ fault: { on: 'getDeployment', nth: 3, fault: { kind: 'reset' } as const } }]

async function inevitability(saves: PlantedFlow['isSavedAt'], requests: number) {
  const causes = [{ operation: 'getDeployment', nth: 3 }]
  const runner = new PlantedRunner({ causes, lineage: 'exact', ...(saves && { isSavedAt: saves }) })
  const found = await findInevitability({
    runner,
    plan,
    signature: SIGNATURE,
    requests,
    setting: { world: { seed: 4 } },
  })
  return { ...found, runs: runner.runs }
}

test.each<[string, PlantedFlow['isSavedAt'], number, number[]]>([
  ['a recovery before request 9 saves the client, a later one does not', request => request <= 9, 9, []],
  ['no recovery saves it', () => false, 0, []],
  ['every recovery saves it', () => true, 80, []],
  ['a recovery before request 4 does not help, and a later one does', request => request <= 9 && request !== 4, 9, [4]],
])('%s', async (_, saves, afterRequest, exceptions) => {
  expect(await inevitability(saves, 80)).toEqual({ afterRequest, method: 'each', exceptions, runs: 80 })
})

test.each<[PlantedFlow['isSavedAt'], number]>([
  [request => request <= 700, 700],
  [() => false, 0],
  [() => true, 1000],
])('many requests are bisected', async (saves, afterRequest) => {
  const found = await inevitability(saves, 1000)
  expect(found).toMatchObject({ afterRequest, method: 'bisection', exceptions: [] })
  expect(found.runs).toBeLessThanOrEqual(10)
})

test('the search ends before its next run when it is aborted', async () => {
  const runner = new PlantedRunner({ causes: [{ operation: 'getDeployment', nth: 3 }], lineage: 'exact' })
  const stop = new AbortController()
  const run = runner.run.bind(runner)
  runner.run = (...args) => {
    if (runner.runs === 4) stop.abort()
    return run(...args)
  }
  const found = findInevitability({ runner, plan, signature: SIGNATURE, requests: 80, signal: stop.signal })
  await expect(found).rejects.toThrow(RunStopped)
  expect(runner.runs).toBe(5)
})
