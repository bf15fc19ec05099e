/** `modelhost-sim simulate`: a fleet without clients, for as long as is asked, and the report at its end. */

import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { loadFixture } from '../../data/fixtures/load.ts'
import { OfferedLoad, parseLoadTrace } from '../../data/offered-load.ts'
import { withWeather } from '../../data/profiles/load.ts'
import type { FixtureInput } from '../../data/records/fixture.ts'
import { DAY, formatDuration, HOUR, MINUTE, type Micros, SECOND } from '../../kernel/duration.ts'
import { describeFileError } from '../../lib/errors.ts'
import { LIMITS } from '../../lib/limits.ts'
import { eventLoopTurn, monotonicMs, wallMs } from '../../lib/real-time.ts'
import { formatCount } from '../../lib/text/numbers.ts'
import { drawFigure } from '../../server/page/plots/figure.ts'
import { captionOf, comparisonCharts, REPORT_CHARTS, reportCharts } from '../../server/page/plots/report-charts.ts'
import { InvariantError } from '../../simulation/invariants/invariant.ts'
import { excessOf } from '../../simulation/reporting/report-window.ts'
import { type ReportStep, reportSeries, STEP_COLUMNS } from '../../simulation/reporting/time-series.ts'
import { SNAPSHOT_ENDING } from '../../simulator/checkpoint/file-ending.ts'
import { recordSimulator } from '../../simulator/history/record.ts'
import { WEATHER_NAMES } from '../../simulator/options.ts'
import { createSimulator, type Simulator } from '../../simulator/simulator.ts'
import { type CommandIo, PROCESS_IO, UsageError } from '../command.ts'
import { scheduleCommands } from '../command-file.ts'
import { requireWritable, writeByDraft, writeTextFile } from '../files/output-file.ts'
import { type ArgumentsOf, flag, output, toggle } from '../flags.ts'
import { requirePageFile, writePageFile } from '../pages/page-file.ts'
import { onSignals } from '../process-end.ts'
import { Progress } from '../progress.ts'
import { formatReport } from '../report-text.ts'
import { compareValues, formatComparison, type SteppedReport } from '../simulate/comparison.ts'
import { type ComparedWorld, parseSetting } from '../simulate/setting.ts'
import { duration, filledText, positive, seed } from '../values.ts'

/** Steps that a picture has at most, if no step is given: about one for three units of its width. */
const MOST_STEPS = 200
const STEPS: readonly Micros[] = [
  ...[SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE],
  ...[HOUR, 2 * HOUR, 4 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY],
]

/**
 * Refuses a file where no picture can be written, before any work.
 *
 * @throws UsageError for a file that does not end in `.svg`, and for what cannot be written
 */
function requirePlottable(path: string): void {
  if (path !== '' && !path.endsWith('.svg')) {
    throw new UsageError(
      `Failed to write --plot '${path}': its name does not end in .svg. Give a name as in --plot week.svg.`,
    )
  }
  requireWritable(path, 'plot')
}

/**
 * Returns the step of the picture of a window: the given one, or the shortest round one that makes at most 200 steps.
 *
 * @throws UsageError for a given step that makes too many
 */
export function plotStep(length: Micros, given: Micros | undefined): Micros {
  if (given === undefined) return STEPS.find(step => length / step <= MOST_STEPS) ?? STEPS.at(-1)!
  const steps = Math.ceil(length / given)
  if (steps <= LIMITS.plotSteps) return given
  throw new UsageError(
    `Failed to write --plot: it would have ${formatCount(steps)} steps, and ${formatCount(LIMITS.plotSteps)} are the most. Give a longer --step.`,
  )
}

export const command = 'simulate'
export const describe = 'Simulate a fleet without clients, and report what it did and cost'
export const takesConfig = true

const DEFAULT_STEP = 5 * MINUTE

