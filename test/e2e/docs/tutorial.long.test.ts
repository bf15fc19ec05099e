/** The tutorial is run: every block of it in order, with the output that it shows. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { blocksOf, blockWith, ReaderFolder } from './page-blocks.ts'

const run = promisify(execFile)
const blocks = blocksOf('docs/tutorial.md')
/** What the page shows right after a block of code. */
const outputAfter = (text: string) => blocks[blocks.findIndex(({ code }) => code.includes(text)) + 1]!.code
const folder = ReaderFolder.ofTests()

test('the tutorial has the blocks that are run below, and no other', () => {
  expect(blocks.map(({ language, opening }) => `${language} ${opening}`)).toEqual([
    'sh npm ci && npm pack',
    'sh mkdir my-client && cd my-client',
    "js import { createSimulator } from 'modelhost-sim'",
    'text ie8YS6LnLYLlEbPp initializing',
    "js const { transitions } = await sim.clock.advance('5m')",
    'text 00:00:12 deployment.downloading',
    'js sim.cluster.nodeOf(deploy_id).crash()',
    'text after the crash: { running: 0, pending: 1 }',
    "js const last = sim.journal.entries().findLast(entry => entry.kind === 'instance.ready')",
    'text instance.placed ie8YS6LnLYLlEbPp-1',
    "js import { createSimulator } from 'modelhost-sim'",
    'text 1 200',
    'js export async function deploy({ baseUrl, token }, model) {',
    "js import { expect, test } from 'modelhost-sim/vitest'",
    'sh npx vitest run',
    "ts import { scenario } from 'modelhost-sim/scenario'",
    'sh npx modelhost-sim run no-gpu.ts --update',
    'text # no GPU comes (seed 1)',
    'text       expected 86400.000000 check 1 status=initializing',
  ])
})

test('the tutorial installs the file that npm pack builds', () => {
  const { name, version } = JSON.parse(readFileSync('package.json', 'utf8')) as { name: string; version: string }
  const page = readFileSync('docs/tutorial.md', 'utf8')
  expect([...page.matchAll(/modelhost-sim-[\d.]+\.tgz/g)].map(String)).toEqual(Array(2).fill(`${name}-${version}.tgz`))
})

test('first.mjs prints what the tutorial shows after each addition', async () => {
  const additions = ['const created = ', 'const { transitions }', 'nodeOf(deploy_id).crash()', 'sim.journal.why']
  const printed = await folder.script(additions.map(text => blockWith(blocks, text)).join('\n'))
  const shown = additions.map(outputAfter)
  expect(printed.startsWith(shown.slice(0, 3).join(''))).toBe(true)
  expect(printed.endsWith(shown[3]!)).toBe(true)
})

test('faults.mjs fails the third call alone', async () => {
  expect(await folder.script(blockWith(blocks, 'nth: 3'))).toBe(outputAfter('nth: 3'))
})

test('the vitest file passes against the client of the tutorial', async () => {
  folder.write('client.mjs', blockWith(blocks, 'export async function deploy'))
  folder.write('client.test.mjs', blockWith(blocks, 'modelhost-sim/vitest'))
  folder.write('vitest.config.mjs', 'export default {}')
  const { stdout } = await run('npx', ['vitest', 'run'], { cwd: folder.path, env: { ...process.env, NO_COLOR: '1' } })
  expect(stdout).toMatch(/Tests {2}1 passed \(1\)/)
}, 60_000)

test('the scenario records its trace, holds to it, and shows the line that differs when it is changed', async () => {
  const story = blockWith(blocks, 'modelhost-sim/scenario')
  folder.write('no-gpu.ts', story)
  const [update, again] = blockWith(blocks, '--update').trim().split('\n')
  expect(await folder.command(update!)).toMatchObject({ code: 0 })
  expect(folder.read('no-gpu.trace').startsWith(blockWith(blocks, '# no GPU comes'))).toBe(true)
  expect(await folder.command(again!)).toMatchObject({ code: 0 })
  folder.write('no-gpu.ts', story.replace("'24h'", "'12h'"))
  const changed = await folder.command(again!)
  expect(changed.code).toBe(1)
  expect(changed.stdout).toContain(outputAfter('# no GPU comes'))
})
