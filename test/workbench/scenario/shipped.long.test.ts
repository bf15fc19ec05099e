/** Each tenth scenario of the package: it is the same when it is played twice, and another with another seed. */
import { relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { runScenario } from '../../../src/workbench/scenario/index.ts'
import { findScenarioFiles, loadScenarios } from '../../../src/workbench/scenario/runner/files.ts'

const files = findScenarioFiles(['scenarios/**/*']).map(file => relative('.', file))
const sample = files.filter((_, i) => i % Math.ceil(files.length / 10) === 0)

test.each(sample)('%s has the same digest when it is played twice, and another with another seed', async file => {
  for (const scenario of await loadScenarios(resolve(file))) {
    const first = await runScenario(scenario)
    const second = await runScenario(scenario)
    expect(second.trace).toEqual(first.trace)
    expect(second.digest).toBe(first.digest)
    expect(second.elapsed).toBe(first.elapsed)
    const other = await runScenario(scenario, { seed: 'another' })
    expect(other.digest).not.toBe(first.digest)
  }
})
