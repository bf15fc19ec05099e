/** Launchers that start many processes of one job, and the variables by which a process knows which one it is. */

import type { Shard } from './seed-range.ts'

interface Launcher {
  readonly name: string
  /** The variable with the number of this process. */
  readonly index: string
  /** The variable with the number of processes. */
  readonly count: string
  /** The number of the first process, or the variable that has it. Default: 0. */
  readonly first?: 1 | string
  /** The variable with the distance of two numbers. Default: 1. */
  readonly step?: string
  /** A variable that tells this launcher from another with the same variables. */
  readonly only?: string
  /** What to do if the number of processes is missing. */
  readonly advice?: string
}

/** In the order in which they are tried. */
const LAUNCHERS: readonly Launcher[] = [
  {
    name: 'Kubernetes',
    index: 'JOB_COMPLETION_INDEX',
    count: 'SHARD_COUNT',
    advice: 'Set it in the pod to the completions of the job.',
  },
  { name: 'GitLab', index: 'CI_NODE_INDEX', count: 'CI_NODE_TOTAL', first: 1, only: 'GITLAB_CI' },
  { name: 'CI', index: 'CI_NODE_INDEX', count: 'CI_NODE_TOTAL' },
  { name: 'Buildkite', index: 'BUILDKITE_PARALLEL_JOB', count: 'BUILDKITE_PARALLEL_JOB_COUNT' },
  { name: 'CircleCI', index: 'CIRCLE_NODE_INDEX', count: 'CIRCLE_NODE_TOTAL' },
  { name: 'AWS Batch', index: 'AWS_BATCH_JOB_ARRAY_INDEX', count: 'AWS_BATCH_JOB_ARRAY_SIZE' },
  { name: 'Cloud Run', index: 'CLOUD_RUN_TASK_INDEX', count: 'CLOUD_RUN_TASK_COUNT' },
  { name: 'Semaphore', index: 'SEMAPHORE_JOB_INDEX', count: 'SEMAPHORE_JOB_COUNT', first: 1 },
  { name: 'Bitbucket', index: 'BITBUCKET_PARALLEL_STEP', count: 'BITBUCKET_PARALLEL_STEP_COUNT' },
  {
    name: 'Slurm',
    index: 'SLURM_ARRAY_TASK_ID',
    count: 'SLURM_ARRAY_TASK_COUNT',
    first: 'SLURM_ARRAY_TASK_MIN',
    step: 'SLURM_ARRAY_TASK_STEP',
  },
]

type Variables = Readonly<Record<string, string | undefined>>

/** A shard, and where its numbers come from. */
export interface ReadShard extends Shard {
  /** The name of the launcher; undefined if the shard was given. */
  readonly launcher: string | undefined
  /** The variables that were read, as in `CI_NODE_INDEX=2, CI_NODE_TOTAL=8`; undefined if the shard was given. */
  readonly variables: string | undefined
}

/** The most shards of a range. */
const MAX_SHARDS = 100_000

/**
 * Reads a shard: `i/n` from 1, or `auto` for the variables of the launcher that started this process.
 *
 * @throws RangeError for another text, and for `auto` without the variables of a launcher
 */
export function readShard(text: string, variables: Variables): ReadShard {
  if (text === 'auto') return readLauncher(variables)
  const [, index, count] = /^(\d{1,9})\/(\d{1,9})$/.exec(text) ?? []
  const shard = { index: Number(index), count: Number(count), launcher: undefined, variables: undefined }
  const isValid = shard.index >= 1 && shard.index <= shard.count && shard.count <= MAX_SHARDS
  if (index !== undefined && isValid) return shard
  const reason =
    index === undefined
      ? 'it is not a shard'
      : shard.count > MAX_SHARDS
        ? `there are at most ${MAX_SHARDS} shards`
        : `shards of ${count} are numbered from 1 to ${count}`
  throw new RangeError(`Failed to read --shard '${text}': ${reason}. Give one, as in --shard 3/8, or --shard auto.`)
}

function readLauncher(variables: Variables): ReadShard {
  const value = (name: string | undefined) => (name === undefined ? undefined : variables[name]?.trim() || undefined)
  const isUsed = ({ index, only }: Launcher) =>
    value(index) !== undefined && (only === undefined || value(only) !== undefined)
  const launcher = LAUNCHERS.find(isUsed)
  if (launcher === undefined) throw new RangeError(`Failed to read --shard auto: ${describeNoLauncher(value)}`)

  const read: string[] = []
  const integer = (name: string, advice = `${launcher.name} sets it.`) => {
    const text = value(name)
    if (text === undefined) throw new RangeError(`Failed to read --shard auto: ${name} is missing. ${advice}`)
    read.push(`${name}=${text}`)
    if (/^\d{1,9}$/.test(text)) return Number(text)
    throw new RangeError(
      `Failed to read --shard auto: ${name} is '${text}', which is not a count. Give a whole number.`,
    )
  }
  const { first = 0 } = launcher
  const index = integer(launcher.index)
  const count = integer(launcher.count, launcher.advice)
  const step = value(launcher.step) === undefined ? 1 : integer(launcher.step!)
  const position = (index - (typeof first === 'string' ? integer(first) : first)) / step
  if (Number.isInteger(position) && position >= 0 && position < count && count <= MAX_SHARDS) {
    return { index: position + 1, count, launcher: launcher.name, variables: read.join(', ') }
  }
  const advice =
    count > MAX_SHARDS ? `Start at most ${MAX_SHARDS} shards.` : 'Number them without gaps, or give --shard i/n.'
  throw new RangeError(`Failed to read --shard auto: ${read.join(', ')} name no shard of ${count}. ${advice}`)
}

function describeNoLauncher(value: (name: string) => string | undefined): string {
  if (value('GITHUB_ACTIONS') !== undefined) {
    return `GitHub Actions sets no variable for it. Give --shard \${{ matrix.shard }}/8, with the shards in the matrix.`
  }
  const alone = LAUNCHERS.find(({ count, only }) => value(count) !== undefined && (only === undefined || value(only)))
  if (alone !== undefined) {
    return `${alone.count} is set, but ${alone.index} is missing. Start the job with several processes, or give --shard i/n.`
  }
  const names = LAUNCHERS.filter(({ only }) => only === undefined).map(({ index }) => index)
  return `none of its variables is set (${names.join(', ')}). Give --shard i/n.`
}
