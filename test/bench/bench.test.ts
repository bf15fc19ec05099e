import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Figure, Group } from '../../bench/figure.ts'
import { asTable } from '../../bench/report.ts'
import { select } from '../../bench/selection.ts'

const figure = (name: string): Figure => ({ name, unit: 'ms', run: () => Promise.reject(new Error('not run')) })
const groups: Group[] = [
  { name: 'kernel', figures: [figure('kernel_events_per_s')] },
  { name: 'server', figures: [figure('get_one_rps'), figure('create_rps')] },
  { name: 'fleet', heavy: true, figures: [figure('fleet_30d_s')] },
]
const selected = (...args: string[]) => select(groups, args).figures.map(({ name }) => name)

describe('what is asked for', () => {
  test('everything but the heavy groups, unless it is named', () => {
    expect(selected()).toEqual(['kernel_events_per_s', 'get_one_rps', 'create_rps'])
    expect(selected('fleet')).toEqual(['fleet_30d_s'])
  })

  test('groups and figures by name, in the order of the groups, each once', () => {
    expect(selected('create_rps', 'server', 'kernel')).toEqual(['kernel_events_per_s', 'get_one_rps', 'create_rps'])
    expect(selected('create_rps', '--json')).toEqual(['create_rps'])
  })

  test('an unknown name or option is refused with the nearest', () => {
    const refused = 'Failed to run the bench: there is no'
    expect(() => selected('kernal')).toThrow(`${refused} figure or group 'kernal'. Did you mean 'kernel'?`)
    expect(() => selected('kernel', 'get_one_rsp')).toThrow("Did you mean 'get_one_rps'?")
    expect(() => selected('nothing-like-it')).toThrow('There are kernel, server, fleet, kernel_events_per_s,')
    expect(() => selected('--jsno')).toThrow(`${refused} option '--jsno'. Did you mean '--json'?`)
  })
})

test('--json is one object alone on stdout: value and unit of each figure, baseline and ratio where there is one', {
  timeout: 60_000,
}, () => {
  const run = fileURLToPath(new URL('../../bench/run.js', import.meta.url))
  // What is measured here means nothing: --quick takes one short window.
  const args = [run, 'kernel', '--quick', '--json', '--no-build']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  const figures = JSON.parse(stdout)
  const number = expect.any(Number)
  expect(figures).toEqual({
    kernel_events_per_s: { value: number, unit: 'events per CPU second', baseline: number, ratio: number },
  })
  const { value, baseline, ratio } = figures.kernel_events_per_s
  expect(ratio).toBeCloseTo(value / baseline, 2)
  expect(stderr).toContain('kernel_events_per_s: 1 of 1')
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