export const flags = {
  for: flag('Time to simulate: 24h, 7d, 1h30m. Required', duration('7d')),
  fixtures: flag('Initial world: default, empty, fleet, full, two-nodes, or a folder', filledText, 'fleet'),
  profile: flag('Provider profile: realistic, quick, rough, or a file', filledText, 'realistic'),
  trace: flag('Load trace of the first deployment, or of NAME=FILE: requests or rates, as CSV or JSON lines'),
  'trace-skip': flag('Time at the beginning of --trace that is left out'),
  'trace-length': flag('How much of --trace is used, from there on'),
  'trace-scale': flag('Factor on the rates of --trace', positive(1e6, 4)),
  'trace-repeat': toggle('Start --trace over at its end'),
  seed: flag('Equal seeds give equal reports', seed, '1'),
  weather: flag(`Random failures: ${WEATHER_NAMES.join(', ')}. Default: that of the profile`),
  epoch: flag('Virtual time at the start: ISO 8601 with offset, or now. Default: 2026-01-01T00:00:00Z'),
  json: toggle('Print the report as one JSON object'),
  series: output('CSV file to write, with a row for each step and deployment'),
  plot: output(`SVG file to write with a picture of the report: ${REPORT_CHARTS.join(', ')}`),
  step: flag(
    'Length of a step of the series (default: 5m), and of the picture (default: so that it has at most 200 steps)',
    duration('5m'),
  ),
  check: toggle(
    'Check the invariants of the fleet after every event; a violation ends the simulation with exit code 1',
  ),
  html: output('File to write with a page that simulates the same again when it is opened'),
  compare: flag(
    'Setting with values to compare: nodes=3,4 for each group of nodes, a path of the fixture as deployments.NAME.settings.max_instances=2,4, or of the profile as policies.placement=best-fit,spread',
  ),
  commands: flag('JSON file with scheduled commands: [{"at":"2h","verb":"node.crash","target":"h100-0"}]'),
}
export const examples = [
  ['$0 simulate --for 7d', 'a week of 1,000 GPUs, and what it cost'],
  ['$0 simulate --for 7d --weather realistic --seed 2', 'the same with failures at realistic rates'],
  ['$0 simulate --for 1d --series day.csv --step 15m', 'with a row for each deployment every 15 minutes'],
  ['$0 simulate --for 7d --compare nodes=30,40', 'a table of what 30 and 40 nodes a group do, and which suffice'],
  ['$0 simulate --for 7d --plot week.svg', 'with a picture of money, GPU-hours, queue, refusals and latency'],
]
type Given = ArgumentsOf<typeof flags>

export type SimulateArguments = Pick<Given, 'fixtures' | 'profile' | 'seed'> & Partial<Given>

export async function handler(args: SimulateArguments): Promise<void> {
  process.exitCode = await simulate(args, { ...PROCESS_IO, onSignal: onSignals })
}

export interface SimulateIo extends CommandIo {
  /** Calls `stop` with the exit code of the first signal. Returns a function that stops listening. */
  onSignal?(stop: (exitCode: number) => void): () => void
}

/** Runs the command and returns its exit code: 0, or that of the signal that ended it early. */
export async function simulate(args: SimulateArguments, io: SimulateIo): Promise<number> {
  const length = args.for
  if (length === undefined) {
    throw new UsageError('Failed to simulate: --for is missing. Give it, as in --for 7d.')
  }
  const { series, plot, step = DEFAULT_STEP } = args
  if (args.step !== undefined && series === undefined && plot === undefined) {
    throw new UsageError('Failed to simulate: --step needs --series or --plot. Leave it out, or give one of them.')
  }
  if (args.fixtures.endsWith(SNAPSHOT_ENDING)) {
    throw new UsageError(
      `Failed to simulate: '${args.fixtures}' is a snapshot, and a report starts with its world. Give a fixture, or use serve to continue from a snapshot.`,
    )
  }
  if (args.compare !== undefined && (series ?? args.html) !== undefined) {
    const other = series === undefined ? '--html' : '--series'
    throw new UsageError(`Failed to simulate: ${other} is of one world, and --compare has several. Leave one out.`)
  }
  if (series !== undefined) requireWritable(series, 'series')
  if (plot !== undefined) {
    requirePlottable(plot)
    plotStep(length, args.step)
  }
  if (args.html !== undefined) requirePageFile(args.html)
  const fixtures = withTrace(args)
  const world = { fixtures, profile: withWeather(args.profile, args.weather) }
  try {
    if (args.compare !== undefined) return await compare(world, args.compare, { ...args, for: length }, io)
    const sim = createWorld(world, args)
    noteEndingTraces(sim, length, io)
    if (series !== undefined) requireRowLimit(sim, length, step)
    const recording = args.html === undefined ? undefined : recordSimulator(sim)
    const exitCode = await play(sim, { ...args, for: length }, io)
    try {
      if (series !== undefined && sim.clock.elapsed > 0) {
        const rows = reportSeries(sim.world, { from: 0, to: sim.clock.elapsed, step })
        writeByDraft(series, 'series', draft => writeRows(draft, rows))
      }
      if (plot !== undefined && sim.clock.elapsed > 0) {
        const ofPlot = plotStep(sim.clock.elapsed, args.step)
        const report = steppedReport(sim, ofPlot)
        writeTextFile(plot, drawFigure(reportCharts(report, ofPlot / SECOND), captionOf(report)), 'plot')
      }
      if (recording !== undefined) {
        recording.stop()
        const worlds = [{ title: 'the simulation', recording: recording.text }]
        await writePageFile(args.html!, { title: `A simulation of ${args.fixtures}`, worlds })
        io.error(`Page: ${args.html}\n`)
      }
    } finally {
      const report = sim.report()
      io.out(args.json ? `${JSON.stringify(report, null, 2)}\n` : formatReport(report))
    }
    return exitCode
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error
    io.error(`${error.message}\n`)
    return 1
  }
}

