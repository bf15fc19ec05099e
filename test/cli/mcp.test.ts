/** The tools of an AI assistant, called by the client of the protocol's own SDK. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { wholeMessages } from '../../src/cli/commands/mcp.ts'
import { controlTools, createToolServer } from '../../src/cli/mcp/tool-server.ts'
import { tryParseJson } from '../../src/lib/json-text.ts'
import { eventLoopTurn } from '../../src/lib/real-time.ts'
import { controlOperations } from '../../src/server/control/index.ts'
import type { SimulatorOptions } from '../../src/simulator/options.ts'
import { running } from '../server/http/running-server.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'
import { commanded } from './commanded.ts'

/** Returns a client of the tools of a served world. */
async function connected(options: SimulatorOptions = { fixtures: 'empty' }) {
  const { server, sim } = await running(options)
  const tools = await createToolServer({ url: server.url })
  const client = new Client({ name: 'a test', version: '1' })
  const [clientSide, toolSide] = InMemoryTransport.createLinkedPair()
  await Promise.all([client.connect(clientSide), tools.connect(toolSide)])
  onTestFinished(async () => {
    await client.close()
    await tools.close()
  })
  /** Returns the text of a result, parsed if it is JSON. */
  const call = async (name: string, input: Record<string, unknown> = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: input })
    const [{ text }] = content as [{ text: string }]
    // biome-ignore lint/suspicious/noExplicitAny: whatever the tool returns
    return { isError: isError ?? false, text, value: tryParseJson(text) as any }
  }
  return { client, call, sim, url: server.url }
}

test.each([
  ['missing.mjs', undefined, "Failed to find the flow 'missing.mjs': the file is missing."],
  [
    'empty.mjs',
    "console.log('not of the protocol')",
    'Failed to load the flow empty.mjs: it has no default export. Write',
  ],
  ['broken.mjs', 'export default (', 'Failed to load broken.mjs: '],
])('--explore %s is refused at the start', async (name, text, message) => {
  const folder = temporaryFolder()
  if (text !== undefined) writeFileSync(join(folder, name), text)
  vi.spyOn(process, 'cwd').mockReturnValue(folder)
  onTestFinished(() => void vi.restoreAllMocks())
  const { code, stdout, stderr } = await commanded(['mcp', '--explore', name])
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(message)
})

test('every operation of the control plane is a tool, but uploads, files and streams', async () => {
  const { client } = await connected()
  const { tools } = await client.listTools()
  const names = tools.map(tool => tool.name)
  expect(names).toEqual(controlTools(controlOperations).map(({ name }) => name))
  expect(new Set(names).size).toBe(names.length)
  expect(names).toEqual(expect.arrayContaining(['advance_clock', 'add_fault', 'create_world', 'get_report']))
  const others = Object.keys(controlOperations).filter(
    id => !names.includes(id.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)),
  )
  expect(others).toEqual(['watchEvents', 'savePage', 'getPastRecording', 'exportSnapshot', 'importSnapshot'])
  for (const { inputSchema, description } of tools) {
    expect(inputSchema.type).toBe('object')
    expect(description).toMatch(/^[A-Z]/)
  }
})

test('a tool takes the fields of path, query and body, and says which are required', async () => {
  const { client } = await connected()
  const { tools } = await client.listTools()
  const schemaOf = (name: string) => tools.find(tool => tool.name === name)!.inputSchema
  expect(schemaOf('get_fault')).toMatchObject({ required: ['id'], additionalProperties: false })
  expect(Object.keys(schemaOf('get_journal').properties!)).toEqual(['after', 'limit', 'kind', 'world'])
  expect(schemaOf('pause_clock')).toMatchObject({ required: ['owner'] })
  // A rule has the fields of its fault kind, too.
  expect(schemaOf('add_fault')).toMatchObject({ required: ['on', 'fault'], additionalProperties: true })
  // The operations about worlds name the world themselves.
  expect(schemaOf('get_world')).toMatchObject({ required: ['world'] })
  expect(Object.keys(schemaOf('list_worlds').properties!)).toEqual([])
})

test('an assistant deploys a model, breaks its node, and sees what the client sees', async () => {
  const { call, sim } = await connected()
  const body = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
  const created = await call('send_request', { method: 'POST', path: '/deploy/llm', body })
  expect(created.value.status).toBe(200)
  const { deploy_id } = created.value.body
  const until = { get: `/deploy/${deploy_id}`, where: { status: 'running' }, within: '1h' }
  expect((await call('until_clock', until)).value).toMatchObject({ reached: true })
  const node = await call('get_node_of_deployment', { deploy_id })
  expect((await call('give_command', { verb: 'node.crash', target: node.value.name })).isError).toBe(false)
  expect(sim.cluster.nodes().find(({ name }) => name === node.value.name)?.state).toBe('down')
  expect((await call('list_troubles')).text).toContain(node.value.name)
  expect((await call('get_metrics')).text).toContain('modelhost_sim_info')
})

test('a tool acts on the world that it names, and on that of the server otherwise', async () => {
  const { call, sim } = await connected()
  const { world } = (await call('create_world', { fixtures: 'two-nodes', clock: 'manual' })).value
  await call('advance_clock', { by: '10m', world })
  expect((await call('get_clock', { world })).value.elapsed_seconds).toBe(600)
  expect(sim.clock.elapsed).toBe(0)
  const listed = await call('send_request', { path: '/deploy/list', world })
  expect(listed.value).toMatchObject({ status: 200, body: [], now: '2026-01-01T00:10:00.000000+00:00' })
})

