/** docs/account.md is run: every block of code in it. */
import { expect, test } from 'vitest'
import { blocksOf, ReaderFolder, runTypeScript } from './page-blocks.ts'

const blocks = blocksOf('docs/account.md')
const folder = ReaderFolder.ofTests()

test('docs/account.md has the blocks that are run below, and no other', () => {
  expect(blocks.map(({ language }) => language)).toEqual(['ts', 'sh', 'sh'])
})

test('the deletion of an account prints the statuses of its comments', async () => {
  expect(await runTypeScript('account', blocks[0]!.code)).toBe('401\n200\n')
})

test('the commands get a scoped token and the costs of requests', async () => {
  const address = await folder.server(['serve'])
  expect(JSON.parse(await folder.shell(blocks[1]!.code, address))).toEqual({ token: expect.stringMatching(/^jwt:/) })
  expect(JSON.parse(await folder.shell(blocks[2]!.code, address))).toEqual({ requests: [] })
})