/** Says which traces end before the simulation does. */
function noteEndingTraces({ world }: Simulator, length: Micros, io: SimulateIo): void {
  for (const [, { load: current, plan }] of world.deployments.entries()) {
    const load = current?.curve.load
    if (load?.kind !== 'trace' || load.repeat) continue
    const last = parseLoadTrace(load.text!).at(-1)!
    if (last.rps > 0 || last.at >= length) continue
    const end = `${formatDuration(last.at)} of ${formatDuration(length)}`
    io.error(
      `The trace of ${plan.modelName} ends after ${end}. To repeat it, give --trace-repeat, or "repeat": true in its load in deployments.json.\n`,
    )
  }
}

function createWorld({ fixtures, profile }: ComparedWorld, args: SimulateArguments): Simulator {
  return createSimulator({
    ...{ fixtures, profile, seed: args.seed },
    ...(args.check && { check: true }),
    // A fleet without clients has no reader of its journal, unless a page shows it.
    ...(args.html === undefined && { journalLimit: 1000 }),
    ...(args.epoch !== undefined && { epoch: args.epoch === 'now' ? new Date(wallMs()).toISOString() : args.epoch }),
  })
}

/** Schedules the commands and advances. Returns 0, or the exit code of the signal that ended it early. */
function play(sim: Simulator, args: SimulateArguments & { for: Micros }, io: SimulateIo): Promise<number> {
  if (args.commands !== undefined) scheduleCommands(sim, args.commands, args.for)
  return advanceWithProgress(sim, args.for, io)
}

function steppedReport(sim: Simulator, step: Micros): SteppedReport {
  return { ...sim.report(), series: [...reportSeries(sim.world, { from: 0, to: sim.clock.elapsed, step })] }
}

/** Simulates each value of a setting, and prints one table. */
async function compare(
  world: ComparedWorld,
  setting: string,
  args: SimulateArguments & { for: Micros },
  io: SimulateIo,
): Promise<number> {
  const step = plotStep(args.for, args.step)
  let exitCode = 0
  let isNoted = false
  const start = (changed: ComparedWorld) => {
    const sim = createWorld(changed, args)
    if (!isNoted) noteEndingTraces(sim, args.for, io)
    isNoted = true
    return sim
  }
  const comparison = await compareValues(parseSetting(setting), world, start, async changed => {
    const sim = start(changed)
    exitCode = await play(sim, args, io)
    return exitCode === 0 ? { ...steppedReport(sim, step), fixture: args.fixtures } : undefined
  })
  if (comparison === undefined) return exitCode
  const { readings: _, ...shown } = comparison
  const { setting: name, values } = comparison
  if (args.plot !== undefined) {
    const reports = new Map(values.map(({ value, report }) => [`${name}=${value}`, report]))
    const { title, detail } = captionOf(values[0]!.report)
    const caption = { title: `${title}, by ${name}`, detail: `${detail}. The table has slower engines too` }
    writeTextFile(args.plot, drawFigure(comparisonCharts(reports, step / SECOND), caption), 'plot')
  }
  // A report without a step has no series.
  const withoutSeries = (key: string, value: unknown) => (key === 'series' ? undefined : value)
  io.out(args.json ? `${JSON.stringify(shown, withoutSeries, 2)}\n` : formatComparison(comparison))
  return exitCode
}

