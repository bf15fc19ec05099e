/**
 * The ways to play, loaded when something is played: whoever only tells a scenario, as every script does that the
 * command line plays, need not wait for a second simulator.
 */
import type { Result, RunOptions } from './play/run-scenario.ts'
import type { FileResult, RunFilesOptions } from './runner/runner.ts'
import type { Scenario } from './scenario.ts'

/**
 * Plays a scenario in a world of its own, in this process or on a running server. What goes wrong, a world that cannot be
 * included, is the result's `failure`.
 *
 * @throws LoadError for a server that cannot be played on
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
 * @throws LoadError before anything is played, when a file is missing, can not be read or exports no scenario; without
 *   `onLoadError` for these two
 * @example
 * const results = await runFiles(['scenarios/money'])
 * expect(results.filter(result => !result.passed)).toEqual([])
 */
export async function runFiles(patterns: readonly string[], options: RunFilesOptions = {}): Promise<FileResult[]> {
  const playing = await import('./runner/runner.ts')
  return playing.runFiles(patterns, options)
}
