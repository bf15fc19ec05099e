import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type SimulateArguments, simulate } from '../../src/cli/commands/simulate.ts'
import type { Comparison } from '../../src/cli/simulate/comparison.ts'
import { parseSetting, withSetting } from '../../src/cli/simulate/setting.ts'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { loadProfile, type ProfileInput } from '../../src/data/profiles/load.ts'
import { MINUTE } from '../../src/kernel/duration.ts'
import type { Report } from '../../src/simulation/reporting/report-types.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'
import { commandOutput } from './command-output.ts'
import { commanded } from './commanded.ts'

async function run(args: Partial<SimulateArguments>) {
  const { written, output } = commandOutput()
  const all = { fixtures: 'fleet', profile: 'realistic', seed: '1', for: 20 * MINUTE, ...args }
  return { code: await simulate(all, output), ...written }
}

const compared = (compare: string, args: Partial<SimulateArguments> = {}) => run({ compare, ...args })

async function comparisonOf(compare: string, args: Partial<SimulateArguments> = {}): Promise<Comparison> {
  return JSON.parse((await compared(compare, { ...args, json: true })).out)
}

const lost = ({ totals: { requests } }: Report) => requests.refused + requests.failed

test('two values of a limit have one table, and the answer names the one that loses the fewest', {
  tags: 'slow',
}, async () => {
  const { code, out } = await compared('deployments.acme/chat.settings.max_instances=10,200')
  expect(code).toBe(0)
  expect(out).toMatch(/^2026-01-01 to 2026-01-01, compared by deployments\.acme\/chat\.settings\.max_instances\n/)
  expect(out).toMatch(/\n {2}lost requests +[\d,]+ +[\d,]+\n {6}engines up to 20 % slower +[\d,]+ +[\d,]+\n/)
  expect(out).toMatch(/\n {2}cost of the capacity, \$ +[\d,]+\.\d\d +[\d,]+\.\d\d\n/)
  expect(out).toMatch(/\n {2}first day that differs from 10 +- +2026-01-01\n/)
  expect(out).toMatch(
    /\nNo value suffices\. deployments\.acme\/chat\.settings\.max_instances=200 loses the fewest requests: .*\.\nThe first of them is lost within 15s of the start, the last within 7m\.\n/,
  )
  expect(out).toContain('\nIt assumes fixture fleet, profile realistic, weather none and seed 1.')
  expect((await compared('deployments.acme/chat.settings.max_instances=10,200')).out).toBe(out)
})

test('a value is played as a simulation with that setting, and again with slower engines', {
  tags: 'slow',
}, async () => {
  const { values, band } = await comparisonOf('policies.placement=best-fit,spread')
  const plain = await run({ json: true })
  const { report, slower } = values[0]!
  expect(report).toEqual({ ...JSON.parse(plain.out), profile: 'realistic' })
  expect(band).toBe(0.2)
  expect(slower!.money.rent_microcents).toBeGreaterThan(report.money.rent_microcents)
  expect(values[1]!.report).not.toEqual(report)
})

test('the cheapest fleet that loses nothing suffices, unless slower engines need more', { tags: 'slow' }, async () => {
  const fixtures = temporaryFolder()
  cpSync('fixtures/worlds/two-nodes', fixtures, { recursive: true })
  // An instance can do 74 requests/s.
  const load = { kind: 'constant', rps: 130 }
  const settings = { min_instances: 1, max_instances: 3 }
  const deployment = {
    model_name: 'acme/chat',
    gpu: 'H100-80GB',
    num_gpus: 4,
    weights: { repo: 'acme/chat-8b' },
    status: 'running',
    settings,
    load,
  }
  writeFileSync(join(fixtures, 'deployments.json'), JSON.stringify([deployment]))
  const { values, answer } = await comparisonOf('deployments.acme/chat.settings.min_instances=1,2,3', { fixtures })
  expect(values.map(({ report, slower }) => [lost(report) > 0, lost(slower!) > 0])).toEqual([
    [true, true],
    [false, true],
    [false, false],
  ])
  const name = 'deployments.acme/chat.settings.min_instances'
  expect(answer[0]!.replace(/ slower it loses .*\) requests/, ' slower it loses some')).toBe(
    `${name}=2 suffices and costs least: it loses no request. ` +
      `With engines up to 20 % slower it loses some. ${name}=3 still suffices.`,
  )
})

