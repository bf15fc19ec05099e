/** `modelhost-sim trace`: writes the trace of a recording, for Perfetto and Chrome. */
import type { Argv } from 'yargs'
import type { Entry } from '../../kernel/journal.ts'
import { shellQuote } from '../../lib/quote.ts'
import { replayRecording } from '../../simulator/history/replay/replay.ts'
import { listExchanges } from '../../simulator/history/timeline.ts'
import { EXIT_CODES } from '../command.ts'
import { requireWritable } from '../files/output-file.ts'
import { toChromeTrace } from '../formats/chrome-trace.ts'
import { partialFlag, readRecordingToEnd, writeOutput } from '../recording-files.ts'
import { flag, requireKnownVariables, text } from '../values.ts'

export const command = 'trace <file>'
export const example = 'trace run.ndjson --out run.trace.json'
export const describe = 'Write a recording as a trace for Perfetto: deployments, instances, batches, requests, faults'

interface Arguments {
  file: string
  out: string | undefined
  partial: boolean
}

export function builder(argv: Argv): Argv<Arguments> {
  const options = {
    out: { ...flag('out', 'The file to write. Default: stdout'), coerce: text('out') },
    ...partialFlag(),
  }
  return argv
    .positional('file', { type: 'string', describe: 'A file of serve --record or sim.record()' })
    .options(options)
    .middleware(() => requireKnownVariables(Object.keys(options)))
    .example('$0 trace run.ndjson --out run.trace.json', 'open the file at ui.perfetto.dev')
    .epilogue(EXIT_CODES) as unknown as Argv<Arguments>
}

export async function handler({ file, out, partial }: Arguments): Promise<void> {
  if (out !== undefined) requireWritable(out, 'out')
  const recording = readRecordingToEnd(file, partial)
  const entries: Entry[] = []
  const { divergence } = await replayRecording(recording, shellQuote(file), sim => {
    entries.push(...sim.journal.entries())
    sim.journal.listen(entry => entries.push(entry))
  })
  if (divergence !== undefined) {
    process.stderr.write(`${file}: its replay differs at line ${divergence.line}. The trace ends there.\n`)
    process.exitCode = 1
  }
  const end = recording.lines.at(-1)?.at[0] ?? recording.header.at[0]
  writeOutput(out, JSON.stringify(toChromeTrace(listExchanges(recording.lines), entries, end)))
}
