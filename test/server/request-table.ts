/**
 * The 21 rows of the interface document as requests: a success, each refusal, and spellings of the address. Every transport
 * has to answer them alike, so nothing in here knows of one. The tests of `service` have each rule of a body.
 */
import type { SimulatorOptions } from '../../src/simulator/simulator.ts'

/** Worlds that a request is asked of. */
export const WORLDS = {
  usual: {},
  broke: { with: { account: { funds_cents: 0, topup: { amount: 0, threshold: 0, enabled: false } } } },
  'with a declined card': { with: { account: { card: 'declined' } } },
  'without GPUs to spare': { with: { account: { gpu_limits: { 'L40S-48GB': 0, 'L4-24GB': 0 } } } },
  'with one batch at once': { profile: { limits: { batches_under_way: 1 } } },
  'short of storage': { fixtures: 'empty', maxStorageBytes: 1000 },
} as const satisfies Record<string, SimulatorOptions>
export type WorldName = keyof typeof WORLDS

/** A file part; a string is a plain field. */
interface Part {
  readonly name: string
  readonly value: string
  readonly filename?: string
}

export interface Sent {
  readonly method: string
  /** `<field>` is replaced by that field of the previous answer. */
  readonly path: string
  /** Sent as JSON; a string as it is. */
  readonly body?: unknown
  readonly form?: readonly Part[]
  readonly headers?: Readonly<Record<string, string>>
  /** Without the world's token. */
  readonly anonymous?: boolean
}

export interface Case {
  readonly name: string
  readonly status: number
  readonly request: Sent
  readonly world: WorldName
  /** What has to be asked before. */
  readonly before: readonly Sent[]
}

export interface Row {
  readonly operation: string
  readonly cases: readonly Case[]
}

interface Options {
  readonly world?: WorldName
  readonly before?: readonly Sent[]
}

const MODEL = 'aurora-labs/aurora-8b-instruct'
const RUNNING = '2cZeTxVFN7tKxCCh'
const STOPPED = 'ZULBVvLkUPftB8Mo'
const HOSTED = 'inst_HmSomZNCU5EAVUqwFpxpN9vc'
/** Deleted in the moment that it is asked for: it holds nothing any more. */
const FAILED = 'inst_Ba3ir72S8nPDgfv4vncKcgCJ'
const FILE = 'file_HSCZDQPBeSpnXB5vXxnzQcds'
const EPOCH = 1_767_225_600
const LLAMAS = (count: number) => '🦙'.repeat(count)

const get = (path: string, more: Partial<Sent> = {}): Sent => ({ method: 'GET', path, ...more })
const post = (path: string, body?: unknown, more: Partial<Sent> = {}): Sent => ({
  method: 'POST',
  path,
  ...(body !== undefined && { body }),
  ...more,
})

function answers(status: number, name: string, request: Sent, { world = 'usual', before = [] }: Options = {}): Case {
  return { name, status, request, world, before }
}

