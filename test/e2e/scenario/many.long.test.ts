/** Many seeds, many processes, tags, dry runs, and what the command lists. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type RunArguments, run } from '../../../src/cli/commands/run.ts'
import { list } from '../../../src/cli/run/list.ts'
import { seedList } from '../../../src/cli/values.ts'
import { formatJsonValue } from '../../../src/lib/differences.ts'
import { commandOutput } from '../../cli/command-output.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { BIN, PROJECT } from '../cli/process.ts'

let folder: string

beforeEach(() => {
  // In a project that has the package, so that its name leads to it in a process of its own.
  folder = temporaryFolder(PROJECT)
})
const STORY = (title: string, more = '') => `
import { scenario } from 'modelhost-sim/scenario'
export default scenario('${title}', { fixtures: 'two-nodes', seed: 7, ${more} }, async ({ api, clock, check }) => {
  const { deploy_id } = await api.createLlmDeployment({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  await clock.advance('20m')
  check(await api.getDeployment({ deploy_id }), { status: 'running' })
})
`
/** Fails with about half of all seeds. */
const UNSURE = STORY('a short id').replace("{ status: 'running' }", '{ deploy_id: /^[A-Z]/ }').replace("'20m'", "'1m'")

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text)
}

async function play(args: RunArguments) {
  const { written, output } = commandOutput()
  const code = await run(args, { ...output, folder })
  const { out, error } = written
  return { code, out: out.replace(/\d+ ms/g, 'N ms').replace(/and \d+\.\d s|in \d+\.\d s/g, 'in N s'), error }
}

describe('--seeds', () => {
  test('prints a line for each scenario and groups failed seeds with one command for each group', async () => {
    write('sure.ts', STORY('sure'))
    write('unsure.ts', UNSURE)
    const { code, out } = await play({ scenarios: ['.'], seeds: seedList('11..18', 'seeds') })
    expect(code).toBe(1)
    expect(out).toMatch(/^✓ sure {2}8 seeds, N ms each\n✗ a short id {2}[2-7] of 8 seeds, N ms each\n/)
    expect(out).toMatch(
      /1 of 2 scenarios failed in 16 plays in N s\n {2}a short id: \d seeds \((\d+)(, \d+)*\)\n {4}npx modelhost-sim run unsure\.ts --seed \1\n$/,
    )
  })

  test('compares a trace only under the seed of its scenario, and a scenario can require that seed', async () => {
    write('a.ts', STORY('any'))
    write('b.ts', STORY('own', "seeds: 'own'"))
    await play({ scenarios: ['.'], update: true })
    const { out } = await play({ scenarios: ['.'], seeds: ['6', '7', '8'], reporter: 'json' })
    expect(
      JSON.parse(out.replaceAll('N ms', '0')).scenarios.map((one: { title: string; seed: string; trace: string }) => [
        one.title,
        one.seed,
        one.trace,
      ]),
    ).toEqual([
      ['any', '6', 'not compared'],
      ['any', '7', 'equal'],
      ['any', '8', 'not compared'],
      ['own', '7', 'equal'],
    ])
  })

  test.each([
    ['1..3', ['1', '2', '3']],
    ['7', ['7']],
    ['1..2, north,2', ['1', '2', 'north']],
  ])('%s', (text, expected) => {
    expect(seedList(text, 'seeds')).toEqual(expected)
  })

  test.each(['3..1', '', '1,,2', '1..1000000'])('refuses %j', text => {
    expect(() => seedList(text, 'seeds')).toThrow(
      /^Failed to read --seeds '.*': not a list of up to 100000 seeds\. .*--seeds 1\.\.200\.$/,
    )
  })

  test('is refused together with --update', async () => {
    write('a.ts', STORY('any'))
    expect(await play({ scenarios: ['.'], seeds: ['1'], update: true })).toMatchObject({ code: 2, out: '' })
    expect(await play({ scenarios: ['.'], seeds: ['1'], seed: '2' })).toMatchObject({ code: 2, out: '' })
  })
})

test('--tag selects the scenarios with one of the tags', async () => {
  write('a.ts', STORY('one', "tags: ['money', 'slow']"))
  write('b.ts', STORY('two', "tags: ['batches']"))
  write('c.ts', STORY('three'))
  const titles = async (...tag: string[]) => (await play({ scenarios: ['.'], tag, seed: '1' })).out.match(/(?<=✓ )\w+/g)
  expect(await titles('money')).toEqual(['one'])
  expect(await titles('batches', 'slow')).toEqual(['one', 'two'])
  const refused = async (...tag: string[]) => {
    const { code, out, error } = await play({ scenarios: ['.'], tag })
    return [code, out, error]
  }
  const mistyped = [2, '', "Failed to find scenarios: unknown tag 'mony'. Did you mean 'money'?\n"]
  expect(await refused('mony')).toEqual(mistyped)
  expect(await refused('slow', 'mony')).toEqual(mistyped)
  expect(await refused('unheard')).toEqual([
    ...[2, ''],
    "Failed to find scenarios: unknown tag 'unheard'. 'modelhost-sim run --list' lists the tags.\n",
  ])
})

