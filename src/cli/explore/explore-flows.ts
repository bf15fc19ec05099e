/** Explores the flows of a command line, one after the other, and returns the exit code. */

import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Duration } from '../../kernel/duration.ts'
import { given } from '../../lib/fields.ts'
import { shellQuote } from '../../lib/quote.ts'
import { monotonicMs } from '../../lib/real-time.ts'
import { plural } from '../../lib/text/numbers.ts'
import { hideSecrets } from '../../lib/text/secrets.ts'
import type { SavedWorld } from '../../server/saved-page/content.ts'
import { recordSimulator } from '../../simulator/history/record.ts'
import { commandFlow } from '../../workbench/explore/declare-flow.ts'
import { EXPLORE_DEPTHS, prepare } from '../../workbench/explore/explore.ts'
import { explore, withOptions } from '../../workbench/explore/explore-flow.ts'
import type { CommandFlow } from '../../workbench/explore/flow.ts'
import { checkOwnFaults } from '../../workbench/explore/plan/own-faults.ts'
import type { Plan } from '../../workbench/explore/plan/plan.ts'
import { createRunner } from '../../workbench/explore/run/create-runner.ts'
import { createFlowRunner } from '../../workbench/explore/run/flow-runner.ts'
import { type FlowRunner, type RunOptions, RunStopped, unlessStopped } from '../../workbench/explore/run/runner.ts'
import type { RunnableTest, SeedOutcome } from '../../workbench/explore/shards/play-shard.ts'
import type { SeedFinding } from '../../workbench/explore/shards/results.ts'
import { parseSeedRange } from '../../workbench/explore/shards/shard.ts'
import { type ShrinkOptions, shrink } from '../../workbench/explore/shrink/shrink.ts'
import type { ExploreProgress } from '../../workbench/explore/stages/exploration.ts'
import { surfaceReasonOf } from '../../workbench/explore/stages/findings.ts'
import { runSeed } from '../../workbench/explore/stages/swarm.ts'
import { guardProcess } from '../../workbench/scenario/runner/guards.ts'
import { type LoadedFlow, loadFlowFile } from '../../workbench/scenario/runner/load-flow.ts'
import { UsageError } from '../command.ts'
import { requireWritable, writeTextFile } from '../files/output-file.ts'
import { type ArgumentsOf, flag, fromOutside, output, toggle } from '../flags.ts'
import { requirePageFile, writePageFile } from '../pages/page-file.ts'
import { Progress } from '../progress.ts'
import { hashOf, playSharded, readShardRequest, SHARD_FLAGS, type ShardIo, type ShardRequest } from '../shards/play.ts'
import { duration, filledText, integer, seed, word } from '../values.ts'
import { KNOWN_FLAG, KnownFindings } from './known.ts'
import { countUntried, type ExploredFlow, formatFlow, formatFlowJson, formatFlowsJunit, percent } from './report.ts'
import {
  assertWritable,
  type ExploredClient,
  playLine,
  SCENARIO_LANGUAGES,
  scenarioText,
  writeScenarios,
} from './scenario-files.ts'

/** Findings in one page. Each has a world, and a reader compares few. */
const MAX_FINDINGS = 8

/**
 * Runs the client again under the plan of each finding and without faults, and writes the page of these runs.
 *
 * @throws RunStopped if the signal ends a run of a command
 */
async function writeFindingPage(
  file: string,
  { flow }: ExploredClient,
  explored: ExploredFlow,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { fresh } = explored.findings
  const [first] = fresh
  if (first === undefined) return
  const runner = await createRunner(flow, signal)
  try {
    const worlds: SavedWorld[] = []
    for (const { plan, words, shrunk, inputs } of fresh.slice(0, MAX_FINDINGS)) {
      const setting = { world: shrunk?.world, inputs }
      worlds.push(await recordRun(runner, plan, setting, `the run in which ${words}`))
      // Beside the first finding: the same world and the same inputs.
      if (worlds.length === 1) worlds.push(await recordRun(runner, [], setting, 'the run without faults'))
    }
    await writePageFile(file, {
      title: `${flow.name}: ${first.signature}`,
      worlds,
      start: { view: 'report', flow: flow.name, finding: first.signature },
      explored: formatFlowJson(explored),
    })
  } finally {
    await runner.dispose()
  }
}

