/** Clients with the failures of docs/field.md, by their titles. Each has the one defect that its title names. */
import type { FlowContext } from '../../src/workbench/explore/flow.ts'
import { batchFile } from '../setup/batches.ts'

// biome-ignore lint/suspicious/noExplicitAny: the clients trust answers, as those of the page do
type Json = any
export type FieldClient = (context: FlowContext) => Promise<unknown>

const MODEL = 'aurora-labs/aurora-8b-instruct'
const CHAT = { model: MODEL, max_tokens: 20, messages: [{ role: 'user', content: 'Name the tides.' }] }
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const TOOLS = {
  ...{ max_tokens: 200, tool_choice: 'required' },
  tools: [{ type: 'function', function: { name: 'weather', parameters } }],
}

async function send(
  { fetch, url, token }: Pick<FlowContext, 'fetch' | 'url' | 'token'>,
  method: string,
  path: string,
  body?: unknown,
): Promise<Response> {
  const isForm = body instanceof FormData
  const headers = { authorization: `Bearer ${token}`, ...(!isForm && { 'content-type': 'application/json' }) }
  const text = isForm ? body : body === undefined ? null : JSON.stringify(body)
  return fetch(url + path, { method, headers, body: text, signal: AbortSignal.timeout(60_000) })
}

async function ok(context: FlowContext, method: string, path: string, body?: unknown): Promise<Response> {
  const response = await send(context, method, path, body)
  if (response.ok) return response
  // It names nothing that the client created.
  throw new Error(`The service answered ${response.status}.`)
}

const json = async (...request: Parameters<typeof ok>): Promise<Json> => (await ok(...request)).json()
const chat = (context: FlowContext, more: object = {}) =>
  json(context, 'POST', '/v1/chat/completions', { ...CHAT, ...more })

/** Repeats what fails, up to five times. */
async function patient<Value>({ sleep }: FlowContext, work: () => Promise<Value>): Promise<Value> {
  for (let nth = 1; ; nth++) {
    try {
      return await work()
    } catch (error) {
      if (nth === 5) throw error
      await sleep(2_000 * 2 ** nth)
    }
  }
}

async function streamed(context: FlowContext, more: object = {}): Promise<Response> {
  return ok(context, 'POST', '/v1/chat/completions', { ...CHAT, stream: true, ...more })
}

/** Reads the events of a stream by its blank lines. */
async function events(context: FlowContext, more: object = {}): Promise<Json[]> {
  const blocks = (await (await streamed(context, more)).text()).split('\n\n')
  return blocks.filter(block => block.startsWith('data: {')).map(block => JSON.parse(block.slice(6)))
}

const joined = (all: readonly Json[]) => all.map(event => event.choices?.[0]?.delta?.content ?? '').join('')
const DEPLOYMENT = { model_name: 'field', gpu: 'L4-24GB', hub: { repo: 'acme/chat-8b' } }
const deploy = (context: FlowContext, more: object = {}) =>
  json(context, 'POST', '/deploy/llm', { ...DEPLOYMENT, ...more })

/** Waits for a deployment, at most so many minutes. */
async function ready(context: FlowContext, id: string, minutes = 60): Promise<Json> {
  for (let waited = 0; waited < minutes; waited++) {
    const record = await json(context, 'GET', `/deploy/${id}`)
    if (record.status === 'running') return record
    await context.sleep(60_000)
  }
  throw new Error('the deployment is not ready')
}

const remove = (context: FlowContext, id: string) => ok(context, 'DELETE', `/deploy/${id}`)
const QUESTIONS = ['Tide', 'Ebb', 'Flood', 'Swell', 'Surf']

async function createBatch(context: FlowContext): Promise<Json> {
  const lines = QUESTIONS.map((content, i) => {
    const body = { model: MODEL, max_tokens: 12, messages: [{ role: 'user', content }] }
    return JSON.stringify({ custom_id: `q${i}`, method: 'POST', url: '/v1/chat/completions', body })
  })
  const file = await json(context, 'POST', '/v1/files', batchFile(lines.join('\n')))
  const work = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' }
  return json(context, 'POST', '/v1/batches', work)
}

