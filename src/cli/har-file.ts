/** `replay FILE.har --record OUT`: plays a HAR file into a new world, and records that. */
import { readFileSync } from 'node:fs'
import { describeFileError } from '../lib/file-errors.ts'
import { shellQuote } from '../lib/quote.ts'
import { plural } from '../lib/text/format-count.ts'
import { recordSimulator } from '../simulator/history/record.ts'
import { parseHar, playHar } from '../simulator/history/replay/har.ts'
import { createSimulator } from '../simulator/simulator.ts'
import { UsageError } from './command.ts'
import { flag, text } from './values.ts'

export interface HarArguments {
  file: string
  record: string | undefined
  basePath: string | undefined
  fixtures: string | undefined
  profile: string | undefined
  seed: string | undefined
}

/** Returns the flags for a HAR file. */
export function harFlags() {
  return {
    record: {
      ...flag('record', 'Play a HAR file into a new world, and record it in this file'),
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
    seed: { ...flag('seed', 'With --record: the seed. Default: 1'), coerce: text('seed') },
  }
}

/** Rejects a HAR file without `--record`, and flags for a HAR file with a recording. */
export function requireNoHar(args: HarArguments): void {
  for (const [name, value] of [
    ['base-path', args.basePath],
    ['fixtures', args.fixtures],
    ['seed', args.seed],
  ]) {
    if (value === undefined) continue
    throw new UsageError(
      `Failed to read --${name}: it is for a HAR file that is played. Give --record, or leave it out.`,
    )
  }
  if (!isHar(args.file)) return
  throw new UsageError(
    `Failed to read the recording ${shellQuote(args.file)}: it is a HAR file. To play it, give --record and a new file.`,
  )
}

function isHar(file: string): boolean {
  try {
    return /^\s*\{\s*"log"\s*:/.test(readFileSync(file, 'utf8'))
  } catch {
    // Reading the recording says why.
    return false
  }
}

/** Plays a HAR file into a new world, which is recorded in the file `record`. */
export async function playHarFile(
  { file, basePath, fixtures, profile, seed }: HarArguments,
  record: string,
): Promise<void> {
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
