/** The flags of `run` with which a process plays a part of the seeds. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type RunArguments, run } from '../../../../src/cli/commands/run.ts'
import { seedList } from '../../../../src/cli/values.ts'
import { commandOutput } from '../../../cli/command-output.ts'
import { temporaryFolder } from '../../../setup/temporary-folder.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
  const json = (status: string) =>
    JSON.stringify({
      title: 'a deployment starts',
      given: { fixtures: 'two-nodes' },
      seeds: 'any',
      steps: [{ expect: { get: { value: status }, is: 'running' } }],
    })
  writeFileSync(join(folder, 'a.scenario.json'), json('running'))
})
afterEach(() => {
  vi.unstubAllEnvs()
})

async function play(args: RunArguments) {
  const { written, output } = commandOutput()
  const code = await run({ scenarios: ['.'], reporter: 'pretty', ...args }, { ...output, folder })
  return { code, ...written }
}
const seeds = seedList('1..9', 'seeds')

test.each<[args: RunArguments, message: string]>([
  [{ shard: '1/2' }, 'Failed to read --shard: it needs a range of seeds. Give one, as in --seeds 1..1000.'],
  [{ out: 'o' }, 'Failed to read --out: it needs a range of seeds. Give one, as in --seeds 1..1000.'],
  [
    { seeds, shard: '1/2' },
    'Failed to read --shard: it needs a folder for the results. Give one, as in --out results.',
  ],
  [{ seeds: ['1', '7'], out: 'o' }, 'Failed to read --seeds: shards divide a range of seeds. Give one, as in --seeds'],
  [{ seeds: ['north'], out: 'o' }, 'Failed to read --seeds: shards divide a range of seeds. Give one, as in --seeds'],
  [
    { seeds, out: 'o', bail: true },
    "Failed to read --out: it writes results for 'modelhost-sim merge', and excludes --bail. Leave it out.",
  ],
  [{ seeds, out: 'o', reporter: 'json' }, 'and excludes --reporter. Leave it out.'],
  [{ seeds, out: 'o', shard: 'auto' }, "JOB_COMPLETION_INDEX is 'x', which is not a count. Give a whole number."],
  [{ seeds, out: 'o', filter: 'nothing of this' }, 'none is selected. Try other words in --filter or --tag.'],
  [{ seeds, out: 'o', scenarios: ['missing'] }, "Failed to find the scenario 'missing': the file is missing."],
])('%j is refused, and nothing is written', async (args, message) => {
  vi.stubEnv('JOB_COMPLETION_INDEX', 'x')
  vi.stubEnv('SHARD_COUNT', '2')
  const { code, out, error } = await play(args)
  expect([code, out]).toEqual([2, ''])
  expect(error).toContain(message)
  expect(existsSync(join(folder, 'o'))).toBe(false)
})

test('a part of the seeds is played, and the same command plays nothing again', async () => {
  const first = await play({ seeds: seeds.slice(1), shard: '2/4', out: 'o' })
  expect(first).toMatchObject({ code: 0, out: '2 runs: 2 passed, 0 failed\n' })
  expect(first.error).toBe(`Shard 2 of 4: 2 runs of seeds 2..9, in ${join(folder, 'o/results-2.ndjson')}\n`)
  const second = await play({ seeds: seeds.slice(1), shard: '2/4', out: 'o' })
  expect(second.error).toContain('Continues after 2 runs\n')
  expect(second.out).toBe(first.out)
})

test('the status file of Bazel is touched', async () => {
  const status = join(folder, 'status')
  vi.stubEnv('TEST_SHARD_INDEX', '1')
  vi.stubEnv('TEST_TOTAL_SHARDS', '2')
  vi.stubEnv('TEST_SHARD_STATUS_FILE', status)
  expect((await play({ seeds, shard: 'auto', out: 'o' })).error).toContain(
    'Shard 2 of 2, from Bazel (TEST_SHARD_INDEX=1',
  )
  expect(existsSync(status)).toBe(true)
})
