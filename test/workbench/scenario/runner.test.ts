import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type RunArguments, run } from '../../../src/cli/commands/run.ts'
import { createSimulator, saveSnapshot } from '../../../src/index.ts'
import type { ReporterName } from '../../../src/workbench/scenario/runner/reporters.ts'
import { commandOutput } from '../../cli/command-output.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { BROKEN, STORY } from './stories.ts'

let folder: string

beforeEach(() => {
  folder = temporaryFolder()
})
/** As seen from the folder of a test. */
const SHIPPED = relative(join(tmpdir(), 'any'), 'scenarios')

function write(name: string, text: string): void {
  mkdirSync(join(folder, name, '..'), { recursive: true })
  writeFileSync(join(folder, name), text)
}

async function play(args: RunArguments): Promise<{ code: number; out: string; error: string }> {
  const { written, output } = commandOutput()
  const code = await run(args, { ...output, folder })
  const { out, error } = written
  return { code, out: out.replace(/\d+ ms/g, 'N ms').replace(/in \d+\.\d s/, 'in N s'), error }
}

describe('traces', () => {
  test('two scripts with one trace file are refused', async () => {
    write('story.ts', STORY)
    write('story.yaml', 'title: another\nsteps:\n  - advance: 1m\n')
    const { code, error } = await play({ scenarios: ['story.ts', 'story.yaml'], update: true })
    expect(code).toBe(2)
    expect(error).toContain('its trace story.trace is that of story.ts, too. Rename one of the two scripts.')
    expect(readdirSync(folder).sort()).toEqual(['story.ts', 'story.yaml'])
  })

  test('a missing trace is an error, --update writes it, and the next run passes', async () => {
    write('story.ts', STORY)
    const before = await play({ scenarios: ['story.ts'] })
    expect(before.code).toBe(1)
    expect(before.out).toContain(
      'Failed to compare the trace: story.trace is missing. Write it with --update, and review it before you commit it.',
    )
    expect(readdirSync(folder)).toEqual(['story.ts'])

    const written = await play({ scenarios: ['story.ts'], update: true })
    expect(written).toMatchObject({ code: 0, error: '' })
    expect(written.out).toBe('✓ a deployment starts  20m virtual, N ms, trace written\n\n1 scenario passed in N s\n')
    expect(readdirSync(folder).sort()).toEqual(['story.trace', 'story.ts'])
    expect(readFileSync(join(folder, 'story.trace'), 'utf8')).toMatch(
      /^# a deployment starts \(seed 7\)\n0\.000000 request/,
    )

    expect((await play({ scenarios: ['story.ts'] })).out).toBe(
      '✓ a deployment starts  20m virtual, N ms\n\n1 scenario passed in N s\n',
    )
  })

  test('--update fails the scenario and leaves no draft when the disk is full', async () => {
    write('story.ts', STORY)
    // A write to it fails with the error of a full disk.
    symlinkSync('/dev/full', join(folder, 'story.trace.new'))
    const { code, out } = await play({ scenarios: ['story.ts'], update: true })
    expect(code).toBe(1)
    expect(out).toContain(
      'Failed to write the trace story.trace: no space is left on the disk. ' +
        'Make its folder writable or free some space, then repeat --update.',
    )
    expect(readdirSync(folder)).toEqual(['story.ts'])
  })

  test('the first different line is printed with its number', async () => {
    write('story.ts', STORY)
    await play({ scenarios: ['story.ts'], update: true })
    const trace = readFileSync(join(folder, 'story.trace'), 'utf8')
    write('story.trace', trace.replace('node=h100-0', 'node=h100-1').replace('check 1 status=running', 'check 1'))
    const { code, out } = await play({ scenarios: ['story.ts'] })
    expect(code).toBe(1)
    expect(out).toContain(
      '    the trace differs from story.trace at line 6:\n' +
        '      expected 9.202645 instance.placed aQyG2ENBHyUv6BnO-0 gpus=1 node=h100-1\n' +
        '      found    9.202645 instance.placed aQyG2ENBHyUv6BnO-0 gpus=1 node=h100-0\n' +
        '    If the change is intended, write the trace again with --update, and review it before you commit it.\n',
    )
  })

  test('a trace that is too short or too long differs at its end', async () => {
    write('story.ts', STORY)
    await play({ scenarios: ['story.ts'], update: true })
    const trace = readFileSync(join(folder, 'story.trace'), 'utf8')
    write('story.trace', trace.replace(/.*check.*\n/, ''))
    expect((await play({ scenarios: ['story.ts'] })).out).toMatch(/expected its end\n {6}found {4}1200\.000000 check 1/)
    write('story.trace', `${trace}1300.000000 more of it\n`)
    expect((await play({ scenarios: ['story.ts'] })).out).toMatch(
      /expected 1300\.000000 more of it\n {6}found {4}its end/,
    )
  })

  test('line ends of another system are ignored', async () => {
    write('story.ts', STORY)
    await play({ scenarios: ['story.ts'], update: true })
    write('story.trace', readFileSync(join(folder, 'story.trace'), 'utf8').replaceAll('\n', '\r\n'))
    expect((await play({ scenarios: ['story.ts'] })).code).toBe(0)
  })

  test('a trace is compared under its own seed only', async () => {
    write('story.ts', STORY)
    expect((await play({ scenarios: ['story.ts'], seed: '8' })).code).toBe(0)
    expect((await play({ scenarios: ['story.ts'], seed: '7' })).out).toContain('Write it with --update')
  })

  test('a scenario whose snapshot cannot be read has the seed null', async () => {
    write('story.ts', STORY.replace("'two-nodes', seed: 7", "'./nowhere.snapshot'"))
    const { out } = await play({ scenarios: ['story.ts'] })
    expect(out).toContain('    story.ts at 0s (0.000000)\n    SnapshotError: Failed to read the snapshot')
    expect(out).toContain('repeat: npx modelhost-sim run story.ts\n')
    const report = JSON.parse((await play({ scenarios: ['story.ts'], reporter: 'json' })).out)
    expect(report.scenarios[0].seed).toBeNull()
    expect((await play({ scenarios: ['story.ts'], seed: '3' })).out).toContain('run story.ts --seed 3\n')
  })

  test('a scenario that begins with a snapshot has the seed of the snapshot', { tags: 'slow' }, async () => {
    const world = createSimulator({ fixtures: 'two-nodes', seed: 7 })
    await world.clock.advance('5m')
    saveSnapshot(join(folder, 'before.snapshot'), world.snapshot())
    write('story.ts', STORY.replace("'two-nodes', seed: 7", "'./before.snapshot'"))
    expect((await play({ scenarios: ['story.ts'], update: true })).code).toBe(0)
    expect(readFileSync(join(folder, 'story.trace'), 'utf8')).toContain(
      '# a deployment starts (seed 7)\n300.000000 request',
    )
    expect((await play({ scenarios: ['story.ts'], seeds: ['1', '2'] })).out).toContain('1 seed, ')
    expect((await play({ scenarios: ['story.ts'], seed: '7' })).code).toBe(0)
    expect(await play({ scenarios: ['story.ts'], seed: '8' })).toMatchObject({
      code: 1,
      out: expect.stringContaining("the snapshot has the seed '7', and the option is '8'. Leave the seed out."),
    })
    rmSync(join(folder, 'story.trace'))
    expect((await play({ scenarios: ['story.ts'], seed: '7' })).out).toContain('Write it with --update')
  })

  test('a failed scenario writes no trace, and a file of several scenarios keeps the other traces', async () => {
    write('broken.ts', BROKEN)
    expect((await play({ scenarios: ['broken.ts'], update: true })).code).toBe(1)
    expect(readdirSync(folder)).toEqual(['broken.ts'])

    const both = STORY.replace('export default scenario', 'const first = scenario')
    write(
      'both.ts',
      `${both}\nexport default [first, scenario('a second', { fixtures: 'empty' }, ({ check }) => check(1, 1))]`,
    )
    expect((await play({ scenarios: ['both.ts'], update: true })).code).toBe(0)
    const whole = readFileSync(join(folder, 'both.trace'), 'utf8')
    expect(whole).toContain('# a second (seed 1)\n0.000000 check 1 is=1\n')
    expect((await play({ scenarios: ['both.ts'], update: true, filter: 'second' })).code).toBe(0)
    expect(readFileSync(join(folder, 'both.trace'), 'utf8')).toBe(whole)
    expect((await play({ scenarios: ['both.ts'] })).code).toBe(0)
  })
})