test.each([
  [
    'a typo of a tool',
    'advance_clok',
    {},
    "Failed to call 'advance_clok': unknown tool. Did you mean 'advance_clock'?",
  ],
  ['an unknown field', 'advance_clock', { byy: '1h' }, "Did you mean 'by'?"],
  ['an invalid duration', 'advance_clock', { by: 'soon' }, 'Failed to read the duration "soon"'],
  ['an unknown world', 'get_clock', { world: 'w9' }, "unknown world 'w9'"],
  ['a missing parameter', 'get_fault', {}, "Failed to call 'get_fault': 'id' is missing."],
  ['an invalid path', 'send_request', { method: 'GET', path: 'deploy' }, "'deploy': it is not a path of the service."],
  ['a typo in a filter', 'list_requests', { statuss: '4xx' }, "unknown field 'statuss'. Did you mean 'status'?"],
  ['a typo in a request', 'send_request', { method: 'GET', path: '/', clint: 'x' }, "Did you mean 'client'?"],
  ['a world that is not a name', 'get_clock', { world: {} }, 'the world is {}. Give a name that list_worlds shows.'],
  ['a world that leads elsewhere', 'get_clock', { world: '..' }, 'the world is "..".'],
  ['a subject that leads elsewhere', 'explain_subject', { subject: '..' }, 'which an address cannot have'],
  ['an object for a text of the path', 'get_causes', { seq: {} }, 'Failed to call getCauses: seq is {}. Give a text.'],
  ['a list for a text of the path', 'get_fault', { id: [] }, 'Failed to call getFault: id is []. Give a text.'],
  ['an object for a text of the query', 'get_ledger', { subject: { a: 1 } }, 'subject is {"a":1}. Give a text.'],
  ['a missing path', 'send_request', { method: 'GET' }, 'path is missing.'],
  ['a GET with a body', 'send_request', { method: 'GET', path: '/', body: {} }, 'a GET has no body.'],
  ['an unknown client', 'send_request', { path: '/', client: '€' }, 'unknown API token.'],
  ['an unsupported method', 'send_request', { method: 'FETCH IT', path: '/' }, 'FETCH IT'],
])('%s is an error that the assistant reads, and changes nothing', { tags: 'slow' }, async (_, name, input, words) => {
  const { call, sim } = await connected()
  const before = sim.digest
  const { isError, text } = await call(name, input)
  expect(text).toContain(words)
  expect(isError).toBe(true)
  expect(sim.digest).toBe(before)
})

test('a long answer is cut, and says so', { tags: 'slow' }, async () => {
  const { call, sim } = await connected({ fixtures: 'fleet' })
  await sim.clock.advance('12h')
  const { text } = await call('get_journal', { limit: 5000 })
  expect(text.length).toBeLessThan(101_000)
  expect(text).toMatch(/… \d+ characters more\. Ask for less\.$/)
})

test('a request that a fault leaves without an answer says so, and a call that is cancelled ends', {
  tags: 'slow',
}, async () => {
  const { call, client, sim } = await connected()
  sim.faults.add({ on: 'getMe', times: 1, fault: { kind: 'reset' } })
  const { value } = await call('send_request', { method: 'GET', path: '/v1/me' })
  expect(value).toMatchObject({ status: 0, body: 'fetch failed' })
  sim.faults.add({ on: 'getMe', fault: { kind: 'hang' } })
  const cancel = new AbortController()
  const input = { name: 'send_request', arguments: { method: 'GET', path: '/v1/me' } }
  const asked = client.callTool(input, undefined, { signal: cancel.signal })
  while (sim.requests.length < 2) await eventLoopTurn()
  cancel.abort()
  await expect(asked).rejects.toThrow()
  expect((await call('get_clock')).isError).toBe(false)
})

test('tools of a server that does not run say so', async () => {
  const tools = await createToolServer({ url: 'http://127.0.0.1:1' })
  const client = new Client({ name: 'a test', version: '1' })
  const [clientSide, toolSide] = InMemoryTransport.createLinkedPair()
  await Promise.all([client.connect(clientSide), tools.connect(toolSide)])
  onTestFinished(() => client.close())
  const { content } = await client.callTool({ name: 'get_clock', arguments: {} })
  expect(content).toEqual([
    {
      type: 'text',
      text: expect.stringMatching(/^Failed to reach a simulator at http:\/\/127.0.0.1:1: .* correct --url\.$/),
    },
  ])
})

test('a message is read in one piece, and one that is too long is refused without an end of the tools', async () => {
  const big = Buffer.alloc(20 * 1024 * 1024, 'x')
  const pieces = [Buffer.from('{"a":'), Buffer.from('1}\n{"b":2}\n'), big, Buffer.from('\n{"c":3}\n')]
  const refused: string[] = []
  const read: string[] = []
  for await (const message of wholeMessages(Readable.from(pieces), text => refused.push(text)))
    read.push(String(message))
  expect(read).toEqual(['{"a":1}\n', '{"b":2}\n', '{"c":3}\n'])
  expect(refused.map(text => JSON.parse(text))).toEqual([
    {
      ...{ jsonrpc: '2.0', id: null },
      error: {
        code: -32600,
        message: 'Failed to read a message: it has 20,971,521 bytes, and 4,194,304 is the most. Send less in one call.',
      },
    },
  ])
})
