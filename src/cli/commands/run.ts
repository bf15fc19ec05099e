/** `modelhost-sim run`: plays scenarios and compares them with their traces. */
import { resolve } from 'node:path'
import type { Micros } from '../../kernel/duration.ts'
import { monotonicMs } from '../../lib/real-time.ts'
import { createApi } from '../../service/http/service.ts'
import { readNames } from '../../service/naming/names-profile.ts'
import { guardProcess, startLoopWatchdog } from '../../workbench/scenario/runner/guards.ts'
import { LoadError } from '../../workbench/scenario/runner/import-script.ts'
import { REPORTERS, reporter } from '../../workbench/scenario/runner/reporters.ts'
import { playJob, runFiles } from '../../workbench/scenario/runner/runner.ts'
import {
  type FileResult,
  type PlayJob,
  type RunFilesOptions,
  WORKER_VARIABLE,
  type WorkerMessage,
} from '../../workbench/scenario/runner/workers.ts'
import { type CommandIo, EXIT_CODES, PROCESS_IO } from '../command.ts'
import { type ArgumentsOf, flag, output, toggle, words } from '../flags.ts'
import { exitProcess, exitWhenWritten, onSignals } from '../process-end.ts'
import { progressOnTerminal } from '../progress.ts'
import { list } from '../run/list.ts'
import { prepareRunPage, type RunPage } from '../run/run-page.ts'
import { SHARD_FLAGS } from '../shards/play.ts'
import { runSharded } from '../shards/run-scenarios.ts'
import { duration, integer, seed, seedList, texts, word } from '../values.ts'

export const command = 'run [scenarios..]'
/** Default: every file in the folder `scenarios`, at any depth. */
const DEFAULT_PATTERN = 'scenarios/**/*'

/** Far longer than any step of a simulation blocks the process. */
const DEFAULT_LOOP_LIMIT = '1m'

export const describe = 'Play scenarios and compare them with their traces'
export const positional = { scenarios: words('Files, folders or globs of scenarios', [DEFAULT_PATTERN]) }
export const flags = {
  list: toggle('List the scenarios of these folders and of the package, and what they teach. None is played'),
  update: toggle('Write the traces instead of comparing with them'),
  seed: flag('Seed to play with. With another seed than that of a scenario, its trace is not compared', seed),
  reporter: flag(`Format of the results: ${REPORTERS.join(', ')}`, word(REPORTERS), 'pretty'),
  filter: flag('Only scenarios whose title, file name or tag contains this word'),
  tag: flag('Only scenarios with one of these tags: a,b', texts),
  bail: toggle('Stop at the first failure'),
  seeds: flag('Play each scenario with many seeds, as in 1..200 or 1,7,42', seedList),
  workers: flag(
    'Number of processes. Default: 1, or one for each core for many plays',
    integer({ min: 1, max: 64 }, 2),
  ),
  names: flag('File with a names profile for clients that use the fetch of a scenario'),
  'loop-limit': flag(
    'Real time after which a script that never yields ends the run with exit code 137',
    duration(DEFAULT_LOOP_LIMIT),
    DEFAULT_LOOP_LIMIT,
  ),
  check: toggle('Check the invariants of every world after every event'),
  html: output('Also write a page that runs the scenario again when it is opened. It contains prompts'),
  ...SHARD_FLAGS,
}
export const examples = [
  ['$0 run scenarios/money', 'every scenario of a folder'],
  ['$0 run scenarios/deploy/cold-start.ts --update', 'write its trace again'],
  ['$0 run cold-start.ts --html cold-start.html', 'with a page to look at the run'],
  ['$0 run --list --tag money', 'names the scenarios about money'],
  ['$0 run --seeds 1..200', 'every scenario with 200 seeds'],
  ['$0 run --seeds 1..200 --shard 2/8 --out out', 'an eighth of them; merge out joins the results'],
]
export const epilogue = `${EXIT_CODES} With --out: 3 incomplete.`

export type RunArguments = Partial<ArgumentsOf<typeof flags>> & { readonly scenarios?: readonly string[] }

export async function handler(args: RunArguments): Promise<void> {
  if (process.env[WORKER_VARIABLE] !== undefined && process.send !== undefined) {
    await runWorker(args.loopLimit!)
    return
  }
  if (args.list) {
    const [first] = args.scenarios ?? []
    process.exitCode = await list(
      { ...args, folders: first === DEFAULT_PATTERN ? [] : args.scenarios, json: args.reporter === 'json' },
      PROCESS_IO,
    )
    return
  }
  const color = process.stdout.isTTY === true && process.env.NO_COLOR === undefined
  const watchdog = await startLoopWatchdog(args.loopLimit! / 1000)
  const stop = new AbortController()
  const ignoreSignals = isSharded(args) ? onSignals(() => stop.abort()) : undefined
  process.exitCode = await run(args, {
    ...{ ...PROCESS_IO, signal: stop.signal, playing: watchdog.playing, color },
    ...(process.argv[1] !== undefined && { worker: [process.argv[1], 'run', '--loop-limit', `${args.loopLimit}us`] }),
  })
  watchdog.stop()
  ignoreSignals?.()
  // Scripts may have left timers or sockets, which would keep the process alive.
  await exitWhenWritten()
}