const ENDS = ['completed', 'failed', 'expired', 'cancelled']

async function endOf(
  context: FlowContext,
  id: string,
  poll = (path: string) => patient(context, () => json(context, 'GET', path)),
) {
  for (;;) {
    const record = await poll(`/v1/batches/${id}`)
    if (ENDS.includes(record.status)) return record as Json
    await context.sleep(120_000)
  }
}

async function rowsOf(context: FlowContext, id: string): Promise<Json[]> {
  const text = await (await ok(context, 'GET', `/v1/files/${id}/content`)).text()
  return text
    .split('\n')
    .filter(Boolean)
    .map(row => JSON.parse(row))
}

const answerOf = (row: Json) => row.response.body.choices[0].message.content as string
const withId = (row: Json) => ({ custom_id: row.custom_id as string, answer: answerOf(row) })
const answersOf = async (context: FlowContext, id: string) => (await rowsOf(context, id)).map(withId)
const attempted = async <Value>(work: () => Promise<Value>, other: Value): Promise<Value> => work().catch(() => other)

type WorkerContext = Pick<FlowContext, 'fetch' | 'url' | 'token' | 'sleep'>

/** Repeats a chat after equal waits. */
export async function steadyWorker(context: WorkerContext): Promise<number | 'gave up'> {
  for (let nth = 0; nth < 5; nth++) {
    const response = await send(context, 'POST', '/v1/chat/completions', CHAT)
    if (response.ok) return nth
    await context.sleep(20_000)
  }
  return 'gave up'
}

