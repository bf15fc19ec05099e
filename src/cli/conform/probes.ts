/** Requests beside the example of an operation that lead to its refusals. */

import { GPU_TYPES } from '../../data/records/gpu-config.ts'
import { type AnyEndpoint, type Operations, routeParamNames } from '../../service/endpoint.ts'
import { inputShape } from '../../service/naming/schema-shape.ts'
import { signScopedToken } from '../../simulation/account/access/scoped-tokens.ts'
import type { Simulator } from '../../simulator/simulator.ts'

/** Changes to the example request. */
export interface RequestChange {
  readonly path?: string
  /** A step of the path to set. The last one is 0. */
  readonly step?: { readonly fromEnd: number; readonly value: string }
  readonly search?: string
  /** Query parameters to set. */
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Fields to set in a JSON body or a form. A form can have a `File`. */
  readonly fields?: Readonly<Record<string, unknown>>
}

/** A request, and what happens to its world before it is sent. */
export interface Probe {
  readonly change?: RequestChange
  /** @param usual creates the unchanged example request */
  readonly before?: (sim: Simulator, usual: () => Request) => unknown
}

const UNKNOWN_NAME = 'none-of-the-kind'
/** A token of the default world that is restricted to another network. */
const RESTRICTED_TOKEN = 'sim_office_token'
/** The account of the default world. */
const DEFAULT_UID = 'user_BCcA2juf2XaNsUowWsEKTQp5'
/** Unix seconds. */
const FAR_FUTURE = 4_000_000_000
/** An invalid value for every parameter that is not a plain text. */
const INVALID_VALUE = '~'
const FORM = 'application/x-www-form-urlencoded'
/** Fields that refer to something that must exist. */
const REFERENCE_FIELDS = ['base_model', 'input_file_id', 'model', 'gpu_type', 'deploy_id', 'after']
/** More bytes than any upload may have. */
const TOO_MANY_BYTES = String(2 ** 40)

/** Returns all probes of an operation, its example first. */
export function probesOf(operations: Operations, operation: string): Probe[] {
  const endpoint = operations[operation] as AnyEndpoint
  return [
    {},
    ...callerProbes(endpoint),
    ...inputProbes(endpoint),
    ...nameProbes(endpoint),
    ...stateProbes(operations, endpoint),
    ...(OPERATION_PROBES[operation] ?? []),
  ]
}

/** Returns a scoped token of the default world that its default API token signs. */
function scopedToken(claims: object, signer: readonly [string, string] = ['default', 'sim_default_token']): string {
  const payload = { sub: DEFAULT_UID, exp: FAR_FUTURE, ...claims }
  return signScopedToken(signer[0], signer[1], payload)
}

/** Returns probes with missing and rejected tokens. */
function callerProbes({ auth, acceptsScopedTokens }: AnyEndpoint): Probe[] {
  const bearer = (token: string): Probe => ({ change: { headers: { authorization: `Bearer ${token}` } } })
  if (auth === 'none') return []
  const withRejectedToken = [bearer(UNKNOWN_NAME), bearer(RESTRICTED_TOKEN)]
  if (acceptsScopedTokens) withRejectedToken.push(bearer(scopedToken({ models: [UNKNOWN_NAME] })))
  return auth === 'token' ? [{ change: { headers: { authorization: '' } } }, ...withRejectedToken] : withRejectedToken
}

/** Returns probes with invalid input and wrong content types. */
function inputProbes({ body, upload, consumes, query }: AnyEndpoint): Probe[] {
  const changes: RequestChange[] = []
  if (body !== undefined) {
    const other = consumes === 'form' ? 'application/json' : FORM
    changes.push({ body: '"text"' }, { headers: { 'content-type': other } })
  }
  if (upload !== undefined) {
    changes.push({ headers: { 'content-encoding': 'gzip' } }, { headers: { 'content-length': TOO_MANY_BYTES } })
    changes.push({ headers: { 'content-type': FORM } })
  }
  if (Object.values(query).some(schema => !schema.safeParse(undefined).success)) changes.push({ search: '' })
  const checkedParameter = Object.keys(query).find(name => !query[name]!.safeParse(INVALID_VALUE).success)
  if (checkedParameter !== undefined) changes.push({ query: { [checkedParameter]: INVALID_VALUE } })
  return changes.map(change => ({ change }))
}