describe('a failure', () => {
  test('prints the step, the time, the events, the seed and the command to run it again', async () => {
    write('broken.ts', BROKEN)
    const { code, out } = await play({ scenarios: ['broken.ts'] })
    expect(code).toBe(1)
    expect(out.replace(/broken\.ts:\d+:\d+/, 'broken.ts:L:C').replace(/\n {4}> .*/, '')).toMatchInlineSnapshot(`
      "✗ a deployment starts too fast  20s virtual, N ms
          broken.ts:L:C at 20s (20.000000), seed 7
          check 1 does not hold:
            status: expected "running", found "downloading"
          last events:
            0.000000 request createLlmDeployment status=200
            0.000000 model.versionAdded acme/chat version=e6a72036
            0.000000 deployment.created aQyG2ENBHyUv6BnO gpu=H100-80GB model_name=acme/chat num_gpus=1
            0.000000 instance.pending aQyG2ENBHyUv6BnO-0 deployment=aQyG2ENBHyUv6BnO
            9.202645 instance.placed aQyG2ENBHyUv6BnO-0 gpus=1 node=h100-0
            9.982025 instance.pulling aQyG2ENBHyUv6BnO-0 image=fetched
            9.982025 deployment.downloading aQyG2ENBHyUv6BnO
          repeat: npx modelhost-sim run broken.ts --seed 7

      1 of 1 scenario failed in N s
      "
    `)
  })

  test('--bail stops after it', async () => {
    write('a.ts', BROKEN)
    write('b.ts', STORY)
    expect((await play({ scenarios: ['.'], bail: true })).out).toContain('1 of 1 scenario failed')
    expect((await play({ scenarios: ['.'] })).out).toContain('2 of 2 scenarios failed')
  })

  test('is in the JSON report', { tags: 'slow' }, async () => {
    write('a.ts', BROKEN)
    write('b.ts', STORY)
    await play({ scenarios: ['b.ts'], update: true })
    const { code, out, error } = await play({ scenarios: ['.'], reporter: 'json' })
    expect({ code, error }).toEqual({ code: 1, error: '' })
    const report = JSON.parse(out.replaceAll('N ms', '0'))
    expect(report).toMatchObject({
      passed: 1,
      failed: 1,
      scenarios: [
        {
          title: 'a deployment starts too fast',
          file: 'a.ts',
          passed: false,
          virtual_s: 20,
          trace: 'not compared',
          failure: {
            at_s: 20,
            differences: [{ path: 'status', expected: '"running"', found: '"downloading"' }],
            replay: 'npx modelhost-sim run a.ts --seed 7',
          },
        },
        { title: 'a deployment starts', passed: true, seed: '7', trace: 'equal', failure: null },
      ],
    })
  })

  test('is in the JUnit report with any characters', async () => {
    write('odd.ts', STORY.replace('a deployment starts', 'a < b & "c" \\u0001').replace("'20m'", "'20s'"))
    const { out } = await play({ scenarios: ['odd.ts'], reporter: 'junit' })
    expect(out).toContain('<testsuites tests="1" failures="1"')
    expect(out).toContain('<testcase classname="odd.ts" name="a &lt; b &amp; &quot;c&quot; "')
    expect(out).toContain(
      '<failure message="check 1 does not hold: status: expected &quot;running&quot;, found &quot;downloading&quot;">odd.ts:6:3 at 20s',
    )
    expect(out).toContain('&gt; check(await api.getDeployment')
    const many = await play({ scenarios: ['odd.ts'], reporter: 'junit', seeds: ['1', '2'] })
    expect(many.out).toContain('&quot;c&quot;  (seed 1)" time=')
    expect(many.out).toContain('&quot;c&quot;  (seed 2)" time=')
  })
})

