/** Explores a command from its arguments to a report in words. */

import type { ExploreOptions } from '../explore.ts'
import { exploreWith, type FlowReport } from '../explore-flow.ts'
import { type CommandRunnerOptions, createCommandRunner } from './command-runner.ts'

export interface ExploreCommandOptions
  extends CommandRunnerOptions,
    Pick<ExploreOptions, 'budget' | 'classes' | 'exhaustive' | 'signal' | 'onProgress'> {
  /** The last stage. Default: singles, because each run is a process. */
  readonly faults?: ExploreOptions['faults']
}

/**
 * Looks for what breaks a command: runs it without faults and with each single fault.
 *
 * @param argv the command and its arguments
 * @throws UnusableCommand for a command that cannot be explored, RangeError for an invalid option
 * @throws ExploreError for a command that is not repeatable, or fails without a fault
 */
export function exploreCommand(argv: readonly string[], options: ExploreCommandOptions = {}): Promise<FlowReport> {
  const { budget, faults = 'singles', classes, exhaustive, signal, onProgress } = options
  const runner = createCommandRunner(argv, options)
  return exploreWith(runner, argv.join(' '), { budget, faults, classes, exhaustive, signal, onProgress })
}
