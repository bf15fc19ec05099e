/** docs/fixtures.md lists every field of a fixture. `npx vitest run test/docs/fixtures.test.ts -u` writes its tables. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { blocksOf, blockWith } from '../e2e/docs/page-blocks.ts'
import { fixtureFields, VALUE_LISTS } from './fixture-fields.ts'
import { rowsWithoutMeaning, withTables } from './kept-cells.ts'

const page = readFileSync('docs/fixtures.md', 'utf8')
const blocks = blocksOf('docs/fixtures.md')

/** Returns the path of a copy of `two-nodes` with other deployments, in a folder of its own. */
function worldWith(deployments: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'fixture-page-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  cpSync('fixtures/two-nodes', folder, { recursive: true })
  writeFileSync(join(folder, 'deployments.json'), deployments)
  return folder
}

test('docs/fixtures.md lists the fields of the schemas with types and defaults, each with a meaning', async () => {
  const tables = [...fixtureFields()].map(([file, rows]) => {
    const cells = rows.map(({ field, type, default: value }) => [`\`${field}\``, type, value])
    return [`### \`${file}\``, cells] as const
  })
  const current = withTables(page, new Map(tables))
  await expect(current).toMatchFileSnapshot('../../docs/fixtures.md')
  expect(rowsWithoutMeaning(current)).toEqual([])
})

test('docs/fixtures.md lists the files and the values of the schemas, and none else', () => {
  const headings = [...page.matchAll(/^### `(.*)`$/gm)].map(([, file]) => file)
  expect(headings).toEqual([...fixtureFields().keys()])
  const lists = page.split('\n## Lists of values\n')[1]!.split(/^- /m).slice(1)
  const shown = lists.map(text => [
    /\*\*(.*):\*\*/.exec(text)![1],
    [...text.matchAll(/`(.*?)`/g)].map(([, word]) => word),
  ])
  expect(Object.fromEntries(shown)).toEqual(VALUE_LISTS)
})

test('the world that docs/fixtures.md edits starts as the page says', () => {
  const sim = createSimulator({ fixtures: worldWith(blockWith(blocks, '"kind": "wave"')) })
  expect([...sim.world.deployments.entries()].map(([, { plan, status }]) => [plan.modelName, status])).toEqual([
    ['acme/chat', 'running'],
  ])
})

test('mistakes of a fixture are reported as docs/fixtures.md shows', () => {
  const shown = blockWith(blocks, 'Failed to load')
  const folder = worldWith('[{ "model_name": "acme/chat", "num_gpus": 9 }]')
  const account = JSON.parse(readFileSync(join(folder, 'account.json'), 'utf8')) as object
  writeFileSync(join(folder, 'account.json'), JSON.stringify({ ...account, cart: 'good' }))
  expect(() => createSimulator({ fixtures: folder })).toThrow(shown.trim().replace('./my-world', folder))
})
