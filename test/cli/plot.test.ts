import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type SimulateArguments, simulate } from '../../src/cli/commands/simulate.ts'
import { plotStep } from '../../src/cli/series/plot-files.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/kernel/duration.ts'
import { serve } from '../../src/server/http/server.ts'
import { drawFigure } from '../../src/server/page/plots/figure.ts'
import { captionOf, reportCharts } from '../../src/server/page/plots/report-charts.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { commandOutput } from './command-output.ts'
import { commanded } from './commanded.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'plot-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

async function simulated(args: Partial<SimulateArguments>) {
  const { written, output } = commandOutput()
  const code = await simulate({ fixtures: 'fleet', profile: 'realistic', seed: '1', for: 3 * HOUR, ...args }, output)
  return { code, ...written }
}

test('simulate --plot draws the report of the run into one file, and prints what it prints without', async () => {
  const path = join(folder(), 'run.svg')
  const { code, out } = await simulated({ plot: path, step: 20 * MINUTE })
  const sim = createSimulator({ fixtures: 'fleet' })
  await sim.clock.advance('3h')
  const report = sim.report({ step: '20m' })
  expect(readFileSync(path, 'utf8')).toBe(drawFigure(reportCharts(report, 20 * 60), captionOf(report)))
  expect([code, out]).toEqual([0, (await simulated({})).out])
})

test('report --plot draws the world of a server, which it leaves as it is', async () => {
  const sim = createSimulator({ fixtures: 'fleet' })
  const server = await serve(sim, { port: 0 })
  onTestFinished(() => server.close())
  await sim.clock.advance('2h')
  const path = join(folder(), 'report.svg')
  const before = sim.digest
  const window = ['--from', '2026-01-01T00:30:00Z', '--plot', path]
  const { code, stdout } = await commanded(['report', '--url', server.url, ...window, '--json'])
  const report = sim.report({ from: 30 * MINUTE, step: '30s' })
  expect(readFileSync(path, 'utf8')).toBe(drawFigure(reportCharts(report, 30), captionOf(report)))
  const { series: _, ...withoutSeries } = report
  expect([code, JSON.parse(stdout)]).toEqual([0, JSON.parse(JSON.stringify(withoutSeries))])
  expect(sim.digest).toBe(before)
  expect((await commanded(['report', '--url', server.url, '--step', '1m'])).stderr).toBe(
    'Failed to report: --step needs --plot. Leave it out, or give --plot and a file.\n',
  )
})

test('a name in the answer of a server cannot add elements to a picture', async () => {
  const name = '</text><script>alert(1)</script>'
  const sim = createSimulator({ fixtures: 'fleet' })
  await sim.clock.advance('2h')
  const report = sim.report({ step: '30m' })
  const hostile = {
    ...report,
    fixture: name,
    series: report.series!.map(row => ({ ...row, deployment: `${name}${row.deployment}` })),
  }
  const server = createServer((_, answer) => {
    answer.setHeader('content-type', 'application/json')
    answer.end(JSON.stringify(hostile))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const path = join(folder(), 'run.svg')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  expect(await commanded(['report', '--url', url, '--plot', path, '--json'])).toMatchObject({ code: 0, stderr: '' })
  const text = readFileSync(path, 'utf8')
  expect(text).toContain('&lt;/text&gt;&lt;script&gt;')
  expect(text).not.toContain('<script')
})

test.each([
  [['--plot', 'week.png'], "Failed to write --plot 'week.png': its name does not end in .svg."],
  [['--plot', 'src'], 'its name does not end in .svg.'],
  [['--plot', ''], "Failed to write --plot '': the path is empty. Give the path of a file."],
  [['--plot', 'no/such/week.svg'], "Failed to write --plot 'no/such/week.svg': there is no folder"],
  [['--plot', 'package.json/week.svg'], 'is not a folder. Give a file in a folder.'],
  [['--plot', 'week.svg', '--series', './week.svg'], "--series and --plot name the same file './week.svg'."],
  [['--plot', 'week.svg', '--step', '1s'], 'it would have 3,600 steps, and 2,000 are the most. Give a longer --step.'],
])('simulate %j is refused before anything runs', async (args, message) => {
  const { code, stdout, stderr } = await commanded(['simulate', '--for', '1h', ...args])
  expect(stderr).toContain(message)
  expect([code, stdout]).toEqual([2, ''])
})

test('report --plot refuses a bad place before it asks the server', async () => {
  const { stderr } = await commanded(['report', '--url', 'http://127.0.0.1:1', '--plot', 'week.png'])
  expect(stderr).toContain("Failed to write --plot 'week.png'")
})

test('the report is printed and no draft is left when the disk is full', async () => {
  const path = folder()
  const plot = join(path, 'run.svg')
  // A write to it fails with the error of a full disk.
  symlinkSync('/dev/full', `${plot}.${process.pid}.tmp`)
  const { written, output } = commandOutput()
  const args = { fixtures: 'two-nodes', profile: 'realistic', seed: '1', for: HOUR, plot }
  await expect(simulate(args, output)).rejects.toThrow(
    `Failed to write --plot '${plot}': no space is left on the disk. Free some space, or give a file elsewhere.`,
  )
  expect(written.out).toContain('closing balance')
  expect(readdirSync(path)).toEqual([])
})

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
