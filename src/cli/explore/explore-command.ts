/** Explores the command after `--`, and returns the exit code. */

import { exploreCommand } from '../../explore/command/explore-command.ts'
import { UsageError } from '../command.ts'
import { requireWritable } from '../series-file.ts'
import { writeTextFile } from '../shards/text-file.ts'
import type { ExploreArguments, ExploreIo } from './explore-flows.ts'
import { KnownFindings } from './known.ts'
import { ProgressLine } from './progress-line.ts'
import { type ExploredFlow, formatFlow, formatFlowJson, formatFlowsJunit } from './report.ts'

/** Flags that need a flow which is a function, with the reason. */
const OTHER_FLAGS = {
  write: 'scenarios play flows that are functions',
  seeds: 'random plans need too many processes',
  out: 'random plans need too many processes',
  shard: 'random plans need too many processes',
} as const

/**
 * Runs the command and returns its exit code: 0 nothing new found, 1 findings, 3 incomplete.
 *
 * @throws an error with one line for a mistake in a flag, or a command that cannot be explored
 */
export async function exploreOtherCommand(args: ExploreArguments, io: ExploreIo): Promise<number> {
  const { otherCommand = [], flows, json = false, junit, findingCode = 1, processes, commandTimeout, seed } = args
  if (flows.length > 0) {
    throw new UsageError(
      `Failed to explore: '${flows[0]}' is a flow, and a command is explored alone. Leave one of them out.`,
    )
  }
  for (const [flag, reason] of Object.entries(OTHER_FLAGS)) {
    if (args[flag as keyof typeof args] !== undefined) {
      throw new UsageError(`Failed to explore: --${flag} is not for a command: ${reason}. Leave it out.`)
    }
  }
  if (junit !== undefined) requireWritable(junit, 'junit')
  const known = await KnownFindings.read(args.known, io.folder)
  const progress = new ProgressLine(io.error, io.isTerminal === true)
  const report = await exploreCommand(otherCommand, {
    ...{ budget: args.budget, faults: args.faults, signal: io.signal, cwd: io.folder },
    ...(args.fixtures !== undefined && { fixtures: args.fixtures }),
    ...(seed !== undefined && { seed }),
    ...(processes !== undefined && { processes }),
    ...(commandTimeout !== undefined && { timeout: commandTimeout / 1000 }),
    onProgress: done => progress.update(done),
  }).finally(() => progress.end())
  const explored: ExploredFlow = {
    ...{ report, findings: known.sort(report) },
    scenarioOf: () => undefined,
    fileOf: () => undefined,
  }
  io.out(json ? formatFlowJson(explored) : formatFlow(explored, known.file))
  if (junit !== undefined) writeTextFile(junit, formatFlowsJunit([explored]), 'junit')
  if (report.stoppedBecause === 'aborted') return 3
  return explored.findings.fresh.length > 0 ? findingCode : 0
}
