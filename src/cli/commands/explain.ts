/** `modelhost-sim explain`: says why a thing of a world is as it is, and what happens to it next. */

import type { Argv } from 'yargs'
import type { Micros } from '../../kernel/duration.ts'
import { escapeControls } from '../../lib/text/control-characters.ts'
import { loadTokenizer } from '../../service/openai/tokenizer.ts'
import { explain } from '../../simulator/explain/explain.ts'
import type { Explanation } from '../../simulator/explain/explanation.ts'
import { formatExplanation } from '../../simulator/explain/text.ts'
import { createSimulator } from '../../simulator/simulator.ts'
import { EXIT_CODES, UsageError } from '../command.ts'
import { scheduleCommands } from '../command-file.ts'
import { askServer, type ServerArguments, serverFlags } from '../server-client.ts'
import { argument, duration, outerFlags, seed, text, toggle } from '../values.ts'

export const command = 'explain <subject>'
export const example = 'explain h100-0'
export const describe =
  'Explain a thing or a request: what decided its state, its causes and effects, and what comes next'

export interface ExplainArguments extends ServerArguments {
  subject: string
  fixtures?: string | undefined
  profile?: string | undefined
  weather?: string | undefined
  seed?: string | undefined
  for?: Micros | undefined
  commands?: string | undefined
  json?: boolean | undefined
}

export function builder(argv: Argv): Argv<ExplainArguments> {
  return outerFlags(argv, flags())
    .positional('subject', {
      type: 'string',
      describe: 'An id, a name, a request as in "request 4", or a position in the journal',
    })
    .example('$0 explain "request 4"', 'the fourth request of a server on this machine')
    .example('$0 explain h100-0 --fixtures two-nodes --for 1d', 'a node of a fixture, after a day without clients')
    .epilogue(
      `The flags of a world have no environment variables, because those are for serve.\n${EXIT_CODES}`,
    ) as unknown as Argv<ExplainArguments>
}

function flags() {
  return {
    ...serverFlags(),
    fixtures: argument(
      'World in place of a server: default, empty, fleet, full, two-nodes, a folder, or a snapshot',
      text('fixtures'),
    ),
    profile: argument('Provider profile of that world: realistic, quick, rough, or a file', text('profile')),
    weather: argument(
      'Random failures in that world: none, rough, bad-week and so on. Default: that of the profile',
      text('weather'),
    ),
    seed: argument('Seed of that world', seed('seed')),
    for: argument('Time that passes in that world before the explanation: 24h, 7d', duration('for', '1d')),
    commands: argument('JSON file with scheduled commands of that world, as for simulate', text('commands')),
    json: toggle('json', 'Print one JSON object'),
  }
}

export async function handler(args: ExplainArguments): Promise<void> {
  const explanation = args.fixtures === undefined ? await fetchExplanation(args) : await explainFixture(args)
  process.stdout.write(
    args.json ? `${JSON.stringify(explanation, null, 2)}\n` : escapeControls(formatExplanation(explanation)),
  )
}

async function fetchExplanation({ subject, ...args }: ExplainArguments): Promise<Explanation> {
  for (const name of ['profile', 'weather', 'seed', 'for', 'commands'] as const) {
    if (args[name] === undefined) continue
    throw new UsageError(
      `Failed to explain '${subject}': --${name} needs --fixtures. Leave it out, or give --fixtures and a world.`,
    )
  }
  return askServer(args, `explain/${encodeURIComponent(subject)}`, 'an explanation', 'sentences')
}

/** Explains a thing of a fixture or a snapshot, after the time `for` without clients. */
async function explainFixture({ subject, fixtures, profile, weather, seed, commands, ...args }: ExplainArguments) {
  const sim = createSimulator({
    ...(fixtures !== undefined && { fixtures }),
    ...(profile !== undefined && { profile }),
    ...(weather !== undefined && { weather }),
    ...(seed !== undefined && { seed }),
  })
  if (commands !== undefined) scheduleCommands(sim, commands, args.for ?? 0)
  if (args.for !== undefined) await sim.clock.advanceInSlices(args.for / 1000)
  if (sim.world.needsTokenizer) await loadTokenizer()
  try {
    return explain(sim, subject)
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error
  }
}
