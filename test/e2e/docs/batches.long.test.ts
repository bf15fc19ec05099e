/** docs/batches.md is run: every block of code in it, in its order. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runIn } from '../examples/installed.ts'
import { installed, packageIn } from '../installed-package.ts'
import { blocksOf, ReaderFolder } from './page-blocks.ts'

const imports = 'import openai, sys; sys.exit(sys.version_info < (3, 11))'
const hasOpenai = spawnSync('python3', ['-c', imports]).status === 0

const blocks = blocksOf('docs/batches.md')
const codeOf = (language: string) => blocks.filter(block => block.language === language).map(({ code }) => code)
const folder = ReaderFolder.ofTests()

test('the blocks with the openai package print their comments', async () => {
  const code = codeOf('ts')
  expect(code).toHaveLength(6)
  const printed = code.flatMap(block => [...block.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map(([, text]) => text))
  expect((await folder.script(code.join('\n'))).trimEnd().split('\n')).toEqual(printed)
}, 60_000)

test.skipIf(!hasOpenai)(
  `the script in Python prints its comments${hasOpenai ? '' : ' (skipped: Python 3.11 has no openai package here)'}`,
  async () => {
    const [script, ...others] = codeOf('python')
    expect(others).toEqual([])
    folder.write('batches.py', script!)
    const home = packageIn(installed())
    const environment = {
      MODELHOST_SIM_COMMAND: `${process.execPath} ${join(home, 'bin/modelhost-sim.js')}`,
      PYTHONPATH: join(home, 'clients/python/src'),
    }
    const { said } = await runIn(folder.path, ['python3', 'batches.py'], environment)
    expect(said.trimEnd().split('\n')).toEqual([...script!.matchAll(/ {2}# (.*)$/gm)].map(([, text]) => text))
  },
  60_000,
)

test('the blocks with curl get a batch with one failed line, one that expired and one that was cancelled', async () => {
  const [serve, ...code] = codeOf('sh')
  expect([serve, code.length]).toEqual(['npx modelhost-sim serve --clock manual\n', 3])
  const address = await folder.server(['serve', '--clock', 'manual'])
  const printed = await folder.shell(code.join('\n'), address)
  const counts = [
    ...printed.matchAll(/"status":"(completed|expired|cancelled)".*?"total":(\d+),"completed":(\d+),"failed":(\d+)/g),
  ]
  expect(counts.map(([, ...figures]) => figures)).toEqual([
    ['completed', '4', '3', '1'],
    ['expired', '2000', expect.any(String), '0'],
    ['cancelled', '2000', expect.stringMatching(/^[1-9]/), '0'],
  ])
  expect(printed).toContain(`\n${counts.at(-1)![3]} rows\n`)
  expect(printed).toContain('"custom_id":"question-3"')
}, 60_000)
