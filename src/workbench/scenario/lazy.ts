/**
 * Plays scenarios, and loads the simulator only then. A script that only declares a scenario loads faster.
 */
import type { Result, RunOptions } from './play/run-scenario.ts'
import type { FileResult, RunFilesOptions } from './runner/workers.ts'
import type { Scenario } from './scenario.ts'

/**
 * Plays a scenario in a world of its own. Any failure, also that of an invalid world, is the `failure` of the result.
 *
 * @example
 * const result = await runScenario(coldStart)
 * expect(result.failure).toBeUndefined()
 */
export async function runScenario(scenario: Scenario, options: RunOptions = {}): Promise<Result> {
  const playing = await import('./play/run-scenario.ts')
  return playing.runScenario(scenario, options)
}

/**
 * Plays the scenarios of files, folders and globs, and compares each trace with the one beside the script.
 *
 * @throws LoadError before the first scenario, if a file is missing, or, without `onLoadError`, is unreadable or exports no
 *   scenario
 * @example
 * const results = await runFiles(['scenarios/money'])
 * expect(results.filter(result => !result.passed)).toEqual([])
 */
export async function runFiles(patterns: readonly string[], options: RunFilesOptions = {}): Promise<FileResult[]> {
  const playing = await import('./runner/runner.ts')
  return playing.runFiles(patterns, options)
}
