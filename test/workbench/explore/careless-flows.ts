/** Careless clients: together they break every invariant. */

import { OPTIONAL_RULE_NAMES } from '../../../src/simulator/judge/rules/index.ts'
import type { FlowContext, NamedFlow } from '../../../src/workbench/explore/flow.ts'
import type { Plan } from '../../../src/workbench/explore/plan/plan.ts'

/** A careless client, and the plans under which it goes wrong. */
export interface CarelessFlow {
  readonly flow: NamedFlow
  /** The base run comes first. */
  readonly plans: readonly Plan[]
}

const HUB = { repo: 'acme/chat-8b' }
const MODEL = 'aurora-labs/aurora-8b-instruct'
const ENDPOINT = '/v1/completions'
/** The date is a year after the epoch. */
const OLD_MODEL = {
  model_name: 'acme/chat-1',
  type: 'text-generation',
  parameters_b: 8,
  deprecated: 1_798_761_600,
} as const

/** Both run in the smallest world. The limit of `spendsAtMost` is only to see that the rule counts. */
const OPTIONS = { fixtures: 'empty', seed: 1, invariants: { spendsAtMost: 0.000001 } } as const

export const CARELESS_FLOWS: readonly CarelessFlow[] = [
  {
    flow: { name: 'careless deployment', options: OPTIONS, run: deploy },
    plans: [
      [],
      [{ fault: { on: 'createLlmDeployment', nth: 1, fault: { kind: 'reset', effect: 'done' } } }],
      [{ fault: { on: 'createLlmDeployment', nth: 1, fault: { kind: 'rateLimit', retryAfter: '20s' } } }],
      [{ fault: { on: 'getDeployment', nth: 1, fault: { kind: 'reset' } } }],
      [{ fault: { on: 'getDeployment', fault: { kind: 'status', status: 503 } } }],
      [{ crash: 1 }],
    ],
  },
  {
    flow: { name: 'careless batch', options: OPTIONS, run: runBatch },
    plans: [[], [{ fault: { on: 'getFileContent', nth: 1, fault: { kind: 'empty' } } }]],
  },
  {
    flow: { name: 'careless settings', options: OPTIONS, run: setLimit },
    plans: [
      [],
      [{ fault: { on: 'setPaymentConfig', nth: 1, fault: { kind: 'status', status: 503 } } }],
      [{ fault: { on: 'getMe', nth: 1, fault: { kind: 'status', status: 503 } } }],
    ],
  },
  {
    flow: { name: 'careless stream', options: OPTIONS, run: readStream },
    plans: [[], [{ fault: { on: 'createChatCompletion', fault: { kind: 'variation', form: 'comments' } } }]],
  },
  {
    flow: {
      name: 'careless conduct',
      options: {
        ...{ fixtures: 'empty', seed: 1 },
        with: { models: [OLD_MODEL] },
        invariants: Object.fromEntries(OPTIONAL_RULE_NAMES.map(name => [name, true])),
      },
      run: misbehave,
    },
    plans: [
      [],
      [
        { fault: { on: 'createLlmDeployment', nth: 1, fault: { kind: 'reset', effect: 'done' } } },
        { fault: { on: 'createChatCompletion', fault: { kind: 'status', status: 500 } } },
      ],
    ],
  },
]

/** Takes each block of a stream for an event with choices. */
async function readStream({ fetch, url, token }: FlowContext): Promise<string> {
  const body = JSON.stringify({
    model: MODEL,
    stream: true,
    max_tokens: 9,
    messages: [{ role: 'user', content: 'Hi!' }],
  })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
  const events = (await response.text()).split('\n\n').filter(event => event !== '' && event !== 'data: [DONE]')
  return events.map(event => JSON.parse(event.slice('data: '.length)).choices[0].delta.content ?? '').join('')
}

/**
 * Prints its token, repeats a create at once under another name, polls without a pause, waits without a bound, and
 * returns no id.
 */
