/** Writes a recording as a test or a scenario, for `modelhost-sim replay --export`. */
import { existsSync } from 'node:fs'
import { basename, relative } from 'node:path'
import { shellQuote } from '../lib/quote.ts'
import { toScenario } from '../simulator/history/export/scenario.ts'
import { runFiles, tracePath } from '../workbench/scenario/runner/runner.ts'
import { UsageError } from './command.ts'
import { requireWritable, writeTextFile } from './files/output-file.ts'
import { ONLY_OWNER, readRecordingToEnd, withProjectEndpoints } from './recording-files.ts'

/** Kinds of files by the ends of their names. The first that fits counts. */
const KINDS = [
  [/\.test\.[mc]?ts$/, 'vitest'],
  [/\.ya?ml$/, 'yaml'],
  [/\.m?ts$/, 'typescript'],
] as const

/** Ends of files that have a trace. */
const SCENARIO_ENDS = ['.yaml', '.yml', '.json', '.ts', '.mts', '.js', '.mjs']

/**
 * Writes a recording as a test for vitest, or as a scenario with its trace. The end of the name decides.
 *
 * @param file the recording
 * @param test the file to write
 * @throws UsageError for a name of another kind, and for a file that exists or cannot be written
 */
export async function exportRecording(file: string, test: string, partial: boolean): Promise<void> {
  const name = basename(test)
  const [, kind] = KINDS.find(([pattern]) => pattern.test(name)) ?? []
  if (kind === undefined) {
    throw new UsageError(
      `Failed to export to '${test}': unknown kind of file. Give *.test.ts for vitest, or *.yaml or another *.ts for a scenario.`,
    )
  }
  requireWritable(test)
  if (existsSync(test)) {
    throw new UsageError(`Failed to export to '${test}': the file exists. Give the path of a new file.`)
  }
  if (kind !== 'vitest') requireOwnTrace(test)
  const recording = await withProjectEndpoints(readRecordingToEnd(file, partial))
  const title = `the recording ${basename(file)} plays as before`
  const source = toScenario(recording, { format: kind, name: title, what: shellQuote(file) })
  writeTextFile(test, `${source.trimEnd()}\n`, undefined, ONLY_OWNER)
  if (kind === 'vitest') process.stdout.write(`${test} is written.\n`)
  else await writeTrace(test)
}

/** Rejects a scenario whose trace would replace that of another scenario. */
function requireOwnTrace(path: string): void {
  const trace = tracePath(path)
  if (!existsSync(trace)) return
  const base = trace.slice(0, -'.trace'.length)
  const other = SCENARIO_ENDS.map(end => `${base}${end}`).find(one => existsSync(one))
  if (other === undefined) return
  throw new UsageError(
    `Failed to export to '${path}': ${basename(trace)} is the trace of ${basename(other)}. Give a file with another name.`,
  )
}

/** Plays a new scenario once, and writes its trace. */
async function writeTrace(path: string): Promise<void> {
  const [result] = await runFiles([path], { update: true, workers: 1 })
  if (result?.passed) {
    process.stdout.write(`${path} and its trace are written. Play it with: npx modelhost-sim run ${shellQuote(path)}\n`)
    return
  }
  process.stderr.write(
    `Failed to play ${shellQuote(path)}, which was written: ${result?.failure?.message ?? 'it has no result'}\n` +
      `See more with: npx modelhost-sim run ${shellQuote(relative(process.cwd(), path))}\n`,
  )
  process.exitCode = 1
}
