import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type SimulateArguments, simulate } from '../../src/cli/commands/simulate.ts'
import { formatReport } from '../../src/cli/report-text.ts'
import { DAY, HOUR, MINUTE } from '../../src/kernel/duration.ts'
import type { Report } from '../../src/simulation/reporting/report-types.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'
import { commandOutput } from './command-output.ts'
import { commanded } from './commanded.ts'

async function simulated(args: Partial<SimulateArguments>, stopsAfter?: number) {
  const { written, output } = commandOutput()
  let asked = 0
  const code = await simulate(
    { fixtures: 'fleet', profile: 'realistic', seed: '1', for: 6 * HOUR, ...args },
    {
      ...output,
      onSignal: stop => {
        if (stopsAfter !== undefined && asked++ === 0) setTimeout(() => stop(130), stopsAfter)
        return () => {}
      },
    },
  )
  return { code, ...written }
}

test('simulate prints the same bytes for the same seed, others for another seed, and the state of the world', {
  tags: 'slow',
}, async () => {
  const length = { for: HOUR }
  const [one, again] = [await simulated(length), await simulated(length)]
  const other = await simulated({ ...length, seed: '2' })
  expect(again.out).toBe(one.out)
  expect(other.out).not.toBe(one.out)
  expect(one.code).toBe(0)
  const sim = createSimulator({ fixtures: 'fleet' })
  await sim.clock.advance('1h')
  expect(one.out).toBe(formatReport(sim.report()))
  const { out } = await simulated({ ...length, json: true })
  expect(JSON.parse(out)).toEqual(JSON.parse(JSON.stringify(sim.report())))
})

test('the text shows money in dollars, GPU-hours, requests and cold starts, aligned', { tags: 'slow' }, async () => {
  const { out } = await simulated({})
  expect(out.split('\n')[0]).toBe(
    '2026-01-01T00:00:00Z to 2026-01-01T06:00:00Z (6h), fixture fleet, seed 1, profile realistic, weather none',
  )
  expect((await simulated({ weather: 'rough', for: MINUTE })).out).toContain(
    '(1m), fixture fleet, seed 1, profile realistic, weather rough',
  )
  expect(out).toMatch(/\n {2}opening balance +100,000\.00\n/)
  expect(out).toMatch(/\n {2}H100-80GB +3,600\.0 +[\d,]+\.\d +/)
  expect(out).toMatch(/\n\nCost of the capacity at the prices of the profile: \$[\d,]+\.\d\d\n\n/)
  expect(out).toMatch(/\n {2}acme\/chat +running +1 x H100-80GB +/)
  expect(out).toMatch(/\n {2}acme\/pilot +stopped +1 x H100-80GB +0\.0 +0\.0 +0\.0 +0\.0 +- +0\.00\n/)
  expect(out).toMatch(/\d+ cold starts, seconds\n/)
  expect(out).toContain(
    `\nEach instance at most (±: 90 % of the fitted rows err by less; other rows of the class 'default'`,
  )
  expect(out).toContain('20 lines done, 0 of them failed')
  expect(Math.max(...out.split('\n').map(line => line.length))).toBeLessThanOrEqual(110)
})

test('a series has a row for each step and deployment, its costs are the rent, and no draft is left', {
  tags: 'slow',
}, async () => {
  const path = temporaryFolder()
  const series = join(path, 'day.csv')
  const { out } = await simulated({ series, step: HOUR, json: true })
  const report = JSON.parse(out) as Report
  const [header, ...lines] = readFileSync(series, 'utf8').trimEnd().split('\n')
  expect(header).toBe(
    'time,deploy_id,deployment,status,ready,pending,arrival_rate,served,refused,failed,left,backlog,utilisation,' +
      'concurrency,time_to_first_token_seconds,tokens_per_second,cost_microcents,held_gpu_hours,used_gpu_hours',
  )
  expect(lines).toHaveLength(6 * report.deployments.length)
  const costs = lines.map(line => Number(line.split(',').at(-3)))
  expect(costs.reduce((sum, cost) => sum + cost, 0)).toBe(
    report.deployments.reduce((sum, one) => sum + one.rent_microcents, 0),
  )
  expect(lines.find(line => line.includes('acme/code'))).toMatch(
    /^2026-01-01T01:00:00\.000000\+00:00,\w{16},acme\/code,running,5,0,24,85285,1114,0,0,0,0\.\d+,\d+\.\d+,0\.\d+,\d+,\d+,19\.\d+,17\.\d+$/,
  )
  expect(readdirSync(path)).toEqual(['day.csv'])
})

test('simulate applies weather and a file of commands', { tags: 'slow' }, async () => {
  const file = join(temporaryFolder(), 'faults.json')
  writeFileSync(file, JSON.stringify([{ at: '2h', verb: 'zone.down', target: 'east-a' }]))
  const { out } = await simulated({ commands: file, json: true })
  const { failures } = JSON.parse(out) as Report
  expect(failures.zone_outages).toBe(1)
  expect(failures.instances_lost_to.zone).toBeGreaterThan(10)
  const rough = await simulated({ weather: 'rough', for: 30 * DAY, json: true })
  const report = JSON.parse(rough.out) as Report
  const { failures: lost, incidents } = report
  expect(lost.instances_lost).toBeGreaterThan(0)
  expect(incidents.first).toHaveLength(10)
  const { at } = incidents.first[0]!
  expect(formatReport(report)).toMatch(new RegExp(`\n\n[\\d,]+ incidents, the first 10\n  ${at.slice(0, 19)}`))
})

