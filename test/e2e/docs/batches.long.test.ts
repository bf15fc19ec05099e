/** docs/batches.md is run: every block of code in it, in its order. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blocksOf, ReaderFolder } from './page-blocks.ts'

const blocks = blocksOf('docs/batches.md')
const codeOf = (language: string) => blocks.filter(block => block.language === language).map(({ code }) => code)
let folder: ReaderFolder

beforeAll(() => {
  folder = new ReaderFolder()
}, 120_000)
afterAll(() => {
  folder.remove()
})

test('the blocks with the openai package print their comments', async () => {
  const code = codeOf('ts')
  expect(code).toHaveLength(6)
  const printed = code.flatMap(block => [...block.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map(([, text]) => text))
  expect((await folder.script(code.join('\n'))).trimEnd().split('\n')).toEqual(printed)
}, 60_000)

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
