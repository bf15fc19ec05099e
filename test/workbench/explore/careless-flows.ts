/** Careless clients: together they break every invariant. */

import { OPTIONAL_RULE_NAMES } from '../../../src/simulator/judge/rules/index.ts'
import type { FlowContext, NamedFlow } from '../../../src/workbench/explore/flow.ts'
import type { Plan } from '../../../src/workbench/explore/plan/plan.ts'
import { batchLine, startBatch } from '../../setup/batches.ts'
import { sendTo } from '../../setup/send-to.ts'

/** A careless client, and the plans under which it goes wrong. */
export interface CarelessFlow {
  readonly flow: NamedFlow
  /** The base run comes first. */
  readonly plans: readonly Plan[]
}

const HUB = { repo: 'acme/chat-8b' }
const MODEL = 'aurora-labs/aurora-8b-instruct'
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
async function readStream(context: FlowContext): Promise<string> {
  const body = { model: MODEL, stream: true, max_tokens: 9, messages: [{ role: 'user', content: 'Hi!' }] }
  const response = await sendTo(context, 'POST /v1/chat/completions', body)
  const events = (await response.text()).split('\n\n').filter(event => event !== '' && event !== 'data: [DONE]')
  return events.map(event => JSON.parse(event.slice('data: '.length)).choices[0].delta.content ?? '').join('')
}

/**
 * Prints its token, repeats a create at once under another name, polls without a pause, waits without a bound, and
 * returns no id.
 */
async function deploy(context: FlowContext): Promise<string> {
  console.log(`Deploying with ${context.token}`)
  const create = async (attempt: number) => {
    const body = { model_name: `careless-${attempt}`, gpu: 'H100-80GB', hub: HUB }
    const response = await sendTo(context, 'POST /deploy/llm', body).catch(() => undefined)
    return response?.ok ? ((await response.json()) as { deploy_id: string }) : undefined
  }
  const { deploy_id } = ((await create(1)) ?? (await create(2)))!
  for (let polls = 0; ; polls++) {
    const response = await sendTo(context, `GET /deploy/${deploy_id}`)
    if (response.ok && ((await response.json()) as { status: string }).status === 'running') return 'running'
    if (polls >= 10) await context.sleep(3_600_000)
  }
}

/** Says that the limit is set, whatever the answer is, and uses an answer without a look. */
async function setLimit(context: FlowContext): Promise<object> {
  await sendTo(context, 'POST /payment/config', { limit: 50 })
  const { name } = (await (await sendTo(context, 'GET /v1/me')).json()) as { name: string }
  return { limit: 50, of: name.trim() }
}

/** Polls for seven minutes whatever the batch says, and numbers the rows of its output by their position. */
async function runBatch(context: FlowContext) {
  const lines = ['Tea.', 'Rain.'].map((prompt, n) =>
    batchLine(`q${n}`, { model: MODEL, prompt, max_tokens: 5 }, '/v1/completions'),
  )
  const { id } = await startBatch(context, lines)
  let output = ''
  for (let polls = 0; polls < 8; polls++) {
    const batch = await (await sendTo(context, `GET /v1/batches/${id}`)).json()
    output = (batch as { output_file_id: string }).output_file_id
    await context.sleep(60_000)
  }
  const text = await (await sendTo(context, `GET /v1/files/${output}/content`)).text()
  const rows = text.split('\n').filter(row => row !== '')
  return { id, lines: rows.map((answer, position) => ({ custom_id: `row ${position}`, answer })) }
}

/**
 * Mistypes a field, repeats a create without a look and leaves what it created, repeats a refusal, reads things one by one,
 * retries at fixed pauses, asks for a deprecated model, and leaves a stream.
 */
async function misbehave(context: FlowContext): Promise<string> {
  const get = async (path: string) => (await sendTo(context, `GET ${path}`)).json()
  const post = (path: string, body: object) => sendTo(context, `POST ${path}`, body).catch(() => undefined)
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
    await context.sleep(1_000)
  }
  return 'done'
}