test('simulate prints the report so far and exits with the code of the signal when a signal ends it', {
  tags: 'slow',
  timeout: 30_000,
}, async () => {
  const { code, out } = await simulated({ for: 3650 * DAY }, 300)
  expect(code).toBe(130)
  expect(out).toMatch(/^2026-01-01T00:00:00Z to 20/)
  expect(out).not.toContain('(3650d)')
})

const MISTAKES: [args: string[], message: string, env?: Record<string, string>][] = [
  [[], 'Failed to simulate: --for is missing. Give it, as in --for 7d.'],
  [['--for=-1d'], "Failed to read --for '-1d': time does not run backwards. Forms that work: '500ms'"],
  [['--for', '0s'], "Failed to read --for '0s': it must be longer than 0. Give a duration, as in --for 7d."],
  [['--for', '7'], "Failed to read --for '7': it has no unit. Forms that work: '500ms'"],
  [['--for', '200y'], "Failed to read --for '200y': no known form."],
  [['--for', '36600d'], "Failed to read --for '36600d': longer than 100 years."],
  [['--for', '1h', '--profile', 'quik'], "Did you mean 'quick'?"],
  [['--for', '1h', '--fixtures', 'fleeet'], "Did you mean 'fleet'?"],
  [['--for', '1h', '--weather', 'ruogh'], "Failed to find the weather 'ruogh': did you mean 'rough'? "],
  [['--for', '1h', '--seed', ''], "Failed to read --seed '': the seed is empty. Give one, as in 7, or leave it out."],
  [['--for', '1h', '--step', '5m'], 'Failed to simulate: --step needs --series or --plot.'],
  [['--for', '1h', '--series', 'x.csv', '--step', '0s'], "Failed to read --step '0s': it must be longer than 0."],
  [
    ['--for', '1h', '--fixtures', 'default', '--trace', 'acme/assistant-support-tone=x.csv'],
    'acme/assistant-support-tone has the type lora, and a trace is for a deployment of the type llm. Give NAME=FILE',
  ],
  [['--for', '1h', '--series', 'no/such/x.csv'], "Failed to write --series 'no/such/x.csv': there is no folder"],
  [['--for', '1h', '--series', 'src'], "Failed to write --series 'src': it is a folder. Give a file in it."],
  [['--for', '1h', '--series', ''], "Failed to read --series '': it is empty. Give a value, or leave it out."],
  [['--for', '1h', '--series', 'package.json/x/y'], "'package.json/x/y': its parent is not a folder."],
  [['--for', '1h', '--series', 'x'.repeat(300)], 'its name is too long. Give a file elsewhere.'],
  [['--for', '1h', '--series', 'package.json/x.csv'], 'is not a folder. Give a file in another folder.'],
  [['--for', '100d', '--series', 'x.csv', '--step', '1ms'], 'Give a longer --step.'],
  [['--fixtures', 'empty', '--for', '1h', '--series', 'x.csv', '--step', '1us'], 'it would have 3,600,000,000 steps'],
  [['--for', '1h', '--commands', 'no.json'], "Failed to read --commands 'no.json': the file or folder is missing."],
  [['--for', '1h', '--epoch', 'yesterday'], "Failed to read the epoch 'yesterday'"],
  [['--for', '1h', '--wether', 'rough'], 'Failed to read --wether: unknown flag. Did you mean --weather?'],
  [[], "Failed to read MODELHOST_SIM_FOR 'long': no known form.", { MODELHOST_SIM_FOR: 'long' }],
  [['--for', '1h'], 'Did you mean MODELHOST_SIM_WEATHER?', { MODELHOST_SIM_WETHER: 'rough' }],
]

test.each(MISTAKES)('simulate %j is refused before anything runs', { tags: 'slow' }, async (args, message, env) => {
  const { code, stdout, stderr } = await commanded(['simulate', ...args], env)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(message)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
})

test('a socket or a link without an end is refused, and stays as it is', async () => {
  const path = temporaryFolder()
  const [socket, loop] = [join(path, 'socket'), join(path, 'loop')]
  const server = createServer()
  await new Promise<void>(resolve => server.listen(socket, resolve))
  onTestFinished(() => void server.close())
  symlinkSync(loop, loop)
  await expect(simulated({ series: socket })).rejects.toThrow('it is a device, a socket or a pipe. Give a file.')
  await expect(simulated({ series: loop })).rejects.toThrow('its links lead in a circle. Give a file elsewhere.')
  expect([statSync(socket).isSocket(), readdirSync(path).sort()]).toEqual([true, ['loop', 'socket']])
})

test.each([
  ['[{"verb":"node.crsh"}]', "$[0]: the command is unknown. Did you mean 'node.crash'?"],
  ['[{"verb":"node.crash","target":"h100-a-0","at":"9h"}]', "$[0].at: '9h' is after the end, 1h."],
  ['[{"verb":"zone.down","target":"east-c"}]', 'east-a'],
  ['[{"verb":"zone.down","when":"1h"}]', '$[0].when'],
  ['{"verb":"zone.down"}', '$: expected an array'],
  ['[', 'Fix the JSON there.'],
  ['[{"verb":"zone.down","verb":"zone.up"}]', 'line 1, column 22: the key "verb" is there twice. Fix the JSON there.'],
])('a file of commands %s is refused with its place', async (text, message) => {
  const file = join(temporaryFolder(), 'faults.json')
  writeFileSync(file, text)
  await expect(simulated({ commands: file, for: HOUR })).rejects.toThrow(message)
})

test('simulate ignores the environment variables of serve', async () => {
  const env = { MODELHOST_SIM_SPEED: '60', MODELHOST_SIM_PORT: '4010', MODELHOST_SIM_FOR: '1h' }
  const { code, stderr } = await commanded(['simulate', '--fixtures', 'two-nodes'], env)
  expect([code, stderr]).toEqual([0, ''])
})
