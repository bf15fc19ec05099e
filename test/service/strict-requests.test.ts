/** Worlds that are strict about what clients send. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../../src/server/http/server.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { askTo, formOf } from '../setup/send-to.ts'

const LLM = { model_name: 'chat', gpu: 'L4-24GB', hub: { repo: 'acme/chat-8b' } }

test('unknown fields are refused with their place and the nearest name', async () => {
  const sim = createSimulator({ strictRequests: true })
  const { digest } = sim
  const sent = {
    ...LLM,
    num_gpu: 2,
    hub: { repo: 'acme/chat-8b', revison: 'main' },
    settings: { min_instances: -1, x: 1 },
  }
  const { status, body } = await askTo(sim, 'POST /deploy/llm', sent)
  expect(status).toBe(422)
  expect(body.detail).toMatchObject([
    { loc: ['body', 'settings', 'min_instances'], type: 'greater_than_equal' },
    {
      loc: ['body', 'hub', 'revison'],
      msg: "Extra inputs are not permitted: revison. Did you mean 'revision'?",
      type: 'extra_forbidden',
    },
    { loc: ['body', 'num_gpu'], msg: "Extra inputs are not permitted: num_gpu. Did you mean 'num_gpus'?" },
    {
      loc: ['body', 'settings', 'x'],
      msg: 'Extra inputs are not permitted: x. It takes min_instances, max_instances.',
    },
  ])
  expect(sim.digest).toBe(digest)
  expect((await askTo(createSimulator(), 'POST /deploy/llm', { ...sent, settings: {} })).status).toBe(200)
})

test('a field of an object that a declaration leaves open is accepted', async () => {
  const sim = createSimulator({ strictRequests: true })
  const batch = {
    input_file_id: 'file_HSCZDQPBeSpnXB5vXxnzQcds',
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    metadata: { anything: 'goes' },
  }
  expect((await askTo(sim, 'POST /v1/batches', batch)).status).toBe(200)
  const count = {
    model: 'aurora-labs/aurora-8b-instruct',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', cache: true }], name: 'x' }],
    tools: [{ name: 't', input_schema: { properties: { x: {} } }, strict: true }],
    tool_choice: { type: 'auto', other: 1 },
  }
  expect((await askTo(sim, 'POST /vendor_a/v1/messages/count_tokens', count)).status).toBe(200)
  expect(sim.unreadFields).toEqual([])
})

test('unknown fields within messages are refused, and fields of answers that clients send back are known', async () => {
  const sim = createSimulator({ strictRequests: true })
  const chat = { model: 'acme/assistant', messages: [{ role: 'user', content: 'Hello!' }] }
  const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', anything: 'goes' } } }
  const unknownFields = async (more: object) => {
    const { status, body } = await askTo(sim, 'POST /v1/chat/completions', { ...chat, ...more })
    expect(status).toBe(422)
    return body.detail.map(
      ({ loc, msg }: { loc: string[]; msg: string }) => `${loc.join('.')}: ${msg.slice(msg.indexOf('. ') + 2)}`,
    )
  }
  expect(await unknownFields({ messages: [{ role: 'user', contnet: 'x' }] })).toEqual([
    "body.messages.0.contnet: Did you mean 'content'?",
  ])
  expect(await unknownFields({ messages: [{ role: 'user', content: [{ type: 'text', txt: 'x' }] }] })).toEqual([
    "body.messages.0.content.0.txt: Did you mean 'text'?",
  ])
  expect(await unknownFields({ stream: true, stream_options: { include_usge: true } })).toEqual([
    "body.stream_options.include_usge: Did you mean 'include_usage'?",
  ])
  const format = { type: 'json_schema', json_schema: { name: 'a', shema: { type: 'object' } } }
  expect(await unknownFields({ response_format: format })).toEqual([
    "body.response_format.json_schema.shema: Did you mean 'schema'?",
  ])
  expect(await unknownFields({ tools: [{ type: 'function', function: { name: 'f', paramters: {} } }] })).toEqual([
    "body.tools.0.function.paramters: Did you mean 'parameters'?",
  ])
  expect(sim.unreadFields.map(({ what }) => what)).toContain('body messages.0.contnet')
  const read = sim.unreadFields.length
  const { body } = await askTo(sim, 'POST /v1/chat/completions', { ...chat, tools: [tool], tool_choice: 'required' })
  const { message } = body.choices[0]
  const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'done' }
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,' } }
  const messages = [{ role: 'user', content: [image, { type: 'text', text: 'Go.' }] }, message, result]
  expect((await askTo(sim, 'POST /v1/chat/completions', { ...chat, messages, tools: [tool] })).status).toBe(200)
  expect(sim.unreadFields).toHaveLength(read)
  const lenient = await askTo(createSimulator(), 'POST /v1/chat/completions', {
    ...chat,
    messages: [{ role: 'user', content: 'x', contnet: 'x' }],
  })
  expect(lenient.status).toBe(200)
})

test('unread parameters, fields, bodies and parts of forms are counted', async () => {
  const sim = createSimulator({ strictRequests: true })
  expect((await askTo(sim, 'GET /deploy/list?stauts=running&stauts=failed')).status).toBe(200)
  await askTo(sim, 'GET /deploy/list?stauts=running')
  await askTo(sim, 'POST /deploy/llm', { ...LLM, hub: { ...LLM.hub, path: '' } })
  expect((await askTo(sim, 'POST /deploy/ZULBVvLkUPftB8Mo/start', { now: true })).status).toBe(200)
  const form = formOf({ purpose: 'batch', porpoise: 'batch', file: new Blob(['{}']) })
  expect((await askTo(sim, 'POST /v1/files', form)).status).toBe(422)
  expect(sim.unreadFields).toEqual([
    { operation: 'listDeployments', what: 'query stauts', times: 2 },
    { operation: 'createLlmDeployment', what: 'body hub.path', times: 1 },
    { operation: 'startDeployment', what: 'body', times: 1 },
    { operation: 'uploadFile', what: 'body porpoise', times: 1 },
  ])
  expect(sim.requests[0]).toHaveProperty('unread', ['query stauts'])
  sim.reset()
  expect(sim.unreadFields).toEqual([])
})

test('neutral and named words are known in a world with names, and messages have the named ones', async () => {
  const sim = createSimulator({ strictRequests: true, names: { fields: { hub: 'depot' } } })
  expect((await askTo(sim, 'POST /deploy/llm', LLM)).status).toBe(200)
  const named = { ...LLM, model_name: 'two', hub: undefined }
  expect((await askTo(sim, 'POST /deploy/llm', { ...named, depot: LLM.hub })).status).toBe(200)
  const { body } = await askTo(sim, 'POST /deploy/llm', { ...named, depott: LLM.hub })
  expect(body.detail).toContainEqual(
    expect.objectContaining({
      loc: ['body', 'depott'],
      msg: "Extra inputs are not permitted: depott. Did you mean 'depot'?",
    }),
  )
  const both = await askTo(sim, 'POST /deploy/llm', { ...named, depot: { repo: 'acme/chat-8b', x: 1 }, hub: LLM.hub })
  expect(both.status).toBe(422)
  expect(both.body.detail).toMatchObject([{ loc: ['body', 'depot', 'x'] }])
  const ours = await askTo(sim, 'POST /deploy/llm', { ...named, model_name: 'three', depot: LLM.hub, hub: { x: 1 } })
  expect(ours.status).toBe(200)
})

test('a server lists the unread fields of each world', async () => {
  const server = await serve(createSimulator(), { port: 0 })
  onTestFinished(() => server.close())
  const json = { 'content-type': 'application/json' }
  const made = await fetch(`${server.url}/_sim/worlds`, {
    method: 'POST',
    headers: json,
    body: '{"strict_requests":true}',
  })
  const { base_url, token } = await made.json()
  for (const base of [server.url, base_url]) {
    const bearer = base === server.url ? 'sim_default_token' : token.replace(/\.w1$/, '')
    const headers = { ...json, authorization: `Bearer ${bearer}` }
    await fetch(`${base}/deploy/list?x=1`, { headers })
    await fetch(`${base}/deploy/ZULBVvLkUPftB8Mo/start`, { method: 'POST', headers })
  }
  const unread = async (base: string) => (await fetch(`${base}/_sim/unread`)).json()
  expect(await unread(server.url)).toEqual({ error: expect.stringContaining('Start with --strict-requests') })
  expect(await unread(base_url)).toEqual([{ operation: 'listDeployments', what: 'query x', times: 1 }])
})

test('a POST over HTTP has a body only when its headers announce one', async () => {
  const sim = createSimulator({ strictRequests: true })
  const server = await serve(sim, { port: 0 })
  onTestFinished(() => server.close())
  const { hostname, port } = new URL(server.url)
  const post = async (rest: string) => {
    const socket = connect(Number(port), hostname)
    socket.write(
      `POST /deploy/ZULBVvLkUPftB8Mo/start HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${sim.token}\r\n` +
        `connection: close\r\n${rest}`,
    )
    socket.resume()
    await once(socket, 'close')
  }
  await post('\r\n')
  await post('content-length: 0\r\n\r\n')
  expect(sim.requests).toHaveLength(2)
  expect(sim.unreadFields).toEqual([])
  await post('content-length: 2\r\n\r\n{}')
  await post('transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n')
  expect(sim.unreadFields).toEqual([{ operation: 'startDeployment', what: 'body', times: 2 }])
})

test('an unknown field of a body is refused beside hundreds of unknown parameters', async () => {
  const sim = createSimulator({ strictRequests: true })
  const search = Array.from({ length: 300 }, (_, i) => `x${i}=1`).join('&')
  const { status, body } = await askTo(sim, `POST /deploy/llm?${search}`, { ...LLM, num_gpu: 2 })
  expect([status, body.detail.length, body.detail[0].loc]).toEqual([422, 1, ['body', 'num_gpu']])
})