describe('run exits with 2 and runs no scenario', () => {
  test.each([
    [['stroy.ts'], "Failed to find the scenario 'stroy.ts': the file is missing. Did you mean 'story.ts'?"],
    [['story'], "Failed to find the scenario 'story': the file is missing. Did you mean 'story.ts'?"],
    [
      ['q/*.ts'],
      `Failed to find scenarios: 'q/*.ts' contains no scenario file. Give .ts, .js or .yaml files, folders of them, or globs; those of the package are in '${SHIPPED}'.`,
    ],
    [
      ['empty'],
      `Failed to find scenarios: 'empty' contains no scenario file. Give .ts, .js or .yaml files, folders of them, or globs; those of the package are in '${SHIPPED}'.`,
    ],
    [['note.md'], 'Failed to load note.md: it is not a scenario. Give a .ts, .js or .yaml file.'],
    [
      ['nothing.ts'],
      "Failed to load nothing.ts: its default export is not a scenario. Write export default scenario('…', { … }, async ({ api, clock, check }) => { … }).",
    ],
    [['named.ts'], "Failed to load named.ts: its default export is not a scenario. Write 'export default' for 'mine'."],
    [['none.ts'], /^Failed to load none\.ts: its default export is not a scenario/],
    [['twice.ts'], "Failed to load twice.ts: two of its scenarios are titled 'same'. Give each its own title."],
  ] satisfies [string[], string | RegExp][])('%j', async (scenarios, expected) => {
    write('story.ts', STORY)
    write('note.md', '')
    write('nothing.ts', 'export default 3')
    write('named.ts', STORY.replace('export default', 'export const mine ='))
    write('none.ts', 'export default []')
    write(
      'twice.ts',
      STORY.replace('export default scenario(', 'const one = scenario(')
        .replace('a deployment starts', 'same')
        .concat('\nexport default [one, one]'),
    )
    mkdirSync(join(folder, 'empty'))
    const { code, out, error } = await play({ scenarios })
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(error.trimEnd()).toEqual(expected instanceof RegExp ? expect.stringMatching(expected) : expected)
  })

  test('when the filter matches no scenario', async () => {
    write('story.ts', STORY)
    expect(await play({ scenarios: ['story.ts'], filter: 'slow' })).toMatchObject({
      code: 2,
      error: "Failed to run scenarios: no title, file name or tag contains 'slow'. Try a shorter word.\n",
    })
    expect((await play({ scenarios: ['story.ts'], filter: 'QUICK', seed: '1' })).code).toBe(0)
  })

  test('and the other files run when a file cannot be loaded', { tags: 'slow' }, async () => {
    write('broken.ts', 'export default scenario(')
    write('story.ts', STORY)
    const { code, out, error } = await play({ scenarios: ['broken.ts', 'story.ts'], update: true })
    expect(code).toBe(2)
    expect(out).toMatch(/\n1 scenario passed in N s; 1 file could not be loaded\n$/)
    expect(error).toMatch(/^Failed to load broken\.ts: .*\n$/)
    // A document is read sooner than a script.
    write('broken.yaml', 'title: [')
    const reported = async (name: ReporterName) =>
      (await play({ scenarios: ['broken.yaml', 'story.ts'], reporter: name })).out
    expect(JSON.parse(await reported('json'))).toMatchObject({
      passed: 1,
      failed: 0,
      not_loaded: [expect.stringMatching(/^Failed to load broken\.yaml/)],
    })
    expect(await reported('junit')).toMatch(
      /<testsuites tests="2" failures="0" errors="1" .*<error message="Failed to/s,
    )
    expect((await play({ scenarios: ['broken.yaml', 'story.ts'], bail: true })).out).toBe('')
  })

  test('--update with --seed', async () => {
    write('story.ts', STORY)
    expect(await play({ scenarios: ['story.ts'], update: true, seed: '3' })).toMatchObject({ code: 2, out: '' })
  })
})

