/** What a server records of its client is what the client sees. */
import { expect, onTestFinished, test } from 'vitest'
import type { ObservedRequest } from '../../../../src/simulator/judge/observation.ts'
import { ServedClient } from '../../../../src/workbench/explore/command/served-client.ts'
import { FAULT_CLASSES } from '../../../../src/workbench/explore/plan/classes.ts'
import { createFlowRunner } from '../../../../src/workbench/explore/run/flow-runner.ts'
import { RequestRecorder } from '../../../../src/workbench/explore/run/request-recorder.ts'
import { running } from '../../../server/http/running-server.ts'

const UNWATCHED = { onRequest: () => {}, onSilence: () => {}, endsWith: () => false }
const SPEC = JSON.stringify({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })

/** Creates a deployment and lists all. A request that fails or takes too long is not repeated. */
async function deploy(send: typeof fetch, url: string, token: string, signal: () => AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  for (const [path, body] of [
    ['/deploy/llm', SPEC],
    ['/deploy/list', undefined],
  ] as const) {
    const init = body === undefined ? {} : { method: 'POST', body }
    await send(`${url}${path}`, { ...init, headers, signal: signal() }).then(
      response => response.json().catch(() => {}),
      () => {},
    )
  }
}

const PAGE = { name: 'html200', fault: { kind: 'html', status: 200 } } as const

/** What a client can tell about the end of a request. */
const seen = ({ operation, outcome, status, readError }: ObservedRequest) => [
  ...[operation, outcome, status],
  readError !== undefined,
]

test.each(
  [...FAULT_CLASSES, PAGE].flatMap(({ name, fault }) =>
    ['createLlmDeployment', 'listDeployments'].map(on => ({ name, fault, on })),
  ),
)('$name of $on is recorded as in a flow that is a function', async ({ fault, on }) => {
  const plan = [{ fault: { on, nth: 1, fault } }]
  const flow = createFlowRunner({
    name: 'deploys',
    options: { fixtures: 'empty' },
    // Longer than any latency: the clock of the server skips them.
    run: ({ fetch, url, token }) => deploy(fetch, url, token, () => AbortSignal.timeout(120_000)),
  })
  onTestFinished(() => flow.dispose())
  let expected: readonly unknown[]
  try {
    expected = (await flow.run(plan)).requests.map(seen)
  } catch (error) {
    // The fault kind does not apply to this operation.
    expect(String(error)).toContain('applies only to')
    return
  }
  const { server } = await running({ fixtures: 'empty', clock: 'on-poll' })
  const world = server.worlds.make()
  world.sim.faults.add(plan[0]!.fault)
  const recorder = new RequestRecorder()
  const client = new ServedClient({ world, recorder, ...UNWATCHED })
  await deploy(fetch, server.url, world.token!, () => AbortSignal.timeout(300))
  await client.settle()
  expect(recorder.requests.map(seen)).toEqual(expected)
  expect(recorder.requests[0]).toMatchObject({ body: JSON.parse(SPEC), index: 1, start: 1, sentAt: 0 })
  const met = recorder.requests.find(({ operation }) => operation === on)
  if (met?.decidedBy === 'fault') expect(met.fault?.kind).toBe(fault.kind)
})

test.each([
  ['a whole stream', undefined, true],
  ['a stream that ends early', { kind: 'stream', end: 'close' } as const, true],
  ['a stream that is cut', { kind: 'truncated' } as const, false],
])('%s is recorded as its client reads it', async (_, fault, isWhole) => {
  const { server } = await running({ fixtures: 'empty', clock: 'on-poll' })
  const world = server.worlds.make()
  if (fault !== undefined) world.sim.faults.add({ on: 'createChatCompletion', fault })
  const recorder = new RequestRecorder()
  new ServedClient({ world, recorder, ...UNWATCHED })
  const messages = [{ role: 'user', content: 'Name the tides.' }]
  const body = JSON.stringify({ model: 'aurora-labs/aurora-8b-instruct', stream: true, max_tokens: 40, messages })
  const headers = { authorization: `Bearer ${world.token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body })
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const part of answer.body!) text += decoder.decode(part, { stream: true })
  } catch {
    // The connection broke.
  }
  const [request] = recorder.requests
  expect(text.length).toBeGreaterThan(100)
  expect(request!.read?.text.startsWith(text)).toBe(true)
  expect(request!.read?.isWhole && request!.readError === undefined).toBe(isWhole)
})

test.each([
  ['the content of a file', '/v1/files/$FILE/content', undefined],
  ['a speech', '/v1/audio/speech', { model: 'larkspur-audio/lark-tts-2', input: 'Name the tides.', voice: 'alloy' }],
])('%s is recorded as in a flow that is a function', async (_, path, spec) => {
  const ask = async (send: typeof fetch, url: string, token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    const form = new FormData()
    form.set('purpose', 'batch')
    form.set('file', new File([JSON.stringify({ custom_id: 'tide' })], 'in.jsonl'))
    const upload = await send(`${url}/v1/files`, { method: 'POST', headers, body: form })
    const { id } = (await upload.json()) as { id: string }
    const json = { ...headers, 'content-type': 'application/json' }
    const init = spec === undefined ? { headers } : { method: 'POST', headers: json, body: JSON.stringify(spec) }
    const answer = await send(url + path.replace('$FILE', id), init)
    expect(answer.status).toBe(200)
    await answer.arrayBuffer()
  }
  const { server } = await running({ clock: 'on-poll' })
  const world = server.worlds.make()
  const recorder = new RequestRecorder()
  const client = new ServedClient({ world, recorder, ...UNWATCHED })
  await ask(fetch, server.url, world.token!)
  await client.settle()
  const flow = createFlowRunner({ name: 'asks', options: {}, run: ({ fetch, url, token }) => ask(fetch, url, token) })
  onTestFinished(() => flow.dispose())
  const expected = (await flow.run([])).requests.at(-1)!
  const read = recorder.requests.at(-1)!.read!
  expect(read.text.length).toBeGreaterThan(10)
  expect([read.isWhole, read.isSoundOrPicture]).toEqual([true, spec !== undefined])
  expect(read.isSoundOrPicture).toBe(expected.read!.isSoundOrPicture)
  if (spec === undefined) expect(read.text).toBe(expected.read!.text)
})
