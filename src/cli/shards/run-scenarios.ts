/** `modelhost-sim run` with `--out`: scenarios with a part of many seeds, in a process that can be killed and continued. */

import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { RunnableTest, SeedOutcome } from '../../workbench/explore/shards/play-shard.ts'
import { OWN_SEED } from '../../workbench/explore/shards/results.ts'
import type { SeedRange } from '../../workbench/explore/shards/shard.ts'
import { guardProcess } from '../../workbench/scenario/runner/guards.ts'
import { LoadError } from '../../workbench/scenario/runner/import-script.ts'
import { replayCommand, summaryLine } from '../../workbench/scenario/runner/reporters.ts'
import { loadFiles, ScenarioPlayer } from '../../workbench/scenario/runner/runner.ts'
import type { FileResult, PlayerOptions, RunFilesOptions } from '../../workbench/scenario/runner/workers.ts'
import { hasFixedSeed } from '../../workbench/scenario/scenario.ts'
import { UsageError } from '../command.ts'
import { hashOf, playSharded, readShardRequest, type ShardArguments, type ShardIo } from './play.ts'

/**
 * Plays the part of a shard, and returns the exit code: 2 for invalid flags, and for a results file that cannot be used.
 *
 * @param others flags that have no meaning for a shard
 */
export async function runSharded(
  args: ShardArguments & { readonly seeds?: readonly string[] | undefined },
  others: Readonly<Record<string, unknown>>,
  patterns: readonly string[],
  options: RunFilesOptions & { readonly folder: string },
  io: ShardIo,
): Promise<number> {
  const release = guardProcess()
  try {
    const request = readShardRequest(args, rangeOf(args.seeds), others)!
    const tests = await scenarioTests(patterns, { ...options, signal: io.signal })
    if (tests.length === 0) {
      throw new LoadError('Failed to run scenarios: none is selected. Try other words in --filter or --tag.')
    }
    return await playSharded({ command: 'run', tests, config: configOf(options) }, request, io)
  } catch (error) {
    if (!(error instanceof LoadError || error instanceof UsageError || error instanceof RangeError)) throw error
    io.error(`${error.message}\n`)
    return 2
  } finally {
    release()
  }
}

/** @throws UsageError for single seeds and words: shards divide a range */
function rangeOf(seeds: readonly string[] | undefined): SeedRange | undefined {
  if (seeds === undefined) return undefined
  const from = Number(seeds[0])
  if (seeds.every((seed, i) => seed === String(from + i))) return { from, to: from + seeds.length - 1 }
  throw new UsageError('Failed to read --seeds: shards divide a range of seeds. Give one, as in --seeds 1..1000.')
}

/** Returns a hash of the flags that change results. */
function configOf({ names, check = false }: RunFilesOptions): string {
  const namesText = typeof names === 'string' && existsSync(names) ? readFileSync(names, 'utf8') : JSON.stringify(names)
  return hashOf([JSON.stringify({ check }), namesText ?? ''])
}

/** @throws LoadError for a file that cannot be loaded */
async function scenarioTests(
  patterns: readonly string[],
  options: RunFilesOptions & Pick<PlayerOptions, 'folder' | 'signal'>,
): Promise<RunnableTest[]> {
  const { folder, names, stuckTimeoutMs, check, signal } = options
  const files = await loadFiles(patterns, options)
  return files.flatMap(({ file, allScenarios, scenarios }) => {
    const text = readFileSync(file)
    return scenarios.map(scenario => {
      const settings = { file, folder, names, stuckTimeoutMs, check, signal, update: false }
      const player = new ScenarioPlayer(scenario, allScenarios.length > 1, settings)
      return {
        name: `${relative(folder, file)}: ${scenario.title}`,
        hash: hashOf([text, scenario.title]),
        ...(hasFixedSeed(scenario.options) && { ownSeed: true }),
        run: async seed => toOutcome(await player.play(seed === OWN_SEED ? undefined : String(seed))),
      }
    })
  })
}

function toOutcome(result: FileResult): SeedOutcome {
  const { digest, failure, file, title } = result
  if (failure === undefined) return { digest, findings: [] }
  // The message tells values, which differ from seed to seed.
  const signature = failure.where === undefined ? `${file}: ${title}` : `${file}:${failure.where.line}`
  return { digest, findings: [{ signature, words: summaryLine(failure.message), replay: replayCommand(result) }] }
}