/** Plays the jobs of the parent process until it disconnects. */
async function runWorker(loopLimit: Micros): Promise<void> {
  guardProcess()
  const watchdog = await startLoopWatchdog(loopLimit / 1000)
  Error.stackTraceLimit = STACK_LINES
  const send = (message: WorkerMessage) => {
    // The parent process may have ended.
    if (process.connected) process.send!(message, () => {})
  }
  process.on('disconnect', () => exitProcess())
  process.on('message', (job: PlayJob) => {
    watchdog.playing(`'${job.title}'`)
    playJob(job, () => send({ is: 'played' })).then(
      // Traces are already compared or written, and large.
      results => send({ is: 'done', results: results.map(result => ({ ...result, trace: [] })) }),
      error => send({ is: 'failed', message: String((error as Error).message) }),
    )
  })
  send({ is: 'ready' })
}

/** The line of the script is often far up the stack, after frames of awaits and of the client. */
const STACK_LINES = 50

export interface RunIo extends CommandIo {
  /** Called with what is played. */
  playing?(name: string): void
  readonly color?: boolean
  readonly folder?: string
  /** The script of a worker, and its arguments. */
  readonly worker?: readonly string[]
  /** Aborted: a shard stops. */
  readonly signal?: AbortSignal
}

/** Runs the command and returns its exit code: 0 passed, 1 failed, 2 could not run; of a shard also 3, incomplete. */
export async function run(args: RunArguments, io: RunIo): Promise<number> {
  const startedMs = monotonicMs()
  const { scenarios = [DEFAULT_PATTERN], seed, seeds, update, bail, check, workers } = args
  const form = { write: io.out, color: io.color, folder: io.folder, seeded: seeds !== undefined }
  const resultReporter = reporter(args.reporter ?? 'pretty', form)
  const conflict = findFlagConflict(args)
  if (conflict !== undefined) {
    io.error(`Failed to run scenarios: ${conflict}\n`)
    return 2
  }
  const names = args.names === undefined || !io.folder ? args.names : resolve(io.folder, args.names)
  try {
    // Checked once before the first play: invalid names would fail every scenario with the same text.
    if (names !== undefined) createApi({ names: readNames(names) })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    io.error(`${error.message}\n`)
    return 2
  }
  Error.stackTraceLimit = STACK_LINES
  const progress = progressOnTerminal(io)
  const showPlayed = (done: number, total: number) => {
    if (done === total) progress?.clear()
    else progress?.update(`${done} of ${total} played`, done, total)
  }
  if (isSharded(args)) {
    const { folder = process.cwd() } = io
    const played = { ...selection(args), names, check, folder }
    const others = { update, bail, workers, reporter: args.reporter !== 'pretty' && args.reporter }
    return runSharded(args, others, scenarios, played, { ...io, folder, onDone: showPlayed })
  }
  let page: RunPage | undefined
  const loadErrors: string[] = []
  const options: RunFilesOptions = {
    ...selection(args),
    ...{ seed, seeds, update, bail, names, check, workers, worker: io.worker, folder: io.folder },
    ...(!bail && {
      onLoadError: (error: LoadError) => {
        loadErrors.push(error.message)
        progress?.clear()
        io.error(`${error.message}\n`)
      },
    }),
    onResult: result => {
      progress?.clear()
      resultReporter.result(result)
    },
    onPlay: (title, file) => io.playing?.(`'${title}' (${file})`),
    onProgress: showPlayed,
    onWorld: sim => page?.record(sim),
  }
  let results: FileResult[] = []
  try {
    // In the try: scenarios that cannot be loaded are an error of both.
    if (args.html !== undefined) page = await prepareRunPage(args.html, scenarios, options, args)
    results = await runFiles(scenarios, options)
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    progress?.clear()
    io.error(`${error.message}\n`)
    return 2
  }
  if (results.length === 0) {
    if (loadErrors.length === 0) io.error(`Failed to run scenarios: ${describeNoMatch(args)}\n`)
    return 2
  }
  resultReporter.end(results, monotonicMs() - startedMs, loadErrors)
  const [result] = results
  if (page && result && (await page.write(result))) io.error(`Page: ${args.html}\n`)
  if (loadErrors.length > 0) return 2
  return results.every(({ passed }) => passed) ? 0 : 1
}

function isSharded({ shard, out }: RunArguments): boolean {
  return shard !== undefined || out !== undefined
}

function selection({ filter, tag }: RunArguments): Pick<RunFilesOptions, 'filter' | 'tags'> {
  return { filter, ...(tag !== undefined && tag.length > 0 && { tags: tag }) }
}

/** Returns which flags exclude each other, with advice; undefined if none do. */
function findFlagConflict({ update, seed, seeds }: RunArguments): string | undefined {
  if (seed !== undefined && seeds !== undefined) {
    return '--seed and --seeds exclude each other. Give one of them.'
  }
  if (update && (seed !== undefined || seeds !== undefined)) {
    const flag = seed === undefined ? '--seeds' : '--seed'
    return `--update writes traces of the scenarios' own seeds, and excludes ${flag}. Give one of them.`
  }
  return undefined
}

/** Explains that no scenario is selected. */
function describeNoMatch({ filter, tag = [] }: RunArguments): string {
  if (tag.length === 0) return `no title, file name or tag contains '${filter ?? ''}'. Try a shorter word.`
  const also = filter === undefined ? '' : ` and matches '${filter}'`
  return `no scenario is tagged ${tag.map(one => `'${one}'`).join(' or ')}${also}. 'modelhost-sim run --list' lists the tags.`
}
