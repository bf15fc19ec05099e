/**
 * `modelhost-sim replay`: replays a recording, and compares each answer; with a change, it prints the consequences. With
 * `--export`, it writes the recording as a test or a scenario.
 */
import { readFileSync, statSync } from 'node:fs'
import { describeFileError } from '../../lib/errors.ts'
import { given } from '../../lib/fields.ts'
import { shellQuote } from '../../lib/quote.ts'
import { plural } from '../../lib/text/numbers.ts'
import { escapeControls } from '../../lib/text/words.ts'
import type { ParsedRecording } from '../../simulator/history/file.ts'
import { readRecording } from '../../simulator/history/read-recording.ts'
import { recordSimulator } from '../../simulator/history/record.ts'
import { type ChangedReplay, replayChanged } from '../../simulator/history/replay/changed-replay.ts'
import type { Consequence } from '../../simulator/history/replay/consequences.ts'
import { parseHar, playHar } from '../../simulator/history/replay/har.ts'
import { type ReplayResult, replayRecording } from '../../simulator/history/replay/perform-lines.ts'
import { createSimulator } from '../../simulator/simulator.ts'
import { PROCESS_IO, UsageError } from '../command.ts'
import { exportRecording } from '../export-recording.ts'
import { type ArgumentsOf, flag, output } from '../flags.ts'
import { progressOnTerminal } from '../progress.ts'
import {
  endpointsAdvice,
  endpointsFile,
  partial,
  readRecordingToEnd,
  withProjectEndpoints,
} from '../recording-files.ts'

export const command = 'replay <file>'
export const example = 'replay run.ndjson'
export const describe = 'Replay a recording and compare each answer byte by byte, or write it as a test or a scenario'

export const flags = {
  without: flag('Leave out a part: fault:3, the third fault; command:2 or request:5'),
  set: flag('Replace the value of a field in each request that has it, as in "min_instances=2"'),
  profile: flag('Another profile: realistic, quick, rough, or a file. With --record: that of the new world'),
  weather: flag('Weather in place of the recorded one, or none'),
  export: output(
    'Write the recording to this file: *.test.ts for vitest, *.yaml or another *.ts for a scenario with its trace',
  ),
  partial,
  config: endpointsFile,
  record: output('Play a HAR file into a new world, and record it in this file'),
  'base-path': flag('With --record: the path before that of the service, as in /api'),
  fixtures: flag('With --record: the world at the start. Default: default'),
  names: flag('With --record: a file with the names of your provider'),
  seed: flag('With --record: the seed. Default: 1'),
}
export const positional = {
  file: { type: 'string', describe: 'A file of serve --record or sim.record(), or with --record a HAR file' },
} as const
export const examples = [
  ['$0 replay run.ndjson', 'the same requests in a new world'],
  ['$0 replay run.ndjson --without fault:1', 'without the first fault: what differs then'],
  ['$0 replay run.ndjson --export run.test.ts', 'a test for vitest'],
  ['$0 replay browser.har --record run.ndjson', 'the requests of a browser, in a new world'],
]
export const epilogue = 'Exit codes: 0 the same, 1 diverged, 2 could not run, 130 and 143 on signals.'

type Arguments = ArgumentsOf<typeof flags> & { file: string }

export async function handler(args: Arguments): Promise<void> {
  requireFittingFlags(args)
  if (args.record !== undefined) return playHarFile(args, args.record)
  const { file, partial, without, set, profile, weather } = args
  const isChanged = [without, set, profile, weather].some(change => change !== undefined)
  let recording: ParsedRecording
  try {
    if (args.export !== undefined) return await exportRecording(file, args.export, partial)
    const read = isChanged ? readRecordingToEnd(file, partial) : readRecording(file)
    recording = await withProjectEndpoints(read, args.config)
  } catch (error) {
    if (!isHar(file)) throw error
    throw new UsageError(
      `Failed to read the recording ${shellQuote(file)}: it is a HAR file. To play it, give --record and a new file.`,
    )
  }
  const progress = progressOnTerminal(PROCESS_IO)
  const total = recording.lines.length
  const result: ChangedReplay = isChanged
    ? await replayChanged(recording, shellQuote(file), { without, set, profile, weather })
    : await replayRecording(recording, shellQuote(file), {
        onLine: done => progress?.update(`${done} of ${total} lines replayed`, done, total),
      }).finally(() => progress?.clear())
  if (result.consequences !== undefined) {
    process.stdout.write(escapeControls(formatConsequences(result.consequences)))
    return
  }
  const isUnfinished = result.divergence === undefined && result.cut !== undefined && !partial
  process.stdout.write(formatResult(isChanged ? `${file}, without the change` : file, result, partial))
  if (result.divergence !== undefined) process.exitCode = 1
  else if (isUnfinished) {
    process.stderr.write(
      `Failed to replay ${shellQuote(file)} to its end: ${result.cut}. To accept it, give --partial.\n`,
    )
    process.exitCode = 2
  }
}

