/** Scenarios as tests: each is played with many seeds. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { SECOND } from '../../kernel/duration.ts'
import type { RunnableTest, SeedOutcome } from '../../workbench/explore/shards/play-shard.ts'
import { OWN_SEED } from '../../workbench/explore/shards/records.ts'
import type { FileResult, PlayerOptions, RunFilesOptions } from '../../workbench/scenario/runner/jobs.ts'
import { replayCommand, summaryLine } from '../../workbench/scenario/runner/reporters.ts'
import { loadFiles, ScenarioPlayer } from '../../workbench/scenario/runner/runner.ts'
import { hasFixedSeed } from '../../workbench/scenario/scenario.ts'

/**
 * Loads scenarios.
 *
 * @throws LoadError for a file that cannot be loaded
 */
export async function scenarioTests(
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
  const { digest, elapsed, failure, file, title } = result
  const finding = failure && {
    // The message tells values, which differ from seed to seed.
    signature: failure.where === undefined ? `${file}: ${title}` : `${file}:${failure.where.line}`,
    words: summaryLine(failure.message),
    replay: replayCommand(result),
  }
  return { digest, findings: finding === undefined ? [] : [finding], features: [], virtualSeconds: elapsed / SECOND }
}

/** Returns a short hash of texts in their order. */
export function hashOf(parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length}\n`).update(part)
  return hash.digest('hex').slice(0, 16)
}
