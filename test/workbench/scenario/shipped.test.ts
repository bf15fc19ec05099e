/** The scenarios that come with the package, held to their traces: they are its acceptance test and its examples. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve, sep } from 'node:path'
import { expect, test } from 'vitest'
import { runFiles } from '../../../src/workbench/scenario/index.ts'
import { findScenarioFiles, loadScenarios } from '../../../src/workbench/scenario/runner/files.ts'
import { tracePath } from '../../../src/workbench/scenario/runner/runner.ts'

const FOLDERS = ['api', 'batch', 'deploy', 'hardware', 'hub', 'inference', 'money', 'quota', 'scale']
const files = findScenarioFiles(['scenarios/**/*']).map(file => relative('.', file))

test('at least 35 scenarios are shipped in nine folders, each with its trace beside it', () => {
  expect(files.length).toBeGreaterThanOrEqual(35)
  expect([...new Set(files.map(dirname))].sort()).toEqual(FOLDERS.map(folder => `scenarios${sep}${folder}`))
  expect(files.filter(file => !existsSync(tracePath(file)))).toEqual([])
  const shipped = readdirSync('scenarios', { recursive: true, encoding: 'utf8' }).filter(name => /\.\w+$/.test(name))
  expect(shipped).toHaveLength(2 * files.length)
})

test.each(files)(
  '%s has the fields teaches and client and imports only the scenario API',
  { tags: 'slow' },
  async file => {
    for (const { options } of await loadScenarios(resolve(file))) {
      expect(options.teaches).toMatch(/^[A-Z].{20,}\.$/)
      expect(options.client).toMatch(/^[A-Z].{20,}\.$/)
    }
    if (!file.endsWith('.ts')) return
    const imported = [...readFileSync(file, 'utf8').matchAll(/from '(.*)'/g)].map(([, from]) => from)
    expect(imported).toEqual(['modelhost-sim/scenario'])
  },
)

test.each(files)('%s passes and equals its trace', { tags: 'slow' }, async file => {
  const results = await runFiles([file])
  expect(results.map(({ failure }) => failure)).toEqual(results.map(() => undefined))
  expect(results.map(({ traceOutcome: traceWas }) => traceWas)).toEqual(results.map(() => 'equal'))
})
