/** A request of the past: what was sent and answered, and sent again as it was then. */
import { expect, test } from 'vitest'
import { batchFile } from '../../setup/batches.ts'
import { running } from '../http/running-server.ts'

const MODEL = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b', token: 'hub-secret' } }
const json = { 'content-type': 'application/json' }

/** A server whose past is kept, with a request that a fault refused ten minutes after the begin. */
async function refused() {
  const server = await running({ fixtures: 'two-nodes' })
  const { sim, ask, command } = server
  await command('/_sim/past')
  await ask('/deploy/list')
  await command('/_sim/clock/advance', { by: '10m' })
  await command('/_sim/faults', { on: 'createLlmDeployment', fault: { kind: 'status', status: 503 } })
  const response = await ask('/deploy/llm', {
    method: 'POST',
    headers: { ...json, 'x-note': 'first try' },
    body: JSON.stringify(MODEL),
  })
  expect(response.status).toBe(503)
  const { seq } = sim.requests.at(-1)!
  await command('/_sim/clock/advance', { by: '1h' })
  await command('/_sim/faults', undefined, 'DELETE')
  const forkThen = async () =>
    (await command('/_sim/worlds', { from: 'default', before_request: seq })).body.world as string
  const repeat = async (world: string, changes: object = {}) =>
    (await command(`/_sim/worlds/${world}/_sim/requests`, { repeat: { seq, world: 'default' }, ...changes })).body
  return { server, seq, forkThen, repeat }
}

test('a request that a fault refused fails the same in a fork of then', async () => {
  const { server, seq, forkThen, repeat } = await refused()
  const world = await forkThen()
  expect(server.server.worlds.get(world)!.sim.clock.iso).toBe('2026-01-01T00:10:00.000000+00:00')
  const { answer } = await server.read(`/_sim/requests/${seq}`)
  const again = await repeat(world)
  expect([again.status, again.body, again.headers]).toEqual([503, answer.body, answer.headers])
  const [listed] = server.server.worlds.get(world)!.sim.requests.slice(-1)
  expect(listed).toMatchObject({ operation: 'createLlmDeployment', decidedBy: 'fault', body: MODEL })
  // In the present world, where the fault is gone, the same request succeeds.
  expect((await repeat('default')).status).toBe(200)
})

test('it passes in a fork of then without the fault, with its whole body and its credentials', async () => {
  const { server, forkThen, repeat } = await refused()
  const world = await forkThen()
  const { sim } = server.server.worlds.get(world)!
  for (const { id } of sim.faults.list()) sim.faults.remove(id)
  const made = await repeat(world)
  expect(made.status).toBe(200)
  expect(sim.world.deployments.get(made.body.deploy_id)).toBeDefined()
  expect(sim.requests.at(-1)!.body).toEqual(MODEL)
})

test('it passes when it is edited to something that the fault does not hit', async () => {
  const { server, seq, forkThen, repeat } = await refused()
  const world = await forkThen()
  const listed = await repeat(world, { method: 'GET', path: '/deploy/list', body: null })
  expect([listed.status, listed.body]).toEqual([200, expect.any(Array)])
  // What the page shows has no secrets. Sent again, it has them.
  const { sent } = await server.read(`/_sim/requests/${seq}`)
  expect(sent.body.hub.token).toBe('(hidden)')
  const { sim } = server.server.worlds.get(world)!
  sim.faults.clear()
  const changed = await repeat(world, { body: { ...sent.body, model_name: 'acme/other' } })
  expect(changed.status).toBe(200)
  expect(sim.requests.at(-1)!.body).toEqual({ ...MODEL, model_name: 'acme/other' })
})

test('a lost answer, a stream, an upload and no text are shown as what they are', async () => {
  const server = await running({ fixtures: 'default' })
  const { sim, ask, command } = server
  await command('/_sim/past')
  const lastShown = async () => server.read(`/_sim/requests/${sim.requests.at(-1)!.seq}`)
  sim.faults.add({ on: 'listDeployments', times: 1, fault: { kind: 'reset' } })
  await ask('/deploy/list').catch(() => {})
  expect((await lastShown()).answer).toMatchObject({
    ...{ status: 0, body: null, fault: 'the connection was reset before the answer' },
  })
  const model = 'acme/assistant'
  const chat = { model, messages: [{ role: 'user', content: 'Hi' }], stream: true }
  const streamed = await ask('/v1/chat/completions', { method: 'POST', headers: json, body: JSON.stringify(chat) })
  const text = await streamed.text()
  expect(text).toContain('data: [DONE]')
  expect((await lastShown()).answer).toMatchObject({ status: 200, body: text, bytes: Buffer.byteLength(text) })
  await ask('/v1/files', { method: 'POST', body: batchFile(new Uint8Array([255, 254, 0, 1])) })
  const upload = await lastShown()
  expect(upload.sent).toMatchObject({ body: null, note: 'it is not a text' })
  expect(upload.sent.bytes).toBeGreaterThan(100)
  const again = await command('/_sim/requests', { repeat: { seq: upload.seq } })
  expect(again.body.status).toBe(upload.answer.status)
})

