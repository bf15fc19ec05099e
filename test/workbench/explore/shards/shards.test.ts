/** Which seeds a process runs: given, or from the variables of the launcher that started it. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readShard } from '../../../../src/workbench/explore/shards/launchers.ts'
import { parseSeedRange, seedsOf } from '../../../../src/workbench/explore/shards/seed-range.ts'

/** The variables of each launcher in process `i` of 8, from 0. */
const LAUNCHERS: Readonly<Record<string, (i: number) => Record<string, string>>> = {
  Kubernetes: i => ({ JOB_COMPLETION_INDEX: `${i}`, SHARD_COUNT: '8' }),
  GitLab: i => ({ GITLAB_CI: 'true', CI_NODE_INDEX: `${i + 1}`, CI_NODE_TOTAL: '8' }),
  CI: i => ({ CI_NODE_INDEX: `${i}`, CI_NODE_TOTAL: '8' }),
  Buildkite: i => ({ BUILDKITE_PARALLEL_JOB: `${i}`, BUILDKITE_PARALLEL_JOB_COUNT: '8' }),
  CircleCI: i => ({ CIRCLE_NODE_INDEX: `${i}`, CIRCLE_NODE_TOTAL: '8' }),
  'AWS Batch': i => ({ AWS_BATCH_JOB_ARRAY_INDEX: `${i}`, AWS_BATCH_JOB_ARRAY_SIZE: '8' }),
  'Cloud Run': i => ({ CLOUD_RUN_TASK_INDEX: `${i}`, CLOUD_RUN_TASK_COUNT: '8' }),
  Semaphore: i => ({ SEMAPHORE_JOB_INDEX: `${i + 1}`, SEMAPHORE_JOB_COUNT: '8' }),
  Bitbucket: i => ({ BITBUCKET_PARALLEL_STEP: `${i}`, BITBUCKET_PARALLEL_STEP_COUNT: '8' }),
  Slurm: i => ({
    SLURM_ARRAY_TASK_ID: `${100 + 5 * i}`,
    SLURM_ARRAY_TASK_COUNT: '8',
    SLURM_ARRAY_TASK_MIN: '100',
    SLURM_ARRAY_TASK_STEP: '5',
  }),
}
const PROCESSES = [0, 1, 2, 3, 4, 5, 6, 7]

test.each(Object.keys(LAUNCHERS))('8 processes of %s run every seed once, and tell what they read', name => {
  const shards = PROCESSES.map(i => readShard('auto', LAUNCHERS[name]!(i)))
  expect(shards.map(({ index, count, launcher }) => [index, count, launcher])).toEqual(
    PROCESSES.map(i => [i + 1, 8, name]),
  )
  for (const [i, { variables }] of shards.entries()) {
    for (const [variable, value] of Object.entries(LAUNCHERS[name]!(i))) {
      if (variable !== 'GITLAB_CI') expect(variables).toContain(`${variable}=${value}`)
    }
  }
  const seeds = shards.flatMap(shard => [...seedsOf({ from: 1, to: 100 }, shard)])
  expect(seeds.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
})

test('the shards of any range have every seed once, and their sizes differ by one at most', () => {
  fc.assert(
    fc.property(fc.nat(1000), fc.nat(500), fc.integer({ min: 1, max: 40 }), (from, length, count) => {
      const range = { from, to: from + length }
      const parts = Array.from({ length: count }, (_, i) => [...seedsOf(range, { index: i + 1, count })])
      const all = parts.flat().sort((a, b) => a - b)
      expect(all).toEqual(Array.from({ length: length + 1 }, (_, i) => from + i))
      const sizes = parts.map(part => part.length)
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
    }),
  )
})

describe('--shard refuses', () => {
  test.each<[text: string, variables: Record<string, string>, message: string]>([
    ['0/8', {}, "Failed to read --shard '0/8': shards of 8 are numbered from 1 to 8."],
    ['9/8', {}, "Failed to read --shard '9/8': shards of 8 are numbered from 1 to 8."],
    ['3', {}, "Failed to read --shard '3': it is not a shard. Give one, as in --shard 3/8, or --shard auto."],
    ['1/999999', {}, 'there are at most 100000 shards'],
    ['auto', {}, 'Failed to read --shard auto: none of its variables is set (JOB_COMPLETION_INDEX, CI_NODE_INDEX,'],
    // A launcher that runs one process of a job does not say which one.
    ['auto', { GITLAB_CI: 'true', CI_NODE_TOTAL: '1' }, 'CI_NODE_TOTAL is set, but CI_NODE_INDEX is missing.'],
    ['auto', { JOB_COMPLETION_INDEX: '2' }, 'SHARD_COUNT is missing. Set it in the pod to the completions of the job.'],
    ['auto', { JOB_COMPLETION_INDEX: '2', SHARD_COUNT: 'many' }, "SHARD_COUNT is 'many', which is not a count."],
    [
      'auto',
      { JOB_COMPLETION_INDEX: '8', SHARD_COUNT: '8' },
      'JOB_COMPLETION_INDEX=8, SHARD_COUNT=8 name no shard of 8.',
    ],
    ['auto', { GITLAB_CI: 'true', CI_NODE_INDEX: '0', CI_NODE_TOTAL: '8' }, 'name no shard of 8'],
    ['auto', { GITHUB_ACTIONS: 'true' }, 'GitHub Actions sets no variable for it. Give --shard $'],
    // The array 1,2,9: its numbers have gaps.
    [
      'auto',
      { SLURM_ARRAY_TASK_ID: '9', SLURM_ARRAY_TASK_COUNT: '3', SLURM_ARRAY_TASK_MIN: '1', SLURM_ARRAY_TASK_STEP: '1' },
      'Number them without gaps, or give --shard i/n.',
    ],
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