async function deploy({ fetch, url, token, sleep }: FlowContext): Promise<string> {
  console.log(`Deploying with ${token}`)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const create = async (attempt: number) => {
    const body = JSON.stringify({ model_name: `careless-${attempt}`, gpu: 'H100-80GB', hub: HUB })
    const response = await fetch(`${url}/deploy/llm`, { method: 'POST', headers, body }).catch(() => undefined)
    return response?.ok ? ((await response.json()) as { deploy_id: string }) : undefined
  }
  const { deploy_id } = ((await create(1)) ?? (await create(2)))!
  for (let polls = 0; ; polls++) {
    const response = await fetch(`${url}/deploy/${deploy_id}`, { headers })
    if (response.ok && ((await response.json()) as { status: string }).status === 'running') return 'running'
    if (polls >= 10) await sleep(3_600_000)
  }
}

/** Says that the limit is set, whatever the answer is, and uses an answer without a look. */
async function setLimit({ fetch, url, token }: FlowContext): Promise<object> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  await fetch(`${url}/payment/config`, { method: 'POST', headers, body: JSON.stringify({ limit: 50 }) })
  const { name } = (await (await fetch(`${url}/v1/me`, { headers })).json()) as { name: string }
  return { limit: 50, of: name.trim() }
}

/** Polls for seven minutes whatever the batch says, and numbers the rows of its output by their position. */
async function runBatch({ fetch, url, token, sleep }: FlowContext) {
  const headers = { authorization: `Bearer ${token}` }
  const post = async (path: string, type: string | undefined, body: FormData | string) => {
    const init = { method: 'POST', headers: { ...headers, ...(type && { 'content-type': type }) }, body }
    return (await fetch(`${url}${path}`, init)).json() as Promise<{ id: string }>
  }
  const lines = ['Tea.', 'Rain.'].map((prompt, n) =>
    JSON.stringify({
      custom_id: `q${n}`,
      method: 'POST',
      url: ENDPOINT,
      body: { model: MODEL, prompt, max_tokens: 5 },
    }),
  )
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new File([lines.join('\n')], 'questions.jsonl'))
  const file = await post('/v1/files', undefined, form)
  const spec = { input_file_id: file.id, endpoint: ENDPOINT, completion_window: '24h' }
  const { id } = await post('/v1/batches', 'application/json', JSON.stringify(spec))
  let output = ''
  for (let polls = 0; polls < 8; polls++) {
    const batch = await (await fetch(`${url}/v1/batches/${id}`, { headers })).json()
    output = (batch as { output_file_id: string }).output_file_id
    await sleep(60_000)
  }
  const text = await (await fetch(`${url}/v1/files/${output}/content`, { headers })).text()
  const rows = text.split('\n').filter(row => row !== '')
  return { id, lines: rows.map((answer, position) => ({ custom_id: `row ${position}`, answer })) }
}

/**
 * Mistypes a field, repeats a create without a look and leaves what it created, repeats a refusal, reads things one by one,
 * retries at fixed pauses, asks for a deprecated model, and leaves a stream.
 */
async function misbehave({ fetch, url, token, sleep }: FlowContext): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const get = async (path: string) => (await fetch(url + path, { headers })).json()
  const post = (path: string, body: object) =>
    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) }).catch(() => undefined)
  const work = { model_name: 'careless', gpu: 'H100-80GB', hub: HUB, max_instnaces: 1 }
  if (!(await post('/deploy/llm', work))) await post('/deploy/llm', work)
  for (let i = 0; i < 2; i++) await post('/deploy/llm', { ...work, gpu: 'H1000' })
  const models = (await get('/models/list')) as { model_name: string }[]
  for (const { model_name } of models.slice(0, 6)) await get(`/models/${model_name}`)
  const chat = { model: OLD_MODEL.model_name, messages: [{ role: 'user', content: 'Tea.' }], stream: true }
  for (let i = 0; i < 5; i++) {
    const response = await post('/v1/chat/completions', chat)
    if (response?.ok) {
      const reader = response.body!.getReader()
      await reader.read()
      await reader.cancel()
      break
    }
    await sleep(1_000)
  }
  return 'done'
}