test('a fixture path with a dot is relative to the script, not to the working directory', async () => {
  cpSync('fixtures/worlds/two-nodes', join(folder, 'deep/world'), { recursive: true })
  write('deep/story.ts', STORY.replace("'two-nodes'", "'./world'"))
  expect(await play({ scenarios: ['deep/story.ts'], update: true })).toMatchObject({ code: 0, error: '' })
})

test('a trace file of another scenario is refused with its title', async () => {
  write('story.ts', STORY)
  write('story.trace', '# another (seed 7)\n')
  expect((await play({ scenarios: ['story.ts'] })).out).toContain("story.trace has no trace of 'a deployment starts'")
})

test('globs and folders select their files, each once', async () => {
  write('one/a.ts', STORY)
  write('one/deep/b.ts', STORY)
  write('one/a.test.ts', 'not a scenario')
  write('two/c.ts', STORY)
  write('two/d.md', '')
  const titles = async (...scenarios: string[]) => {
    const { out } = await play({ scenarios, reporter: 'json', seed: '1' })
    return JSON.parse(out.replaceAll('N ms', '0')).scenarios.map(({ file }: { file: string }) => file)
  }
  expect(await titles('one')).toEqual(['one/a.ts', 'one/deep/b.ts'])
  expect(await titles('one/**/*.ts')).toEqual(['one/a.ts', 'one/deep/b.ts'])
  expect(await titles('{one,two}/?.ts', 'one/a.ts')).toEqual(['one/a.ts', 'two/c.ts'])
  expect(await titles('**/[ac].ts', '*/c*')).toEqual(['one/a.ts', 'two/c.ts'])
  expect(await titles('*/[!a].ts')).toEqual(['two/c.ts'])
})