/** Returns the fixture, in which one deployment has the load of the trace if there is one. */
function withTrace({ trace, fixtures, ...args }: SimulateArguments): FixtureInput | string {
  const { traceSkip: skip, traceLength: length, traceScale: scale, traceRepeat: repeat } = args
  const options = { skip, length, scale, repeat }
  if (trace === undefined) {
    const option = Object.entries(options).find(([, value]) => value)?.[0]
    if (option === undefined) return fixtures
    throw new UsageError(`Failed to simulate: --trace-${option} needs --trace. Leave it out, or give --trace.`)
  }
  const fixture = loadFixture(fixtures)
  const { deployments } = fixture
  const [, name, path] = /^(?:([^=]+)=)?(.+)$/.exec(trace)!
  const fail = (reason: string) => new UsageError(`Failed to read --trace '${trace}': ${reason}.`)
  const target = deployments.findIndex(seed => seed.type === 'llm' && (name === undefined || seed.model_name === name))
  if (target < 0) {
    const other = deployments.find(seed => seed.model_name === name)
    const reason = other && `${name} has the type ${other.type}, and a trace is for a deployment of the type llm`
    const missing = `the world has no deployment ${name ?? 'of the type llm'}`
    throw fail(`${reason ?? missing}. Give NAME=FILE, or another --fixtures`)
  }
  let text: string
  try {
    text = readFileSync(path!, 'utf8')
  } catch (error) {
    throw fail(`${describeFileError(error)}`)
  }
  const load = OfferedLoad.safeParse({ kind: 'trace', text, ...options })
  if (!load.success) {
    const { path: at, message } = load.error.issues[0]!
    throw fail(`${at[0] === 'text' ? '' : `--trace-${String(at[0])}: `}expected ${message}`)
  }
  const traced = deployments.map((seed, i) => (i === target ? { ...seed, load: load.data } : seed))
  return { ...fixture, deployments: traced }
}

/** Advances time in parts, and updates the progress between them. The result does not depend on the parts. */
async function advanceWithProgress(sim: Simulator, length: Micros, io: SimulateIo): Promise<number> {
  const progress = new Progress(io)
  let exitCode = 0
  const release = io.onSignal?.(code => {
    exitCode = code
    sim.clock.interrupt()
  })
  const partLength = Math.min(HOUR, Math.ceil(length / 100))
  let lastYieldMs = monotonicMs()
  try {
    for (let at = 0; at < length && exitCode === 0; ) {
      at = Math.min(length, at + partLength)
      await sim.clock.advanceToInSlices(at)
      const done = `${formatDuration(sim.clock.elapsed)} of ${formatDuration(length)} simulated`
      progress.update(done, sim.clock.elapsed, length)
      if (monotonicMs() - lastYieldMs < 20) continue
      // Signals are delivered only between two turns of the event loop.
      await eventLoopTurn()
      lastYieldMs = monotonicMs()
    }
  } finally {
    progress.clear()
    release?.()
  }
  return exitCode
}

function requireRowLimit(sim: Simulator, length: Micros, step: Micros): void {
  const tooLong = excessOf(sim.world, length, step, LIMITS.seriesFileRows)
  if (tooLong === undefined) return
  throw new UsageError(`Failed to write --series: it would have ${tooLong}. Give a longer --step.`)
}

const CHUNK_CHARS = 1 << 16

/** Writes a time series as a CSV file. */
function writeRows(path: string, rows: Iterable<ReportStep>): void {
  const file = openSync(path, 'w')
  try {
    let text = `${STEP_COLUMNS.join(',')}\n`
    for (const row of rows) {
      text += `${STEP_COLUMNS.map(column => formatCell(row[column])).join(',')}\n`
      if (text.length < CHUNK_CHARS) continue
      writeSync(file, text)
      text = ''
    }
    writeSync(file, text)
  } finally {
    closeSync(file)
  }
}

function formatCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(Math.round(value * 1e6) / 1e6)
  return /[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}
