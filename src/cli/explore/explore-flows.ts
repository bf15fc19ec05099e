/** Explores the flows of a command line, one after the other, and returns the exit code. */

import type { Duration } from '../../kernel/duration.ts'
import { commandFlow } from '../../workbench/explore/declare-flow.ts'
import type { ExploreDepth } from '../../workbench/explore/explore.ts'
import { explore, withOptions } from '../../workbench/explore/explore-flow.ts'
import { unlessStopped } from '../../workbench/explore/run/runner.ts'
import { parseSeedRange } from '../../workbench/explore/shards/seed-range.ts'
import { loadFlowFile } from '../../workbench/scenario/runner/load-flow.ts'
import { guardProcess } from '../../workbench/scenario/runner/process-guard.ts'
import { UsageError } from '../command.ts'
import { requireWritable, writeTextFile } from '../files/output-file.ts'
import { requirePageFile } from '../pages/page-file.ts'
import { readShardRequest, type ShardArguments, type ShardRequest } from '../shards/flags.ts'
import { playSharded, type ShardIo } from '../shards/play.ts'
import { hashOf } from '../shards/scenario-tests.ts'
import { writeFindingPage } from './finding-page.ts'
import { type FlowTest, flowTest } from './flow-tests.ts'
import { KnownFindings } from './known.ts'
import { ProgressLine } from './progress-line.ts'
import { type ExploredFlow, formatFlow, formatFlowJson, formatFlowsJunit } from './report.ts'
import {
  assertWritable,
  type ExploredClient,
  type ScenarioLanguage,
  scenarioText,
  writeScenarios,
} from './scenario-files.ts'

export interface ExploreArguments extends ShardArguments {
  flows: readonly string[]
  json?: boolean | undefined
  junit?: string | undefined
  budget?: number | Duration | undefined
  faults?: ExploreDepth | undefined
  seeds?: string | undefined
  fixtures?: string | undefined
  seed?: string | undefined
  known?: string | undefined
  write?: string | undefined
  html?: string | undefined
  writeAs?: ScenarioLanguage | undefined
  /** The command after `--`. */
  otherCommand?: readonly string[] | undefined
  processes?: number | undefined
  /** Microseconds. */
  commandTimeout?: number | undefined
  /** Microseconds. */
  loopLimit?: number | undefined
}

export interface ExploreIo extends ShardIo {
  /** Whether stderr is a terminal. */
  readonly isTerminal?: boolean
}

/**
 * Runs the command and returns its exit code: 0 nothing new found, 1 findings, 3 incomplete.
 *
 * @throws an error with one line for a mistake in a flag, a flow or a file
 */
export async function exploreFlows(args: ExploreArguments, io: ExploreIo): Promise<number> {
  const release = guardProcess()
  try {
    const range = args.seeds === undefined ? undefined : parseSeedRange(args.seeds, '--seeds')
    const request = readShardRequest(args, range, process.env)
    if (range !== undefined && request === undefined) {
      throw new UsageError('Failed to read --seeds: it needs a folder for the results. Give one, as in --out results.')
    }
    if (args.junit !== undefined) requireWritable(args.junit, 'junit')
    if (args.html !== undefined) requirePageFile(args.html)
    const known = await KnownFindings.read(args.known, io.folder)
    const flows = await loadAll(args, io.folder)
    requireUniqueNames(flows)
    return await (request === undefined ? exploreAll(flows, known, args, io) : runShard(flows, request, args, io))
  } finally {
    release()
  }
}

/** Loads the modules, or takes the command after `--`. */
async function loadAll(args: ExploreArguments, folder: string): Promise<ExploredClient[]> {
  const { flows, otherCommand, fixtures, seed, processes, commandTimeout } = args
  if (otherCommand !== undefined) {
    assertFlagsOfCommand(args)
    const timeout = commandTimeout === undefined ? undefined : commandTimeout / 1000
    const flow = commandFlow(otherCommand, { timeout, processes, cwd: folder })
    return [{ flow: withOptions(flow, { fixtures, seed }), file: undefined, world: { fixtures, seed } }]
  }
  if (flows.length === 0) {
    throw new UsageError(
      "Failed to run 'explore': the flows are missing. Give them, as in: modelhost-sim explore client.ts, or a command: modelhost-sim explore -- python3 client.py",
    )
  }
  const commandFlag = processes !== undefined ? 'processes' : commandTimeout && 'command-timeout'
  if (commandFlag) {
    throw new UsageError(`Failed to explore: --${commandFlag} is for a command, as in 'explore -- python3 client.py'.`)
  }
  const loaded: ExploredClient[] = []
  for (const path of flows) {
    const { flow, file } = await loadFlowFile(path, folder)
    loaded.push({ file, flow: withOptions(flow, { fixtures, seed }), world: { fixtures, seed } })
  }
  return loaded
}

