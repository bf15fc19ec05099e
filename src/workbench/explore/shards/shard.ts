/** Which seeds a process plays: a part of a range that is given, or that the variables of its launcher name. */

import { LIMITS } from '../../../lib/limits.ts'

/** The seeds `from` to `to`, both included. */
export interface SeedRange {
  readonly from: number
  readonly to: number
}

/**
 * Reads a range such as `1..1000`.
 *
 * @param name the flag or field, for errors
 * @throws RangeError for another text, a range that runs backwards, and one of too many seeds
 */
export function parseSeedRange(text: string, name: string): SeedRange {
  const [, first, last] = /^\s*(\d{1,15})\s*\.\.\s*(\d{1,15})\s*$/.exec(text) ?? []
  const [from, to] = [Number(first), Number(last)]
  const reason =
    first === undefined
      ? 'it is not a range of seeds'
      : from > to
        ? `its first seed, ${from}, is above its last`
        : to - from >= LIMITS.seeds && `it has more than ${LIMITS.seeds} seeds`
  if (!reason) return { from, to }
  throw new RangeError(`Failed to read ${name} '${text}': ${reason}. Give a range, as in ${name} 1..1000.`)
}

/** Part `index` of `count`, from 1. */
export interface Shard {
  readonly index: number
  readonly count: number
  /** The launcher and the variables that name the part, as in `CircleCI (CIRCLE_NODE_INDEX=2, CIRCLE_NODE_TOTAL=8)`. */
  readonly source?: string
  /** A file that the launcher expects to be touched. */
  readonly statusFile?: string | undefined
}

/**
 * A launcher starts many processes of one job. It sets a variable with the number of each process, and mostly one with
 * the number of processes. The number of the first process is known, or is in a variable.
 */
type Launcher = readonly [name: string, index: string, first: 0 | 1 | string, count: string, ifSet?: string]

/** The variable that users set if their launcher has none for the number of processes. */
const OWN_COUNT = 'SHARD_COUNT'

/** In the order in which they are tried. The index of LSF comes last: it is set in every job, also in a single one. */
const LAUNCHERS: readonly Launcher[] = [
  ['Bazel', 'TEST_SHARD_INDEX', 0, 'TEST_TOTAL_SHARDS'],
  ['Kubernetes', 'JOB_COMPLETION_INDEX', 0, OWN_COUNT],
  ['Nomad', 'NOMAD_ALLOC_INDEX', 0, 'NOMAD_META_SHARD_COUNT', 'NOMAD_META_SHARD_COUNT'],
  ['Nomad', 'NOMAD_ALLOC_INDEX', 0, OWN_COUNT],
  ['GitLab', 'CI_NODE_INDEX', 1, 'CI_NODE_TOTAL', 'GITLAB_CI'],
  ['CI', 'CI_NODE_INDEX', 0, 'CI_NODE_TOTAL'],
  ['Buildkite', 'BUILDKITE_PARALLEL_JOB', 0, 'BUILDKITE_PARALLEL_JOB_COUNT'],
  ['CircleCI', 'CIRCLE_NODE_INDEX', 0, 'CIRCLE_NODE_TOTAL'],
  ['AWS Batch', 'AWS_BATCH_JOB_ARRAY_INDEX', 0, 'AWS_BATCH_JOB_ARRAY_SIZE'],
  ['Cloud Run', 'CLOUD_RUN_TASK_INDEX', 0, 'CLOUD_RUN_TASK_COUNT'],
  ['Semaphore', 'SEMAPHORE_JOB_INDEX', 1, 'SEMAPHORE_JOB_COUNT'],
  ['Bitbucket', 'BITBUCKET_PARALLEL_STEP', 0, 'BITBUCKET_PARALLEL_STEP_COUNT'],
  ['Slurm', 'SLURM_ARRAY_TASK_ID', 'SLURM_ARRAY_TASK_MIN', 'SLURM_ARRAY_TASK_COUNT'],
  ['PBS', 'PBS_ARRAY_INDEX', 1, OWN_COUNT],
  ['TORQUE', 'PBS_ARRAYID', 1, OWN_COUNT],
  ['GNU parallel', 'PARALLEL_SEQ', 1, OWN_COUNT],
  ['LSF', 'LSB_JOBINDEX', 1, 'LSB_JOBINDEX_END'],
]

type Variables = Readonly<Record<string, string | undefined>>

const MAX_SHARDS = 100_000

/**
 * Reads a shard: `i/n` from 1, or `auto` for the variables of the launcher that started this process.
 *
 * @throws RangeError for another text, and for `auto` without the variables of a launcher
 */
export function readShard(text: string, variables: Variables): Shard {
  if (text === 'auto') return readLauncher(variables)
  const [, index, count] = /^(\d{1,9})\/(\d{1,9})$/.exec(text) ?? []
  const shard = { index: Number(index), count: Number(count) }
  const reason = index === undefined ? 'it is not a shard' : findProblem(shard)
  if (reason === undefined) return shard
  throw new RangeError(`Failed to read --shard '${text}': ${reason}. Give one, as in --shard 3/8, or --shard auto.`)
}

function findProblem({ index, count }: Shard): string | undefined {
  if (count > MAX_SHARDS) return `there are at most ${MAX_SHARDS} shards`
  return index >= 1 && index <= count ? undefined : `shards of ${count} are numbered from 1 to ${count}`
}

function readLauncher(variables: Variables): Shard {
  const fail = (problem: string): never => {
    throw new RangeError(`Failed to read --shard auto: ${problem}`)
  }
  const value = (name: string) => variables[name]?.trim() || undefined
  const isSet = (name: string | undefined) => name === undefined || value(name) !== undefined
  const launcher = LAUNCHERS.find(([, index, , , ifSet]) => isSet(index) && isSet(ifSet))
  if (launcher === undefined) return fail(describeNoLauncher(isSet))
  const [name, indexName, first, countName] = launcher
  const read: string[] = []
  const integer = (variable: string) => {
    const text = value(variable)
    const advice = countName === OWN_COUNT ? 'Set it to the number of processes' : `${name} sets it`
    if (text === undefined) return fail(`${variable} is missing. ${advice}.`)
    read.push(`${variable}=${text}`)
    return /^\d{1,9}$/.test(text)
      ? Number(text)
      : fail(`${variable} is '${text}', which is not a count. Give a whole number.`)
  }
  const index = integer(indexName) - (typeof first === 'number' ? first : integer(first)) + 1
  const shard = { index, count: integer(countName), source: `${name} (${read.join(', ')})` }
  const problem = findProblem(shard)
  if (problem === undefined) return { ...shard, statusFile: value('TEST_SHARD_STATUS_FILE') }
  const base = typeof first === 'number' ? first : 'any number'
  return fail(
    `${read.join(', ')} name shard ${index}, and ${problem}. ` +
      `Number the processes from ${base} without gaps, or give --shard i/n.`,
  )
}

function describeNoLauncher(isSet: (name: string) => boolean): string {
  if (isSet('GITHUB_ACTIONS')) {
    return `GitHub Actions sets no variable for it. Give --shard \${{ matrix.shard }}/8, with the shards in the matrix.`
  }
  const single = LAUNCHERS.find(([, , , count]) => count !== OWN_COUNT && isSet(count))
  if (single !== undefined) {
    return `${single[3]} is set, but ${single[1]} is missing. Start the job with several processes, or give --shard i/n.`
  }
  const names = new Set(LAUNCHERS.map(([, index]) => index))
  return `none of its variables is set (${[...names].join(', ')}). Give --shard i/n.`
}
