import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { assertWritable, type ExploredClient, scenarioText } from '../../../src/cli/explore/scenario-files.ts'
import type { ExplainedFinding } from '../../../src/workbench/explore/explore-flow.ts'

const finding = { plan: [], invariant: 'settles', why: 'It waits.' } as unknown as ExplainedFinding

test.each([
  ['./my-world', '../my-world'],
  ['empty', 'empty'],
])('the scenario of a finding names the fixture %s of the command line as %s', (fixtures, named) => {
  const client = { flow: {}, file: resolve('client.mjs'), world: { fixtures } } as unknown as ExploredClient
  const scenario = parse(scenarioText(client, finding, resolve('findings')))
  expect(scenario).toMatchObject({ flow: '../client.mjs', given: { fixtures: named } })
})

test('the scenario of a command with own endpoints is not written, since run would not know them', () => {
  const clientWith = (options: object) =>
    ({ flow: { name: 'sh', command: ['sh'], options }, file: undefined }) as unknown as ExploredClient
  const write = (options: object) => assertWritable([clientWith(options)], { write: 'findings' }, process.cwd())
  expect(() => write({ endpoints: {} })).toThrow(
    "Failed to write --write 'findings': the scenario of a command cannot have your own endpoints. Explore a flow that",
  )
  expect(() => write({})).not.toThrow()
})
