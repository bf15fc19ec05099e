/** docs/coming-from.md: its blocks and the calls of its tables run. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createSimulator } from '../../../src/index.ts'
import { blocksOf, ReaderFolder } from './page-blocks.ts'

const blocks = blocksOf('docs/coming-from.md')
const page = readFileSync('docs/coming-from.md', 'utf8')
/** A client: it retries its first request. */
const CLIENT = `
const statuses = []
const ask = async (path, body) => {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer sim_empty_token' }
  const answer = await fetch(baseUrl + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })
  statuses.push(answer.status)
  return answer.ok ? answer.json() : undefined
}
const [{ model_name, status }] = (await ask('/deploy/list')) ?? (await ask('/deploy/list'))
const messages = [{ role: 'user', content: 'How is the weather?' }]
const { choices } = await ask('/v1/chat/completions', { model: 'acme/chat', messages })
console.log(...statuses, model_name, status, choices[0].message.content)
mocks.close()`
const folder = ReaderFolder.ofTests()

test('a client gets from the simulator what it got from the handlers', async () => {
  expect(blocks.map(({ language }) => language)).toEqual(['ts', 'ts', 'sh', 'sh'])
  for (const { code } of blocks.slice(0, 2)) {
    expect(await folder.script(code + CLIENT)).toBe('503 200 200 acme/chat running Sunny.\n')
  }
})

test('each call of the tables is one that the simulator takes', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  await sim.fetch('http://sim/deploy/list', { headers: { authorization: `Bearer ${sim.token}` } })
  const calls = [...page.matchAll(/`(sim\..*?\))`[ ,:|]/g)].map(([, call]) => call!)
  expect(calls).toHaveLength(8)
  for (const call of calls.filter(call => !call.startsWith('sim.record'))) {
    const result = await (new Function('sim', `return ${call}`)(sim) as Promise<{ ok?: boolean } | undefined>)
    if (call.startsWith('sim.verify')) expect(result).toMatchObject({ ok: true })
  }
})

test('two jobs on one server have a world each', async () => {
  const [start, jobs] = blocks.slice(2).map(({ code }) => code)
  const address = await folder.server(start!.trim().split(' ').slice(2))
  const printed = await folder.shell(jobs!, address)
  const statuses = [...printed.matchAll(/"status":"(\w+)"/g)].map(([, status]) => status)
  expect(statuses).toEqual(['initializing', 'initializing', 'running', 'initializing'])
})
