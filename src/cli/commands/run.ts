/** `modelhost-sim run`: plays scenarios and holds them to their traces. */
import { resolve } from 'node:path'
import type { Argv } from 'yargs'
import { monotonicMs } from '../../lib/real-time.ts'
import { dryRun } from '../../scenario/runner/dry-run.ts'
import { LoadError } from '../../scenario/runner/files.ts'
import { guardProcess } from '../../scenario/runner/process-guard.ts'
import { REPORTERS, type ReporterName, reporter } from '../../scenario/runner/reporters.ts'
import { type FileResult, type PlayJob, playJob, type RunFilesOptions, runFiles } from '../../scenario/runner/runner.ts'
import { WORKER_VARIABLE, type WorkerMessage } from '../../scenario/runner/workers.ts'
import { createApi } from '../../service/http/service.ts'
import { readNames } from '../../service/naming/names-profile.ts'
import { EXIT_CODES } from '../command.ts'
import { exitProcess, exitWhenWritten } from '../exit.ts'
import { integer, seed, seedList, text, texts, word } from '../values.ts'
import { watch } from './watch.ts'

export const command = 'run [scenarios..]'
/** Played unless told what: everything in the folder of this name, however deep. */
const DEFAULT_PATTERN = 'scenarios/**/*'

export const describe = 'Play scenarios and compare what happens with their traces'

export interface RunArguments {
  scenarios?: readonly string[] | undefined
  update?: boolean | undefined
  seed?: string | undefined
  reporter?: ReporterName | undefined
  seeds?: readonly string[] | undefined
  filter?: string | undefined
  tag?: readonly string[] | undefined
  bail?: boolean | undefined
  workers?: number | undefined
  against?: string | undefined
  names?: string | undefined
  watch?: boolean | undefined
  dryRun?: boolean | undefined
  check?: boolean | undefined
}

export function builder(argv: Argv): Argv<RunArguments> {
  return argv
    .positional('scenarios', {
      type: 'string',
      array: true,
      default: [DEFAULT_PATTERN],
      describe: 'Files, folders or globs of scenarios',
    })
    .options({
      update: { type: 'boolean', default: false, describe: 'Write the traces instead of comparing with them' },
      seed: {
        type: 'string',
        requiresArg: true,
        coerce: seed('seed'),
        describe: 'Play with this seed; with another than its own a trace is not compared',
      },
      reporter: {
        type: 'string',
        requiresArg: true,
        default: 'pretty',
        coerce: word('reporter', REPORTERS),
        describe: `How results are told: ${REPORTERS.join(', ')}`,
      },
      filter: {
        type: 'string',
        requiresArg: true,
        coerce: text('filter'),
        describe: 'Only scenarios whose title, file name or tag holds this word',
      },
      tag: { type: 'string', requiresArg: true, coerce: texts, describe: 'Only scenarios with one of these tags: a,b' },
      bail: { type: 'boolean', default: false, describe: 'Stop at the first failure' },
      seeds: {
        type: 'string',
        requiresArg: true,
        coerce: seedList('seeds'),
        describe: 'Play each scenario with many seeds, as in 1..200 or 1,7,42',
      },
      workers: {
        type: 'string',
        requiresArg: true,
        coerce: integer('workers', { min: 1, max: 64 }, 2),
        describe: 'Processes to play in; one a core for many plays, else 1',
      },
      against: {
        type: 'string',
        requiresArg: true,
        coerce: text('against'),
        describe: 'Play on the server at this address, each scenario in a world of its own',
      },
      names: {
        type: 'string',
        requiresArg: true,
        coerce: text('names'),
        describe: "File with the words that clients on a scenario's fetch have for the interface's neutral ones",
      },
      watch: { type: 'boolean', default: false, describe: 'Play again whenever a file changes' },
      'dry-run': {
        type: 'boolean',
        default: false,
        describe: 'Print the steps of each scenario, holding it to no trace',
      },
      check: { type: 'boolean', default: false, describe: 'Hold every world to its laws after every event' },
    })
    .example('$0 run scenarios/money', 'every scenario of a folder')
    .example('$0 run scenarios/deploy/cold-start.ts --update', 'write its trace anew')
    .example('$0 run --seeds 1..200', 'every scenario in two hundred worlds')
    .epilogue(EXIT_CODES) as unknown as Argv<RunArguments>
}

export async function handler(args: RunArguments): Promise<void> {
  if (process.env[WORKER_VARIABLE] !== undefined && process.send !== undefined) {
    runWorker()
    return
  }
  const color = process.stdout.isTTY === true && process.env.NO_COLOR === undefined
  if (args.watch) {
    process.exitCode = await watch(args.scenarios ?? [DEFAULT_PATTERN], process.argv.slice(2))
    return
  }
  process.exitCode = await run(args, {
    out: text => process.stdout.write(text),
    error: text => process.stderr.write(text),
    color,
    ...(process.argv[1] !== undefined && { entry: process.argv[1] }),
    ...(process.stderr.isTTY === true && { progress: text => process.stderr.write(`\r\u001b[2K${text}`) }),
  })
  // Scripts may have left timers or sockets, which would keep the process alive.
  await exitWhenWritten()
}

/** Plays what the process that started this one asks for, until it hangs up. */
function runWorker(): void {
  guardProcess()
  Error.stackTraceLimit = STACK_LINES
  const send = (message: WorkerMessage) => {
    // Whoever started this one may be gone by now; there is nobody to tell then.
    if (process.connected) process.send!(message, () => {})
  }
  process.on('disconnect', () => exitProcess())
  process.on('message', (job: PlayJob) => {
    playJob(job, () => send({ is: 'played' })).then(
      // A trace is for whoever writes it, which has happened.
      results => send({ is: 'done', results: results.map(result => ({ ...result, trace: [] })) }),
      error => send({ is: 'failed', message: String((error as Error).message) }),
    )
  })
  send({ is: 'ready' })
}

