/** Shards as launchers start them: a process each, some of which are killed. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { PROJECT, run } from '../cli/process.ts'

let folder: string
beforeEach(() => {
  // In a project that has the package, so that its name leads to it.
  folder = temporaryFolder(PROJECT)
})
/**
 * Fails with some seeds. At its fifth play in a process, that process is killed unless the file `spared` exists. It is in
 * JavaScript, because the loader of TypeScript takes more than twice as long as the plays of a process.
 */
const STORY = `
import { existsSync } from 'node:fs'
import { scenario } from 'modelhost-sim/scenario'
let plays = 0
export default scenario('a short id', { fixtures: 'two-nodes' }, async ({ api, clock, check }) => {
  if (++plays === 5 && !existsSync(new URL('spared', import.meta.url))) process.kill(process.pid, 'SIGKILL')
  const { deploy_id } = await api.createLlmDeployment({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  await clock.advance('1m')
  check(await api.getDeployment({ deploy_id }), { deploy_id: /^[A-Z]/ })
})
`

function write(isSpared: boolean): string {
  const file = join(folder, 'story.js')
  writeFileSync(file, STORY)
  if (isSpared) writeFileSync(join(folder, 'spared'), '')
  return file
}

const out = (name: string) => join(folder, name)
const merged = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await run(['merge', ...args, '--json'])
  return { code, stderr, report: JSON.parse(stdout) as { files: number; digest: string } }
}

/** Process `i` of ten, each by another launcher: the contract is the same. */
const LAUNCHERS: readonly ((i: number) => Record<string, string>)[] = [
  i => ({ JOB_COMPLETION_INDEX: `${i}`, SHARD_COUNT: '10' }),
  i => ({ GITLAB_CI: 'true', CI_NODE_INDEX: `${i + 1}`, CI_NODE_TOTAL: '10' }),
  i => ({ CI_NODE_INDEX: `${i}`, CI_NODE_TOTAL: '10' }),
  i => ({ BUILDKITE_PARALLEL_JOB: `${i}`, BUILDKITE_PARALLEL_JOB_COUNT: '10' }),
  i => ({ CIRCLE_NODE_INDEX: `${i}`, CIRCLE_NODE_TOTAL: '10' }),
  i => ({ AWS_BATCH_JOB_ARRAY_INDEX: `${i}`, AWS_BATCH_JOB_ARRAY_SIZE: '10' }),
  i => ({ CLOUD_RUN_TASK_INDEX: `${i}`, CLOUD_RUN_TASK_COUNT: '10' }),
  i => ({ SEMAPHORE_JOB_INDEX: `${i + 1}`, SEMAPHORE_JOB_COUNT: '10' }),
  i => ({ BITBUCKET_PARALLEL_STEP: `${i}`, BITBUCKET_PARALLEL_STEP_COUNT: '10' }),
  i => ({ SLURM_ARRAY_TASK_ID: `${i + 1}`, SLURM_ARRAY_TASK_COUNT: '10', SLURM_ARRAY_TASK_MIN: '1' }),
]

test('ten processes with the variables of ten launchers give what one process gives', async () => {
  const file = write(true)
  const shared = ['run', file, '--seeds', '1..40']
  const [whole, ...parts] = await Promise.all([
    run([...shared, '--out', out('whole')]),
    ...LAUNCHERS.map((variables, i) => run([...shared, '--shard', 'auto', '--out', out('parts')], variables(i))),
  ])
  expect(whole.code).toBe(1)
  expect(whole.stdout).toMatch(/^40 runs: \d+ passed, \d+ failed\n {2}\S*story\.js:9: \d+ seeds, first seed \d+ of/)
  for (const [i, { stderr }] of parts.entries()) {
    expect(stderr).toContain(`Shard ${i + 1} of 10, from `)
    for (const [name, value] of Object.entries(LAUNCHERS[i]!(i))) {
      if (name !== 'GITLAB_CI') expect(stderr).toContain(`${name}=${value}`)
    }
  }
  expect(readdirSync(out('parts'))).toHaveLength(10)

  const one = await merged(out('whole'))
  const ten = await merged(out('parts'))
  expect(ten.code).toBe(1)
  expect({ ...ten.report, files: 1 }).toEqual(one.report)

  const both = await run(['merge', out('parts'), out('whole')])
  expect(both.stdout).toContain(
    'Complete: 40 of 40\nPlayed twice: 40 runs, 50 % of what was played, with equal digests\n',
  )

  rmSync(join(out('parts'), 'results-4.ndjson'))
  const incomplete = await run(['merge', out('parts'), '--finding-code', '42'])
  expect(incomplete.code).toBe(3)
  expect(incomplete.stdout).toMatch(
    /\nIncomplete: 4 of 40 missing\n {2}shard 4\/10 has no file: 4 runs missing, the first with seed 4 of \S*story\.js: a/,
  )
})

test('a process that is killed keeps its results, and the same command completes its shard', async () => {
  const file = write(false)
  const command = ['run', file, '--seeds', '1..24', '--shard', '2/2', '--out', out('parts')]
  const killed = await run(command)
  expect(killed.code).toBe(null)
  const results = join(out('parts'), 'results-2.ndjson')
  expect((await run(['merge', results])).stdout).toMatch(
    /\n {2}shard 1\/2 has no file: 12 runs.*\n {2}shard 2\/2 ended early: 8 runs missing, the first with seed 10 of /,
  )
  // And its machine lost a part of what it wrote.
  writeFileSync(results, readFileSync(results, 'utf8').slice(0, -12))

  writeFileSync(join(folder, 'spared'), '')
  const resumed = await run(command)
  expect(resumed.stderr).toContain('Continues after 3 runs\n')
  expect(resumed.stdout).toContain('12 runs: ')
  await run(command.with(5, '1/2'))
  await run([...command.slice(0, 4), '--out', out('whole')])
  const parts = await merged(out('parts'))
  const whole = await merged(out('whole'))
  expect({ ...parts.report, files: 1 }).toEqual(whole.report)
})

test('a scenario that differs from process to process is named when both results are merged', async () => {
  const file = write(true)
  writeFileSync(file, STORY.replace("'acme/chat'", "'acme/chat-' + process.pid"))
  for (const name of ['first', 'second']) await run(['run', file, '--seeds', '1..4', '--out', out(name)])
  const joined = await run(['merge', out('first'), out('second')])
  expect(joined.code).toBe(1)
  expect(joined.stdout).toContain('Played twice: 4 runs, 50 % of what was played, with different digests of 4 seeds\n')
  expect(joined.stdout).toMatch(
    /\nNot deterministic: seed 1 of \S*story.js: a short id came out differently\n {2}\w+ in /,
  )
})
