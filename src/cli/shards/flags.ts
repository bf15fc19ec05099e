/** The flags of commands that run seeds on many machines: `--shard`, `--out`, `--recheck`, `--finding-code`. */

import { type ReadShard, readShard } from '../../workbench/explore/shards/launchers.ts'
import type { SeedRange } from '../../workbench/explore/shards/seed-range.ts'
import { UsageError } from '../command.ts'
import { integer, text } from '../values.ts'

export interface ShardArguments {
  shard?: string | undefined
  out?: string | undefined
  recheck?: boolean | undefined
  findingCode?: number | undefined
}

/** The exit codes of commands that have found something or could not finish. */
export const FINDING_EXIT_CODES =
  'Exit codes: 0 nothing found, 1 findings, 2 could not run, 3 incomplete, also after Ctrl-C.'

export function findingCodeFlag() {
  return {
    'finding-code': {
      type: 'string' as const,
      requiresArg: true,
      coerce: integer('finding-code', { min: 1, max: 125 }, 42),
      describe:
        'Exit code for findings in place of 1, so that Kubernetes retries after a crash, and not after a finding',
    },
  }
}

export function shardFlags() {
  return {
    shard: {
      type: 'string' as const,
      requiresArg: true,
      coerce: text('shard'),
      describe: 'Run a part of the seeds, as in 3/8. auto: the part that the variables of the CI or cluster name',
    },
    out: {
      type: 'string' as const,
      requiresArg: true,
      coerce: text('out'),
      describe: 'Write the results of the seeds to this folder, and continue where an earlier process ended',
    },
    recheck: {
      type: 'boolean' as const,
      default: false,
      describe: 'With --out: run failed seeds and 1 % of the others again in a new process, and compare',
    },
    ...findingCodeFlag(),
  }
}

/** A part of a range of seeds and the folder of its results. */
export interface ShardRequest {
  readonly range: SeedRange
  readonly shard: ReadShard
  readonly out: string
  readonly recheck: boolean
  readonly findingCode: number
}

/**
 * Returns what the flags ask for; undefined if they ask for no shard.
 *
 * @throws UsageError for flags that need others, RangeError for an invalid shard
 */
export function readShardRequest(
  { shard, out, recheck = false, findingCode = 1 }: ShardArguments,
  seeds: SeedRange | undefined,
  variables: Readonly<Record<string, string | undefined>>,
): ShardRequest | undefined {
  const given = [shard !== undefined && '--shard', recheck && '--recheck', out !== undefined && '--out'].find(Boolean)
  if (given === undefined) return undefined
  if (seeds === undefined) {
    throw new UsageError(`Failed to read ${given}: it needs a range of seeds. Give one, as in --seeds 1..1000.`)
  }
  if (out === undefined) {
    throw new UsageError(`Failed to read ${given}: it needs a folder for the results. Give one, as in --out results.`)
  }
  return { range: seeds, shard: readShard(shard ?? '1/1', variables), out, recheck, findingCode }
}
