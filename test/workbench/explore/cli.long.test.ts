/** `modelhost-sim explore` in this process: what it prints, its files, its exit codes, and mistakes. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { merge } from '../../../src/cli/commands/merge.ts'
import { type ExploreArguments, exploreFlows } from '../../../src/cli/explore/explore-flows.ts'
import { runFiles } from '../../../src/workbench/scenario/index.ts'
import { commandOutput } from '../../cli/command-output.ts'
import { rowsOf } from '../../setup/batches.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

const LEAKY = resolve('test/workbench/explore/flows/leaky.ts')
const QUIET = resolve('test/workbench/explore/flows/quiet.ts')

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
})
async function explore(args: Partial<ExploreArguments>, signal?: AbortSignal, playing?: (name: string) => void) {
  const { written, output } = commandOutput()
  const io = { ...output, folder, playing, ...(signal && { signal }) }
  const code = await exploreFlows({ flows: [LEAKY], faults: 'singles', ...args }, io)
  return { code, ...written }
}
/** Returns what a command that fails has printed, and its failure. */
async function failed(args: Partial<ExploreArguments>, playing?: () => void) {
  const { written, output } = commandOutput()
  try {
    await exploreFlows({ flows: [LEAKY], faults: 'singles', ...args }, { ...output, folder, playing })
  } catch (error) {
    const failure = () => {
      throw error
    }
    return { written, failure }
  }
  throw new Error('expected a failure')
}
const write = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return name
}

describe('a flow with a leak', () => {
  test('is reported as one object of JSON with the plan, the scenario and the reason', async () => {
    const { code, out } = await explore({ json: true, findingCode: 42 })
    expect(code).toBe(42)
    expect(out.trimEnd().split('\n')).toHaveLength(1)
    const { flow, runs, points, unreached, findings, unreached_pairs } = JSON.parse(out)
    expect(unreached_pairs).toBe(0)
    expect(flow).toBe('leaky')
    expect(unreached.map(({ reason }: { reason: string }) => reason)).toEqual(unreached.map(() => 'notFired'))
    expect(runs).toBeGreaterThan(points)
    const leak = findings.find((one: { invariant: string }) => one.invariant === 'noLeak')
    expect(leak.signature).toMatch(/^noLeak@createLlmDeployment/)
    expect(leak.plan).toHaveLength(1)
    expect(leak.plan[0].fault).toMatchObject({ on: 'createLlmDeployment', nth: 1, fault: { effect: 'done' } })
    expect(leak.why).toContain('The client threw without having read its id.')
    expect(leak.evidence).toContainEqual(expect.stringMatching(/request \d+: POST \/deploy\/llm/))
    expect(parse(leak.scenario)).toMatchObject({ flow: expect.stringMatching(/\/leaky\.ts$/), invariants: ['noLeak'] })
  })

  test('is described with what to do, and its scenarios are written', async () => {
    const { code, out } = await explore({ write: 'all found', junit: join(folder, 'junit.xml') })
    expect(code).toBe(1)
    expect(out).toMatch(
      /^leaky: \d+ runs \(2 without faults, .+\), \d+ single faults, each was run\n(?: {2}.+\n)+\n1\. /,
    )
    const files = readdirSync(join(folder, 'all found'))
    expect(files.length).toBeGreaterThan(1)
    for (const file of files) {
      expect(out).toContain(`Repeat         npx modelhost-sim run 'all found/${file}'\n`)
      expect(resolve(folder, 'all found', parse(readFileSync(join(folder, 'all found', file), 'utf8')).flow)).toBe(
        LEAKY,
      )
    }
    const junit = readFileSync(join(folder, 'junit.xml'), 'utf8')
    expect(junit).toContain(`<testsuite name="leaky" tests="${files.length}" failures="${files.length}" skipped="0">`)
  })

  test('is written as a scenario in TypeScript, which fails until the client is mended', async () => {
    const { code } = await explore({ write: 'scripts', writeAs: 'typescript', faults: 'singles' })
    expect(code).toBe(1)
    const [file] = readdirSync(join(folder, 'scripts')).filter(name => name.startsWith('leaky-noleak'))
    expect(file).toMatch(/\.ts$/)
    const [result] = await runFiles([join(folder, 'scripts', file!)])
    expect(result!.failure?.message).toContain('noLeak')
  })

  test('stops at a signal with what it has found, and is incomplete', async () => {
    const stop = new AbortController()
    stop.abort()
    expect(await explore({ flows: [QUIET, LEAKY] }, stop.signal)).toMatchObject({ code: 3, out: '' })
  })
})