/** The line of the script is often far up: awaits and the client's own steps stand before it. */
const STACK_LINES = 50

export interface RunIo {
  out(text: string): void
  error(text: string): void
  /** Shows how far it is, in place of what it showed before. */
  progress?(text: string): void
  readonly color?: boolean
  readonly folder?: string
  /** The script of the command line, for workers. */
  readonly entry?: string
}

/** How often it is told how far it is: thousands of plays a minute would be a flicker, and cost as much as some plays. */
const COUNT_INTERVAL_MS = 100

/** How many plays are over, shown where the next result will stand. */
class PlayCounter {
  readonly #show: RunIo['progress']
  #lastShownMs = Number.NEGATIVE_INFINITY
  #isShown = false

  constructor(show: RunIo['progress']) {
    this.#show = show
  }

  update(done: number, total: number): void {
    const now = monotonicMs()
    if (done === total) this.clear()
    else if (now - this.#lastShownMs >= COUNT_INTERVAL_MS) {
      this.#lastShownMs = now
      this.#isShown = true
      this.#show?.(`${done} of ${total} played`)
    }
  }

  clear(): void {
    if (this.#isShown) this.#show?.('')
    this.#isShown = false
  }
}

/** Does what the command does and returns its exit code: 0 passed, 1 failed, 2 could not run. */
export async function run(args: RunArguments, io: RunIo): Promise<0 | 1 | 2> {
  const startedMs = monotonicMs()
  const { scenarios = [DEFAULT_PATTERN], seed, seeds } = args
  const resultReporter = reporter(args.reporter ?? 'pretty', {
    write: io.out,
    color: io.color,
    folder: io.folder,
    seeded: seeds !== undefined,
  })
  const conflict = findFlagConflict(args)
  if (conflict !== undefined) {
    io.error(`Failed to run scenarios: ${conflict}\n`)
    return 2
  }
  const names = args.names === undefined || !io.folder ? args.names : resolve(io.folder, args.names)
  try {
    // Asked once before anything is played: names that make no sense would fail every scenario in the same words.
    if (names !== undefined) createApi({ names: readNames(names) })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    io.error(`${error.message}\n`)
    return 2
  }
  const serverProblem = args.against === undefined ? undefined : await findServerProblem(args.against)
  if (serverProblem !== undefined) {
    io.error(`Failed to run scenarios: ${serverProblem}\n`)
    return 2
  }
  Error.stackTraceLimit = STACK_LINES
  const counter = new PlayCounter(io.progress)
  let brokenFiles = 0
  const options: RunFilesOptions = {
    ...selection(args),
    seed,
    seeds,
    update: args.update,
    bail: args.bail,
    against: args.against,
    names,
    check: args.check,
    workers: args.workers,
    entry: io.entry,
    folder: io.folder,
    ...(!args.bail && {
      onLoadError: (error: LoadError) => {
        brokenFiles++
        io.error(`${error.message}\n`)
      },
    }),
    onResult: result => {
      counter.clear()
      resultReporter.result(result)
    },
    onProgress: (done, most) => counter.update(done, most),
  }
  let results: FileResult[] = []
  let steps: number | undefined
  try {
    if (args.dryRun) steps = await dryRun(scenarios, { ...options, write: io.out })
    else results = await runFiles(scenarios, options)
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    counter.clear()
    io.error(`${error.message}\n`)
    return 2
  }
  if ((steps ?? results.length) === 0) {
    if (brokenFiles === 0) io.error(`Failed to run scenarios: ${describeNoMatch(args)}\n`)
    return 2
  }
  if (steps === undefined) resultReporter.end(results, monotonicMs() - startedMs)
  if (brokenFiles > 0) return 2
  return results.every(({ passed }) => passed) ? 0 : 1
}

/** Asked once before anything is played: what is not there would fail every scenario in the same words. */
async function findServerProblem(url: string): Promise<string | undefined> {
  const health = await fetch(`${url.replace(/\/+$/, '')}/_sim/health`).catch(() => undefined)
  if (health?.ok) return undefined
  return `no modelhost-sim answers at ${url}. Start one with 'modelhost-sim serve --clock manual', or give the address of one.`
}

function selection({ filter, tag }: RunArguments): Pick<RunFilesOptions, 'filter' | 'tags'> {
  return { filter, ...(tag !== undefined && tag.length > 0 && { tags: tag }) }
}

function findFlagConflict({ update, seed, seeds, against }: RunArguments): string | undefined {
  if (seed !== undefined && seeds !== undefined) {
    return '--seed names one seed and --seeds many. Give one of the two.'
  }
  if (update && (seed !== undefined || seeds !== undefined)) {
    const flag = seed === undefined ? '--seeds' : '--seed'
    return `--update writes the traces of their own seeds, and ${flag} names another. Give one of the two.`
  }
  if (against !== undefined && !URL.canParse(against)) {
    return `--against '${against}' is no address. Give one, as in --against http://127.0.0.1:4010.`
  }
  return undefined
}

function describeNoMatch({ filter, tag = [] }: RunArguments): string {
  if (tag.length === 0) return `none matches '${filter ?? ''}' in title, file or tags. Try a shorter word.`
  const also = filter === undefined ? '' : ` and matches '${filter}'`
  return `none is tagged ${tag.map(one => `'${one}'`).join(' or ')}${also}. 'modelhost-sim scenarios' lists the tags.`
}
