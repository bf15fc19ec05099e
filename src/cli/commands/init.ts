/** `modelhost-sim init`: writes a configuration, a first test and a first scenario into a project. */
import { cpSync, existsSync, lstatSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describeFileError } from '../../lib/errors.ts'
import { shippedFolder } from '../../workbench/scenario/runner/paths.ts'
import { UsageError } from '../command.ts'
import { CONFIG_FILES } from '../config.ts'
import { makeFolders } from '../files/output-file.ts'

export const command = 'init'
export const describe = 'Write a configuration, a first test and a first scenario into this folder'

/** The test runners: the test in examples/init, the path of its copy, and the command that runs it. */
const RUNNERS = {
  vitest: { from: 'vitest.test.js', to: 'test/modelhost-sim.test.js', run: 'npx vitest run' },
  jest: { from: 'jest.test.js', to: 'test/modelhost-sim.test.js', run: 'npx modelhost-sim exec -- npx jest' },
  'node:test': { from: 'node.test.mjs', to: 'test/modelhost-sim.test.mjs', run: 'node --test' },
  pytest: { from: 'test_modelhost_sim.py', to: 'tests/test_modelhost_sim.py', run: 'npx modelhost-sim exec -- pytest' },
} as const

export const examples = [['$0 init', 'in the folder of a project; files that exist stay']]

export function handler(): void {
  const runner = findRunner()
  const { from: test, to: target, run } = RUNNERS[runner]
  const scenario = 'scenarios/first-deployment.yaml'
  const config = CONFIG_FILES.find(isThere) ?? 'modelhost-sim.config.yaml'
  const copies = [
    ['modelhost-sim.config.yaml', config],
    [`test/${test}`, target],
    [scenario, scenario],
    // The trace belongs to this scenario.
    ...(existsSync(scenario) ? [] : [[scenario, scenario].map(path => path.replace('.yaml', '.trace'))]),
  ] as [from: string, to: string][]
  for (const [, to] of copies) {
    if (isThere(dirname(to)) && statSync(dirname(to), { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new UsageError(
        `Failed to write ${to}: ${dirname(to)} is not a folder. Rename that file, then run init again.`,
      )
    }
    if (statSync(to, { throwIfNoEntry: false })?.isDirectory()) {
      throw new UsageError(`Failed to write ${to}: it is a folder. Rename it, then run init again.`)
    }
  }
  const lines = copies.map(([from, to]) => (copy(from, to) ? `wrote ${to}` : `kept ${to}, which exists already`))
  const commands = [run, 'npx modelhost-sim run', 'npx modelhost-sim serve'].map(line => `  ${line}`)
  process.stdout.write(`${[...lines, `The test is for ${runner}. Now run:`, ...commands].join('\n')}\n`)
}

/** Returns the test runner that the files of the project name. */
function findRunner(): keyof typeof RUNNERS {
  const manifest = readIfPresent('package.json')
  if (/"vitest"\s*:/.test(manifest)) return 'vitest'
  if (/"(?:jest|@jest\/globals)"\s*:/.test(manifest)) return 'jest'
  if (['pytest.ini', 'conftest.py', 'tests/conftest.py'].some(file => existsSync(file))) return 'pytest'
  const files = ['pyproject.toml', 'setup.cfg', 'tox.ini', 'requirements.txt', 'requirements-dev.txt']
  if (files.some(file => /\bpytest\b/.test(readIfPresent(file)))) return 'pytest'
  return manifest === '' && existsSync('pyproject.toml') ? 'pytest' : 'node:test'
}

function readIfPresent(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

/** Returns whether a path is taken, also by a link that leads nowhere. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Copies a file of examples/init. Returns false if the target exists; then it stays. */
function copy(from: string, to: string): boolean {
  if (isThere(to)) return false
  try {
    makeFolders(dirname(to))
    cpSync(join(shippedFolder('examples'), 'init', from), to, { force: false, errorOnExist: true })
    return true
  } catch (error) {
    throw new UsageError(
      `Failed to write ${to}: ${describeFileError(error)}. Run init in a folder that you can write to.`,
    )
  }
}
