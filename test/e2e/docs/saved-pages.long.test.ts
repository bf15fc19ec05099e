/** docs/saved-pages.md: its commands write pages. That pages run again is tested in test/e2e/pages. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blocksOf, ReaderFolder } from './page-blocks.ts'

const blocks = blocksOf('docs/saved-pages.md')
const folder = ReaderFolder.ofTests()

test('the page has the blocks that are run below, and no other', () => {
  expect(blocks.map(({ language }) => language)).toEqual(['sh', 'sh'])
})

test('each command writes its page', async () => {
  writeFileSync(join(folder.path, 'story.yaml'), 'title: a story\nsteps:\n  - advance: 1m\n')
  writeFileSync(
    join(folder.path, 'client.mjs'),
    `export default async function deploy({ fetch, url, token }) {
      const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
      const body = JSON.stringify({ model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
      return (await (await fetch(url + '/deploy/llm', { method: 'POST', headers, body })).json()).deploy_id
    }`,
  )
  await folder.command('npx modelhost-sim run story.yaml --update')
  for (const line of blocks[0]!.code.trim().split('\n')) {
    const { code } = await folder.command(line)
    expect([line, code]).toEqual([line, line.includes('explore') ? 1 : 0])
    expect(readFileSync(join(folder.path, line.split(' ').at(-1)!), 'utf8')).toMatch(/^<!doctype html>/)
  }
}, 180_000)

test('a server returns the page of a world whose past is kept', async () => {
  const address = await folder.server(['serve', '--clock', 'manual'])
  await folder.shell(blocks[1]!.code, address)
  expect(readFileSync(join(folder.path, 'world.html'), 'utf8')).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/)
}, 60_000)
