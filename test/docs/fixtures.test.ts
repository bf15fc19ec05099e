/** docs/fixtures.md lists every field of a fixture. `npx vitest run test/docs/fixtures.test.ts -u` writes its tables. */
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { FIXTURE_KEYS } from '../../src/data/fixtures/problem-report.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { jsonSchemas } from '../../tools/scaffold/schemas.ts'
import { commanded } from '../cli/commanded.ts'
import { blocksOf, blockWith } from '../e2e/docs/page-blocks.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'
import { fixtureFields, VALUE_LISTS } from './fixture-fields.ts'
import { rowsWithoutMeaning, withTables } from './kept-cells.ts'

const page = readFileSync('docs/fixtures.md', 'utf8')
const blocks = blocksOf('docs/fixtures.md')

/** Returns the path of a copy of `two-nodes` with other deployments, in a folder of its own. */
function worldWith(deployments: string): string {
  const folder = temporaryFolder()
  cpSync('fixtures/worlds/two-nodes', folder, { recursive: true })
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

test('fixture check prints what docs/fixtures.md shows', async () => {
  const shown = blockWith(blocks, '1 mistake')
  const folder = worldWith('[{ "model_name": "acme/chat", "num_gpus": 9 }]')
  const { code, stdout } = await commanded(['fixture', 'check', folder])
  expect([code, stdout]).toEqual([1, shown.replace('my-world', folder)])
})

test('docs/fixtures.md lists the files that fixture new writes', () => {
  const [, steps] = page.split('## Write a world in five minutes')
  const rows = steps!.split('\n## ')[0]!.matchAll(/^ *\| `(.*?)` \|/gm)
  expect(Array.from(rows, ([, file]) => file).sort()).toEqual(readdirSync('examples/init/my-world').sort())
})

/** The JSON Schema of a file of a fixture. */
function schemaOf(key: string): object {
  return JSON.parse(jsonSchemas().find(({ path }) => path === `fixture/${key}.schema.json`)!.text)
}

test('the JSON Schemas of fixture files accept the worlds of the package, and explain every field', {
  tags: 'slow',
}, () => {
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } })
  for (const key of FIXTURE_KEYS) {
    const validate = ajv.compile(schemaOf(key))
    for (const world of readdirSync('fixtures/worlds')) {
      const file = `fixtures/worlds/${world}/${key}.json`
      if (!existsSync(file)) continue
      expect([file, validate(JSON.parse(readFileSync(file, 'utf8'))), validate.errors]).toEqual([file, true, null])
    }
    expect([key, validate('text')]).toEqual([key, false])
  }
  const [schema] = (schemaOf('deployments') as { anyOf: { items: { properties: Record<string, unknown> } }[] }).anyOf
  expect(schema!.items.properties.num_gpus).toMatchObject({
    maximum: 8,
    default: 1,
    description: 'GPUs of one instance',
  })
})

test('an object file can name its JSON Schema as docs/fixtures.md shows', () => {
  const folder = worldWith('[]')
  writeFileSync(join(folder, 'hub.json'), blockWith(blocks, '"$schema"'))
  expect(loadFixture(folder).hub.repositories).toEqual([])
  writeFileSync(join(folder, 'hub.json'), '{ "$schema": 5, "repositories": [] }')
  expect(() => loadFixture(folder)).toThrow('hub.json: $["$schema"]: unknown field')
})
