/** The tutorial about explore is run: each step of the client, with the report that the page shows. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RULES } from '../../../src/simulator/judge/rules/index.ts'
import { blocksOf, blockWith, ReaderFolder } from './page-blocks.ts'

const blocks = blocksOf('docs/explore-tutorial.md')
const STEPS = 6
const EXPLORE = ['explore', 'client.mjs', '--fixtures', 'empty', '--faults', 'singles']
const folder = ReaderFolder.ofTests()

/** The lines of a report that the page shows. */
function summaryOf(report: string): string {
  const isShown = (line: string) =>
    /^(\d+\. |client:|\d+ findings?$| {2}(?:No finding|No problem|This client|It has) )/.test(line)
  return `${report.split('\n').filter(isShown).join('\n')}\n`
}

test('the tutorial has the blocks that are run below, and no other', () => {
  expect(blocks.map(({ language }) => language)).toEqual([
    ...['js', 'sh', 'text', 'text', 'sh'],
    ...Array.from({ length: STEPS }, () => ['diff', 'text']).flat(),
    'ts',
  ])
  expect(blocks[1]!.code.trim()).toBe(`npx modelhost-sim ${EXPLORE.join(' ')} --write findings`)
})

test('each step mends what the page says, and the last one leaves nothing', { timeout: 600_000 }, async () => {
  folder.write('client.mjs', blocks[0]!.code)
  const first = await folder.command(`npx modelhost-sim ${EXPLORE.join(' ')} --write findings`)
  expect(summaryOf(first.stdout)).toBe(blocks[2]!.code)
  expect(first.stdout).toContain(blocks[3]!.code)
  const replay = blocks[4]!.code.trim()
  expect((await folder.command(replay)).code).toBe(1)
  for (let step = 0; step < STEPS; step++) {
    const [diff, report] = blocks.slice(5 + 2 * step)
    writeFileSync(join(folder.path, 'step.diff'), diff!.code)
    execFileSync('git', ['apply', 'step.diff'], { cwd: folder.path, env: { ...process.env, GIT_DIR: '/nonexistent' } })
    const { stdout } = await folder.command(`npx modelhost-sim ${EXPLORE.join(' ')}`)
    expect(summaryOf(stdout), `after step ${step + 1}`).toBe(report!.code)
  }
  expect((await folder.command(replay)).code).toBe(0)
})

test('the test of the page passes', { timeout: 120_000 }, async () => {
  folder.write('client.test.mjs', blockWith(blocks, 'modelhost-sim/vitest'))
  folder.write('vitest.config.mjs', 'export default {}')
  const env = { ...process.env, NO_COLOR: '1' }
  const printed = execFileSync('npx', ['vitest', 'run'], { cwd: folder.path, env, encoding: 'utf8' })
  expect(printed).toMatch(/Tests {2}1 passed \(1\)/)
})

test('docs/explore.md lists every invariant with its meaning, and its flows run', async () => {
  const page = readFileSync('docs/explore.md', 'utf8')
  for (const [name, { summary }] of Object.entries(RULES)) expect(page).toContain(`| \`${name}\` | ${summary} |`)
  const [listing, batch] = blocksOf('docs/explore.md')
  folder.write('listing.mjs', listing!.code)
  folder.write('batch.mjs', batch!.code)
  for (const name of ['listing', 'batch']) {
    const { code, stdout } = await folder.command(`npx modelhost-sim explore ${name}.mjs --faults singles --budget 5`)
    expect([code, stdout.split(':')[0]]).toEqual([3, name])
  }
})