test.each([
  ['scale', '10', '20'],
  ['skip', '5m', '8m'],
  ['length', '5m', '8m'],
  ['repeat', 'false', 'true'],
])('a trace has the %s of each value as if its fixture said so', { tags: 'slow' }, async (option, ...values) => {
  const fixtures = temporaryFolder()
  cpSync('fixtures/worlds/two-nodes', fixtures, { recursive: true })
  const rows = Array.from({ length: 60 }, (_, i) => `${i * 11},100,10`)
  writeFileSync(join(fixtures, 'requests.csv'), `timestamp,prompt_tokens,output_tokens\n${rows.join('\n')}\n`)
  const write = (load: object) => {
    const deployment = { model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' }, status: 'running', load }
    writeFileSync(join(fixtures, 'deployments.json'), JSON.stringify([deployment]))
  }
  const load = { trace: 'requests.csv', scale: 7, skip: '1m', length: '9m', repeat: true }
  write(load)
  const path = 'deployments.acme/chat.load'
  const { values: compared } = await comparisonOf(`${path}.${option}=${values.join(',')}`, { fixtures })
  for (const { value, report } of compared) {
    write({ ...load, [option]: /^\d+$|e$/.test(value) ? JSON.parse(value) : value })
    const plain = JSON.parse((await run({ fixtures, json: true })).out) as Report
    expect(report.totals.requests).toEqual(plain.totals.requests)
  }
  await expect(comparisonOf(`${path}.path=a.csv,b.csv`, { fixtures })).rejects.toThrow(
    'load.path=a.csv: deployments: $[0].load.path: expected none: the load has the text of its trace',
  )
})

test('the limits of the account that hold starts back are named for the values that meet them', {
  tags: 'slow',
}, async () => {
  const fixtures = temporaryFolder()
  cpSync('fixtures/worlds/two-nodes', fixtures, { recursive: true })
  const write = (limits: object, load: object) => {
    const account = { ...JSON.parse(readFileSync(join(fixtures, 'account.json'), 'utf8')), ...limits }
    writeFileSync(join(fixtures, 'account.json'), JSON.stringify(account))
    const settings = { min_instances: 1, max_instances: 2 }
    const deployment = { model_name: 'acme/chat', num_gpus: 8, weights: { repo: 'acme/chat-8b' }, settings, load }
    writeFileSync(join(fixtures, 'deployments.json'), JSON.stringify([deployment]))
  }
  const path = 'deployments.acme/chat.settings.max_instances'
  write({ funds_cents: 2000, gpu_limits: { 'H100-80GB': 8 } }, { kind: 'constant', rps: 1000 })
  const args = { fixtures, for: 2 * 60 * MINUTE }
  const { out } = await compared(`${path}=1,2`, args)
  expect(out).toContain(
    `\nWith ${path}=1, ${path}=2, the account was suspended.\n` +
      `With ${path}=2, the quota of 8 H100-80GB was reached.\n` +
      'To compare without these limits, raise funds_cents or gpu_limits in account.json.\n',
  )
  const { out: plain } = await run(args)
  expect(plain).toContain('account suspended 1 time\n')
  expect(plain).toContain('\n\nDeployments got no further instance: the quota of 8 H100-80GB was reached\n\n')
  write({ funds_cents: 2e6 }, { kind: 'constant', rps: 60 })
  expect((await compared(`${path}=1,2`, args)).out).toContain(
    `\nWith ${path}=2 and slower engines, the quota of 8 H100-80GB was reached.\n`,
  )
  write({ gpu_limits: { 'H100-80GB': 16 } }, { kind: 'constant', rps: 150 })
  expect((await compared(`${path}=1,2`, args)).out).not.toContain('limit')
})

test('the picture has a line for each value', { tags: 'slow' }, async () => {
  const plot = join(temporaryFolder(), 'nodes.svg')
  await compared('nodes=10,40', { plot })
  const svg = readFileSync(plot, 'utf8')
  expect(svg).toContain('<title id="title">2026-01-01 to 2026-01-01 00:20, by nodes</title>')
  expect(svg).toContain('Time to the first token, p95')
  expect(svg).toContain('virtual time in UTC. The table has slower engines too')
  expect(svg).toMatch(/Refused requests, requests per hour\..*By series \(total\): nodes=10 [\d,.k]+; nodes=40 /)
})

test('nodes of one group, an element by its name, and a setting of a profile are changed, and nothing else', () => {
  const world = { fixtures: 'fleet', profile: 'realistic' }
  const before = loadFixture('fleet')
  const { fixtures } = withSetting(world, 'nodes.h100-a', '7')
  const expected = structuredClone(before)
  Object.assign(expected.nodes.pools[0]!.nodes[0]!, { count: 7 })
  expect(loadFixture(fixtures)).toEqual(expected)
  const path = 'hub.acme/chat-8b.parameters_b'
  const { repositories } = loadFixture(withSetting(world, path, '9').fixtures).hub
  expect(repositories.filter((one, i) => JSON.stringify(one) !== JSON.stringify(before.hub.repositories[i]))).toEqual([
    expect.objectContaining({ repo: 'acme/chat-8b', parameters_b: 9 }),
  ])
  const profile = loadProfile(withSetting(world, 'timings.image_pull.median', '90s').profile as ProfileInput)
  expect(profile.timings.imagePull).toMatchObject({ median: 90e6 })
  expect(profile.name).toBe('realistic')
})

test.each([
  ['nodes=3', "Failed to read --compare 'nodes=3': expected a setting with two to 7 different values."],
  ['nodes=3,3.0', 'expected a setting with two to 7 different values.'],
  ['nodes=50,050', 'Failed to compare nodes=50: '],
  ['deployments.acme/code.settings.min_instances=1,01', 'min_instances=01: deployments: $[2].settings'],
  ['nodes=3,3', 'expected a setting with two to 7 different values. Give it as in --compare nodes=3,4.'],
  ['nodez=3,4', "Failed to read --compare: unknown name 'nodez'. Did you mean 'nodes'?"],
  ['nodes.h100-x=3,4', "unknown name 'h100-x'. Did you mean 'h100-a'?"],
  ['deployments.acme/chut.load.rps=1,2', "unknown name 'acme/chut'. Did you mean 'acme/chat'?"],
  [
    'policies.placement=spread,spred',
    'Failed to compare policies.placement=spred: profile: $.policies.placement: expected',
  ],
  ['engine.__proto__.polluted=1,2', "unknown name '__proto__'."],
  ['account.constructor.prototype.x=1,2', "unknown name 'constructor'."],
  ['nodes=50,40', 'Failed to compare nodes=50: '],
  ['deployments.acme/research.settings.min_instances=1,200', 'min_instances=200: deployments: $[3].settings'],
  ['deployments.acme/code.load.rpz=1,2', 'Failed to compare deployments.acme/code.load.rpz=1: deployments: '],
])('--compare %s is refused before anything runs', { tags: 'slow' }, async (setting, message) => {
  const { code, stdout, stderr } = await commanded(['simulate', '--for', '1h', '--compare', setting])
  expect(stderr).toContain(message)
  expect([code, stdout]).toEqual([2, ''])
})

test('a comparison that is stopped has the values that were simulated, and names the others', {
  tags: 'slow',
}, async () => {
  const { written, output } = commandOutput()
  let runs = 0
  const onSignal = (stop: (exitCode: number) => void) => {
    // The third run is the first one of the second value.
    if (++runs === 3) stop(130)
    return () => {}
  }
  const args = { fixtures: 'fleet', profile: 'realistic', seed: '1', for: 20 * MINUTE, compare: 'nodes=30,40' }
  expect(await simulate(args, { ...output, onSignal })).toBe(130)
  expect(written.out).toMatch(/\n {2}nodes +30\n/)
  expect(written.out).toContain('\nThe comparison was stopped. Not simulated: nodes=40.\n')
})

test.each(['series', 'html'])('--compare with --%s is refused', async flag => {
  const { code, stderr } = await commanded(['simulate', '--for', '1h', '--compare', 'nodes=3,4', `--${flag}`, 'x.csv'])
  expect([code, stderr]).toEqual([2, expect.stringContaining(`--${flag} is of one world, and --compare has several.`)])
})

test('parseSetting keeps the values as they were written', () => {
  expect(parseSetting(' nodes = 3, 4')).toEqual({ name: 'nodes', values: ['3', '4'] })
})
