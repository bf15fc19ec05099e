/** docs/shards.md: its commands are run, and its table has the variables that are read. */
import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { readShard } from '../../../src/workbench/explore/shards/shard.ts'
import { writeColdStart } from '../cold-start.ts'
import { blocksOf, ReaderFolder } from './page-blocks.ts'

const PAGE = 'docs/shards.md'
const folder = ReaderFolder.ofTests()
beforeAll(() => {
  writeColdStart(folder.path)
}, 120_000)

test('the commands divide and join', async () => {
  const blocks = blocksOf(PAGE).map(({ code }) => code.trim().split('\n'))
  expect(blocks.map(({ length }) => length)).toEqual([1, 1, 2, 4])
  const lines = blocks.slice(0, 3).flat()
  const [part, join1, whole, joinBoth] = lines.map(line => line.replace('1..200', '1..16')) as [
    string,
    string,
    string,
    string,
  ]
  expect(await folder.command(part)).toMatchObject({ code: 0, stdout: '2 runs: 2 passed, 0 failed\n' })
  expect(await folder.command(join1)).toMatchObject({
    code: 3,
    stdout: expect.stringContaining('\nIncomplete: 14 of 16 missing\n  shard 1/8 has no file: 2 runs missing'),
  })
  await Promise.all([1, 3, 4, 5, 6, 7, 8].map(shard => folder.command(part.replace('2/8', `${shard}/8`))))
  const joined = await folder.command(join1)
  expect(joined).toMatchObject({ code: 0, stdout: expect.stringContaining('\nComplete: 16 of 16\n') })
  await folder.command(whole)
  const digest = (text: string) => /digest (\w+)/.exec(text)![1]
  expect(digest((await folder.command(join1.replace(/results.*/, 'whole'))).stdout)).toBe(digest(joined.stdout))
  expect((await folder.command(joinBoth)).stdout).toContain(
    'Played twice: 16 runs, 50 % of what was played, with equal digests\n',
  )
}, 120_000)

test('a flow is explored with seeds', async () => {
  folder.write(
    'client.ts',
    `export default async ({ fetch, url, token }: { fetch: typeof globalThis.fetch; url: string; token: string }) => {
       const headers = { authorization: 'Bearer ' + token }
       await fetch(url + '/deploy/list', { headers, signal: AbortSignal.timeout(1000) }).catch(() => {})
     }`,
  )
  const [, , , lines] = blocksOf(PAGE).map(({ code }) => code.trim().split('\n'))
  const said: string[] = []
  for (const line of lines!) {
    const { code, stdout } = await folder.command(line)
    said.push(stdout)
    expect([line, code]).toEqual([line, 0])
  }
  expect(said[0]).toContain('0 findings\n')
  expect(said.at(-1)).toMatch(
    /^40 runs of client in 2 files.*\nComplete: 40 of 40\nPlayed twice: nothing\nNothing found\n$/,
  )
}, 120_000)

test('the table has the variables and the number of the first process of each launcher', () => {
  const rows = readFileSync(PAGE, 'utf8').matchAll(/^\| (.*?) \| `(\w+)`, from (\S+) \| `(\w+)`.* \|$/gm)
  const launchers = [...rows].map(([, name, index, first, count]) => {
    const min = first!.startsWith('`') ? { [first!.replaceAll('`', '')]: '1' } : {}
    const gitlab = name!.startsWith('GitLab') ? { GITLAB_CI: 'true' } : {}
    const shard = readShard('auto', { [index!]: first === '0' ? '2' : '3', [count!]: '8', ...min, ...gitlab })
    expect([name, shard.index, shard.count]).toEqual([name, 3, 8])
    return shard.source!.replace(/ \(.*/, '')
  })
  expect(launchers.join(', ')).toBe(
    'Bazel, Kubernetes, Nomad, GitLab, CI, Buildkite, CircleCI, AWS Batch, Cloud Run, Semaphore, Bitbucket, Slurm, PBS, ' +
      'TORQUE, GNU parallel, LSF',
  )
})