test('a pattern is printed as it is written at any depth', () => {
  expect(formatJsonValue({ errors: [{ message: /in use/i }], id: 'a' })).toBe(
    '{"errors":[{"message":/in use/i}],"id":"a"}',
  )
  expect(formatJsonValue(/x/)).toBe('/x/')
})

test('workers give the same results in the same order as one process', () => {
  write('a.yaml', 'title: from a file\ngiven: { fixtures: empty }\nsteps:\n  - advance: 1m\n')
  write('b.js', UNSURE)
  const outcome = (...flags: string[]) => {
    const args = [BIN, 'run', folder, '--seeds', '1..30', '--reporter', 'json', ...flags]
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: PROJECT })
    expect(stderr).toBe('')
    const report = JSON.parse(stdout)
    return { status, scenarios: report.scenarios.map((one: object) => ({ ...one, wall_ms: 0 })) }
  }
  const one = outcome('--workers', '1')
  expect(one.status).toBe(1)
  expect(one.scenarios).toHaveLength(60)
  expect(outcome('--workers', '2')).toEqual(one)
}, 120_000)

test('workers write the same traces as one process', () => {
  write('a.ts', STORY('one'))
  write('b.ts', STORY('two'))
  const args = [BIN, 'run', folder, '--update', '--workers', '2']
  expect(spawnSync(process.execPath, args, { encoding: 'utf8', cwd: PROJECT })).toMatchObject({ status: 0, stderr: '' })
  expect(readFileSync(join(folder, 'a.trace'), 'utf8')).toMatch(/^# one \(seed 7\)\n0\.000000 request/)
  expect(readFileSync(join(folder, 'b.trace'), 'utf8')).toMatch(/^# two \(seed 7\)\n0\.000000 request/)
}, 120_000)

describe('modelhost-sim run --list', () => {
  const listed = async (args: Parameters<typeof list>[0]) => {
    const { written, output } = commandOutput()
    const code = await list(args, { ...output, folder })
    return { code, ...written }
  }

  test('lists the scenarios of the user and of the package', async () => {
    mkdirSync(join(folder, 'scenarios/deep'), { recursive: true })
    write('scenarios/deep/a.ts', STORY('one', "tags: ['mine'], teaches: 'That it works.', client: 'Waits.'"))
    const { code, out } = await listed({})
    expect(code).toBe(0)
    expect(out).toMatch(
      /^scenarios\/deep\/a\.ts {2}\[mine\]\n {2}one\n {2}teaches: That it works\.\n {2}a good client: Waits\.\n\n/,
    )
    expect(out).toContain(`${relative(folder, 'scenarios/deploy/cold-start.ts')}  [deployments, money]\n`)
    const json = JSON.parse((await listed({ json: true, tag: ['mine'] })).out)
    expect(json).toEqual([
      { file: 'scenarios/deep/a.ts', title: 'one', tags: ['mine'], teaches: 'That it works.', client: 'Waits.' },
    ])
  })

  test('fails when no scenario has a word, and names the nearest tag', async () => {
    expect(await listed({ tag: ['mony'] })).toEqual({
      ...{ code: 2, out: '' },
      error: "Failed to find scenarios: unknown tag 'mony'. Did you mean 'money'?\n",
    })
    expect(await listed({ filter: 'no such story', json: true })).toEqual({
      ...{ code: 2, out: '' },
      error: "Failed to find scenarios: no title, file name or tag contains 'no such story'. Try a shorter word.\n",
    })
    const money = JSON.parse((await listed({ tag: ['money'], json: true })).out)
    expect(money.length).toBeGreaterThan(5)
    expect(money.every(({ tags }: { tags: string[] }) => tags.includes('money'))).toBe(true)
  })

  test('fails with the cause when a file cannot be read', async () => {
    mkdirSync(join(folder, 'scenarios'))
    write('scenarios/a.yaml', 'titel: a\nsteps: [{ advance: 1m }]\n')
    expect(await listed({ filter: 'cold-start' })).toMatchObject({
      code: 2,
      error: "Failed to load scenarios/a.yaml:1:1: unknown key 'titel'. Did you mean 'title'?\n",
    })
    expect((await listed({ folders: ['stories'] })).error).toBe(
      "Failed to list 'stories': the folder is missing. Give a folder with scenarios.\n",
    )
  })
})

test('shipped scenarios import only the public API', () => {
  for (const name of readdirSync('scenarios', { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue
    const imports = [...readFileSync(join('scenarios', name), 'utf8').matchAll(/from '([^']+)'|import\('([^']+)'\)/g)]
    // Beside it, what several of them have in common.
    const strange = imports
      .map(found => found[1] ?? found[2]!)
      .filter(one => !/^(modelhost-sim\/scenario$|\.\.?\/)/.test(one))
    expect({ name, strange }).toEqual({ name, strange: [] })
  }
})
