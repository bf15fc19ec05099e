/** Acceptance of explore: each mutant of a careful client breaks the invariant of its defect. */
import { expect, test } from 'vitest'
import { RULE_NAMES } from '../../../../src/simulator/judge/rules/index.ts'
import { prepare } from '../../../../src/workbench/explore/explore.ts'
import { createFlowRunner } from '../../../../src/workbench/explore/run/flow-runner.ts'
import { pointsOf } from '../../../../src/workbench/explore/stages/singles.ts'
import { assistantFlow } from './flow.ts'
import { MUTATIONS, type Mutation } from './mutations.ts'

const CASES = (Object.keys(MUTATIONS) as Mutation[]).map(name => ({ name, ...MUTATIONS[name] }))

test.each(CASES)('a client that $defect is found by $foundBy at $at', async ({ name, foundBy, at }) => {
  const runner = createFlowRunner(assistantFlow(name))
  const { base, space } = await prepare(runner, { name })
  const points = pointsOf(space).filter(point => `${point.operation} ${point.class}` === at)
  const results = at === 'base' ? [base] : []
  for (const { item } of points) results.push(await runner.run([item]))
  const broken = results.flatMap(result => result.broken)
  expect(broken.map(({ invariant }) => invariant)).toContain(foundBy)
})

test('every invariant has a mutant, and a single fault shows at least 22 of them', () => {
  expect(CASES.length).toBeGreaterThanOrEqual(24)
  expect(CASES.filter(({ at }) => at !== 'base').length).toBeGreaterThanOrEqual(22)
  // `losses.test.ts` and `careless-flows.ts` have clients that break these.
  const others: readonly string[] = ['acceptsVariations', 'doneAsSaid', 'recovers']
  expect(new Set(CASES.map(({ foundBy }) => foundBy))).toEqual(
    new Set(RULE_NAMES.filter(name => !others.includes(name))),
  )
})
