/** Prints the steps of scenarios without comparing their traces. */
import { dirname, relative } from 'node:path'
import { formatJsonValue } from '../../../lib/differences.ts'
import { formatVirtualTime } from '../play/failures.ts'
import { runScenario } from '../play/run-scenario.ts'
import type { RunFilesOptions } from './jobs.ts'
import { guardProcess, withStrayFailure } from './process-guard.ts'
import { loadFiles, withResolvedPaths } from './runner.ts'

/**
 * Plays scenarios in this process and prints their options and numbered steps with virtual times. Traces are neither
 * compared nor written. A failing step is the last.
 *
 * @returns the number of scenarios
 * @throws LoadError as `runFiles` does
 */
export async function dryRun(
  patterns: readonly string[],
  options: RunFilesOptions & { write(text: string): void },
): Promise<number> {
  const { folder = process.cwd(), seed, names, write } = options
  let count = 0
  for (const { file, scenarios } of await loadFiles(patterns, options)) {
    for (const scenario of scenarios) {
      count++
      write(`${scenario.title}  (${relative(folder, file)})\n`)
      for (const [name, value] of Object.entries(scenario.options)) write(`  ${name}: ${formatJsonValue(value)}\n`)
      let steps = 0
      const onStep = (step: string, at: number) => write(`  ${++steps}. ${formatVirtualTime(at)} ${step}\n`)
      const release = guardProcess()
      const result = await runScenario(withResolvedPaths(scenario, dirname(file)), { seed, names, file, onStep })
      const { failure } = withStrayFailure(result, file)
      release()
      if (failure) write(`  fails there: ${failure.message.replaceAll('\n', '\n  ')}\n`)
    }
  }
  return count
}