function formatResult(file: string, { requests, divergence, cut }: ReplayResult, partial: boolean): string {
  const count = plural(requests, 'request')
  if (divergence === undefined) {
    if (requests === 0) return `${file}: it has no request whose answer could be compared.\n`
    if (cut === undefined) return `${file}: ${count} replayed, every answer is the same.\n`
    // Without --partial, an error on stderr says why.
    return `${file}: ${count} replayed, every answer ${partial ? `is the same, and ${cut}` : 'so far is the same'}.\n`
  }
  const { line, at, subject, recorded, replayed, before } = divergence
  const earlier = before.length === 0 ? ['nothing'] : before
  return [
    `${file}: line ${line} differs: ${subject}, at ${at}, after ${count}.`,
    `  recorded: ${recorded}`,
    `  replayed: ${replayed}`,
    '  before it:',
    ...earlier.map(entry => `    ${entry}`),
    ...endpointsAdvice(divergence),
    '',
  ].join('\n')
}

function formatConsequences(consequences: readonly Consequence[]): string {
  if (consequences.length === 0) return 'No consequences.\n'
  const rows = consequences.map(({ kind, subject, before, after }) => [kind, subject, before, after])
  return [['What', 'Of', 'Recorded', 'Changed'], ['---', '---', '---', '---'], ...rows]
    .map(row => `${tableRow(row)}\n`)
    .join('')
}

/** Rejects flags that the given use of the file does not read. */
function requireFittingFlags(args: Arguments): void {
  const { record, without, set, profile, weather, config, basePath, fixtures, names, seed } = args
  const ofHar = { 'base-path': basePath, fixtures, names, seed }
  const ofChange = { without, set, weather }
  const partial = args.partial || undefined
  const [unread, reason] =
    record !== undefined
      ? [{ ...ofChange, partial, export: args.export }, 'it is for a recording. Leave it out, or leave out --record']
      : args.export !== undefined
        ? [{ ...ofHar, ...ofChange, profile, config }, 'an export changes nothing. Leave it out, or leave out --export']
        : [ofHar, 'it is for a HAR file that is played. Give --record, or leave it out']
  const [name] = Object.entries(unread).find(([, value]) => value !== undefined) ?? []
  if (name !== undefined) throw new UsageError(`Failed to read --${name}: ${reason}.`)
}

function isHar(file: string): boolean {
  return (
    statSync(file, { throwIfNoEntry: false })?.isFile() === true &&
    /^\s*\{\s*"log"\s*:/.test(readFileSync(file, 'utf8'))
  )
}

/** Plays a HAR file into a new world, which is recorded in the file `record`. */
async function playHarFile(args: Arguments, record: string): Promise<void> {
  const { file, basePath, fixtures, profile, names, seed, config } = args
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
  // Loaded on demand: a replay reads its endpoints later.
  const { readEndpoints } = await import('../read-config.ts')
  const sim = createSimulator({ ...given({ fixtures, profile, names, seed }), ...(await readEndpoints(config)) })
  const recording = recordSimulator(sim, { file: record })
  const { requests, leftOut, unsendable, differing } = await playHar(sim, har, basePath)
  recording.stop()
  await sim[Symbol.asyncDispose]()
  process.stdout.write(`${file}: ${plural(requests, 'request')} played, recorded in ${record}.\n`)
  if (leftOut > 0) {
    const why = basePath === undefined ? 'below /_sim' : `outside of ${basePath}, or below ${basePath}/_sim`
    process.stdout.write(`  ${plural(leftOut, 'request')} left out: ${why}\n`)
  }
  for (const reason of unsendable) process.stdout.write(escapeControls(`  ${reason}\n`))
  for (const [difference, times] of differing) {
    process.stdout.write(`  ${difference}${times > 1 ? `, ${times} times` : ''}\n`)
  }
}

/** Returns a row of a Markdown table, with pipes escaped. */
export function tableRow(cells: readonly string[]): string {
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
}
