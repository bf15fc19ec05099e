/** Which seeds a process runs: given, or from the variables of the launcher that started it. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../../../src/workbench/explore/shards/play-shard.ts'
import {
  parseSeedRange,
  readShard,
  type SeedRange,
  type Shard,
} from '../../../../src/workbench/explore/shards/shard.ts'
import { forAll } from '../../../setup/for-all.ts'

const seedsOf = (range: SeedRange, shard: Shard) =>
  runsOf([{ name: 'flow', hash: 'f00d' }], range, shard).map(({ seed }) => Number(seed))

/** The variables of each launcher in process `i` of 8, from 0. */
const LAUNCHERS: Readonly<Record<string, (i: number) => Record<string, string>>> = {
  Bazel: i => ({ TEST_SHARD_INDEX: `${i}`, TEST_TOTAL_SHARDS: '8' }),
  Kubernetes: i => ({ JOB_COMPLETION_INDEX: `${i}`, SHARD_COUNT: '8' }),
  Nomad: i => ({ NOMAD_ALLOC_INDEX: `${i}`, SHARD_COUNT: '8' }),
  'Nomad with a key of its meta block': i => ({ NOMAD_ALLOC_INDEX: `${i}`, NOMAD_META_SHARD_COUNT: '8' }),
  GitLab: i => ({ GITLAB_CI: 'true', CI_NODE_INDEX: `${i + 1}`, CI_NODE_TOTAL: '8' }),
  CI: i => ({ CI_NODE_INDEX: `${i}`, CI_NODE_TOTAL: '8' }),
  Buildkite: i => ({ BUILDKITE_PARALLEL_JOB: `${i}`, BUILDKITE_PARALLEL_JOB_COUNT: '8' }),
  CircleCI: i => ({ CIRCLE_NODE_INDEX: `${i}`, CIRCLE_NODE_TOTAL: '8' }),
  'AWS Batch': i => ({ AWS_BATCH_JOB_ARRAY_INDEX: `${i}`, AWS_BATCH_JOB_ARRAY_SIZE: '8' }),
  'Cloud Run': i => ({ CLOUD_RUN_TASK_INDEX: `${i}`, CLOUD_RUN_TASK_COUNT: '8' }),
  Semaphore: i => ({ SEMAPHORE_JOB_INDEX: `${i + 1}`, SEMAPHORE_JOB_COUNT: '8' }),
  Bitbucket: i => ({ BITBUCKET_PARALLEL_STEP: `${i}`, BITBUCKET_PARALLEL_STEP_COUNT: '8' }),
  Slurm: i => ({ SLURM_ARRAY_TASK_ID: `${100 + i}`, SLURM_ARRAY_TASK_MIN: '100', SLURM_ARRAY_TASK_COUNT: '8' }),
  PBS: i => ({ PBS_ARRAY_INDEX: `${i + 1}`, SHARD_COUNT: '8' }),
  TORQUE: i => ({ PBS_ARRAYID: `${i + 1}`, SHARD_COUNT: '8' }),
  // Several processes get the same slot, one after the other.
  'GNU parallel': i => ({ PARALLEL_SEQ: `${i + 1}`, SHARD_COUNT: '8', PARALLEL_JOBSLOT: '2' }),
  LSF: i => ({ LSB_JOBINDEX: `${i + 1}`, LSB_JOBINDEX_END: '8' }),
}
const PROCESSES = [0, 1, 2, 3, 4, 5, 6, 7]