async function recordRun(runner: FlowRunner, plan: Plan, options: RunOptions, title: string): Promise<SavedWorld> {
  let recording: ReturnType<typeof recordSimulator> | undefined
  await runner.run(plan, {
    ...options,
    onWorld: sim => {
      recording = recordSimulator(sim)
    },
  })
  recording!.stop()
  return { title, recording: recording!.text }
}

function formatProgress({ flow, stage, runs, findings, newest, points, chanceOfNew }: ExploreProgress): string {
  const found = `${plural(findings, 'finding')}${newest === undefined ? '' : ` (${newest.signature})`}`
  // Systematic runs say nothing about the chance of random ones.
  const isRandom = stage === 'pairs' || stage === 'swarm'
  const planned = isRandom ? '' : ` for ${plural(points, 'single fault')}`
  const chance = isRandom ? `, chance of something new ${percent(chanceOfNew)}` : ''
  return `${flow}: ${stage}, ${plural(runs, 'run')}${planned}, ${found}${chance}`
}

/** Says how many runs a command has at least, and how long they take if each takes as long as the second one. */
function formatPlanOfCommand(points: number, [first = 0, second = 0]: readonly number[], flow: CommandFlow): string {
  const { processes = availableParallelism() } = flow
  const seconds = (second - first) / 1000
  const all = Math.ceil((points * seconds) / processes)
  return `At least ${plural(points, 'run')} of ${seconds.toFixed(1)} s, ${processes} at once: about ${all} s. Each finding adds some, and so do answers that never come.`
}

export const EXPLORE_FLAGS = {
  json: toggle('Print one JSON object a line, one for each flow'),
  junit: output('Also write the findings to this file, in the format of JUnit'),
  budget: flag(
    'Maximum number of runs that look for findings, or real time as in 60s. The runs that shrink and explain a finding come on top. Default: that of the flow, or 2000',
    readBudget,
  ),
  faults: flag(`The last stage: ${EXPLORE_DEPTHS.join(', ')}. Default: swarm`, word(EXPLORE_DEPTHS)),
  require: flag('recovers: a client that gives up under a temporary fault is a finding', word(['recovers'])),
  fixtures: flag('Fixture of the world, in place of that of the flow'),
  seed: flag('Seed of the world, in place of that of the flow', seed),
  known: KNOWN_FLAG,
  write: flag('Write a scenario for each new finding to this folder'),
  html: output(
    'Write a page that runs again: the run without faults, and the new findings of the first flow with a new finding',
  ),
  'write-as': flag(
    `With --write: the language, ${SCENARIO_LANGUAGES.join(' or ')}. Default: yaml`,
    word(SCENARIO_LANGUAGES),
  ),
  seeds: flag('With --out: run only random plans, one for each seed, as in 1..1000'),
  processes: flag(
    'With a command: processes at once. Default: the processors of the machine',
    integer({ min: 1, max: 256 }, 4),
  ),
  'command-timeout': flag(
    'With a command: real time after which a run is ended with its process. Default: 60s',
    duration('60s'),
  ),
  ...SHARD_FLAGS,
  'loop-limit': flag(
    'Real time after which a flow that never yields ends the command with exit code 137',
    duration('1m'),
    // Far longer than any step of a simulation blocks the process.
    '1m',
  ),
}

/** Reads a number of runs, or real time. What is neither is refused with the name of the flow. */
function readBudget(given: unknown, flag: string): number | Duration {
  const budget = filledText(given, flag)
  return /^\d+$/.test(budget) ? Number(budget) : (budget as Duration)
}

