/** `modelhost-sim simulate`: a fleet without clients, for as long as is asked, and the report at its end. */

import { closeSync, openSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Argv } from 'yargs'
import { loadProfile, type ProfileInput, withWeather } from '../../data/profiles/load.ts'
import { HOUR, MINUTE, type Micros } from '../../kernel/duration.ts'
import { LIMITS } from '../../lib/limits.ts'
import { eventLoopTurn, monotonicMs, wallMs } from '../../lib/real-time.ts'
import { InvariantError } from '../../simulation/invariants/invariant.ts'
import { excessOf } from '../../simulation/reporting/report-window.ts'
import { type ReportStep, reportSeries, STEP_COLUMNS } from '../../simulation/reporting/time-series.ts'
import { SNAPSHOT_ENDING } from '../../simulator/checkpoint/file-ending.ts'
import { type Recording, recordSimulator } from '../../simulator/history/record.ts'
import { createSimulator, type Simulator } from '../../simulator/simulator.ts'
import { EXIT_CODES, UsageError } from '../command.ts'
import { scheduleCommands } from '../command-file.ts'
import { requireWritable, writeByDraft } from '../files/output-file.ts'
import { requirePageFile, writePageFile } from '../pages/page-file.ts'
import { Progress } from '../progress.ts'
import { formatReport } from '../report-text.ts'
import { plotFlag, plotStep, requirePlottable, writePlot } from '../series/plot-files.ts'
import { onSignals } from '../signals.ts'
import { duration, flag, positive, requireKnownVariables, seed, text, toggle } from '../values.ts'

export const command = 'simulate'
export const describe = 'Simulate a fleet without clients, and report what it did and cost'

export interface SimulateArguments {
  fixtures: string
  profile: string
  seed: string
  weather?: string | undefined
  acceleration?: number | undefined
  for?: Micros | undefined
  epoch?: string | undefined
  json?: boolean | undefined
  series?: string | undefined
  plot?: string | undefined
  step?: Micros | undefined
  commands?: string | undefined
  check?: boolean | undefined
  html?: string | undefined
}

const DEFAULT_STEP = 5 * MINUTE

export function builder(argv: Argv): Argv<SimulateArguments> {
  const options = flags()
  return argv
    .options(options)
    .middleware(() => requireKnownVariables(Object.keys(options)))
    .example('$0 simulate --for 7d', 'a week of 1,000 GPUs, and what it cost')
    .example('$0 simulate --for 7d --weather realistic --seed 2', 'the same with failures at realistic rates')
    .example('$0 simulate --for 1d --series day.csv --step 15m', 'with a row for each deployment every 15 minutes')
    .example('$0 simulate --for 7d --plot week.svg', 'with a picture of money, GPU-hours, queue, refusals and latency')
    .epilogue(
      `Each flag has an environment variable: MODELHOST_SIM_FLAG_NAME. A flag takes precedence.\n${EXIT_CODES}`,
    ) as unknown as Argv<SimulateArguments>
}

function flags() {
  return {
    for: {
      ...flag('for', 'Time to simulate: 24h, 7d, 1h30m. Required'),
      coerce: duration('for', '7d'),
    },
    fixtures: {
      ...flag('fixtures', 'Initial world: default, empty, fleet, full, two-nodes, or a folder', 'fleet'),
      coerce: text('fixtures'),
    },
    profile: {
      ...flag('profile', 'Provider profile: realistic, quick, rough, or a file', 'realistic'),
      coerce: text('profile'),
    },
    seed: { ...flag('seed', 'Equal seeds give equal reports', '1'), coerce: seed('seed') },
    weather: {
      ...flag(
        'weather',
        'Random failures: none, calm, realistic, rough, office-day, launch-day, bad-week, provider-incident, payment-trouble. Default: that of the profile',
      ),
      coerce: text('weather'),
    },
    acceleration: {
      ...flag('acceleration', 'Factor on the rates of failures of the weather'),
      coerce: positive('acceleration', 1e6, 10),
    },
    epoch: {
      ...flag('epoch', 'Virtual time at the start: ISO 8601 with offset, or now. Default: 2026-01-01T00:00:00Z'),
      coerce: text('epoch'),
    },
    json: toggle('json', 'Print the report as one JSON object'),
    series: {
      ...flag('series', 'CSV file to write, with a row for each step and deployment'),
      coerce: text('series'),
    },
    plot: plotFlag(),
    step: {
      ...flag(
        'step',
        'Length of a step of the series (default: 5m), and of the picture (default: so that it has at most 200 steps)',
      ),
      coerce: duration('step', '5m'),
    },
    check: toggle(
      'check',
      'Check the invariants of the fleet after every event; a violation ends the simulation with exit code 1',
    ),
    html: {
      ...flag('html', 'File to write with a page that simulates the same again when it is opened'),
      coerce: text('html'),
    },
    commands: {
      ...flag('commands', 'JSON file with scheduled commands: [{"at":"2h","verb":"node.crash","target":"h100-0"}]'),
      coerce: text('commands'),
    },
  }
}

