/** `modelhost-sim explore`: looks for what breaks a client. */
import type { Argv } from 'yargs'
import { type Duration, micros } from '../../kernel/duration.ts'
import { EXPLORE_DEPTHS } from '../../workbench/explore/explore.ts'
import { startLoopWatchdog } from '../../workbench/scenario/runner/loop-watchdog.ts'
import { exitWhenWritten } from '../exit.ts'
import { type ExploreArguments, exploreFlows } from '../explore/explore-flows.ts'
import { SCENARIO_LANGUAGES } from '../explore/scenario-files.ts'
import { FINDING_EXIT_CODES, shardFlags } from '../shards/play.ts'
import { onSignals } from '../signals.ts'
import { argument, duration, integer, seed, text, word } from '../values.ts'

export const command = 'explore [flows..]'
export const describe = 'Look for what a client cannot survive, and shrink it to the fewest faults'
export const example = 'explore client.ts'
export const takesOtherCommand = true

/** Far longer than any step of a simulation blocks the process. */
const DEFAULT_LOOP_LIMIT = '1m'

export function builder(argv: Argv): Argv<ExploreArguments> {
  return argv
    .positional('flows', {
      type: 'string',
      array: true,
      default: [],
      describe: 'Modules whose default export is a function, or flow(name, options, function)',
    })
    .options({
      json: { type: 'boolean', default: false, describe: 'Print one JSON object a line, one for each flow' },
      junit: argument('Also write the findings to this file, in the format of JUnit', text('junit')),
      budget: argument(
        'Maximum number of runs that look for findings, or real time as in 60s. The runs that shrink and explain a finding come on top. Default: that of the flow, or 2000',
        readBudget,
      ),
      faults: argument(`The last stage: ${EXPLORE_DEPTHS.join(', ')}. Default: swarm`, word('faults', EXPLORE_DEPTHS)),
      require: argument(
        'recovers: a client that gives up under a temporary fault is a finding',
        word('require', ['recovers']),
      ),
      fixtures: argument('Fixture of the world, in place of that of the flow', text('fixtures')),
      seed: argument('Seed of the world, in place of that of the flow', seed('seed')),
      known: argument(
        'File of known findings, which do not fail. Default: explore.known.yaml, if there is one',
        text('known'),
      ),
      write: argument('Write a scenario for each new finding to this folder', text('write')),
      html: argument(
        'Write a page that runs again: the run without faults, and the new findings of the first flow with a new finding',
        text('html'),
      ),
      'write-as': argument(
        `With --write: the language, ${SCENARIO_LANGUAGES.join(' or ')}. Default: yaml`,
        word('write-as', SCENARIO_LANGUAGES),
      ),
      seeds: argument('With --out: run random plans alone, one for each seed, as in 1..1000', text('seeds')),
      processes: argument(
        'With a command: processes at once. Default: the processors of the machine',
        integer('processes', { min: 1, max: 256 }, 4),
      ),
      'command-timeout': argument(
        'With a command: real time after which a run is ended with its process. Default: 60s',
        duration('command-timeout', '60s'),
      ),
      ...shardFlags(),
      'loop-limit': {
        type: 'string',
        requiresArg: true,
        default: DEFAULT_LOOP_LIMIT,
        coerce: duration('loop-limit', DEFAULT_LOOP_LIMIT),
        describe: 'Real time after which a flow that never yields ends the command with exit code 137',
      },
    })
    .example('$0 explore client.ts', 'single faults, pairs, and random plans')
    .example('$0 explore client.ts --faults singles --json', 'single faults alone, as JSON')
    .example('$0 explore -- python3 client.py', 'a client that is a command')
    .example('$0 explore client.ts --seeds 1..1000 --shard 2/8 --out out', 'random plans, divided among processes')
    .epilogue(FINDING_EXIT_CODES) as unknown as Argv<ExploreArguments>
}

export async function handler(args: ExploreArguments): Promise<void> {
  const watchdog = await startLoopWatchdog((args.loopLimit ?? micros(DEFAULT_LOOP_LIMIT)) / 1000)
  const stop = new AbortController()
  const ignoreSignals = onSignals(() => stop.abort())
  try {
    process.exitCode = await exploreFlows(args, {
      out: text => process.stdout.write(text),
      error: text => process.stderr.write(text),
      isTerminal: process.stderr.isTTY === true,
      playing: watchdog.playing,
      signal: stop.signal,
      folder: process.cwd(),
    })
  } finally {
    watchdog.stop()
    ignoreSignals()
  }
  // Flows may have left timers or sockets, which would keep the process alive.
  await exitWhenWritten()
}

/** Reads a number of runs, or real time. What is neither is refused with the name of the flow. */
function readBudget(given: unknown): number | Duration | undefined {
  const budget = text('budget')(given)
  return budget !== undefined && /^\d+$/.test(budget) ? Number(budget) : (budget as Duration | undefined)
}
