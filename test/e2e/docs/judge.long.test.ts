/** The code of docs/judge.md is run, and prints what the page shows. test/docs/judge.test.ts compares its other report. */
import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { commanded } from '../../cli/commanded.ts'
import { running } from '../../server/http/running-server.ts'
import { blocksOf, runTypeScript } from './page-blocks.ts'

const blocks = blocksOf('docs/judge.md')
const [first, printed, command, ownRule] = blocks.map(({ code }) => code) as [string, string, string, string]

test('the code of docs/judge.md prints the findings that it shows', async () => {
  expect(blocks.map(({ language }) => language)).toEqual(['ts', 'text', 'sh', 'ts', 'text'])
  expect(await runTypeScript('judge', first)).toBe(printed)
})

test('the rule of docs/judge.md is applied', async () => {
  expect(await runTypeScript('own-rule', first + ownRule)).toBe(`${printed}namesItsWork\n`)
})

test('the command of docs/judge.md judges a server', async () => {
  const { server, ask } = await running()
  await ask('/deploy/list')
  const [npx, name, ...args] = command.trim().split(' ')
  expect([npx, name]).toEqual(['npx', 'modelhost-sim'])
  onTestFinished(() => rmSync('judge.xml', { force: true }))
  const { code, stdout } = await commanded([...args, '--url', server.url])
  expect([code, stdout]).toEqual([0, '1 client, 1 request, 12 rules: 0 findings\n'])
})
