/** The scaffolds in a copy of the repository: which files they write, and that the compiler and the tests accept these. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planEndpoint } from '../../../tools/scaffold/endpoint.ts'

const ROOT = resolve('.')
const COPIED = [
  ...['bin', 'clients', 'docs', 'fixtures', 'scenarios', 'src', 'test', 'tools/build', 'tools/scaffold'],
  ...['.gitignore', 'biome.json', 'package.json', 'package-lock.json', 'tsconfig.json', 'vitest.config.ts'],
]
const SOURCE = ['--conditions=modelhost-sim-source', '--import', 'tsx']
/** A second endpoint, without a body. The lists of the first one contain it as well. */
const READING = planEndpoint(['listQuotaChanges', 'GET /v1/me/quota_changes'], { summary: 'List quota changes' }).files
let copy: string

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'scaffold-'))
  for (const path of COPIED) cpSync(join(ROOT, path), join(copy, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  for (const { path, text } of READING) writeFileSync(join(copy, path), text)
})
afterAll(() => rmSync(copy, { recursive: true, force: true }))

/** The time and size of every file of the copy, by its path. */
function filesOfCopy(): Map<string, string> {
  const paths = COPIED.flatMap(path => {
    if (!statSync(join(copy, path)).isDirectory()) return [path]
    return readdirSync(join(copy, path), { recursive: true, encoding: 'utf8' }).map(name => join(path, name))
  })
  return new Map(
    paths.flatMap(path => {
      const stat = statSync(join(copy, path))
      return stat.isFile() ? [[path, `${stat.mtimeMs} ${stat.size}`]] : []
    }),
  )
}

/** Runs a scaffold and returns its exit code, what it said, and the files that it changed. */
function scaffold(...args: string[]) {
  const before = filesOfCopy()
  const { status, stdout, stderr } = spawnSync(process.execPath, [...SOURCE, 'tools/scaffold/main.ts', ...args], {
    cwd: copy,
    encoding: 'utf8',
  })
  const changed = [...filesOfCopy()].filter(([path, stamp]) => before.get(path) !== stamp).map(([path]) => path)
  return { status, stdout, stderr, changed: changed.sort() }
}

const GENERATED = ['src/service/declarations.ts', 'src/simulator/faults/kinds/index.ts']
const byHand = (changed: readonly string[]) =>
  changed.filter(path => !GENERATED.includes(path) && !path.startsWith('docs/'))

describe('a scaffold', () => {
  test('writes the declaration and the test of an endpoint, and the lists and pages that follow', () => {
    const endpoint = scaffold('endpoint', 'renameTag', 'PATCH /v1/tags/{tag_id}', '--summary', 'Rename a tag')
    expect([endpoint.stderr, endpoint.status]).toEqual(['', 0])
    expect(byHand(endpoint.changed)).toEqual(['src/service/endpoints/tags.ts', 'test/service/rename-tag.test.ts'])
    expect(endpoint.changed).toContain('docs/endpoints.md')
    expect(endpoint.stdout).toContain('Next:')
  })

  test('writes a fault kind', () => {
    const { status, stderr, changed } = scaffold('fault', 'lostHeader', '--summary', "The client's header is lost")
    expect([stderr, status]).toEqual(['', 0])
    expect(byHand(changed)).toEqual([
      'src/simulator/faults/kinds/lost-header.ts',
      'test/simulator/faults/lost-header.test.ts',
    ])
    expect(changed).toContain('docs/faults.md')
  })

  test('writes a scenario and records its trace', () => {
    const teaches = 'A card can expire, and the service does not say so.'
    const { status, stderr, changed } = scaffold(
      ...['scenario', 'money/card-expires', '--teaches', teaches, '--client', 'Reads the checklist each day.'],
    )
    expect([stderr, status]).toEqual(['', 0])
    expect(byHand(changed)).toEqual(['scenarios/money/card-expires.trace', 'scenarios/money/card-expires.ts'])
    expect(changed).toContain('docs/incidents.md')
  })

  test.each([
    [['fault', 'lostHeader', '--summary', 'A header is lost'], "'lostHeader' exists"],
    [['fault', 'other', '--sumary', 'A header is lost'], "unknown flag 'sumary'. Did you mean 'summary'?"],
    [['fault', 'other', 'another', '--summary', 'A header is lost'], "unknown argument 'another'"],
    [['scenaro'], "unknown scaffold 'scenaro'. Did you mean 'scenario'?"],
  ])('ends with code 2 and changes nothing for %j', (args, message) => {
    const { status, stderr, changed } = scaffold(...args)
    expect(stderr).toContain(message)
    expect([status, changed]).toEqual([2, []])
  })
})

test('the written files compile, and their tests pass', { timeout: 180_000 }, () => {
  const tests = [
    'test/service/list-quota-changes.test.ts',
    'test/service/rename-tag.test.ts',
    'test/simulator/faults/lost-header.test.ts',
  ]
  const declarations = ['src/service/endpoints/tags.ts', 'src/simulator/faults/kinds/lost-header.ts']
  const lists = GENERATED.filter(path => path.endsWith('.ts'))
  const users = ['src/service/index.ts', 'src/simulator/faults/rules.ts', 'scenarios/money/card-expires.ts']
  expect(typeErrors([...tests, ...READING.map(({ path }) => path), ...declarations, ...lists, ...users])).toEqual([])
  run('node_modules/@biomejs/biome/bin/biome', ['check', ...declarations, ...tests.slice(1), ...lists])
  run('node_modules/vitest/vitest.mjs', ['run', ...tests, 'test/tools/scaffold/generated.test.ts'])
  run('bin/modelhost-sim.js', ['run', 'scenarios/money/card-expires.ts'])
})

/** Returns the type errors of files of the copy. The errors of other files take twice as long, and are not looked for. */
function typeErrors(paths: readonly string[]): string[] {
  const files = paths.map(path => join(copy, path))
  const { config } = ts.readConfigFile(join(copy, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files }, ts.sys, copy)
  const program = ts.createProgram(files, options)
  return files.flatMap(file => {
    const source = program.getSourceFile(file)
    if (source === undefined) return [`${file}: is not a part of the program`]
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    return found.map(({ messageText }) => `${file}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
  })
}

/** Runs a program of the copy. Throws with its output if it fails. */
function run(script: string, args: readonly string[]): void {
  execFileSync(process.execPath, [join(copy, script), ...args], { cwd: copy, stdio: 'pipe' })
}
