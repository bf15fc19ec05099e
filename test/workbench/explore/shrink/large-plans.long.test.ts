/** Large plans with planted causes: how many runs they need until only what is necessary is left. */
import { describe, expect, test } from 'vitest'
import { shrink } from '../../../../src/workbench/explore/shrink/shrink.ts'
import {
  failingSchedules,
  type Lineage,
  PlantedRunner,
  SIGNATURE as signature,
  unnecessaryItems,
} from './planted-flow.ts'

describe('50 schedules of 60 items shrink to necessary items, in a median of at most 40 runs, the same each time', () => {
  test.each<[string, readonly Lineage[] | undefined]>([
    ['with a chain of causes of any quality', undefined],
    ['with an unknown chain of causes', ['none']],
  ])('%s', async (_, lineages) => {
    const planted = await failingSchedules(50, 60, lineages)
    expect(planted).toHaveLength(50)
    const runs: number[] = []
    for (const { flow, plan } of planted) {
      const runner = new PlantedRunner(flow)
      const shrunk = (await shrink({ runner, plan, signature }))!
      expect(shrunk).toMatchObject({ isMinimal: true, isRepeatable: true, runs: runner.runs })
      expect(await unnecessaryItems({ flow, plan: shrunk.plan })).toEqual([])
      // Single faults can also add up to a count, so only other causes are one item each.
      const isCounted = flow.causes.some(cause => 'atLeast' in cause)
      if (!isCounted) expect(shrunk.plan.length).toBeLessThanOrEqual(flow.causes.length)
      expect(await shrink({ runner: new PlantedRunner(flow), plan, signature })).toEqual(shrunk)
      runs.push(shrunk.runs)
    }
    const median = runs.toSorted((one, other) => one - other)[25]
    expect(median).toBeLessThanOrEqual(40)
  })
})
