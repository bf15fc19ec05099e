/** `modelhost-sim what-if`: plays a recording with one thing changed, and prints the consequences. */
import type { Argv } from 'yargs'
import { shellQuote } from '../../lib/quote.ts'
import type { Consequence } from '../../simulator/history/what-if/consequences.ts'
import { whatIf } from '../../simulator/history/what-if/what-if.ts'
import { EXIT_CODES, UsageError } from '../command.ts'
import { tableRow } from '../markdown.ts'
import { partialFlag, readRecordingToEnd } from '../recording-files.ts'
import { flag, requireKnownVariables, text, toggle } from '../values.ts'

export const command = 'what-if <file>'
export const example = 'what-if run.ndjson --without fault:1'
export const describe = 'Play a recording with one thing changed, and print the consequences and nothing else'

interface Arguments {
  file: string
  without: string | undefined
  with: string | undefined
  set: string | undefined
  profile: string | undefined
  weather: string | undefined
  seed: string | undefined
  partial: boolean
  json: boolean
}

const CHANGES = ['without', 'with', 'set', 'profile', 'weather', 'seed'] as const

export function builder(argv: Argv): Argv<Arguments> {
  const options = {
    without: {
      ...flag('without', 'A part that is left out: fault:3, the third fault; fault:NAME, command:2 or request:5'),
      coerce: text('without'),
    },
    with: {
      ...flag('with', 'A further command or fault, at a time after the start, as in "at 2h: node h100-0 crash"'),
      coerce: text('with'),
    },
    set: {
      ...flag('set', 'Another value of a field, in each request that has it, as in "min_instances=2"'),
      coerce: text('set'),
    },
    profile: { ...flag('profile', 'Another profile: realistic, quick, rough, or a file'), coerce: text('profile') },
    weather: { ...flag('weather', 'Another weather, or none'), coerce: text('weather') },
    seed: { ...flag('seed', 'Another seed'), coerce: text('seed') },
    ...partialFlag(),
    json: toggle('json', 'Print one JSON array'),
  }
  return argv
    .positional('file', { type: 'string', describe: 'A file of serve --record or sim.record()' })
    .options(options)
    .middleware(() => requireKnownVariables(Object.keys(options)))
    .example('$0 what-if run.ndjson --without fault:1', 'what came of the first fault')
    .example('$0 what-if run.ndjson --with "at 2h: node h100-0 crash"', 'if a node had crashed')
    .epilogue(EXIT_CODES) as unknown as Argv<Arguments>
}

export async function handler(args: Arguments): Promise<void> {
  const given = CHANGES.filter(name => args[name] !== undefined)
  if (given.length !== 1) {
    const found =
      given.length === 0 ? 'the change is missing' : `${given.map(name => `--${name}`).join(' and ')} are given`
    throw new UsageError(`Failed to ask what if: ${found}. Give one of ${CHANGES.map(name => `--${name}`).join(', ')}.`)
  }
  const { file, partial, profile, weather, seed } = args
  const recording = readRecordingToEnd(file, partial)
  const spec = { without: args.without, with: args.with, set: args.set, options: { profile, weather, seed } }
  const consequences = await whatIf(recording, shellQuote(file), spec)
  process.stdout.write(args.json ? `${JSON.stringify(consequences, null, 2)}\n` : formatTable(consequences))
}

function formatTable(consequences: readonly Consequence[]): string {
  if (consequences.length === 0) return 'No consequences.\n'
  const rows = consequences.map(({ kind, subject, before, after }) => [kind, subject, before, after])
  return [['What', 'Of', 'Recorded', 'Changed'], ['---', '---', '---', '---'], ...rows]
    .map(row => `${tableRow(row)}\n`)
    .join('')
}
