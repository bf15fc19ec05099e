import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { loadFixture } from '../../../src/data/fixtures/load.ts'
import { DAY } from '../../../src/kernel/duration.ts'
import { MICROCENTS_PER_CENT } from '../../../src/simulation/account/money.ts'
import { World } from '../../../src/simulation/world.ts'
import type { Figure, Group } from '../../../tools/bench/figure.ts'
import { fleet } from '../../../tools/bench/fleet.ts'
import { loadedFleet } from '../../../tools/bench/loaded-fleet.ts'
import { NaiveFleet } from '../../../tools/bench/naive-fleet.ts'
import { asTable } from '../../../tools/bench/report.ts'
import { select } from '../../../tools/bench/selection.ts'

const figure = (name: string): Figure => ({ name, unit: 'ms', run: () => Promise.reject(new Error('not run')) })
const groups: Group[] = [
  { name: 'domain', figures: [figure('domain_events_per_s')] },
  { name: 'server', figures: [figure('get_one_rps'), figure('create_rps')] },
  { name: 'fleet', heavy: true, figures: [figure('month_10000_gpus_s')] },
]
const selected = (...args: string[]) => select(groups, args).figures.map(({ name }) => name)

describe('the selection', () => {
  test('has all groups except the heavy ones by default', () => {
    expect(selected()).toEqual(['domain_events_per_s', 'get_one_rps', 'create_rps'])
    expect(selected('fleet')).toEqual(['month_10000_gpus_s'])
  })

  test('has the named groups and figures in the order of the groups, each once', () => {
    expect(selected('create_rps', 'server', 'domain')).toEqual(['domain_events_per_s', 'get_one_rps', 'create_rps'])
    expect(selected('create_rps', '--json')).toEqual(['create_rps'])
  })

  test('refuses an unknown name or option with the nearest', () => {
    const refused = 'Failed to run the bench: there is no'
    expect(() => selected('domian')).toThrow(`${refused} figure or group 'domian'. Did you mean 'domain'?`)
    expect(() => selected('domain', 'get_one_rsp')).toThrow("Did you mean 'get_one_rps'?")
    expect(() => selected('nothing-like-it')).toThrow('There are domain, server, fleet, domain_events_per_s,')
    expect(() => selected('--jsno')).toThrow(`${refused} option '--jsno'. Did you mean '--json'?`)
  })
})

test('--json prints one object with value and unit of each figure, and baseline and ratio when it has them', {
  timeout: 60_000,
}, () => {
  const run = fileURLToPath(new URL('../../../tools/bench/run.js', import.meta.url))
  // What is measured here means nothing: --quick takes one short window.
  const args = [run, 'journal_get_ms', '--quick', '--json', '--no-build']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  const figures = JSON.parse(stdout)
  const number = expect.any(Number)
  expect(figures).toEqual({
    journal_get_ms: { value: number, unit: 'ms of CPU for 1,000 requests', baseline: number, ratio: number },
  })
  const { value, baseline, ratio } = figures.journal_get_ms
  expect(ratio).toBeCloseTo(value / baseline, 2)
  expect(stderr).toContain('journal_get_ms: 1 of 2')
})

describe('the fleet', () => {
  test('is measured by name: its creation, a day, a month, and how it grows', () => {
    expect(fleet.heavy).toBe(true)
    expect(fleet.figures.map(({ name }) => name)).toEqual([
      'create_100k_gpus_ms',
      'day_1000_gpus_ms',
      'month_10000_gpus_s',
      'month_10000_gpus_mb',
      'fleet_growth',
    ])
  })

  test('is measured beside a naive fleet with the same decisions', () => {
    const fixture = loadFixture(loadedFleet(80, 5))
    const world = new World({ fixture })
    const naive = new NaiveFleet(fixture)
    world.runTo(DAY)
    naive.runTo(DAY)
    for (const kind of ['deployment.scaledUp', 'deployment.scaledDown', 'instance.ready']) {
      const count = naive.journal.filter(entry => entry.kind === kind).length
      const ratio = count / world.journal.counts.get(kind)!
      expect(ratio, kind).toBeGreaterThan(0.9)
      expect(ratio, kind).toBeLessThan(1.1)
    }
    const spent = (world.ledger.openingFunds - world.ledger.balance) / MICROCENTS_PER_CENT
    expect(naive.cents / spent).toBeCloseTo(1, 1)
  })
})

test('the table says which goals are kept', () => {
  const table = asTable([
    [{ ...figure('fast_ms'), goal: { of: 'value', bound: 'most', is: 1 } }, { value: 0.25 }],
    [
      { ...figure('slow_rps'), unit: 'requests', goal: { of: 'ratio', bound: 'least', is: 0.6 } },
      { value: 2000, baseline: 4000, ratio: 0.5, beside: 'a note' },
    ],
  ])
  expect(table.split('\n')).toEqual([
    'figure    value  unit      baseline  ratio  goal                 beside it',
    'fast_ms    0.25  ms                         ≤ 1          kept',
    'slow_rps  2,000  requests     4,000    0.5  ratio ≥ 0.6  MISSED  a note',
  ])
})