/** A row: its cases, and those that every endpoint of its kind has. */
function row(
  operation: string,
  usual: Sent,
  cases: readonly Case[],
  auth: 'token' | 'optional' | 'none' = 'token',
): Row {
  const bearer = (value: string) => ({ ...usual, anonymous: true, headers: { ...usual.headers, authorization: value } })
  const unknownTokens = [
    answers(401, 'an unknown token', bearer('Bearer unknown')),
    answers(403, 'a token of another network', bearer('Bearer sim_office_token')),
  ]
  const byAuth: Readonly<Record<typeof auth, readonly Case[]>> = {
    none: [],
    optional: unknownTokens,
    token: [
      answers(401, 'no token', { ...usual, anonymous: true }),
      answers(401, 'another scheme', bearer('Basic sim_ci_token')),
      ...unknownTokens,
      answers(200, 'a token in alt-api-key', {
        ...usual,
        anonymous: true,
        headers: { ...usual.headers, 'alt-api-key': 'sim_ci_token' },
      }),
    ],
  }
  const json = { 'content-type': 'application/json' }
  const ofBody =
    usual.body === undefined
      ? []
      : [
          answers(200, 'a body without a content type', {
            ...usual,
            headers: { ...usual.headers, 'content-type': '' },
          }),
          answers(422, 'a body that is not JSON', { ...usual, body: '{"a":' }),
          answers(422, 'an empty body', { ...usual, body: '' }),
          answers(422, 'a body that is a list', { ...usual, body: [] }),
          answers(415, 'a packed body', { ...usual, headers: { ...json, 'content-encoding': 'gzip' } }),
          answers(415, 'a form', { ...usual, headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
        ]
  const target = usual.path.split('?', 1)[0]!
  return {
    operation,
    cases: [
      answers(200, 'the usual', usual),
      // A deployment may have any word for its id, and PUT is for one.
      answers(405, 'a method that the path does not have', {
        method: /^\/deploy\/\w+$/.test(target) ? 'PATCH' : 'PUT',
        path: target,
      }),
      ...byAuth[auth],
      ...ofBody,
      ...cases,
    ],
  }
}

const LLM = post('/deploy/llm', { model_name: 'acme/new', gpu: 'L4-24GB', hub: { repo: 'acme/chat-8b' } })
const llm = (change: object): Sent => ({ ...LLM, body: { ...(LLM.body as object), ...change } })
const LORA = post('/v1/lora/create', {
  base_model: 'acme/assistant',
  lora_name: 'formal-tone',
  source: { type: 'modelhub', modelhub_url: 'https://modelhub.example/acme/formal-tone' },
  private: true,
})
const lora = (change: object): Sent => ({ ...LORA, body: { ...(LORA.body as object), ...change } })
const TOPUP = post('/payment/topup', { amount: 5000, threshold: 1000, enabled: true })
const FUNDS = post('/payment/funds', { amount: 500 })
const LIMIT = post('/v1/me/gpu_limit/request', { gpu_type: 'H100-80GB', requested_limit: 16, reason: 'more traffic' })
const limit = (change: object): Sent => ({ ...LIMIT, body: { ...(LIMIT.body as object), ...change } })
const CONTENT = '{"custom_id":"ü"}\n{"custom_id":"🦙"}\n'
const UPLOAD: Sent = {
  method: 'POST',
  path: '/v1/files',
  form: [
    { name: 'purpose', value: 'batch' },
    { name: 'file', value: CONTENT, filename: 'in put.jsonl' },
  ],
}
const BATCH = post('/v1/batches', {
  input_file_id: FILE,
  endpoint: '/v1/chat/completions',
  completion_window: '24h',
  metadata: { team: 'a' },
})
const batch = (change: object): Sent => ({ ...BATCH, body: { ...(BATCH.body as object), ...change } })
const START = post(`/deploy/${STOPPED}/start`)
const COUNT = post(
  '/vendor_a/v1/messages/count_tokens',
  { model: MODEL, messages: [{ role: 'user', content: 'How many tokens are these? 🦙' }] },
  { anonymous: true },
)
const count = (change: object): Sent => ({ ...COUNT, body: { ...(COUNT.body as object), ...change } })
const RENAME: Sent = { method: 'PATCH', path: `/v1/hosted/${HOSTED}`, body: { name: 'workbench' } }
const rename = (name: unknown): Sent => ({ ...RENAME, body: { name } })
const DELETE_FAILED: Sent = { method: 'DELETE', path: `/v1/hosted/${FAILED}` }
const EXPAND = post(`/v1/hosted/${HOSTED}/expand_storage`, { new_size_gb: 200 })
const expand = (new_size_gb: unknown): Sent => ({ ...EXPAND, body: { new_size_gb } })
const remove = (model: string, search = '?version=ALL'): Sent => ({
  method: 'DELETE',
  path: `/models/${model}${search}`,
})

export const ROWS: readonly Row[] = [
  row('listApiTokens', get('/v1/api-tokens'), [
    answers(200, 'only the head', { method: 'HEAD', path: '/v1/api-tokens' }),
    answers(401, 'only the head, and no token', { method: 'HEAD', path: '/v1/api-tokens', anonymous: true }),
  ]),
  row('setTopup', TOPUP, [
    answers(200, 'every field left out', post('/payment/topup', {})),
    answers(200, 'the most', post('/payment/topup', { amount: 1_000_000_000, threshold: 1_000_000_000 })),
    answers(422, 'an amount below 0', { ...TOPUP, body: { amount: -1 } }),
  ]),
  row('addFunds', FUNDS, [
    answers(402, 'a declined card', FUNDS, { world: 'with a declined card' }),
    answers(400, 'more than an account may hold', post('/payment/funds', { amount: 1_000_000_000 }), {
      before: Array.from({ length: 3 }, () => post('/payment/funds', { amount: 1_000_000_000 })),
    }),
    answers(422, 'no field', { ...FUNDS, body: {} }),
  ]),
  row('getRentUsage', get(`/payment/usage/rent?from=${EPOCH - 86_400}`), [
    answers(200, 'a window', get(`/payment/usage/rent?from=${EPOCH}&to=${EPOCH + 60}`)),
    answers(200, 'a window to come', get(`/payment/usage/rent?from=${EPOCH + 99_999}`)),
    answers(200, 'a parameter given twice', get(`/payment/usage/rent?from=x&from=${EPOCH}`)),
    answers(422, 'no from', get('/payment/usage/rent')),
    answers(422, 'an invalid from', get('/payment/usage/rent?from=now')),
    answers(422, 'half a second', get('/payment/usage/rent?from=1.5')),
    answers(422, 'an invalid to', get('/payment/usage/rent?from=1&to=')),
    answers(422, 'from above to', get('/payment/usage/rent?from=2&to=1')),
    answers(422, 'a broken escape', get('/payment/usage/rent?from=%zz')),
  ]),
  row('requestGpuLimit', LIMIT, [
    answers(404, 'an unknown type', limit({ gpu_type: 'H100' })),
    answers(404, 'the type other', limit({ gpu_type: 'other' })),
    answers(400, 'not above the present limit', limit({ requested_limit: 4 })),
    answers(200, 'one above the present limit', limit({ requested_limit: 5 })),
    answers(403, 'one is pending', LIMIT, { before: [LIMIT] }),
    answers(200, 'the longest reason', limit({ reason: LLAMAS(2048) })),
    answers(422, 'no field', { ...LIMIT, body: {} }),
  ]),
  row('uploadFile', UPLOAD, [
    answers(200, 'the file before its purpose', { ...UPLOAD, form: [...UPLOAD.form!].reverse() }),
    answers(200, 'an empty file', {
      ...UPLOAD,
      form: [UPLOAD.form![0]!, { name: 'file', value: '', filename: 'empty.jsonl' }],
    }),
    answers(
      413,
      'over the storage of the account',
      { ...UPLOAD, form: [UPLOAD.form![0]!, { name: 'file', value: 'x'.repeat(1001), filename: 'x.jsonl' }] },
      { world: 'short of storage' },
    ),
    answers(422, 'no file', { ...UPLOAD, form: [UPLOAD.form![0]!] }),
    answers(422, 'no purpose', { ...UPLOAD, form: [UPLOAD.form![1]!] }),
    answers(422, 'another purpose', { ...UPLOAD, form: [{ name: 'purpose', value: 'fine-tune' }, UPLOAD.form![1]!] }),
    answers(422, 'a file that is a field', {
      ...UPLOAD,
      form: [UPLOAD.form![0]!, { name: 'file', value: CONTENT }],
    }),
    answers(422, 'JSON', post('/v1/files', { purpose: 'batch', file: CONTENT })),
    answers(422, 'no body', post('/v1/files')),
    answers(422, 'a form that breaks off', {
      ...post('/v1/files', '--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nhalf'),
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    }),
    answers(422, 'a form without a boundary', {
      ...post('/v1/files', 'x'),
      headers: { 'content-type': 'multipart/form-data' },
    }),
    answers(415, 'a packed body', { ...UPLOAD, headers: { 'content-encoding': 'gzip' } }),
  ]),
  row('createBatch', BATCH, [
    answers(200, 'metadata left out', {
      ...BATCH,
      body: { input_file_id: FILE, endpoint: '/v1/completions', completion_window: '24h' },
    }),
    answers(200, 'metadata null', batch({ metadata: null })),
    answers(402, 'no funds', BATCH, { world: 'broke' }),
    answers(404, 'an unknown file', batch({ input_file_id: 'file_none' })),
    answers(429, 'one is under way', BATCH, { before: [BATCH], world: 'with one batch at once' }),
    answers(422, 'no field', { ...BATCH, body: {} }),
  ]),
  row('createLlmDeployment', LLM, [
    answers(200, 'a bare name', llm({ model_name: 'bare' })),
    answers(200, 'a base model', post('/deploy/llm', { model_name: 'on-base', gpu: 'L4-24GB', base_model: MODEL })),
    answers(200, 'a hub token, and every other field', {
      ...llm({
        hub: { repo: 'acme/private-70b', revision: 'main', token: 'hub_acme_token' },
        num_gpus: 1,
        max_batch_size: 256,
        settings: { min_instances: 0, max_instances: 3 },
        container_image: 'registry.example/serve:1',
        extra_args: ['--verbose'],
        base_model: null,
        of_tomorrow: 'ignored',
      }),
    }),
    answers(402, 'no funds', LLM, { world: 'broke' }),
    answers(400, 'a foreign owner', llm({ model_name: 'someone/else' })),
    answers(400, 'gpu other', llm({ gpu: 'other' })),
    answers(404, 'an unknown base model', llm({ base_model: 'no/such' })),
    answers(403, 'over the GPU limit', LLM, { world: 'without GPUs to spare' }),
    answers(409, 'a name that is taken', llm({ model_name: 'acme/assistant' })),
    answers(422, 'no weights', post('/deploy/llm', { model_name: 'acme/new', gpu: 'L4-24GB' })),
    answers(422, 'several things at once', post('/deploy/llm', { model_name: 'a/b/c', gpu: 'T4', num_gpus: 0 })),
    answers(422, 'no field', { ...LLM, body: {} }),
  ]),
  row('createLora', LORA, [
    answers(200, 'on a model of the catalog', lora({ base_model: MODEL, description: null })),
    answers(200, 'on a stopped base', lora({ base_model: 'acme/summarizer' })),
    answers(400, 'a base that embeds texts', lora({ base_model: 'aurora-labs/aurora-embed-large' })),
    answers(402, 'no funds', LORA, { world: 'broke' }),
    answers(404, 'an unknown base', lora({ base_model: 'unknown/nothing' })),
    answers(409, 'a name that is taken', LORA, { before: [LORA] }),
    answers(422, 'no field', { ...LORA, body: {} }),
  ]),
  row('listDeployments', get('/deploy/list'), [
    answers(200, 'a trailing slash', get('/deploy/list/')),
    answers(200, 'only the head', { method: 'HEAD', path: '/deploy/list/' }),
    answers(200, 'a filter', get('/deploy/list/?status=running,%20stopped')),
    answers(200, 'an empty filter', get('/deploy/list?status=')),
    answers(200, 'the deleted ones', get('/deploy/list?status=deleted')),
    answers(400, 'an unknown status', get('/deploy/list?status=running,walking')),
    answers(400, 'a status with a broken escape', get('/deploy/list?status=%zz')),
  ]),
  row('startDeployment', START, [
    answers(404, 'an unknown deployment', post('/deploy/none/start')),
    answers(404, 'a broken escape', post('/deploy/%zz/start')),
    answers(400, 'not stopped', post(`/deploy/${RUNNING}/start`)),
    answers(400, 'an adapter on a stopped base', post('/deploy/<deploy_id>/start'), {
      before: [lora({ base_model: 'acme/summarizer' })],
    }),
    answers(402, 'no funds', START, { world: 'broke' }),
    answers(403, 'over the GPU limit', START, { world: 'without GPUs to spare' }),
  ]),
  row('deleteModel', remove('acme/summarizer'), [
    answers(200, 'an escaped slash', remove('acme%2Fsummarizer')),
    answers(200, 'a bare name', remove('summarizer')),
    answers(
      200,
      'one version',
      remove('acme/summarizer', '?version=377b538ffce84bdb68cfb96df14508ab6cf0d6d5d5f6d74b905ae040052bb7cb'),
    ),
    answers(404, 'an unknown model', remove('acme/none')),
    answers(404, 'an unknown version', remove('acme/summarizer', '?version=1')),
    answers(404, 'a model that is gone', remove('acme/summarizer'), { before: [remove('acme/summarizer')] }),
    answers(401, 'a model of the catalog', remove(MODEL)),
    answers(422, 'no version', remove('acme/summarizer', '')),
  ]),
  row('listModels', get('/models/deployment/list'), [
    answers(200, 'with a model of the account', get('/models/deployment/list'), { before: [LLM] }),
  ]),
  row('getModelSchema', get(`/models/${MODEL}/schema/default`), [
    answers(200, 'an escaped slash', get(`/models/${MODEL.replace('/', '%2F')}/schema/default`)),
    answers(200, 'an escaped slash in small letters', get(`/models/${MODEL.replace('/', '%2f')}/schema/ai-sdk`)),
    answers(200, 'an empty version', get(`/models/${MODEL}/schema/compat-chat-completions?version=`)),
    answers(200, 'a bare name', get('/models/assistant/schema/default')),
    answers(404, 'an unknown model', get('/models/no/such/schema/default')),
    answers(404, 'an unknown version', get(`/models/${MODEL}/schema/default?version=1`)),
    answers(404, 'a variant of another type', get(`/models/${MODEL}/schema/compat-tts`)),
    answers(422, 'an unknown variant', get(`/models/${MODEL}/schema/compat`)),
  ]),
  row('getHardware', get(`/v2/hardware?model=${MODEL}`), [
    answers(200, 'a model of the account', get('/v2/hardware?model=acme%2Fassistant')),
    answers(404, 'an unknown model', get('/v2/hardware?model=no/such')),
    answers(422, 'no model', get('/v2/hardware')),
  ]),
  row(
    'listAggregatorModels',
    get('/aggregator/models', { anonymous: true }),
    [answers(200, 'whatever token', get('/aggregator/models', { headers: { authorization: 'Bearer unknown' } }))],
    'none',
  ),
  row('listVoices', get('/v1/voices'), []),
  row('getVoice', get('/v1/voices/voice_k7RtWq2mXb4Hn9ZpGam4zyNb'), [
    answers(404, 'an unknown voice', get('/v1/voices/none')),
    answers(404, 'a voice that does not print', get('/v1/voices/%00%F0%9F%A6%99')),
  ]),
  row(
    'countTokens',
    COUNT,
    [
      answers(200, 'with a token', { ...COUNT, anonymous: false }),
      answers(
        200,
        'blocks, system and tools',
        count({
          system: [{ type: 'text', text: 'Be brief.' }],
          messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
          tools: [{ name: 'search', description: 'Looks it up', input_schema: { type: 'object' } }],
          thinking: { enabled: true },
          tool_choice: { type: 'auto' },
        }),
      ),
      answers(404, 'an unknown model', count({ model: 'no/such' })),
      answers(413, 'a body of more than 8 MiB', count({ thinking: { note: 'x'.repeat(8 * 1_048_576) } })),
      answers(422, 'no field', { ...COUNT, body: {} }),
    ],
    'optional',
  ),
  row('renameHosted', RENAME, [
    answers(200, 'the longest name', rename(LLAMAS(64))),
    answers(404, 'an unknown instance', { ...RENAME, path: '/v1/hosted/none' }),
    answers(400, 'a deleted instance', { ...RENAME, path: `/v1/hosted/${FAILED}` }, { before: [DELETE_FAILED] }),
    answers(422, 'no field', { ...RENAME, body: {} }),
  ]),
  row('expandHostedStorage', EXPAND, [
    answers(200, 'the most', expand(512)),
    answers(404, 'an unknown instance', { ...EXPAND, path: '/v1/hosted/none/expand_storage' }),
    answers(400, 'not larger', expand(120)),
    answers(409, 'one is under way', expand(300), { before: [EXPAND] }),
    answers(422, 'no field', { ...EXPAND, body: {} }),
  ]),
]

/** Refusals that a declaration lists and no request here brings about, and why. */
export const NOT_BROUGHT_ABOUT: Readonly<Record<string, string>> = {
  'createLlmDeployment 429': 'takes 100,000 deployments',
}

/** Returns the init of `fetch` for a request, with a new form each time, because a send uses it up. */
export function initOf(request: Sent, token: string): RequestInit {
  const { method, body, form, headers = {}, anonymous } = request
  const content = typeof body === 'string' ? body : JSON.stringify(body)
  const given: Record<string, string> = {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(!anonymous && { authorization: `Bearer ${token}` }),
    ...headers,
  }
  const isBlank = given['content-type'] === ''
  if (isBlank) delete given['content-type']
  return {
    method,
    headers: given,
    ...(form !== undefined && { body: formOf(form) }),
    // Bytes, unlike text, get no content type of their own.
    ...(content !== undefined && { body: isBlank ? new TextEncoder().encode(content) : content }),
  }
}

function formOf(parts: readonly Part[]): FormData {
  const form = new FormData()
  for (const { name, value, filename } of parts) {
    if (filename === undefined) form.set(name, value)
    else form.set(name, new Blob([value]), filename)
  }
  return form
}

/** The path of a request, with what the answer before says filled in. */
export function pathOf({ path }: Sent, before: string): string {
  return path.replaceAll(/<(\w+)>/g, (_, field: string) => JSON.parse(before)[field])
}

/** What of an answer a client can see, wherever it came from. */
export interface Seen {
  readonly status: number
  readonly type: string | null
  readonly date: string | null
  readonly allow: string | null
  readonly retryAfter: string | null
  readonly encoding: string | null
  readonly text: string
}

export async function seen(response: Response): Promise<Seen> {
  const { status, headers } = response
  return {
    status,
    type: headers.get('content-type'),
    date: headers.get('date'),
    allow: headers.get('allow'),
    retryAfter: headers.get('retry-after'),
    encoding: headers.get('content-encoding'),
    text: await response.text(),
  }
}

/** Returns a row with one case for each status. */
export function firstOfEachStatus(row: Row): Row {
  return {
    ...row,
    cases: row.cases.filter(
      (one, i, all) => !isLarge(one) && all.findIndex(({ status }) => status === one.status) === i,
    ),
  }
}

/** Says whether a case sends megabytes or many requests, which only the long tests do. */
function isLarge({ before, request }: Case): boolean {
  return before.length > 5 || JSON.stringify(request.body ?? '').length > 1_048_576
}

/** Asks what has to be asked before, then the request itself. */
export async function ask(
  one: Case,
  token: string,
  send: (path: string, init: RequestInit) => Promise<Response>,
  prepared = () => {},
): Promise<Seen> {
  let before = ''
  for (const request of one.before) before = await (await send(pathOf(request, before), initOf(request, token))).text()
  prepared()
  return seen(await send(pathOf(one.request, before), initOf(one.request, token)))
}