export const FIELD_CLIENTS: Readonly<Record<string, FieldClient>> = {
  'Comment lines in a stream': async context => {
    const blocks = (await (await streamed(context)).text()).split('\n\n').filter(Boolean)
    return joined(blocks.filter(block => !block.includes('[DONE]')).map(block => JSON.parse(block.slice(6))))
  },
  'A usage event without choices': async context =>
    (await events(context)).map(({ choices }) => choices[0].delta.content ?? '').join(''),
  'An error event inside a 200': async context => joined(await events(context)),
  'A stream that ends early': async context => joined(await events(context)),
  'A tool delta without an index': async context => {
    const calls: string[] = []
    for (const event of await events(context, TOOLS)) {
      for (const { index, function: part } of event.choices[0]?.delta.tool_calls ?? []) {
        calls[index] = (calls[index] ?? '') + (part?.arguments ?? '')
      }
    }
    return calls.map(call => JSON.parse(call))
  },
  'Tool arguments before the id': async context => {
    const calls: { id: string; text: string }[] = []
    for (const event of await events(context, TOOLS)) {
      for (const { id, function: part } of event.choices[0]?.delta.tool_calls ?? []) {
        if (id !== undefined) calls.push({ id, text: '' })
        calls.at(-1)!.text += part?.arguments ?? ''
      }
    }
    return calls.map(({ text }) => JSON.parse(text))
  },
  'Null content beside another field': async context => (await chat(context)).choices[0].message.content.trim(),
  'An event that is cut across reads': async context => {
    const all: Json[] = []
    const decoder = new TextDecoder()
    for await (const bytes of (await streamed(context)).body!) {
      for (const block of decoder.decode(bytes).split('\n\n')) {
        if (block.startsWith('data: {')) all.push(JSON.parse(block.slice(6)))
      }
    }
    return joined(all)
  },
  'A character that is cut across reads': async context => {
    let text = ''
    for await (const bytes of (await streamed(context)).body!) text += new TextDecoder().decode(bytes)
    return joined(
      text
        .split('\n\n')
        .filter(block => block.startsWith('data: {'))
        .map(block => JSON.parse(block.slice(6))),
    )
  },
  'Silence in mid-stream': async ({ fetch, url, token, ...rest }) => {
    const endless: typeof fetch = (input, init) => fetch(input, { ...init, signal: null })
    return joined(await events({ ...rest, fetch: endless, url, token }))
  },
  'Retry-After as a date': async context => {
    for (;;) {
      const response = await send(context, 'POST', '/v1/chat/completions', CHAT)
      if (response.ok) return ((await response.json()) as Json).choices[0].message.content
      if (response.status !== 429) throw new Error(`status ${response.status}`)
      await context.sleep(Number(response.headers.get('retry-after')) * 1000 || 0)
    }
  },
  'Retry-After of fifty digits': async context => {
    const response = await send(context, 'POST', '/v1/chat/completions', CHAT)
    if (response.status === 429) await context.sleep(Number(response.headers.get('retry-after')) * 1000)
    return (response.ok ? ((await response.json()) as Json) : await chat(context)).choices[0].message.content
  },
  'Limits only in headers': async context => {
    for (let nth = 0; nth < 3; nth++) {
      const response = await send(context, 'POST', '/v1/chat/completions', CHAT)
      if (response.ok) return ((await response.json()) as Json).choices[0].message.content
      await context.sleep(Number(response.headers.get('retry-after')) * 1000)
    }
    throw new Error('the limit was still reached')
  },
  'HTML with 200': async context => {
    const response = await ok(context, 'GET', '/models/list')
    const isJson = response.headers.get('content-type')?.includes('json')
    return isJson ? ((await response.json()) as Json[]).map(({ model_name }) => model_name) : []
  },
  'HTML labelled as JSON': async context =>
    attempted(async () => (await json(context, 'GET', '/models/list')).map((model: Json) => model.model_name), []),
  '500 though created': async context => {
    const create = (nth: number) => deploy(context, { model_name: `field-${nth}` })
    const { deploy_id } = await create(1).catch(() => create(2))
    return (await ready(context, deploy_id)).deploy_id
  },
  'A new thing is 404 for a while': async context => {
    const { deploy_id } = await deploy(context)
    await ready(context, deploy_id)
    await remove(context, deploy_id)
    return 'done'
  },
  'The wait times out, and the machine stays': async context => {
    const { deploy_id } = await deploy(context)
    await ready(context, deploy_id, 20)
    await remove(context, deploy_id)
    return 'done'
  },
  'Cancelled counts as success': async context => {
    const { id } = await createBatch(context)
    await endOf(context, id)
    return { id, ok: true }
  },
  'A poll is abandoned after one bad answer': async context => {
    const { id } = await createBatch(context)
    const record = await endOf(context, id, path => json(context, 'GET', path))
    return (await rowsOf(context, record.output_file_id)).length
  },
  'A transport repeats a create': async context => (await endOf(context, (await createBatch(context)).id)).id,
  'The output file is null': async context => {
    const { output_file_id } = await endOf(context, (await createBatch(context)).id)
    return output_file_id === null ? [] : await answersOf(context, output_file_id)
  },
  'Rows by position': async context => {
    const { output_file_id } = await endOf(context, (await createBatch(context)).id)
    const rows = await rowsOf(context, output_file_id)
    return rows.map((row, i) => ({ custom_id: `q${i}`, answer: answerOf(row) }))
  },
  'A file with a byte order mark': async context => {
    const { output_file_id } = await endOf(context, (await createBatch(context)).id)
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(
      await (await ok(context, 'GET', `/v1/files/${output_file_id}/content`)).arrayBuffer(),
    )
    const rows = text.split('\n').filter(row => row.startsWith('{'))
    return rows.map(row => JSON.parse(row).custom_id as string)
  },
  'Too many lines': async context => {
    const batch = await attempted(() => createBatch(context), { id: 'none' } as Json)
    return batch.id === 'none'
      ? { answers: [] }
      : { answers: await answersOf(context, (await endOf(context, batch.id)).output_file_id) }
  },
  'has_more without end': async context => {
    const names: string[] = []
    for (let after = ''; ; ) {
      const page = await patient(context, () => json(context, 'GET', `/v1/files?limit=10${after}`))
      names.push(...page.data.map(({ filename }: Json) => filename))
      if (!page.has_more) return names
      after = page.last_id === null ? '' : `&after=${page.last_id}`
    }
  },
  'The output file is deleted': async context => {
    const { output_file_id } = await endOf(context, (await createBatch(context)).id)
    return attempted(() => answersOf(context, output_file_id), [])
  },
  'A delete answers 404': async context => {
    const { id } = await patient(context, () => json(context, 'POST', '/v1/files', batchFile('{}')))
    await patient(context, () => json(context, 'GET', `/v1/files/${id}`))
    await patient(context, () => ok(context, 'DELETE', `/v1/files/${id}`))
    return 'deleted'
  },
  'A slow start': async context => {
    const { deploy_id } = await deploy(context)
    await ready(context, deploy_id, 15)
    await remove(context, deploy_id)
    return 'done'
  },
  'Lost while starting': async context => {
    const { deploy_id } = await deploy(context)
    for (;;) {
      const { status } = await patient(context, () => json(context, 'GET', `/deploy/${deploy_id}`))
      if (status === 'running') break
      await context.sleep(60_000)
    }
    await patient(context, () => remove(context, deploy_id))
    return 'done'
  },
  'Scale to zero outlasts the client': async context =>
    attempted(async () => (await chat(context)).choices[0].message.content as string, ''),
  'Running before it serves': async context => {
    const { deploy_id, model_name } = await deploy(context)
    await ready(context, deploy_id)
    const text = await attempted(
      async () => (await chat(context, { model: model_name })).choices[0].message.content as string,
      '',
    )
    await patient(context, () => remove(context, deploy_id))
    return { text }
  },
  '423 while loading': async context => {
    const { deploy_id, model_name } = await deploy(context)
    await ready(context, deploy_id)
    const { choices } = await chat(context, { model: model_name })
    await patient(context, () => remove(context, deploy_id))
    return { text: choices[0].message.content }
  },
  '402 is repeated': async context => {
    for (;;) {
      const response = await send(context, 'POST', '/v1/chat/completions', CHAT)
      if (response.ok) return ((await response.json()) as Json).choices[0].message.content
      await context.sleep(60_000)
    }
  },
  'An adapter is loaded, and yet 404': async context => {
    const response = await send(context, 'POST', '/v1/chat/completions', CHAT)
    return response.status === 404 ? 'no such model' : ((await response.json()) as Json).choices[0].message.content
  },
  'base64 vectors are ignored': async context => {
    const body = { model: 'aurora-labs/aurora-embed-large', input: 'tide', encoding_format: 'base64' }
    const { data } = await json(context, 'POST', '/v1/embeddings', body)
    const bytes = Buffer.from(data[0].embedding, 'base64')
    return { dimensions: bytes.length / 4 }
  },
  'A key is revoked in mid-run': async context => {
    for (let nth = 0; nth < 3; ) {
      const response = await send(context, 'GET', '/v1/batches')
      if (response.ok) nth++
      await context.sleep(60_000)
    }
    return 'read three times'
  },
  'JSON is cut by the token limit': async context => {
    const { choices } = await chat(context, { max_tokens: 60, response_format: { type: 'json_object' } })
    return attempted(async () => JSON.parse(choices[0].message.content), {})
  },
  'Accepted, and failed later': async context => {
    const { id } = await createBatch(context)
    for (;;) {
      const { status, output_file_id } = await patient(context, () => json(context, 'GET', `/v1/batches/${id}`))
      if (status === 'failed') return { answers: [] }
      if (ENDS.includes(status)) return { answers: await answersOf(context, output_file_id) }
      await context.sleep(120_000)
    }
  },
  'gzip without being asked': async context =>
    attempted(async () => (await chat(context)).choices[0].message.content as string, ''),
  'A redirect that drops the key': async context => {
    await ok(context, 'POST', '/v1/files', batchFile('{}', 'tides.jsonl'))
    const response = await send(context, 'GET', '/v1/files')
    const moved = response.headers.get('location')
    const { data } = (await (moved === null ? response : await context.fetch(context.url + moved)).json()) as Json
    return { files: (data ?? []).map((file: Json) => file.filename) }
  },
  'Retries on the same ticks': async context => Promise.all([steadyWorker(context), steadyWorker(context)]),
}
