/** `modelhost-sim judge`: its report, what fails, rules of the user, and mistakes. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createSimulator } from '../../src/index.ts'
import { running } from '../server/http/running-server.ts'
import { askTo, sendTo } from '../setup/send-to.ts'
import { temporaryFolderOfTests } from '../setup/temporary-folder.ts'
import { commanded } from './commanded.ts'

const NEW = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const folder = temporaryFolderOfTests()

const RULES = `
export const namesItsTeam = {
  summary: 'Each deployment has a team as prefix.',
  advice: 'Begin the name with your team.',
  source: 'Our handbook.',
  check: ({ requests }) =>
    requests
      .filter(({ operation }) => operation === 'createLlmDeployment')
      .map(request => ({ words: 'No team, ' + request.sentAt + ' us after the start.', operation: request.operation, evidence: [{ kind: 'request', request }] })),
}
export const readsWorld = {
  summary: 'S.', advice: 'A.', source: 'O.',
  check: ({ sim }) => sim.requests,
}
`

async function serving() {
  const { sim, server, ask } = await running()
  await sim.clock.advance('90s')
  await ask('/deploy/llm', { method: 'POST', body: JSON.stringify(NEW) })
  return { sim, judge: (...args: string[]) => commanded(['judge', '--url', server.url, ...args]) }
}

function moduleOf(code: string, name = 'rules.mjs'): string {
  const file = join(folder, name)
  writeFileSync(file, code)
  return file
}

test('prints the findings and exits with 1', async () => {
  const { judge } = await serving()
  const { code, stdout } = await judge()
  expect(code).toBe(1)
  expect(stdout).toMatch(
    /^1 client, 1 request, 12 rules: 1 finding\n\n1\. leavesNothingRunning, client token_\w+ \(\w+\)\n/,
  )
  expect(stdout).toContain('What to do: ')
})

test.each([
  [['--fail-on', 'none'], 0],
  [['--fail-on', 'backsOff,usesLists'], 0],
  [['--fail-on', 'backsOff,leavesNothingRunning'], 1],
  [['--off', 'leavesNothingRunning'], 0],
])('with %j it exits with %i', { tags: 'slow' }, async (args, expected) => {
  const { judge } = await serving()
  expect((await judge(...args)).code).toBe(expected)
})

test('--json prints the judgement, and --keep names what may go on', async () => {
  const { sim, judge } = await serving()
  const { code, stdout } = await judge('--json', '--keep', sim.requests[0]!.subjects[0]!)
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ findings: [], clients: [{ requests: 1 }], dropped: 0 })
})

test('--junit writes a test for each rule', async () => {
  const { judge } = await serving()
  const file = join(folder, 'judge.xml')
  await judge('--junit', file)
  const text = readFileSync(file, 'utf8')
  expect(text).toContain('<testsuite name="judge" tests="12" failures="1">')
  expect(text).toMatch(/<testcase classname="judge" name="leavesNothingRunning">\s*<failure message="The deployment /)
  expect(text).toContain('<testcase classname="judge" name="backsOff"/>')
  await judge('--junit', file, '--fail-on', 'none')
  expect(readFileSync(file, 'utf8')).toContain('failures="0"')
})

test('rules of the user need a recording', async () => {
  const { judge } = await serving()
  const { code, stderr } = await judge('--rules', moduleOf(RULES, 'world.mjs'))
  expect([code, stderr]).toEqual([
    2,
    'Failed to judge a server: --rules needs a recording. Give a file of serve --record.\n',
  ])
})

test.each([
  [['--fail-on', 'backOff'], "Failed to read --fail-on: unknown rule 'backOff'. Did you mean 'backsOff'?"],
  [['--fail-on', 'any,backsOff'], "Failed to read --fail-on: 'any' is given beside other words."],
  [['--off', 'backOff'], "Failed to read --off: unknown rule 'backOff'. Did you mean 'backsOff'?"],
  [
    ['--off', 'backsOff,usesLists', '--fail-on', 'readsEnd,backsOff'],
    'Failed to read --fail-on: --off turns the rule backsOff off. Remove it from one of them.',
  ],
  [['--keep', 'x'], 'Failed to judge: no client created "x", which keep names.'],
  [['--polls-at-most', 'often'], "Failed to read --polls-at-most 'often': give a number above 0"],
  [['--polls-at-most', ''], "Failed to read --polls-at-most '': give a number above 0"],
  [['--polls-at-most', '0'], "Failed to read --polls-at-most '0': give a number above 0"],
  [['--junit', 'no/such/folder/judge.xml'], "Failed to write --junit 'no/such/folder/judge.xml': there is no folder"],
  [['--rules', 'no-such.mjs'], 'Failed to read --rules no-such.mjs: the file is missing. Give a module that exports'],
])('refuses %j', { tags: 'slow' }, async (args, message) => {
  const { judge } = await serving()
  const { code, stderr } = await judge(...args)
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
})

test('a recording is replayed and judged, with rules that see the world', async () => {
  const sim = createSimulator({ fixtures: 'empty', seed: 1 })
  const file = join(folder, 'run.ndjson')
  using recording = sim.record({ file })
  await sendTo(sim, 'POST /deploy/llm', NEW)
  await sim.clock.advance('1h')
  recording.stop()
  const whole = await commanded(['judge', file, '--json'])
  expect(whole.code).toBe(1)
  expect(JSON.parse(whole.stdout)).toEqual(sim.judge())
  const rules = moduleOf(RULES.replace('sim.requests', 'sim.requests.slice(1)'), 'recorded.mjs')
  const kept = await commanded(['judge', file, '--rules', rules, '--off', 'leavesNothingRunning'])
  expect(kept.stdout).toContain('13 rules: 1 finding\n\n1. namesItsTeam')
  const fewer = await commanded(['judge', file, '--rules', rules, '--off', 'readsWorld,namesItsTeam,backsOff'])
  expect(fewer.stdout).toContain('11 rules: 1 finding\n\n1. leavesNothingRunning')
  const text = readFileSync(file, 'utf8')
  const cutFile = moduleOf(text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1), 'cut.ndjson')
  const cut = await commanded(['judge', cutFile])
  expect([cut.code, cut.stdout, cut.stderr]).toEqual([
    1,
    expect.stringContaining('leavesNothingRunning'),
    expect.stringMatching(/^Failed to judge \S+ to its end: .+ To accept it, give --partial\.\n$/),
  ])
  expect((await commanded(['judge', cutFile, '--fail-on', 'none'])).code).toBe(2)
  const partial = await commanded(['judge', cutFile, '--fail-on', 'none', '--partial'])
  expect([partial.code, partial.stderr]).toEqual([0, ''])
  const other = moduleOf(text.replace('acme/new', 'acme/old'), 'other.ndjson')
  const changed = await commanded(['judge', other])
  expect([changed.code, changed.stdout]).toEqual([2, ''])
})

test('a recording with a reset and a restore is judged in each of its worlds', { tags: 'slow' }, async () => {
  const sim = createSimulator({ fixtures: 'empty', seed: 1 })
  const file = join(folder, 'worlds.ndjson')
  using recording = sim.record({ file })
  const { deploy_id: id } = (await askTo(sim, 'POST /deploy/llm', NEW)).body
  await sim.clock.advance('1h')
  const leftBehind = sim.judge().findings
  const snapshot = sim.snapshot()
  sim.reset()
  const { body: made } = await askTo(sim, 'POST /v1/api-tokens', { name: 'late' })
  await sendTo(sim, 'GET /deploy/list')
  sim.restore(snapshot)
  await sendTo(sim, 'GET /deploy/list')
  recording.stop()
  const { code, stdout } = await commanded(['judge', file, '--json'])
  const { findings, clients, worlds } = JSON.parse(stdout)
  expect([code, worlds, clients]).toEqual([1, 3, [expect.objectContaining({ requests: 4 })]])
  expect(findings).toEqual(leftBehind.map(finding => ({ ...finding, world: 1 })))
  const text = await commanded(['judge', file])
  expect(text.stdout).toMatch(/^1 client, 4 requests in 3 worlds, 12 rules: 1 finding\n\n1\. leaves.+, world 1 of 3\n/)
  expect((await commanded(['judge', file, '--keep', id])).code).toBe(0)
  const unknown = await commanded(['judge', file, '--keep', 'x'])
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining(`They created ${id}.`)])
  // A token of the second world alone.
  expect(made).toMatchObject({ name: 'late' })
  const late = await commanded(['judge', file, '--client', 'late'])
  expect(late.stdout).toBe('0 clients, 0 requests in 3 worlds, 12 rules: 0 findings\n')
  const missing = await commanded(['judge', file, '--client', 'other-client'])
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('unknown token "other-client"')])
})

test.each([
  [['no-such.ndjson'], 'Failed to read the recording no-such.ndjson'],
  [['run.ndjson', '--url', 'http://127.0.0.1:4010'], "Failed to judge 'run.ndjson': --url is for a server."],
])('refuses the recording %j', async (args, message) => {
  const { code, stderr } = await commanded(['judge', ...args])
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
})

test('a client that never came is not success', async () => {
  const { server } = await running()
  const { code, stdout, stderr } = await commanded(['judge', '--url', server.url])
  expect([code, stdout, stderr]).toEqual([
    2,
    '0 clients, 0 requests, 12 rules: 0 findings\n',
    'Failed to judge: no client has sent a request. Check the address and the token of your client.\n',
  ])
})

test('a rule without a name is refused', async () => {
  const code = "export default { summary: 'S.', advice: 'A.', source: 'O.', check: () => [] }"
  const { judge } = await serving()
  const { code: exit, stderr } = await judge('--rules', moduleOf(code, 'unnamed.mjs'))
  expect([exit, stderr]).toEqual([2, expect.stringContaining('its default export is a rule, which has no name there.')])
})

test('a module without a rule is refused', async () => {
  const { judge } = await serving()
  const { code, stderr } = await judge('--rules', moduleOf('export const one = 1', 'none.mjs'))
  expect([code, stderr]).toEqual([2, expect.stringContaining('it exports no rule. Export one, as in:')])
})

test('without a server it says how to start one', async () => {
  const { code, stderr } = await commanded(['judge', '--url', 'http://127.0.0.1:9'])
  expect([code, stderr]).toEqual([2, expect.stringContaining('no server answers there')])
})
