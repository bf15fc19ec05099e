/** The code of docs/explain.md is run, and prints what the page shows. */
import { expect, test } from 'vitest'
import { blocksOf, runTypeScript } from './page-blocks.ts'

const blocks = blocksOf('docs/explain.md')

test('the code of docs/explain.md prints the explanation that it shows', async () => {
  expect(blocks.map(({ language }) => language)).toEqual(['ts', 'text'])
  expect(await runTypeScript('explain', blocks[0]!.code)).toBe(blocks[1]!.code)
})
