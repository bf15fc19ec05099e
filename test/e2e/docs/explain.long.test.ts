/** The code of docs/explain.md is run, and prints what the page shows. */
import { expect, test } from 'vitest'
import { commanded } from '../../cli/commanded.ts'
import { blocksOf, runTypeScript } from './page-blocks.ts'

const blocks = blocksOf('docs/explain.md')

test('the code of docs/explain.md prints the explanation that it shows', async () => {
  expect(blocks.map(({ language }) => language)).toEqual(['ts', 'text', 'sh'])
  expect(await runTypeScript('explain', blocks[0]!.code)).toBe(blocks[1]!.code)
})

test('the command of docs/explain.md explains a node', async () => {
  const [npx, name, ...args] = blocks[2]!.code.trim().split(' ')
  expect([npx, name]).toEqual(['npx', 'modelhost-sim'])
  const { code, stdout } = await commanded(args)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^h100-0\n {2}h100-0 is a node with 8 GPUs/)
})
