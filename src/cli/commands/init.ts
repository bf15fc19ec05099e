/** `modelhost-sim init`: writes a configuration, a first test and a first scenario into a project. */
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import type { Argv } from 'yargs'
import { describeFileError } from '../../lib/file-errors.ts'
import { shippedFolder } from '../../workbench/scenario/runner/shipped.ts'
import { EXIT_CODES, UsageError } from '../command.ts'

export const command = 'init'
export const describe = 'Write a configuration, a first test and a first scenario into this folder'

/** A test runner: its test in examples/init, the path of the copy, and the command that runs it. */
interface Runner {
  readonly source: string
  readonly target: string
  readonly run: string
}

const RUNNERS = {
  vitest: { source: 'vitest.test.js', target: 'test/modelhost-sim.test.js', run: 'npx vitest run' },
  jest: { source: 'jest.test.js', target: 'test/modelhost-sim.test.js', run: 'npx modelhost-sim exec -- npx jest' },
  'node:test': { source: 'node.test.mjs', target: 'test/modelhost-sim.test.mjs', run: 'node --test' },
  pytest: {
    source: 'test_modelhost_sim.py',
    target: 'tests/test_modelhost_sim.py',
    run: 'npx modelhost-sim exec -- pytest',
  },
} as const satisfies Readonly<Record<string, Runner>>

export function builder(argv: Argv): Argv<object> {
  return argv
    .example('$0 init', 'in the folder of a project; files that exist stay')
    .epilogue(EXIT_CODES) as unknown as Argv<object>
}

export function handler(): void {
  const runner = findRunner()
  const { source, target, run } = RUNNERS[runner]
  const scenario = 'scenarios/first-deployment.yaml'
  const copies = [
    ['modelhost-sim.config.yaml', 'modelhost-sim.config.yaml'],
    [`test/${source}`, target],
    [scenario, scenario],
    // The trace belongs to this scenario.
    ...(existsSync(scenario) ? [] : [[scenario, scenario].map(path => path.replace('.yaml', '.trace'))]),
  ] as [from: string, to: string][]
  const lines = copies.map(([from, to]) => (copy(from, to) ? `wrote ${to}` : `kept ${to}, which exists already`))
  const note = isInstalled() ? [] : ['Install modelhost-sim in this project first, as in step 1 of docs/tutorial.md.']
  const commands = [run, 'npx modelhost-sim run', 'npx modelhost-sim serve'].map(line => `  ${line}`)
  process.stdout.write(`${[...lines, ...note, `The test is for ${runner}. Then:`, ...commands].join('\n')}\n`)
}

/** Returns the test runner that the files of the project name. */
function findRunner(): keyof typeof RUNNERS {
  const manifest = readIfPresent('package.json')
  if (/"vitest"\s*:/.test(manifest)) return 'vitest'
  if (/"(?:jest|@jest\/globals)"\s*:/.test(manifest)) return 'jest'
  const isPytest =
    ['pytest.ini', 'conftest.py', 'tests/conftest.py'].some(file => existsSync(file)) ||
    ['pyproject.toml', 'setup.cfg', 'tox.ini', 'requirements.txt', 'requirements-dev.txt'].some(file =>
      /\bpytest\b/.test(readIfPresent(file)),
    )
  if (isPytest) return 'pytest'
  return manifest === '' && existsSync('pyproject.toml') ? 'pytest' : 'node:test'
}

function readIfPresent(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

/** Copies a file of examples/init. Returns false if the target exists; then it stays. */
function copy(from: string, to: string): boolean {
  if (existsSync(to)) return false
  try {
    mkdirSync(dirname(to), { recursive: true })
    cpSync(join(shippedFolder('examples'), 'init', from), to, { force: false, errorOnExist: true })
    return true
  } catch (error) {
    throw new UsageError(
      `Failed to write ${to}: ${describeFileError(error)}. Run init in a folder that you can write to.`,
    )
  }
}

/** Returns whether a script of the project can import this package. */
function isInstalled(): boolean {
  try {
    createRequire(resolve('package.json')).resolve('modelhost-sim')
    return true
  } catch {
    return false
  }
}
