/** `modelhost-sim run` with `--out`: scenarios with a part of many seeds, in a process that can be killed and continued. */

import { existsSync, readFileSync } from 'node:fs'
import type { SeedRange } from '../../workbench/explore/shards/seed-range.ts'
import { LoadError } from '../../workbench/scenario/runner/import-script.ts'
import type { RunFilesOptions } from '../../workbench/scenario/runner/jobs.ts'
import { guardProcess } from '../../workbench/scenario/runner/process-guard.ts'
import { UsageError } from '../command.ts'
import { readShardRequest, type ShardArguments } from './flags.ts'
import { playSharded, type ShardIo } from './play.ts'
import { hashOf, scenarioTests } from './scenario-tests.ts'

/** The flags of `run` that shards know or refuse. */
export interface ShardedRunArguments extends ShardArguments {
  seeds?: readonly string[] | undefined
  update?: boolean | undefined
  bail?: boolean | undefined
  watch?: boolean | undefined
  dryRun?: boolean | undefined
  workers?: number | undefined
  reporter?: string | undefined
}

/** Returns whether the flags ask for a shard. */
export function isSharded({ shard, out, recheck }: ShardArguments): boolean {
  return shard !== undefined || out !== undefined || recheck === true
}

/**
 * Plays the part of a shard, and returns the exit code: 2 for invalid flags, and for a results file that cannot be used.
 */
export async function runSharded(
  args: ShardedRunArguments,
  patterns: readonly string[],
  options: RunFilesOptions & { readonly folder: string },
  io: ShardIo,
): Promise<number> {
  const release = guardProcess()
  try {
    refuseOtherFlags(args)
    const request = readShardRequest(args, rangeOf(args.seeds), process.env)!
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

function refuseOtherFlags(args: ShardedRunArguments): void {
  const { update, bail, watch, dryRun, workers, reporter } = args
  const flags = { update, bail, watch, 'dry-run': dryRun, workers, reporter: reporter !== 'pretty' && reporter }
  const [other] = Object.entries(flags).find(([, value]) => Boolean(value)) ?? []
  if (other === undefined) return
  throw new UsageError(
    `Failed to run scenarios: --out writes results for 'modelhost-sim merge', and excludes --${other}. Leave it out.`,
  )
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