test('without a past the reason says what to do, and nothing else is a request of a client', async () => {
  const server = await running({ fixtures: 'two-nodes' })
  const { sim, ask, command } = server
  await ask('/deploy/list')
  const early = sim.requests.at(-1)!.seq
  const reasonOf = async (seq: number) => (await server.read(`/_sim/requests/${seq}`)).reason
  expect(await reasonOf(early)).toContain('is not kept. Send POST /_sim/past')
  await command('/_sim/past')
  expect(await reasonOf(early)).toContain(`has the journal entries from ${early + 1} on. It began later`)
  await ask('/deploy/list')
  expect(await reasonOf(sim.requests.at(-1)!.seq)).toBeNull()
  const ofEarly = await command('/_sim/worlds', { from: 'default', before_request: early })
  const expected = [400, expect.stringContaining('the past has the journal entries')]
  expect([ofEarly.status, ofEarly.body.error]).toEqual(expected)

  await command('/_sim/commands', { verb: 'node.crash', target: 'h100-0' })
  const entries = sim.journal.entries()
  const control = entries.find(({ subject }) => subject.includes('/_sim/commands'))!.seq
  const crash = entries.find(({ kind }) => kind === 'node.crashed')!.seq
  for (const [seq, says] of [
    [control, 'the control plane got it'],
    [crash, 'is node.crashed, no request'],
  ] as const) {
    const answer = await command(`/_sim/requests/${seq}`, undefined, 'GET')
    expect([answer.status, answer.body.error]).toEqual([404, expect.stringContaining(says)])
    const fork = await command('/_sim/worlds', { from: 'default', before_request: seq })
    expect([fork.status, fork.body.error]).toEqual([400, expect.stringContaining(`the journal entry ${seq} is`)])
  }
})

test('a request whose answer waits for time has none yet, and its sender can leave', { tags: 'slow' }, async () => {
  const server = await running({ fixtures: 'default', inferencePace: 'clock' })
  const { sim, command } = server
  await command('/_sim/past')
  const chat = { model: 'acme/assistant', messages: [{ role: 'user', content: 'Hi' }] }
  const leaving = new AbortController()
  const sent = fetch(`${server.server.url}/_sim/requests`, {
    ...{ method: 'POST', headers: json, signal: leaving.signal },
    body: JSON.stringify({ method: 'POST', path: '/v1/chat/completions', body: chat }),
  })
  await expect.poll(() => sim.pendingRequests.length).toBe(1)
  const { seq } = sim.journal.entries().findLast(({ kind }) => kind === 'request')!
  expect(await server.read(`/_sim/requests/${seq}`)).toMatchObject({
    ...{ sent: { body: chat }, answer: null, reason: expect.stringContaining('has no answer yet') },
  })
  leaving.abort()
  await expect(sent).rejects.toThrow()
  await expect.poll(() => sim.pendingRequests.length).toBe(0)
})

test('a command while the body of a request comes is not a request of a client', async () => {
  const { sim, command } = await running({ fixtures: 'two-nodes' })
  await command('/_sim/past')
  // A rule takes a step of the request before its body is there.
  sim.faults.add({ on: 'createLlmDeployment', from: '10h', fault: { kind: 'status', status: 503 } })
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const init = { method: 'POST', headers: { ...json, authorization: `Bearer ${sim.token}` }, body: readable }
  const answer = sim.fetch(new Request('http://sim/deploy/llm', { ...init, duplex: 'half' } as RequestInit))
  await command('/_sim/commands', { verb: 'node.crash', target: 'h100-0' })
  const writer = writable.getWriter()
  await writer.write(new TextEncoder().encode(JSON.stringify(MODEL)))
  await writer.close()
  expect((await answer).status).toBe(200)
  const control = sim.journal.entries().find(({ subject }) => subject.includes('/_sim/commands'))!.seq
  const fork = await command('/_sim/worlds', { from: 'default', before_request: control })
  expect([fork.status, fork.body.error]).toEqual([400, expect.stringContaining('a request to the control plane')])
  const { seq } = sim.requests[0]!
  expect(seq).toBeGreaterThan(control)
  const then = await command('/_sim/worlds', { from: 'default', before_request: seq })
  const path = `/_sim/worlds/${then.body.world}/_sim/requests`
  expect((await command(path, { repeat: { seq, world: 'default' } })).body.status).toBe(200)
})
