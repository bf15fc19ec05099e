/** The page about the control room: its commands, and what it says of the views and the keys. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { KEYS } from '../../../src/server/page/shell/keyboard.ts'
import { VIEWS } from '../../../src/server/page/views/all-views.ts'
import { blocksOf, ReaderFolder } from './page-blocks.ts'

const page = readFileSync('docs/control-room.md', 'utf8')
const blocks = blocksOf('docs/control-room.md')
const folder = ReaderFolder.ofTests()

test('the server of the page records what was done as a scenario, which passes by the commands of the page', async () => {
  const [serve, run] = blocks.map(({ code }) => code)
  expect(blocks).toHaveLength(2)
  // `--open` starts a browser: test/e2e/cli/serve.test.ts tries it with a program in its place.
  const args = serve!.trim().split(' ').slice(2)
  expect(args.at(-1)).toBe('--open')
  const address = await folder.server(args.slice(0, -1))
  const send = async (method: string, path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`http://${address}${path}`, {
      method,
      ...(body !== undefined && { headers, body: JSON.stringify(body) }),
    })
    expect([path, response.status]).toEqual([path, 200])
    return response.text()
  }
  await send('POST', '/_sim/past')
  await send('POST', '/_sim/commands', { verb: 'node.crash', target: 'h100-0' })
  await send('POST', '/_sim/clock/advance', { by: '10m' })
  folder.write('scenario.yaml', await send('GET', '/_sim/past/scenario?format=yaml&only=actions'))
  for (const line of run!.trim().split('\n')) expect(await folder.command(line)).toMatchObject({ code: 0 })
})

test('the tables list the views and the keys that there are', () => {
  expect([...page.matchAll(/^\| (\w+) \| [A-Z][^|]*\?/gm)].map(([, view]) => view)).toEqual(
    VIEWS.map(({ title }) => title),
  )
  expect(page.match(/^## Keys[\s\S]*?(?=^## )/m)![0].match(/^\| (?!Key|---)/gm)).toHaveLength(KEYS.length)
})