test('a flow that nothing breaks gives 0, and several flows give a line each', async () => {
  const quiet = await explore({ flows: [QUIET], json: true })
  expect([quiet.code, JSON.parse(quiet.out).findings]).toEqual([0, []])
  const both = await explore({ flows: [QUIET, LEAKY], json: true })
  expect(both.code).toBe(1)
  const lines = both.out.trimEnd().split('\n')
  expect(lines.map(line => JSON.parse(line).flow)).toEqual(['quiet', 'leaky'])
})

describe('known findings', () => {
  const known = (findings: readonly object[]) => write('explore.known.yaml', JSON.stringify({ findings }))
  const entry = { flow: 'leaky', reason: 'see issue 7', date: '2026-01-31' }

  test('do not fail, and those that are gone are named', async () => {
    const { out: first } = await explore({ json: true })
    const signatures = JSON.parse(first).findings.map(({ signature }: { signature: string }) => signature)
    const [, onPage] = /```yaml\n([ ]*findings:[^`]*)```/.exec(readFileSync('docs/explore.md', 'utf8'))!
    const gone = parse(onPage!).findings
    known([...gone, ...signatures.map((signature: string) => ({ ...entry, signature }))])
    const { code, out } = await explore({})
    expect(code).toBe(0)
    expect(out).toContain('\n0 new findings\n')
    expect(out).toContain(`  known since 2026-01-31: ${signatures[0]} (see issue 7)\n`)
    expect(out).toContain(
      `  known since 2026-01-31, and not found any more: ${gone[0].signature}. Remove it from explore.known.yaml\n`,
    )
    known(signatures.slice(1).map((signature: string) => ({ ...entry, signature })))
    const again = await explore({ json: true })
    expect(again.code).toBe(1)
    expect(JSON.parse(again.out).findings.filter((one: object) => !('known' in one))).toMatchObject([
      { signature: signatures[0] },
    ])
  })

  test('of a flow that is not explored are named, with the flow of a file', async () => {
    known([
      { ...entry, flow: 'quiet.ts', signature: 'a' },
      { ...entry, flow: 'quiet.ts', signature: 'b' },
      { ...entry, flow: 'other', signature: 'a' },
    ])
    const { error } = await explore({ flows: [QUIET] })
    expect(error).toContain("explore.known.yaml: the flow 'quiet.ts' is not explored here. Did you mean 'quiet'?\n")
    expect(error.match(/quiet\.ts/g)).toHaveLength(1)
    expect(error).toContain(
      "explore.known.yaml: the flow 'other' is not explored here. Its findings are not compared.\n",
    )
  })

  test.each<[text: string, message: string]>([
    ['findings: [', 'Failed to read explore.known.yaml:1:'],
    ['findngs: []', "Failed to read explore.known.yaml:1:1: unknown key 'findngs'. Did you mean 'findings'?"],
    ['findings:\n  - flow: a\n    signature: b\n    date: 2026-01-31', "2:5: 'reason' is missing. Add it."],
    ['findings:\n  - { flow: a, signature: b, reason: c, date: 2026-02-31 }', "'date': "],
    [
      'findings:\n  - { flow: a, signature: b, reason: c, date: 2026-02-01 }\n  - { flow: a, signature: b, reason: c, date: 2026-02-01 }',
      '3:5: it is there twice. Remove one.',
    ],
  ])('a mistake in the file is refused with its line: %j', async (text, message) => {
    write('explore.known.yaml', text)
    await expect(explore({ flows: [QUIET] })).rejects.toThrow(message)
  })

  test('a missing file is refused', async () => {
    await expect(explore({ known: 'none.yaml' })).rejects.toThrow(
      'Failed to read none.yaml: the file or folder is missing. Give the file of known findings.',
    )
  })
})

test('a fetch that a module saved when it was imported follows the world, and is the real one afterwards', async () => {
  const before = globalThis.fetch
  const flows = [
    write(
      'saved.mjs',
      "const saved = fetch\nexport default ({ url, token }) => saved(url + '/deploy/list', { headers: { authorization: 'Bearer ' + token }, signal: AbortSignal.timeout(5_000) }).then(answer => answer.json())",
    ),
  ]
  const { code, out } = await explore({ flows, budget: 10 })
  expect([code, out]).toEqual([3, expect.stringContaining('saved: 10 runs')])
  expect(globalThis.fetch).toBe(before)
})

describe('refuses', () => {
  test.each<[text: string, message: string]>([
    ['export const a = async () => {}', "it has no default export. Write 'export default' for 'a', if it is the flow."],
    ['export default 7', 'its default export is not a flow. Write export default async ({ fetch, url, token, sleep })'],
    ["throw new Error('no key')", 'flow.mjs:1:7: no key. Fix that line.'],
    ["throw new Error('Did you mean a?')", 'flow.mjs:1:7: Did you mean a? Fix that line.'],
    ['export default async () => {', 'Failed to load flow.mjs: '],
    ["import 'missing-package'\nexport default () => {}", "Cannot find package 'missing-package'"],
    ["export default () => { throw new Error('at once') }", 'it throws in a run without faults: Error: at once.'],
    [
      "let n = 0\nexport default ({ fetch, url, token }) => fetch(url + '/deploy/list?status=' + (n++ ? 'failed' : 'running'), { headers: { authorization: 'Bearer ' + token } })",
      'the flow is not repeatable: request 1 was GET /deploy/list?status=running in the first run and GET',
    ],
  ])('%j', async (text, message) => {
    const flows = [write('flow.mjs', text)]
    await expect(explore({ flows })).rejects.toThrow(message)
  })

  test.each<[args: Partial<ExploreArguments>, message: string]>([
    [{ flows: ['none.ts'] }, "Failed to find the flow 'none.ts': the file is missing. Give the module of a flow."],
    [{ flows: ['client.yaml'] }, "Failed to find the flow 'client.yaml'"],
    [{ flows: ['.'] }, 'Failed to load .: it is a folder. Give the module of a flow.'],
    [{ flows: ['package.json'] }, 'it is not a module. Give a .ts, .mts, .js or .mjs file, or a program after --,'],
    [
      { flows: [], otherCommand: ['my-own-client.sh'] },
      'If it is a file, run it by its program: bash my-own-client.sh.',
    ],
    [{ flows: [QUIET, QUIET] }, "Failed to explore: two flows are named 'quiet'. Declare them with flow(name, …)."],
    [{ budget: '60x' as never }, 'the budget "60x" is invalid. Give a number of runs, or real time as in'],
    [{ fixtures: 'two-node' }, "Did you mean 'two-nodes'?"],
    [{ seeds: '1..9' }, 'Failed to read --seeds: it needs a folder for the results.'],
    [{ shard: '1/2', out: 'o' }, 'Failed to read --shard: it needs a range of seeds.'],
    [{ seeds: '9..1', out: 'o' }, "Failed to read --seeds '9..1': its first seed, 9, is above its last."],
    [{ seeds: '1..9', out: 'o', json: true }, 'and excludes --json. Leave it out.'],
    [{ writeAs: 'typescript' }, 'Failed to read --write-as typescript: no folder to write to.'],
    [{ write: 'package.json' }, "/package.json' is not a folder. Give another folder."],
    [{ write: 'package.json/found' }, "Failed to write --write 'package.json/found': '"],
    [{ junit: 'missing/j.xml' }, "Failed to write --junit 'missing/j.xml': there is no folder"],
  ])('%j', async (args, message) => {
    const { written, failure } = await failed(args)
    expect(failure).toThrow(message)
    expect(written.out).toBe('')
    expect(existsSync(join(folder, 'o'))).toBe(false)
  })

  test('is said after the report if it is in the way of the scenarios at the end alone', async () => {
    const { written, failure } = await failed({ write: 'found' }, () => write('found', 'a file'))
    expect(failure).toThrow("Failed to write --write 'found': ")
    expect(written.out).toMatch(/^leaky: \d+ runs \(/)
  })
})

test('a shard that is stopped in the run of a seed does not shrink its finding, and plays the seed again', async () => {
  const resultsIn = (out: string) => {
    return rowsOf(readFileSync(join(folder, out, 'results-1.ndjson'), 'utf8')).slice(1)
  }
  const shared = { faults: undefined, seeds: '1..12' }
  await explore({ ...shared, out: 'whole' })
  const whole = resultsIn('whole')
  const failed = whole.find(({ findings }) => findings !== undefined)
  const stop = new AbortController()
  const onPlaying = (name: string) => {
    if (name.endsWith(`seed ${failed.seed}`)) stop.abort()
  }
  expect((await explore({ ...shared, out: 'parts' }, stop.signal, onPlaying)).code).toBe(3)
  expect(resultsIn('parts')).toEqual(whole.slice(0, whole.indexOf(failed)))
  await explore({ ...shared, out: 'parts' })
  expect(resultsIn('parts')).toEqual(whole)
})

test('seeds are divided among processes, and the same command continues', async () => {
  const shared = { faults: undefined, seeds: '1..12', out: 'o' }
  const first = await explore({ ...shared, shard: '1/2' })
  expect(first.code).toBe(1)
  expect(first.out).toMatch(/^6 runs: \d passed, \d failed\n/)
  const lines = rowsOf(readFileSync(join(folder, 'o/results-1.ndjson'), 'utf8'))
  expect(lines[0]).toMatchObject({ command: 'explore', tests: [{ name: 'leaky' }], seeds: '1..12', shard: '1/2' })
  expect(lines.slice(1).map(({ seed }) => seed)).toEqual([1, 3, 5, 7, 9, 11])
  const shrunk = lines.flatMap(({ findings = [] }) => findings).filter(({ plan }) => plan !== undefined)
  expect(shrunk.length).toBeGreaterThan(0)
  expect(new Set(shrunk.map(({ signature }) => signature)).size).toBe(shrunk.length)
  expect((await explore({ ...shared, shard: '1/2' })).error).toContain('Continues after 6 runs\n')
  // Another world is other work.
  await expect(explore({ ...shared, shard: '1/2', seed: '2' })).rejects.toThrow('it is of other work (tests: leaky (')
})

test('the words of a finding of a shard are those of its printed plan', async () => {
  write(
    'client.ts',
    `export default async ({ fetch, url, token }) => {
      const body = JSON.stringify({ model_name: 'chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
      const headers = { authorization: \`Bearer \${token}\`, 'content-type': 'application/json' }
      const answer = await fetch(\`\${url}/deploy/llm\`, { method: 'POST', headers, body })
      return (await answer.json()).deploy_id
    }`,
  )
  const { out } = await explore({ flows: ['client.ts'], faults: undefined, fixtures: 'empty', seeds: '4..4', out: 'o' })
  const results = readFileSync(join(folder, 'o/results-1.ndjson'), 'utf8')
  const { written, output } = commandOutput()
  await merge({ files: [join(folder, 'o')], json: true }, output, folder)
  for (const text of [out, results, written.out]) {
    expect(text).toContain('(createLlmDeployment, 503)')
    expect(text).toMatch(/"kind":"status","status":503\}/)
  }
})

test('a seed after which no client can look for what it left passes, as it does without seeds', async () => {
  const flow = write(
    'limit.mjs',
    `export default async function run({ fetch, url, token, sleep }) {
      const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
      const ask = async (method, limit) => {
        for (let tries = 0, status, wait; ; tries++) {
          try {
            const init = { method, headers, body: limit === undefined ? undefined : JSON.stringify({ limit }) }
            const answer = await fetch(url + '/payment/config', { ...init, signal: AbortSignal.timeout(60_000) })
            status = answer.status
            wait = Number(answer.headers.get('retry-after')) * 1000
            if (answer.ok) return await answer.json()
          } catch {}
          if (status === 403 || tries === 9) throw new Error(method + ' ' + status)
          await sleep(Math.max(wait || 0, 1000 * 2 ** tries))
        }
      }
      const { limit } = await ask('GET')
      await ask('POST', 40)
      await ask('POST', limit)
    }`,
  )
  const { code, out } = await explore({ flows: [flow], faults: undefined, seeds: '151..250', out: 'o' })
  expect({ code, out }).toEqual({ code: 0, out: '100 runs: 100 passed, 0 failed\n' })
})

test('merge does not fail for known findings, and names them', async () => {
  await explore({ faults: undefined, seeds: '1..12', out: 'results' })
  const results = join(folder, 'results')
  const merged = async (args: object = {}) => {
    const { written, output } = commandOutput()
    const code = await merge({ files: [results], ...args }, output, folder)
    return { code, out: written.out }
  }
  const { code, out } = await merged({ json: true })
  expect(code).toBe(1)
  const { findings } = JSON.parse(out) as { findings: { test: string; signature: string }[] }
  expect(findings.length).toBeGreaterThan(1)
  const entryOf = ({ test, signature }: (typeof findings)[number]) =>
    `  - { flow: ${test}, signature: ${signature}, reason: it is being mended, date: 2026-01-31 }`
  write('explore.known.yaml', ['findings:', ...findings.map(entryOf)].join('\n'))
  write('one.yaml', ['findings:', entryOf(findings[0]!)].join('\n'))
  const known = await merged()
  expect(known.code).toBe(0)
  expect(known.out).toContain(`  known since 2026-01-31: ${findings[0]!.signature} (it is being mended): `)
  const one = await merged({ known: 'one.yaml' })
  expect(one.code).toBe(1)
  expect(one.out).toContain(`  ${findings[1]!.signature}: `)
  await expect(merged({ known: 'two.yaml' })).rejects.toThrow('Failed to read two.yaml')
})