/** Rejects modules and flags for them beside a command. */
function assertFlagsOfCommand({ flows, seeds, out, shard }: ExploreArguments): void {
  if (flows.length > 0) {
    throw new UsageError(
      `Failed to explore: '${flows[0]}' is a flow, and a command is explored alone. Leave one of them out.`,
    )
  }
  const [flag] = Object.entries({ seeds, out, shard }).find(([, value]) => value !== undefined) ?? []
  if (flag === undefined) return
  throw new UsageError(
    `Failed to explore: --${flag} is not for a command: random plans need too many processes. Leave it out.`,
  )
}

/** Names identify the flows in results and in known findings. */
function requireUniqueNames(flows: readonly ExploredClient[]): void {
  const names = flows.map(({ flow }) => flow.name)
  const double = names.find((name, i) => names.indexOf(name) < i)
  if (double === undefined) return
  throw new UsageError(`Failed to explore: two flows are named '${double}'. Declare them with flow(name, …).`)
}

async function exploreAll(
  flows: readonly ExploredClient[],
  known: KnownFindings,
  args: ExploreArguments,
  io: ExploreIo,
): Promise<number> {
  const { json = false, junit, html, budget, faults, write, writeAs: language = 'yaml', findingCode = 1 } = args
  assertWritable(flows, args)
  const explored: ExploredFlow[] = []
  let lacksPage = false
  for (const loaded of flows) {
    if (io.signal?.aborted) break
    io.playing?.(`the flow '${loaded.flow.name}'`)
    const progress = new ProgressLine(io.error, io.isTerminal === true)
    const report = await explore(loaded.flow, {
      ...{ budget, faults, signal: io.signal },
      onProgress: done => progress.update(done),
    }).finally(() => progress.end())
    const findings = known.sort(report)
    const files =
      write === undefined
        ? undefined
        : writeScenarios(loaded, findings.fresh, { folder: write, language, home: io.folder })
    const one: ExploredFlow = {
      ...{ report, findings },
      scenarioOf: finding => scenarioText(loaded, finding, io.folder),
      fileOf: ({ signature }) => files?.get(signature),
    }
    explored.push(one)
    const isFirst =
      findings.fresh.length > 0 && explored.every(other => other === one || other.findings.fresh.length === 0)
    if (html !== undefined && isFirst) {
      const written = await unlessStopped(writeFindingPage(html, loaded, one, io.signal).then(() => html))
      lacksPage = written === undefined
      io.error(lacksPage ? `No page: ${html} needs runs of the command, which were stopped.\n` : `Page: ${html}\n`)
    }
    if (!json && explored.length > 1) io.out('\n')
    io.out(json ? formatFlowJson(one) : formatFlow(one, known.file))
  }
  if (junit !== undefined) writeTextFile(junit, formatFlowsJunit(explored), 'junit')
  const isComplete =
    explored.length === flows.length && explored.every(({ report }) => report.stoppedBecause !== 'aborted')
  if (!isComplete || lacksPage) return 3
  return explored.some(({ findings }) => findings.fresh.length > 0) ? findingCode : 0
}

async function runShard(
  flows: readonly ExploredClient[],
  request: ShardRequest,
  { json, junit, html, budget, faults, write }: ExploreArguments,
  io: ExploreIo,
): Promise<number> {
  const flags = { json, junit, html, budget, faults, write }
  const [other] = Object.entries(flags).find(([, value]) => value !== undefined && value !== false) ?? []
  if (other !== undefined) {
    throw new UsageError(
      `Failed to explore: --out writes results for 'modelhost-sim merge', and excludes --${other}. Leave it out.`,
    )
  }
  const tests: FlowTest[] = []
  try {
    for (const { flow, file } of flows) {
      if (file !== undefined && !('command' in flow)) tests.push(await flowTest({ flow, file }, io.signal))
    }
    return await playSharded({ command: 'explore', tests, config: hashOf(['swarm']) }, request, io)
  } finally {
    for (const test of tests) await test.dispose()
  }
}
