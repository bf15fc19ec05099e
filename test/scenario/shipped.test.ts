/** The scenarios that come with the package, held to their traces: they are its acceptance test and its examples. */
import { readdirSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { findScenarioFiles, loadScenarios } from '../../src/scenario/files.ts'
import { runFiles, runScenario } from '../../src/scenario/index.ts'

const files = findScenarioFiles(['scenarios']).map(file => relative('.', file))

test('nine stories are shipped, each with its trace', () => {
  expect(readdirSync('scenarios').filter(name => name.endsWith('.trace'))).toHaveLength(9)
  expect(files).toHaveLength(9)
})

test.each(files)('%s passes and equals its trace', async file => {
  const results = await runFiles([file])
  expect(results.map(({ failure }) => failure)).toEqual([undefined])
  expect(results.map(({ traceWas }) => traceWas)).toEqual(['equal'])
})

test.each(files)('%s is the same twice, and another world with another seed', async file => {
  const [scenario] = await loadScenarios(resolve(file))
  const first = await runScenario(scenario!)
  const second = await runScenario(scenario!)
  expect(second.trace).toEqual(first.trace)
  expect(second.digest).toBe(first.digest)
  expect(second.elapsed).toBe(first.elapsed)
  const other = await runScenario(scenario!, { seed: 'another' })
  expect(other.digest).not.toBe(first.digest)
})
