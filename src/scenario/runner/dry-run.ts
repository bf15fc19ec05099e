/** Prints what scenarios do, step by step, without holding them to anything but their own checks. */
import { dirname, relative } from 'node:path'
import { formatJsonValue } from '../check.ts'
import { formatVirtualTime } from '../play/failures.ts'
import { runScenario } from '../play/run-scenario.ts'
import { guardProcess, withStrayFailure } from './process-guard.ts'
import { loadFiles, type RunFilesOptions, withResolvedPaths } from './runner.ts'

/**
 * Plays scenarios in this process and prints each with its options and its steps, numbered, each with its virtual time.
 * Traces are neither compared nor written. A step that fails is the last.
 *
 * @returns how many scenarios there were
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
