/** `modelhost-sim mcp` as an assistant starts it: a process whose stdin and stdout speak the protocol. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, onTestFinished, test } from 'vitest'
import { running } from '../../server/http/running-server.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { installed } from '../installed-package.ts'

async function started(args: readonly string[]) {
  const command = join(installed(), 'node_modules/modelhost-sim/bin/modelhost-sim.js')
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [command, 'mcp', ...args],
    stderr: 'pipe',
  })
  let printed = ''
  transport.stderr!.on('data', data => {
    printed += data
  })
  const client = new Client({ name: 'a test', version: '1' })
  await client.connect(transport)
  onTestFinished(() => client.close())
  const call = async (name: string, input: Record<string, unknown> = {}) => {
    const { content } = await client.callTool({ name, arguments: input })
    return (content as [{ text: string }])[0].text
  }
  return { call, client, transport, printed: () => printed }
}

test('a world of its own, which other clients reach too, until the assistant closes stdin', async () => {
  const { call, client, transport, printed } = await started(['--fixtures', 'two-nodes', '--seed', '7'])
  expect(await call('advance_clock', { by: '1h' })).toContain('2026-01-01T01:00:00')
  const [world] = JSON.parse(await call('list_worlds')) as [{ fixtures: string; seed: string }]
  expect(world).toMatchObject({ fixtures: 'two-nodes', seed: '7' })
  expect(await call('list_scenarios')).toContain('hub-outage')
  expect(await call('send_request', { method: 'GET', path: '/deploy/list' })).toContain('"status": 200')
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed())!
  expect((await fetch(`${url}/_sim/health`)).status).toBe(200)
  const { pid } = transport
  await client.close()
  expect(() => process.kill(pid!, 0)).toThrow('ESRCH')
})

test('the worlds of a server that runs', async () => {
  const { server, sim } = await running({ fixtures: 'empty' })
  const { call } = await started(['--url', server.url])
  await call('advance_clock', { by: '10m' })
  expect(sim.clock.elapsed).toBe(600_000_000)
  expect(await call('send_request', { path: '/deploy/list' })).toContain('"status": 200')
  expect(sim.requests.map(({ operation }) => operation)).toEqual(['listDeployments'])
})

const CLIENT = `export default async function read({ fetch, url, token }) {
  console.log('a line that is not of the protocol')
  const answer = await fetch(url + '/deploy/list', { headers: { authorization: 'Bearer ' + token } })
  return (await answer.json()).map(({ deploy_id }) => deploy_id)
}
`

test('a tool explores the client that --explore names, and returns its card', { timeout: 60_000 }, async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'client.mjs')
  writeFileSync(file, CLIENT)
  const { call, client } = await started(['--explore', file])
  const { tools } = await client.listTools()
  expect(tools.at(-1)).toMatchObject({ name: 'explore_client', inputSchema: { type: 'object' } })
  const report = await call('explore_client', { fixtures: 'two-nodes' })
  expect(report).toContain('This client does not survive faults: ')
  expect(report).toMatch(/temporary faults: \d+ returned, .* crashes\n/)
  expect(report).toContain('. recovers@listDeployments/crash')
  expect(report).toContain('Judged: ')
  expect(await call('explore_client', { flow: 'other.mjs' })).toContain("Failed to call 'explore_client'")
  expect(await call('explore_client', { fixtures: 'emty' })).toContain("Did you mean 'empty'?")
  const refusal = await call('explore_client', { faults: 'nope' })
  expect(refusal).toContain("Failed to read faults 'nope': ")
  expect(await call('explore_client', { budget: 'nope' })).not.toContain('--')
  const { tools: usual } = await (await started([])).client.listTools()
  expect(usual.map(({ name }) => name)).not.toContain('explore_client')
})