export type ExploreArguments = Partial<ArgumentsOf<typeof EXPLORE_FLAGS>> & {
  readonly flows: readonly string[]
  /** The command after `--`. */
  readonly otherCommand?: readonly string[] | undefined
}

/**
 * Runs the command and returns its exit code: 0 nothing new found, 1 findings, 3 incomplete.
 *
 * @throws an error with one line for a mistake in a flag, a flow or a file
 */
export async function exploreFlows(args: ExploreArguments, io: ShardIo): Promise<number> {
  const release = guardProcess()
  try {
    const range = args.seeds === undefined ? undefined : parseSeedRange(args.seeds, '--seeds')
    const { json, junit, html, budget, faults, write } = args
    const request = readShardRequest(args, range, { json, junit, html, budget, faults, write })
    if (range !== undefined && request === undefined) {
      throw new UsageError('Failed to read --seeds: it needs a folder for the results. Give one, as in --out results.')
    }
    if (args.junit !== undefined) requireWritable(args.junit, 'junit')
    if (args.html !== undefined) requirePageFile(args.html)
    const known = await KnownFindings.read(args.known, io.folder)
    const flows = await loadAll(args, io.folder)
    requireUniqueNames(flows)
    return await (request === undefined ? exploreAll(flows, known, args, io) : runShard(flows, request, io))
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
    // Loaded on demand: flows declare their endpoints.
    const { readEndpoints } = await import('../read-config.ts')
    const options = await readEndpoints()
    const flow = commandFlow(otherCommand, { options, timeout, processes, cwd: folder })
    const world = { fixtures, seed }
    return [{ flow: withOptions(flow, world), file: undefined, world, notes: notesOfWorld(world) }]
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

/** Says which world a command had, if the configuration that has its endpoints names another one. */
function notesOfWorld(world: Pick<ExploreArguments, 'fixtures' | 'seed'>): string[] {
  const flags = (['fixtures', 'seed'] as const).flatMap(flag => {
    const value = world[flag] === undefined ? fromOutside(flag) : undefined
    return value === undefined ? [] : `--${flag} ${shellQuote(value.text)}`
  })
  const words = `The world was '${world.fixtures ?? 'default'}'. For a world, explore reads neither variables nor the configuration.`
  return flags.length === 0 ? [] : [`${words} To explore the configured world, give ${flags.join(' ')}.`]
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
  io: ShardIo,
): Promise<number> {
  const { json = false, junit, html, budget, faults, write, writeAs: language = 'yaml', findingCode = 1 } = args
  assertWritable(flows, args, io.folder)
  for (const note of known.notes(flows)) io.error(note)
  const explored: ExploredFlow[] = []
  let lacksPage = false
  // The report of a long search comes first.
  let unwritten: unknown
  for (const loaded of flows) {
    if (io.signal?.aborted) break
    io.playing?.(`the flow '${loaded.flow.name}'`)
    const progress = new Progress(io)
    const baseMs: number[] = []
    const found = await explore(loaded.flow, {
      ...{ budget, faults, signal: io.signal },
      ...(args.require !== undefined && { invariants: { recovers: 'always' } }),
      onProgress: done => {
        // Counts of a note grow with the runs. The report has the last ones.
        for (const note of done.notes) progress.say(note, note.replaceAll(/\d+/g, ''))
        if (done.newest !== undefined) progress.say(hideSecrets(`Found ${done.newest.signature}: ${done.newest.words}`))
        if (done.stage === 'base') baseMs.push(monotonicMs())
        else if ('command' in loaded.flow) progress.say(formatPlanOfCommand(done.points, baseMs, loaded.flow))
        progress.update(formatProgress(done), done.runs, done.left ? done.runs + done.left : undefined)
      },
    }).finally(() => progress.clear())
    const report = { ...found, notes: [...found.notes, ...(loaded.notes ?? [])] }
    const findings = known.sort(report)
    let files: ReadonlyMap<string, string> | undefined
    try {
      if (write !== undefined)
        files = writeScenarios(loaded, findings.fresh, { folder: write, language, home: io.folder })
    } catch (error) {
      unwritten ??= error
    }
    const one: ExploredFlow = {
      ...{ report, findings },
      scenarioOf: finding => scenarioText(loaded, finding, io.folder),
      fileOf: ({ signature }) => files?.get(signature),
      play: file => playLine(loaded, file, io.folder),
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
  const isClean = explored.every(({ findings }) => findings.fresh.length === 0)
  if (html !== undefined && isClean) io.error(`No page: ${html} shows the first new finding, and none was found.\n`)
  if (junit !== undefined) writeTextFile(junit, formatFlowsJunit(explored), 'junit')
  if (unwritten !== undefined) throw unwritten
  const isComplete =
    explored.length === flows.length && explored.every(({ report }) => report.stoppedBecause !== 'aborted')
  if (!isComplete || lacksPage) return 3
  if (!isClean) return findingCode
  return explored.some(({ report }) => countUntried(report) > 0) ? 3 : 0
}

async function runShard(flows: readonly ExploredClient[], request: ShardRequest, io: ShardIo): Promise<number> {
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

/** A seed test that holds a simulator. */
interface FlowTest extends RunnableTest {
  dispose(): Promise<void>
}

/**
 * Runs a flow without faults, and returns it as a seed test.
 *
 * @param signal ends the shrinking of a finding. Its seed then has no result
 * @throws ExploreError for a flow that is not repeatable or throws without a fault
 */
async function flowTest({ flow, file }: LoadedFlow, signal?: AbortSignal): Promise<FlowTest> {
  const runner = createFlowRunner(flow)
  const own = checkOwnFaults(flow.options, `Failed to explore ${flow.name}`)
  const prepared = await prepare(runner, { name: flow.name, own })
  const ofBase = new Set(prepared.base.broken.map(({ signature }) => signature))
  return {
    name: flow.name,
    // Fixtures, seed and profile change the digest of the base run.
    hash: hashOf([readFileSync(file), flow.name, prepared.base.digest]),
    async run(seed, isKnown) {
      const run = await runSeed(runner, { ...prepared, inputs: flow.options.inputs }, Number(seed))
      return toOutcome(
        run,
        { runner, declaredInputs: flow.options.inputs, signal },
        signature => ofBase.has(signature),
        isKnown,
      )
    },
    dispose: () => runner.dispose(),
  }
}

async function toOutcome(
  { plan, inputs, ofInputs, result }: Awaited<ReturnType<typeof runSeed>>,
  options: Pick<ShrinkOptions, 'runner' | 'declaredInputs' | 'signal'>,
  isOfBase: (signature: string) => boolean,
  isKnown: (signature: string) => boolean,
): Promise<SeedOutcome> {
  const findings = new Map<string, SeedFinding>()
  // What the inputs break alone is not an effect of the plan.
  const origins = [
    ...(ofInputs?.broken ?? []).map(violation => ({ ...violation, plan: [] })),
    ...result.broken.map(violation => ({ ...violation, plan })),
  ]
  for (const { signature, words, plan, maySurface } of origins) {
    // What fails without a fault is found by the exploration without shards.
    if (findings.has(signature) || isOfBase(signature) || maySurface !== undefined) continue
    const small = isKnown(signature) ? undefined : await shrink({ ...options, plan, inputs, signature })
    if (options.signal?.aborted && small?.isMinimal === false) throw new RunStopped()
    // The exploration without shards reports it apart.
    if (small !== undefined && surfaceReasonOf(small.plan) !== undefined) continue
    // Another plan can break the same at another request.
    const ofPlan = small?.result.broken.find(violation => violation.signature === signature)
    findings.set(signature, {
      ...{ signature, words: ofPlan?.words ?? words },
      ...given({ plan: small && [...small.plan], inputs: small?.inputs }),
    })
  }
  return { digest: result.digest, findings: [...findings.values()] }
}