/** Returns probes with unknown names and ids. */
function nameProbes({ path, body, query, upload }: AnyEndpoint): Probe[] {
  const changes: RequestChange[] = []
  if (routeParamNames(path).length > 0) changes.push({ path: path.replaceAll(/\{\w+\}/g, UNKNOWN_NAME) })
  const fields = body === undefined ? undefined : inputShape(body).fields
  for (const name of REFERENCE_FIELDS) {
    if (fields?.has(name) || Object.hasOwn(upload?.fields ?? {}, name))
      changes.push({ fields: { [name]: UNKNOWN_NAME } })
    if (Object.hasOwn(query, name)) changes.push({ query: { [name]: UNKNOWN_NAME } })
  }
  return changes.map(change => ({ change }))
}

/** Returns probes in a world that is exhausted, or where the same was done before. */
function stateProbes(operations: Operations, { method, path, refusals }: AnyEndpoint): Probe[] {
  const probes: Probe[] = []
  if (402 in refusals) probes.push({ before: sim => sim.cluster.account.suspend() })
  if (403 in refusals) {
    const lower = (sim: Simulator) => {
      for (const gpu of GPU_TYPES) if (gpu !== 'other') sim.cluster.limit.set(gpu, 0)
    }
    probes.push({ before: lower })
  }
  const again = async (sim: Simulator, usual: () => Request) => void (await sim.fetch(usual()))
  // Only these statuses distinguish what is gone or done from what never existed.
  if (method !== 'GET' && [400, 403, 409].some(status => status in refusals)) probes.push({ before: again })
  if (!(400 in refusals)) return probes
  if (method !== 'GET') probes.push({ before: (sim, usual) => anHourAfter(sim, again(sim, usual)) })
  const thing = /^.*?\{\w+\}/.exec(path)?.[0]
  const declared = Object.values(operations as Operations<unknown>) as AnyEndpoint[]
  if (thing !== undefined && declared.some(one => one.method === 'DELETE' && one.path === thing)) {
    const deleted = (sim: Simulator, usual: () => Request) => deleteThing(sim, usual(), thing.split('/').length)
    probes.push({ before: deleted }, { before: (sim, usual) => anHourAfter(sim, deleted(sim, usual)) })
  }
  return probes
}

/** Deletes what the path of a request names in its first `steps` parts; -1: in all but the last. */
function deleteThing(sim: Simulator, { url, headers }: Request, steps: number): Promise<Response> {
  const { pathname, origin } = new URL(url)
  const target = pathname.split('/').slice(0, steps).join('/')
  return sim.fetch(origin + target, { method: 'DELETE', headers: { authorization: headers.get('authorization')! } })
}

async function anHourAfter(sim: Simulator, done: Promise<unknown>): Promise<void> {
  await done
  await sim.clock.advance('1h')
}

/** Returns a probe with fields of the body. */
const withFields = (fields: RequestChange['fields'] & object): Probe => ({ change: { fields } })
/** Returns a probe with parameters of the query. */
const withQuery = (query: RequestChange['query'] & object): Probe => ({ change: { query } })

const EMBEDDING_MODEL = 'cedarline/cedar-embed-base'
const RERANK_MODEL = 'cedarline/cedar-rerank-base'
const CHAT_MODEL = 'aurora-labs/aurora-8b-instruct'
const DEPRECATED_MODEL = 'aurora-labs/aurora-v1-7b-chat'
const STOPPED_MODEL = 'acme/summarizer'
const GATED_REPOSITORY = 'acme/private-70b'
const HUGE_REPOSITORY = 'acme/huge-9000b'
const MAX_FUNDS_CENTS = 1_000_000_000

const LARGE_FORM: Probe = {
  change: { headers: { 'content-type': 'multipart/form-data; boundary=x', 'content-length': TOO_MANY_BYTES } },
}

/** Returns the same probes for several operations. */
const sameFor = (operations: string, ...probes: readonly Probe[]) =>
  Object.fromEntries(operations.split(' ').map(one => [one, probes]))