test.each(Object.keys(LAUNCHERS))('8 processes of %s run every seed once, and tell what they read', name => {
  const shards = PROCESSES.map(i => readShard('auto', LAUNCHERS[name]!(i)))
  expect(shards.map(({ index, count }) => [index, count])).toEqual(PROCESSES.map(i => [i + 1, 8]))
  for (const [i, { source }] of shards.entries()) {
    expect(source).toContain(`${name.split(' with ')[0]} (`)
    for (const [variable, value] of Object.entries(LAUNCHERS[name]!(i))) {
      if (!['GITLAB_CI', 'PARALLEL_JOBSLOT'].includes(variable)) expect(source).toContain(`${variable}=${value}`)
    }
  }
  const seeds = shards.flatMap(shard => [...seedsOf({ from: 1, to: 100 }, shard)])
  expect(seeds.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
})

test('the shards of any range have every seed once, and their sizes differ by one at most', () => {
  forAll([fc.nat(1000), fc.nat(500), fc.integer({ min: 1, max: 40 })], (from, length, count) => {
    const range = { from, to: from + length }
    const parts = Array.from({ length: count }, (_, i) => [...seedsOf(range, { index: i + 1, count })])
    const all = parts.flat().sort((a, b) => a - b)
    expect(all).toEqual(Array.from({ length: length + 1 }, (_, i) => from + i))
    const sizes = parts.map(part => part.length)
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
  })
})

describe('--shard refuses', () => {
  test.each<[text: string, variables: Record<string, string>, message: string]>([
    ['0/8', {}, "Failed to read --shard '0/8': shards of 8 are numbered from 1 to 8."],
    ['9/8', {}, "Failed to read --shard '9/8': shards of 8 are numbered from 1 to 8."],
    ['3', {}, "Failed to read --shard '3': it is not a shard. Give one, as in --shard 3/8, or --shard auto."],
    ['1/999999', {}, 'there are at most 100000 shards'],
    ['auto', {}, 'Failed to read --shard auto: none of its variables is set (TEST_SHARD_INDEX, JOB_COMPLETION_INDEX,'],
    ['auto', { SHARD_COUNT: '8' }, 'none of its variables is set'],
    // A launcher that runs one process of a job does not say which one.
    ['auto', { GITLAB_CI: 'true', CI_NODE_TOTAL: '1' }, 'CI_NODE_TOTAL is set, but CI_NODE_INDEX is missing.'],
    ['auto', { JOB_COMPLETION_INDEX: '2' }, 'SHARD_COUNT is missing. Set it to the number of processes.'],
    ['auto', { CIRCLE_NODE_INDEX: '2' }, 'CIRCLE_NODE_TOTAL is missing. CircleCI sets it.'],
    ['auto', { JOB_COMPLETION_INDEX: '2', SHARD_COUNT: 'many' }, "SHARD_COUNT is 'many', which is not a count."],
    [
      'auto',
      { JOB_COMPLETION_INDEX: '8', SHARD_COUNT: '8' },
      'JOB_COMPLETION_INDEX=8, SHARD_COUNT=8 name shard 9, and shards of 8 are numbered from 1 to 8.',
    ],
    ['auto', { GITLAB_CI: 'true', CI_NODE_INDEX: '0', CI_NODE_TOTAL: '8' }, 'name shard 0'],
    ['auto', { GITHUB_ACTIONS: 'true' }, 'GitHub Actions sets no variable for it. Give --shard $'],
    ['auto', { PBS_ARRAY_INDEX: '0', SHARD_COUNT: '8' }, 'Number the processes from 1 without gaps, or give'],
    // A single job.
    ['auto', { LSB_JOBINDEX: '0', LSB_JOBINDEX_END: '0' }, 'name shard 0'],
    // The arrays 1,2,9 and 0-14:2: their numbers have gaps.
    [
      'auto',
      { SLURM_ARRAY_TASK_ID: '9', SLURM_ARRAY_TASK_COUNT: '3', SLURM_ARRAY_TASK_MIN: '1' },
      'Number the processes from any number without gaps, or give --shard i/n.',
    ],
    ['auto', { SLURM_ARRAY_TASK_ID: '14', SLURM_ARRAY_TASK_COUNT: '8', SLURM_ARRAY_TASK_MIN: '0' }, 'without gaps'],
  ])('%s with %j', (text, variables, message) => {
    expect(() => readShard(text, variables)).toThrow(message)
  })
})

test.each([
  ['10..1', 'its first seed, 10, is above its last'],
  ['1..200000', 'it has more than 100000 seeds'],
  ['1,2,3', 'it is not a range of seeds'],
  ['', 'it is not a range of seeds'],
])('the range %j is refused', (text, reason) => {
  expect(() => parseSeedRange(text, '--expect')).toThrow(
    `Failed to read --expect '${text}': ${reason}. Give a range, as in --expect 1..1000.`,
  )
})
