/** `modelhost-sim run`: plays scenarios and holds them to their traces. */
import type { Argv } from 'yargs'
import { monotonicMs } from '../kernel/pacer.ts'
import { LoadError } from '../scenario/files.ts'
import { REPORTERS, type ReporterName, reporter } from '../scenario/reporters.ts'
import { type FileResult, runFiles } from '../scenario/runner.ts'
import { EXIT_CODES } from './command.ts'
import { text, word } from './values.ts'

export const command = 'run [scenarios..]'
export const describe = 'Play scenarios and compare what happens with their traces'

export interface RunArguments {
  scenarios?: readonly string[] | undefined
  update?: boolean | undefined
  seed?: string | undefined
  reporter?: ReporterName | undefined
  filter?: string | undefined
  bail?: boolean | undefined
  check?: boolean | undefined
}

export function builder(argv: Argv): Argv<RunArguments> {
  return argv
    .positional('scenarios', {
      type: 'string',
      array: true,
      default: ['scenarios'],
      describe: 'Files, folders or globs of scenarios',
    })
    .options({
      update: { type: 'boolean', default: false, describe: 'Write the traces instead of comparing with them' },
      seed: {
        type: 'string',
        requiresArg: true,
        coerce: text('seed'),
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
      bail: { type: 'boolean', default: false, describe: 'Stop at the first failure' },
      check: { type: 'boolean', default: false, describe: 'Hold every world to its laws after every event' },
    })
    .example('$0 run scenarios', 'every scenario of a folder')
    .example('$0 run scenarios/cold-start.ts --update', 'write its trace anew')
    .epilogue(EXIT_CODES) as unknown as Argv<RunArguments>
}

export async function handler(args: RunArguments): Promise<void> {
  process.exitCode = await run(args, {
    out: text => process.stdout.write(text),
    error: text => process.stderr.write(text),
    color: process.stdout.isTTY === true && process.env.NO_COLOR === undefined,
  })
}

export interface RunDoors {
  out(text: string): void
  error(text: string): void
  readonly color?: boolean
  readonly folder?: string
}

/** Does what the command does and returns its exit code: 0 passed, 1 failed, 2 could not run. */
export async function run(args: RunArguments, doors: RunDoors): Promise<0 | 1 | 2> {
  const began = monotonicMs()
  const { scenarios = ['scenarios'], update, seed, filter, bail, check } = args
  const told = reporter(args.reporter ?? 'pretty', { write: doors.out, color: doors.color, folder: doors.folder })
  if (update && seed !== undefined) {
    doors.error(
      'Failed to run scenarios: --update writes the traces of their own seeds, and --seed names another. Give one of the two.\n',
    )
    return 2
  }
  // The line of the script is often far up: awaits and the client's own steps stand before it.
  Error.stackTraceLimit = 50
  let results: FileResult[]
  let broken = 0
  const onLoadError = (error: LoadError) => {
    broken++
    doors.error(`${error.message}\n`)
  }
  try {
    results = await runFiles(scenarios, {
      update,
      seed,
      filter,
      bail,
      check,
      folder: doors.folder,
      ...(!bail && { onLoadError }),
      onResult: result => told.result(result),
    })
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    doors.error(`${error.message}\n`)
    return 2
  }
  if (results.length === 0 && broken > 0) return 2
  if (results.length === 0) {
    doors.error(`Failed to run scenarios: none matches '${filter ?? ''}' in title, file or tags. Try a shorter word.\n`)
    return 2
  }
  told.end(results, monotonicMs() - began)
  if (broken > 0) return 2
  return results.every(({ passed }) => passed) ? 0 : 1
}