/** Probes for refusals of single operations. */
const OPERATION_PROBES: Readonly<Record<string, readonly Probe[]>> = {
  ...sameFor(
    'createImage createImageEdit createImageVariation createSpeech textToSpeech streamTextToSpeech',
    withFields({ model: CHAT_MODEL, model_id: CHAT_MODEL }),
  ),
  ...sameFor('createTranscription createTranslation', withFields({ file: new File(['text'], 'memo.wav') })),
  ...sameFor(
    'createChatCompletion createCompletion createMessage',
    ...[EMBEDDING_MODEL, STOPPED_MODEL].map(model => withFields({ model })),
  ),
  ...sameFor('queryDeploymentLogs queryLogs', withQuery({ from: 'now-60d' })),
  ...sameFor('getUsage getTokenUsage getUsageOfApiToken', withQuery({ from: '2000.01' })),
  ...sameFor('getDeploymentStats getDetailedDeploymentStats', {
    before: (sim, usual) => deleteThing(sim, usual(), -1),
  }),
  listDeployments: [{ change: { search: '?status=walking' } }],
  createLlmDeployment: [withFields({ gpu: 'other' })],
  deployModel: [
    withFields({ model_name: UNKNOWN_NAME }),
    withFields({ provider: 'hub', model_name: GATED_REPOSITORY }),
    withFields({ provider: 'hub', model_name: HUGE_REPOSITORY }),
  ],
  deployHubModel: [UNKNOWN_NAME, GATED_REPOSITORY, HUGE_REPOSITORY].map(model_name => withFields({ model_name })),
  createHosted: [withFields({ plan_id: UNKNOWN_NAME }), withFields({ region: UNKNOWN_NAME })],
  createContainer: [withFields({ gpu_config: '1xother' })],
  createEmbeddings: [CHAT_MODEL, STOPPED_MODEL].map(model => withFields({ model })),
  createInference: [
    LARGE_FORM,
    { change: { path: '/v1/inference/acme/translator' } },
    { change: { path: `/v1/inference/${RERANK_MODEL}`, body: '{"queries":["a","b"],"documents":["c"]}' } },
  ],
  createDeploymentInference: [LARGE_FORM, withFields({ input: 'word '.repeat(10_000) })],
  addFunds: [
    { before: sim => sim.cluster.card.decline() },
    {
      change: { fields: { amount: MAX_FUNDS_CENTS } },
      async before(sim, usual) {
        for (let i = 0; i < 4; i++)
          await sim.fetch(new Request(usual(), { body: JSON.stringify({ amount: MAX_FUNDS_CENTS }) }))
      },
    },
  ],
  getBillingPortal: [withQuery({ return_url: 'acme' })],
  updateMe: [withFields({ display_name: CHAT_MODEL.split('/')[0] })],
  createScopedToken: [withFields({ api_key_name: UNKNOWN_NAME })],
  inspectScopedToken: [
    withQuery({ jwtoken: UNKNOWN_NAME }),
    { change: { query: { jwtoken: scopedToken({}, ['continuous integration', 'sim_ci_token']) } } },
  ],
  requestRateLimits: [withFields({ rate_limit: 1 })],
  requestGpuLimit: [withFields({ requested_limit: 1 })],
  expandHostedStorage: [withFields({ new_size_gb: 21 })],
  deleteModel: [{ change: { path: `/models/${CHAT_MODEL}` } }],
  createLora: [withFields({ base_model: EMBEDDING_MODEL })],
  suggestDeploymentName: [withQuery({ model_name: DEPRECATED_MODEL })],
  getModelSchema: [{ change: { path: '/models/no/such/schema/default' } }],
  editVoice: [{ change: { body: 'name=' } }],
}

/** Returns the request with a change applied. */
export async function applyChange(example: Request, change: RequestChange): Promise<Request> {
  const url = new URL(example.url)
  const steps = (change.path ?? url.pathname).split('/')
  if (change.step) steps.splice(-1 - change.step.fromEnd, 1, encodeURIComponent(change.step.value))
  url.pathname = steps.join('/')
  url.search = change.search ?? url.search
  for (const [name, value] of Object.entries(change.query ?? {})) url.searchParams.set(name, value)
  const { method, headers: exampleHeaders } = example
  const isForm = exampleHeaders.get('content-type')?.startsWith('multipart/') ?? false
  const headers = new Headers({ ...Object.fromEntries(exampleHeaders), ...change.headers })
  // A changed form has another boundary.
  if (change.fields && isForm) headers.delete('content-type')
  const content =
    change.body ?? (change.fields && (await setFields(example.clone(), change.fields, isForm))) ?? example.body
  const init = { method, headers, ...(content !== null && { body: content, duplex: 'half' }) }
  return new Request(url, init as RequestInit)
}

async function setFields(
  request: Request,
  fields: NonNullable<RequestChange['fields']>,
  isForm: boolean,
): Promise<string | FormData> {
  if (!isForm) return JSON.stringify({ ...(await request.json()), ...fields })
  const form = await request.formData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value instanceof File ? value : String(value))
  return form
}
