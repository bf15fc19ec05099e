import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import {
  assertWritable,
  type ExploredClient,
  playLine,
  scenarioText,
  writeScenarios,
} from '../../../src/cli/explore/scenario-files.ts'
import type { ExplainedFinding } from '../../../src/workbench/explore/explore-flow.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

const finding = { plan: [], invariant: 'settles', why: 'It waits.' } as unknown as ExplainedFinding

test.each([
  ['./my-world', '../my-world'],
  ['empty', 'empty'],
])('the scenario of a finding names the fixture %s of the command line as %s', (fixtures, named) => {
  const client = { flow: {}, file: resolve('client.mjs'), world: { fixtures } } as unknown as ExploredClient
  const scenario = parse(scenarioText(client, finding, resolve('findings')))
  expect(scenario).toMatchObject({ flow: '../client.mjs', given: { fixtures: named } })
})

afterEach(() => vi.unstubAllEnvs())

const SHELL = {
  flow: { name: 'client', command: ['bash', 'client.sh'], options: {} },
  file: undefined,
} as ExploredClient

test.each([
  ['/bin:/usr/bin', ''],
  ['/app/node_modules/modelhost-sim/clients/shell:/bin', 'PATH="$PWD/node_modules/modelhost-sim/clients/shell:$PATH" '],
  ['/bin:/opt/modelhost-sim/clients/shell', 'PATH="/opt/modelhost-sim/clients/shell:$PATH" '],
  ['/app/.venv/bin:/bin:/venv/bin', 'PATH="$PWD/.venv/bin:$PATH" '],
  ['/opt/clients/shell:/app/.venv/bin:/app/.venv/bin', 'PATH="/opt/clients/shell:$PWD/.venv/bin:$PATH" '],
])('a scenario of a command that was explored with the PATH %s is played with it', (path, before) => {
  vi.stubEnv('PATH', path)
  vi.stubEnv('VIRTUAL_ENV', '/app/.venv')
  expect(playLine(SHELL, 'a b.yaml', '/app')).toBe(`${before}npx modelhost-sim run 'a b.yaml'`)
  expect(playLine({ ...SHELL, flow: { name: 'f' } as never }, 'b.yaml', '/app')).toBe('npx modelhost-sim run b.yaml')
})

test('the file of a finding of a shell begins with the line that plays it', () => {
  const home = temporaryFolder()
  vi.stubEnv('PATH', '/opt/clients/shell')
  const found = { ...finding, signature: 'settles@/ok' }
  const file = writeScenarios(SHELL, [found], { folder: 'found', language: 'yaml', home }).get('settles@/ok')!
  const text = readFileSync(join(home, file), 'utf8')
  expect(text).toMatch(
    /^# PATH="\/opt\/clients\/shell:\$PATH" npx modelhost-sim run found\/client-settles-ok\.yaml\n# It waits\.\n/,
  )
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