export async function handler(args: SimulateArguments): Promise<void> {
  process.exitCode = await simulate(args, {
    out: text => process.stdout.write(text),
    error: text => process.stderr.write(text),
    isTerminal: process.stderr.isTTY === true,
    onSignal: onSignals,
  })
}

export interface SimulateIo {
  out(text: string): void
  error(text: string): void
  /** Whether `error` writes to a terminal. */
  readonly isTerminal?: boolean
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
  if (series !== undefined) requireWritable(series, 'series')
  if (plot !== undefined) {
    requirePlottable(plot)
    plotStep(length, args.step)
  }
  if (args.html !== undefined) requirePageFile(args.html)
  requireDistinct({ series, plot, html: args.html })
  const sim = createSimulator({
    fixtures: args.fixtures,
    profile: profileOf(args),
    seed: args.seed,
    ...(args.check && { check: true }),
    // A fleet without clients has no reader of its journal, unless a page shows it.
    ...(args.html === undefined && { journalLimit: 1000 }),
    ...(args.epoch !== undefined && { epoch: args.epoch === 'now' ? new Date(wallMs()).toISOString() : args.epoch }),
  })
  if (series !== undefined) requireRowLimit(sim, length, step)
  const recording = args.html === undefined ? undefined : recordSimulator(sim)
  if (args.commands !== undefined) scheduleCommands(sim, args.commands, length)
  let exitCode: number
  try {
    exitCode = await advanceWithProgress(sim, length, io)
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error
    io.error(`${error.message}\n`)
    return 1
  }
  try {
    if (series !== undefined && sim.clock.elapsed > 0) {
      writeSeries(series, reportSeries(sim.world, { from: 0, to: sim.clock.elapsed, step }))
    }
    if (plot !== undefined && sim.clock.elapsed > 0) {
      const to = sim.clock.elapsed
      const ofPlot = plotStep(to, args.step)
      writePlot(plot, { ...sim.report(), series: reportSeries(sim.world, { from: 0, to, step: ofPlot }) }, ofPlot)
    }
    if (recording !== undefined) {
      await writeSimulationPage(args, recording)
      io.error(`Page: ${args.html}\n`)
    }
  } finally {
    const report = sim.report()
    io.out(args.json ? `${JSON.stringify(report, null, 2)}\n` : formatReport(report))
  }
  return exitCode
}

/** Advances time in parts, and updates the progress between them. The result does not depend on the parts. */
async function advanceWithProgress(sim: Simulator, length: Micros, io: SimulateIo): Promise<number> {
  const progress = new Progress(length, io)
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
      progress.update(sim.clock.elapsed)
      if (monotonicMs() - lastYieldMs < 20) continue
      // Signals are delivered only between two turns of the event loop.
      await eventLoopTurn()
      lastYieldMs = monotonicMs()
    }
  } finally {
    progress.end()
    release?.()
  }
  return exitCode
}

async function writeSimulationPage({ html, fixtures }: SimulateArguments, recording: Recording): Promise<void> {
  recording.stop()
  const worlds = [{ title: 'the simulation', recording: recording.text }]
  await writePageFile(html!, { title: `A simulation of ${fixtures}`, worlds })
}

function profileOf({ profile, weather, acceleration }: SimulateArguments): string | ProfileInput {
  const withChosenWeather = withWeather(profile, { weather, acceleration })
  if (acceleration !== undefined && (weather ?? loadProfile(profile).weather.pack) === 'none') {
    throw new UsageError('Failed to simulate: --acceleration needs weather. Leave it out, or give --weather realistic.')
  }
  return withChosenWeather
}

/** Refuses two flags that name one file. */
function requireDistinct(files: Readonly<Record<string, string | undefined>>): void {
  const flags = new Map<string, { readonly name: string; readonly path: string }>()
  for (const [name, path] of Object.entries(files)) {
    if (path === undefined) continue
    const other = flags.get(resolve(path))
    if (other !== undefined) {
      throw new UsageError(
        `Failed to simulate: --${other.name} and --${name} name the same file '${other.path}'. Give each its own.`,
      )
    }
    flags.set(resolve(path), { name, path })
  }
}

function requireRowLimit(sim: Simulator, length: Micros, step: Micros): void {
  const tooLong = excessOf(sim.world, length, step, LIMITS.seriesFileRows)
  if (tooLong === undefined) return
  throw new UsageError(`Failed to write --series: it would have ${tooLong}. Give a longer --step.`)
}

const CHUNK_CHARS = 1 << 16

/**
 * Writes a time series as a CSV file, whole or not at all.
 *
 * @throws UsageError when the disk is full or read-only
 */
function writeSeries(path: string, rows: Iterable<ReportStep>): void {
  writeByDraft(path, 'series', draft => writeRows(draft, rows))
}

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
