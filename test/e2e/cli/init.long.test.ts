/** What `init` writes passes at once, in a project of each test runner. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { BIN, PROJECT } from './process.ts'

/** Returns a project beside the installed package, which has the packages and files that are given. */
function project(files: Readonly<Record<string, string>>): (command: string, ...args: string[]) => string {
  const folder = temporaryFolder(PROJECT)
  mkdirSync(join(folder, 'node_modules'))
  for (const name of ['vitest', 'jest']) symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return (command, ...args) => {
    const env = { ...process.env, NO_COLOR: '1', NODE_OPTIONS: '', VITEST: undefined }
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8', env })
    return `${stdout}${stderr}exit ${status}`
  }
}

const NODE = process.execPath

test.each([
  [
    'vitest',
    // vitest looks for a configuration in the folders above, too, and this project has one.
    { 'package.json': '{"devDependencies":{"vitest":"4"}}', 'vitest.config.js': 'export default {}' },
    [NODE, BIN, 'exec', '--', NODE, 'node_modules/vitest/vitest.mjs', 'run'],
    '1 passed',
  ],
  [
    'jest',
    { 'package.json': '{"devDependencies":{"jest":"30"}}' },
    [NODE, BIN, 'exec', '--', NODE, 'node_modules/jest/bin/jest.js'],
    '1 passed',
  ],
  ['node:test', { 'package.json': '{}' }, [NODE, '--test'], '# pass 1'],
  [
    'pytest',
    { 'pyproject.toml': '[project]\nname = "x"\n' },
    [NODE, BIN, 'exec', '--', 'python3', '-m', 'pytest'],
    '1 passed',
  ],
] as const)('init writes a test for %s and a scenario that pass', (runner, files, [command, ...args], passed) => {
  const run = project(files)
  const written = run(NODE, BIN, 'init')
  expect(written).toContain(`The test is for ${runner}. Now run:`)
  expect(written).not.toContain('Install')
  const said = run(command, ...args)
  if (runner === 'pytest' && said.includes('No module named pytest')) return
  expect(said).toContain(passed)
  expect(said).toMatch(/exit 0$/)
  expect(run(NODE, BIN, 'run')).toContain('1 scenario passed')
  expect(run(NODE, BIN, '--print-config')).toMatch(/^seed +1 +seed in modelhost-sim\.config\.yaml$/m)
})

test.each([
  ['vitest', 'fails.test.js', "import { test } from 'vitest'\ntest('x', () => { throw new Error('on purpose') })\n", 1],
  ['jest', 'fails.test.js', "test('x', () => { throw new Error('on purpose') })\n", 1],
  ['pytest', 'test_fails.py', "def test_x():\n    raise Exception('on purpose')\n", 1],
])(
  'exec ends with the exit code of %s if a test fails, and prints the line that replays',
  (runner, file, text, code) => {
    const run = project({ 'package.json': '{}', 'vitest.config.js': 'export default {}', [file]: text })
    const runners: Readonly<Record<string, readonly string[]>> = {
      vitest: [NODE, 'node_modules/vitest/vitest.mjs', 'run'],
      jest: [NODE, 'node_modules/jest/bin/jest.js'],
      pytest: ['python3', '-m', 'pytest'],
    }
    const said = run(NODE, BIN, 'exec', '--record', 'run.ndjson', '--', ...runners[runner]!)
    if (said.includes('No module named pytest')) return
    expect(said).toContain('on purpose')
    expect(said).toContain(`The command failed with exit code ${code}. To replay its requests:`)
    expect(said).toMatch(new RegExp(`exit ${code}$`))
  },
)

test('init never overwrites', () => {
  const run = project({ 'package.json': '{}', 'modelhost-sim.config.yaml': 'seed: 5\n' })
  expect(run(NODE, BIN, 'init')).toContain('kept modelhost-sim.config.yaml, which exists already\nwrote test/')
  expect(run(NODE, BIN, '--print-config')).toMatch(/^seed +5 /m)
  expect(run(NODE, BIN, 'init')).not.toContain('wrote')
})

test('init keeps a link that leads nowhere, and writes nothing if a folder is one', () => {
  const run = project({ 'package.json': '{}' })
  run('ln', '-s', '/nowhere', 'scenarios')
  run('ln', '-s', '/nowhere', 'modelhost-sim.config.json')
  expect(run(NODE, BIN, 'init')).toBe(
    'Failed to write scenarios/first-deployment.yaml: scenarios is not a folder. Rename that file, then run init again.\nexit 2',
  )
  expect(run('ls', 'test')).not.toContain('exit 0')
  run('rm', 'scenarios')
  expect(run(NODE, BIN, 'init')).toContain('kept modelhost-sim.config.json, which exists already\nwrote test/')
})

test('init keeps a configuration of another kind, and writes nothing if a folder is a file', () => {
  const run = project({ 'package.json': '{}', 'modelhost-sim.config.js': 'export default {}', scenarios: '' })
  expect(run(NODE, BIN, 'init')).toBe(
    'Failed to write scenarios/first-deployment.yaml: scenarios is not a folder. Rename that file, then run init again.\nexit 2',
  )
  expect(run('ls')).not.toContain('test')
  run('rm', 'scenarios')
  expect(run(NODE, BIN, 'init')).toContain('kept modelhost-sim.config.js, which exists already\nwrote test/')
})
