import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { plotStep, type SimulateArguments, simulate } from '../../src/cli/commands/simulate.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/kernel/duration.ts'
import { drawFigure } from '../../src/server/page/plots/figure.ts'
import { captionOf, reportCharts } from '../../src/server/page/plots/report-charts.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'
import { commandOutput } from './command-output.ts'
import { commanded } from './commanded.ts'

async function simulated(args: Partial<SimulateArguments>) {
  const { written, output } = commandOutput()
  const code = await simulate({ fixtures: 'fleet', profile: 'realistic', seed: '1', for: 3 * HOUR, ...args }, output)
  return { code, ...written }
}

test('simulate --plot draws the report of the run into one file, and prints what it prints without', {
  tags: 'slow',
}, async () => {
  const path = join(temporaryFolder(), 'run.svg')
  const { code, out } = await simulated({ plot: path, step: 20 * MINUTE })
  const sim = createSimulator({ fixtures: 'fleet' })
  await sim.clock.advance('3h')
  const report = sim.report({ step: '20m' })
  expect(readFileSync(path, 'utf8')).toBe(drawFigure(reportCharts(report, 20 * 60), captionOf(report)))
  expect([code, out]).toEqual([0, (await simulated({})).out])
})

test('a name of a deployment cannot add elements to a picture', { tags: 'slow' }, async () => {
  const name = '</text><script>alert(1)</script>'
  const sim = createSimulator({ fixtures: 'fleet' })
  await sim.clock.advance('2h')
  const report = sim.report({ step: '30m' })
  const series = report.series!.map(row => ({ ...row, deployment: `${name}${row.deployment}` }))
  const hostile = { ...report, fixture: name, series }
  const text = drawFigure(reportCharts(hostile, 30 * 60), captionOf(hostile))
  expect(text).toContain('&lt;/text&gt;&lt;script&gt;')
  expect(text).not.toContain('<script')
})

test.each([
  [['--plot', 'week.png'], "Failed to write --plot 'week.png': its name does not end in .svg."],
  [['--plot', 'src'], 'its name does not end in .svg.'],
  [['--plot', ''], "Failed to read --plot '': it is empty. Give a value, or leave it out."],
  [['--plot', 'no/such/week.svg'], "Failed to write --plot 'no/such/week.svg': there is no folder"],
  [['--plot', 'package.json/week.svg'], 'is not a folder. Give a file in another folder.'],
  [['--plot', 'week.svg', '--series', './week.svg'], "--series and --plot name the same file './week.svg'."],
  [['--plot', 'week.svg', '--step', '1s'], 'it would have 3,600 steps, and 2,000 are the most. Give a longer --step.'],
])('simulate %j is refused before anything runs', async (args, message) => {
  const { code, stdout, stderr } = await commanded(['simulate', '--for', '1h', ...args])
  expect(stderr).toContain(message)
  expect([code, stdout]).toEqual([2, ''])
})

test.each(['plot', 'series'] as const)(
  'the report is printed and no draft of --%s is left when the disk is full',
  async flag => {
    const path = temporaryFolder()
    const file = join(path, flag === 'plot' ? 'run.svg' : 'day.csv')
    // A write to it fails with the error of a full disk.
    symlinkSync('/dev/full', `${file}.${process.pid}.tmp`)
    const { written, output } = commandOutput()
    const args = { fixtures: 'two-nodes', profile: 'realistic', seed: '1', for: HOUR, [flag]: file }
    await expect(simulate(args, output)).rejects.toThrow(
      `Failed to write --${flag} '${file}': no space is left on the disk. Free some space, or give a file elsewhere.`,
    )
    expect(written.out).toContain('closing balance')
    expect(readdirSync(path)).toEqual([])
  },
)

test.each([
  [SECOND, SECOND],
  [HOUR, 30 * SECOND],
  [DAY, 15 * MINUTE],
  [7 * DAY, HOUR],
  [30 * DAY, 4 * HOUR],
  [365 * DAY, 2 * DAY],
  [36_525 * DAY, 365 * DAY],
])('a window of %d µs has steps of %d µs', (length, step) => {
  expect(plotStep(length, undefined)).toBe(step)
  expect(Math.ceil(length / step)).toBeLessThanOrEqual(200)
})