test('files in node_modules are ignored unless they are named', async () => {
  write('node_modules/some/scenarios/api/a.ts', STORY)
  write('b.ts', STORY)
  const files = async (...scenarios: string[]) => {
    const { out } = await play({ scenarios, reporter: 'json', seed: '1' })
    return JSON.parse(out.replaceAll('N ms', '0')).scenarios.map(({ file }: { file: string }) => file)
  }
  expect(await files('.')).toEqual(['b.ts'])
  expect(await files('**/*.ts')).toEqual(['b.ts'])
  expect(await files('node_modules/some/scenarios')).toEqual(['node_modules/some/scenarios/api/a.ts'])
})

test('a helper file beside scenarios is ignored', async () => {
  write('all/clients.ts', "export const minutes = '20m'")
  write('all/story.ts', `import { minutes } from './clients.ts'\n${STORY.replace("'20m'", 'minutes')}`)
  expect(await play({ scenarios: ['all'], update: true })).toMatchObject({ code: 0, error: '' })
  expect(await play({ scenarios: ['all/clients.ts'] })).toMatchObject({
    code: 2,
    error: expect.stringContaining('Failed to load all/clients.ts: its default export is not a scenario.'),
  })
  // A story that is written but not exported is not passed over.
  write('all/lost.ts', STORY.replace('export default scenario(', 'scenario('))
  expect(await play({ scenarios: ['all'] })).toMatchObject({
    code: 2,
    error: expect.stringContaining('Failed to load all/lost.ts: its default export is not a scenario.'),
  })
  rmSync(join(folder, 'all/story.ts'))
  rmSync(join(folder, 'all/lost.ts'))
  expect(await play({ scenarios: ['all'] })).toMatchObject({
    code: 2,
    error: expect.stringMatching(/^Failed to find scenarios: 'all' contains no scenario\b/),
  })
})

test('a missing file is refused with the path of the shipped scenario of that name', async () => {
  expect(await play({ scenarios: ['scenarios/api/answer-lost.ts'] })).toMatchObject({
    code: 2,
    error:
      "Failed to find the scenario 'scenarios/api/answer-lost.ts': the file is missing. " +
      `Did you mean '${SHIPPED}/api/answer-lost.ts'?\n`,
  })
  expect(await play({})).toMatchObject({
    code: 2,
    error:
      "Failed to find scenarios: 'scenarios/**/*' contains no scenario file. " +
      `Give .ts, .js or .yaml files, folders of them, or globs; those of the package are in '${SHIPPED}'.\n`,
  })
})
