/** `modelhost-sim har`: writes a recording as HAR 1.2, or plays a HAR file into a new world and records that. */
import { readFileSync } from 'node:fs'
import type { Argv } from 'yargs'
import { describeFileError } from '../../lib/file-errors.ts'
import { shellQuote } from '../../lib/quote.ts'
import { plural } from '../../lib/text/format-count.ts'
import { createRecordedSimulator } from '../../simulator/history/header.ts'
import { recordSimulator } from '../../simulator/history/record.ts'
import { listExchanges } from '../../simulator/history/timeline.ts'
import { createSimulator } from '../../simulator/simulator.ts'
import { EXIT_CODES, UsageError } from '../command.ts'
import { requireWritable } from '../files/output-file.ts'
import { parseHar, playHar } from '../formats/har-in.ts'
import { toHar } from '../formats/har-out.ts'
import { partialFlag, readRecordingToEnd, writeOutput } from '../recording-files.ts'
import { flag, requireKnownVariables, text } from '../values.ts'

export const command = 'har <file>'
export const example = 'har run.ndjson --out run.har'
export const describe = 'Write a recording as HAR 1.2, or play a HAR file into a new world with --record'

interface Arguments {
  file: string
  out: string | undefined
  record: string | undefined
  basePath: string | undefined
  fixtures: string | undefined
  profile: string | undefined
  seed: string | undefined
  partial: boolean
}

export function builder(argv: Argv): Argv<Arguments> {
  const options = {
    out: { ...flag('out', 'The HAR file to write. Default: stdout'), coerce: text('out') },
    record: {
      ...flag('record', 'Play the HAR file into a new world, and record it in this file'),
      coerce: text('record'),
    },
    'base-path': {
      ...flag('base-path', 'With --record: the path before that of the service, as in /api'),
      coerce: text('base-path'),
    },
    fixtures: {
      ...flag('fixtures', 'With --record: the world at the start. Default: default'),
      coerce: text('fixtures'),
    },
    profile: { ...flag('profile', 'With --record: the profile. Default: realistic'), coerce: text('profile') },
    seed: { ...flag('seed', 'With --record: the seed. Default: 1'), coerce: text('seed') },
    ...partialFlag(),
  }
  return argv
    .positional('file', { type: 'string', describe: 'A recording, or with --record a HAR file' })
    .options(options)
    .middleware(() => requireKnownVariables(Object.keys(options)))
    .example('$0 har run.ndjson --out run.har', 'for the network panel of a browser')
    .example('$0 har browser.har --record run.ndjson', 'the requests of a browser, in a new world')
    .epilogue(EXIT_CODES) as unknown as Argv<Arguments>
}

export async function handler(args: Arguments): Promise<void> {
  if (args.record !== undefined) return playFile(args, args.record)
  for (const name of ['basePath', 'fixtures', 'profile', 'seed'] as const) {
    if (args[name] === undefined) continue
    const flagName = name === 'basePath' ? 'base-path' : name
    throw new UsageError(
      `Failed to read --${flagName}: it is for a HAR file that is played. Give --record, or leave it out.`,
    )
  }
  if (isHar(args.file)) {
    throw new UsageError(
      `Failed to read the recording ${shellQuote(args.file)}: it is a HAR file. To play it, give --record and a new file.`,
    )
  }
  if (args.out !== undefined) requireWritable(args.out, 'out')
  const { header, lines } = readRecordingToEnd(args.file, args.partial)
  const sim = createRecordedSimulator(header, shellQuote(args.file))
  writeOutput(args.out, JSON.stringify(toHar(listExchanges(lines), sim.world.clock.epochMs, 'http://sim'), null, 2))
  await sim[Symbol.asyncDispose]()
}

function isHar(file: string): boolean {
  try {
    return /^\s*\{\s*"log"\s*:/.test(readFileSync(file, 'utf8'))
  } catch {
    // Reading the recording says why.
    return false
  }
}

async function playFile({ file, basePath, fixtures, profile, seed }: Arguments, record: string): Promise<void> {
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`Failed to read the HAR file '${file}': ${describeFileError(error)}. Give a HAR file.`)
  }
  const har = parseHar(content, shellQuote(file))
  if (basePath !== undefined && !/^(\/[^/?#]+)+$/.test(basePath)) {
    throw new UsageError(`Failed to read --base-path '${basePath}': it is not a path. Give it as in --base-path /api.`)
  }
  const sim = createSimulator({
    ...(fixtures !== undefined && { fixtures }),
    ...(profile !== undefined && { profile }),
    ...(seed !== undefined && { seed }),
  })
  const recording = recordSimulator(sim, { file: record })
  const { requests, leftOut, differing } = await playHar(sim, har, basePath)
  recording.stop()
  await sim[Symbol.asyncDispose]()
  process.stdout.write(`${file}: ${plural(requests, 'request')} played, recorded in ${record}.\n`)
  if (leftOut > 0) {
    const why = basePath === undefined ? 'below /_sim' : `outside of ${basePath}, or below ${basePath}/_sim`
    process.stdout.write(`  ${plural(leftOut, 'request')} left out: ${why}\n`)
  }
  for (const { request, recorded, played } of differing) {
    process.stdout.write(`  ${request}: ${recorded} in the file, ${played} here\n`)
  }
}
