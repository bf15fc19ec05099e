/** A way to get each refusal that an operation declares, by operation and status. */
import type { Probe } from '../../../src/cli/conform/probes.ts'
import { GPU_TYPES } from '../../../src/data/records/gpu-config.ts'
import { type AnyEndpoint, routeParamNames } from '../../../src/service/endpoint.ts'
import { operations } from '../../../src/service/index.ts'
import { signScopedToken } from '../../../src/simulation/account/access/scoped-tokens.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'

/** A refused request, and what happens around it. */
export interface Provocation extends Probe {
  /** Words of the refusal that only this cause gives. */
  readonly says: string
  readonly method?: string
  /** `full` holds as many deployments as a world can. Default: `usual`. */
  readonly world?: 'usual' | 'full'
  /** What happens while the request waits for its answer. */
  readonly meanwhile?: (sim: Simulator) => unknown
}

type ByStatus = Readonly<Record<number, Provocation>>

/** The account and the tokens of the world `default`. */
const UID = 'user_BCcA2juf2XaNsUowWsEKTQp5'
const TOKEN = ['default', 'sim_default_token'] as const
const OTHER_TOKEN = ['continuous integration', 'sim_ci_token'] as const
const RESTRICTED_TOKEN = 'sim_office_token'
const CHAT = 'aurora-labs/aurora-8b-instruct'
const EMBED = 'cedarline/cedar-embed-base'
const TAGLESS_MODEL = 'brightmoor/moor-9b-it'
const UNKNOWN = 'none-of-the-kind'
const TOO_MANY_BYTES = String(2 ** 40)
const MAX_FUNDS_CENTS = 1_000_000_000

/** Stopped deployments of each task that the world `default` does not have. */
export const STOPPED = {
  'text-generation': 'ZULBVvLkUPftB8Mo',
  embeddings: 'StoppedEmbedding',
  'text-to-image': 'StoppedOfDrawing',
  'text-to-speech': 'StoppedOfSpeaker',
  'automatic-speech-recognition': 'StoppedOfScribes',
} as const

type Task = keyof typeof STOPPED

// What happens before a request.

const suspend = (sim: Simulator) => sim.cluster.account.suspend()

function allowNoGpus(sim: Simulator): void {
  for (const gpu of GPU_TYPES) if (gpu !== 'other') sim.cluster.limit.set(gpu, 0)
}

const again: NonNullable<Probe['before']> = async (sim, usual) => {
  const { status } = await sim.fetch(usual())
  if (status !== 200) throw new Error(`the first request is ${status}`)
}

/** Fills the only place of a model. Time does not move, so the first request keeps it. */
const fillPlace: NonNullable<Probe['before']> = async (sim, usual) => {
  sim.cluster.rateLimit.set(1)
  sim.fetch(usual()).catch(() => {})
  await new Promise(done => setImmediate(done))
}

/** Deletes what the path of the request begins with. */
const deleted: NonNullable<Probe['before']> = async (sim, usual) => {
  const { url, headers } = usual()
  const [, thing] = /^(.*?\/(?:hosted|containers|deploy)\/[^/]+)/.exec(new URL(url).pathname)!
  const { status } = await sim.fetch(`http://sim${thing}`, {
    method: 'DELETE',
    headers: { authorization: headers.get('authorization')! },
  })
  if (status !== 200) throw new Error(`the deletion is ${status}`)
  await sim.clock.advance('1h')
}

// Causes that several operations share.

const noFunds: Provocation = { before: suspend, says: 'the account is suspended' }
const overLimit: Provocation = { before: allowNoGpus, says: 'over the GPU limit' }
const full: Provocation = { world: 'full', says: 'deployments, which is its limit' }
const longRange: Provocation = { change: { query: { from: 'now-60d' } }, says: '31 days' }
const beforeAccount: Provocation = { change: { query: { from: '2000.01' } }, says: 'account' }
const deletedBefore = (says: string): Provocation => ({ before: deleted, says })
const once = (says: string): Provocation => ({ before: again, says })
const withFields = (fields: Readonly<Record<string, unknown>>, says: string): Provocation => ({
  change: { fields },
  says,
})
const atPath = (path: string, says: string): Provocation => ({ change: { path }, says })
const withQuery = (name: string, value: string, says: string): Provocation => ({
  change: { query: { [name]: value } },
  says,
})
const tooLarge = (says: string): Provocation => ({
  change: { headers: { 'content-type': 'multipart/form-data; boundary=x', 'content-length': TOO_MANY_BYTES } },
  says,
})

function scopedToken(claims: object, [name, secret]: readonly [string, string] = TOKEN): string {
  const payload = { sub: UID, exp: 4_000_000_000, ...claims }
  return signScopedToken(name, secret, payload)
}

function unknownPath(operation: keyof typeof operations, says = UNKNOWN): Provocation {
  const { path }: AnyEndpoint = operations[operation]
  return { change: { path: path.replaceAll(/\{\w+\}/g, UNKNOWN) }, says }
}

/** Returns what every request to a model is refused for, besides its name. */
const ofCaller: ByStatus = {
  402: noFunds,
  403: {
    change: { headers: { authorization: `Bearer ${scopedToken({ models: [UNKNOWN] })}` } },
    says: 'the scoped token does not allow',
  },
  429: { before: fillPlace, says: 'are in flight with this token' },
}

/** Returns the refusals of an operation whose body names a model of a task. */
function ofModel(task: Task, field = 'model'): ByStatus {
  const other = task === 'text-generation' ? EMBED : CHAT
  return {
    ...ofCaller,
    400: withFields({ [field]: other }, `, not ${task}`),
    404: withFields({ [field]: UNKNOWN }, `model does not exist: ${UNKNOWN}`),
    503: withFields({ [field]: `deploy_id:${STOPPED[task]}` }, 'is stopped, not running'),
  }
}

const deployAny: ByStatus = { 402: noFunds, 403: overLimit, 409: once('is deployed already'), 429: full }

/** The operations in the order of their paths, but for those whose only refusal is that of an unknown thing. */
const OWN: Readonly<Partial<Record<keyof typeof operations, ByStatus>>> = {
  // Deployments.
  deployHubModel: {
    ...deployAny,
    400: withFields({ task: 'walking' }, "unknown task 'walking'"),
    404: withFields({ model_name: 'acme/none' }, 'acme/none'),
    423: withFields({ model_name: 'acme/private-70b' }, 'is gated'),
  },
  listDeployments: { 400: withQuery('status', 'walking', 'walking') },
  createLlmDeployment: {
    ...deployAny,
    400: withFields({ gpu: 'other' }, "gpu 'other' cannot be deployed on"),
    404: withFields({ base_model: UNKNOWN }, `no base_model ${UNKNOWN}`),
  },
  getGpuAvailability: { 404: withQuery('base_model', UNKNOWN, UNKNOWN) },
  suggestDeploymentName: { 404: withQuery('model_name', 'aurora-labs/aurora-v1-7b-chat', 'aurora-v1-7b-chat') },
  updateDeployment: {
    400: atPath('/deploy/s9Tev4JSqwBepwSM', 'is of the type lora'),
    402: { ...noFunds, change: { fields: { settings: { max_instances: 9 } } } },
    403: { ...overLimit, change: { fields: { settings: { min_instances: 4, max_instances: 9 } } } },
  },
  startDeployment: {
    400: atPath('/deploy/2cZeTxVFN7tKxCCh/start', 'not stopped'),
    402: noFunds,
    403: overLimit,
  },
  getDeploymentStats: { 410: deletedBefore('deleted') },
  getDetailedDeploymentStats: { 410: deletedBefore('deleted') },
  stopDeployment: {
    400: atPath(`/deploy/${STOPPED['text-generation']}/stop`, 'stopped'),
  },
  deployModel: {
    ...deployAny,
    400: withFields({ provider: 'hub', model_name: 'acme/huge-9000b' }, 'no node of the fleet'),
    404: withFields({ model_name: UNKNOWN }, UNKNOWN),
    423: withFields({ provider: 'hub', model_name: 'acme/private-70b' }, 'is gated'),
  },
  queryDeploymentLogs: { 400: longRange, 404: withQuery('deploy_id', UNKNOWN, UNKNOWN) },
  queryLogs: { 400: longRange, 404: withQuery('deploy_id', UNKNOWN, UNKNOWN) },

  // Models and adapters.
  deleteModel: { 401: atPath(`/models/${CHAT}`, 'does not belong to the account') },
  updateModelDetails: {
    403: atPath(`/models/${CHAT}/meta`, 'does not belong to the account'),
  },
  updateModelPublicity: {
    403: atPath(`/models/${CHAT}/publicity`, 'does not belong to the account'),
  },
  getModelSchema: { 404: atPath(`/models/${UNKNOWN}/schema/default`, UNKNOWN) },
  getHardware: { 404: withQuery('model', UNKNOWN, UNKNOWN) },
  createLora: {
    400: withFields({ base_model: EMBED }, 'not a language model'),
    402: noFunds,
    404: withFields({ base_model: UNKNOWN }, UNKNOWN),
    409: once('already'),
  },

  // Account.
  addFunds: {
    400: {
      change: { fields: { amount: MAX_FUNDS_CENTS } },
      async before(sim, usual) {
        for (let i = 0; i < 4; i++)
          await sim.fetch(new Request(usual(), { body: JSON.stringify({ amount: MAX_FUNDS_CENTS }) }))
      },
      says: 'the account may hold 4000000000 cents',
    },
    402: { before: sim => sim.cluster.card.decline(), says: 'declined' },
  },
  getUsage: { 400: beforeAccount },
  getTokenUsage: { 400: beforeAccount },
  getUsageOfApiToken: { 400: beforeAccount, 404: unknownPath('getUsageOfApiToken', 'API token not found') },
  createApiToken: { 409: once('already') },
  deleteApiToken: { 404: unknownPath('deleteApiToken', 'no such token') },
  getApiToken: { 404: unknownPath('getApiToken', 'no such token') },
  updateMe: { 409: withFields({ display_name: 'aurora-labs' }, 'aurora-labs') },
  requestGpuLimit: {
    400: withFields({ requested_limit: 1 }, 'above'),
    403: once('pending'),
    404: withFields({ gpu_type: UNKNOWN }, UNKNOWN),
  },
  requestRateLimits: { 400: withFields({ rate_limit: 1 }, 'above'), 403: once('pending') },
  inspectScopedToken: {
    400: withQuery('jwtoken', UNKNOWN, 'token'),
    403: withQuery('jwtoken', scopedToken({}, OTHER_TOKEN), "the API token 'continuous integration' signed it"),
  },
  createScopedToken: { 404: withFields({ api_key_name: UNKNOWN }, UNKNOWN) },
  addSshKey: { 409: once('already') },

  // Files, batches and voices.
  listFiles: { 404: withQuery('after', UNKNOWN, UNKNOWN) },
  uploadFile: { 413: tooLarge('file') },
  deleteFile: { 404: unknownPath('deleteFile', 'file not found') },
  getFile: { 404: unknownPath('getFile', 'file not found') },
  getFileContent: { 404: unknownPath('getFileContent', 'file not found') },
  listBatches: { 404: withQuery('after', UNKNOWN, UNKNOWN) },
  createBatch: {
    402: noFunds,
    404: withFields({ input_file_id: UNKNOWN }, 'file not found'),
    429: once('2 batches are under way'),
  },
  getBatch: { 404: unknownPath('getBatch', 'batch not found') },
  cancelBatch: {
    400: atPath('/v1/batches/batch_4bszUZ9REqRnzm2DdbW5wBgB/cancel', 'completed'),
    404: unknownPath('cancelBatch', 'batch not found'),
  },
  addVoice: { 413: tooLarge('25 MB') },

  // Rented machines.
  createContainer: {
    400: withFields({ gpu_config: '1xother' }, 'Invalid gpu_config'),
    402: noFunds,
    403: overLimit,
    429: once('too many containers'),
  },
  getContainerGpuAvailability: { 404: withQuery('base_model', UNKNOWN, UNKNOWN) },
  deleteContainer: { 400: deletedBefore('deleted') },
  renameContainer: { 400: deletedBefore('deleted') },
  createHosted: {
    400: withFields({ region: UNKNOWN }, `no region ${UNKNOWN}`),
    402: noFunds,
    404: withFields({ plan_id: UNKNOWN }, `no plan ${UNKNOWN}`),
    429: once('too many hosted instances'),
  },
  deleteHosted: { 400: deletedBefore('deleted') },
  renameHosted: { 400: deletedBefore('deleted') },
  expandHostedStorage: {
    400: withFields({ new_size_gb: 21 }, 'not larger'),
    409: once('being expanded already'),
  },
  startHosted: {
    400: atPath('/v1/hosted/inst_HmSomZNCU5EAVUqwFpxpN9vc/start', 'is running, not stopped'),
    402: noFunds,
  },
  stopHosted: { 400: atPath('/v1/hosted/inst_djvv7xQqcTZpad3Hiy2HQWs2/stop', 'is stopped already') },

  // Requests to models.
  createChatCompletion: {
    ...ofModel('text-generation'),
    405: withFields({ model: TAGLESS_MODEL, tools: [{ function: { name: 'x' } }] }, 'calls no tools'),
  },
  createCompletion: ofModel('text-generation'),
  createMessage: {
    ...ofModel('text-generation'),
    405: withFields({ model: TAGLESS_MODEL, tools: [{ name: 'x', input_schema: {} }] }, 'calls no tools'),
  },
  countTokens: {
    404: withFields({ model: UNKNOWN }, UNKNOWN),
    413: { change: { headers: { 'content-length': String(8 * 1_048_576 + 1) } }, says: 'Request Entity Too Large' },
  },
  createEmbeddings: ofModel('embeddings'),
  createImage: ofModel('text-to-image'),
  createImageEdit: { ...ofModel('text-to-image'), 413: tooLarge('larger than 20 MiB') },
  createImageVariation: { ...ofModel('text-to-image'), 413: tooLarge('larger than 20 MiB') },
  createSpeech: ofModel('text-to-speech'),
  textToSpeech: ofModel('text-to-speech', 'model_id'),
  streamTextToSpeech: ofModel('text-to-speech', 'model_id'),
  createTranscription: { ...ofModel('automatic-speech-recognition'), 413: tooLarge('25 MB') },
  createTranslation: { ...ofModel('automatic-speech-recognition'), 413: tooLarge('25 MB') },
  createInference: {
    ...ofCaller,
    400: withFields({ webhook: 'http://hooks.example/' }, 'hooks.example'),
    404: atPath(`/v1/inference/${UNKNOWN}`, UNKNOWN),
    413: tooLarge('25 MB'),
    423: atPath('/v1/inference/acme/translator', 'is deploying, not running'),
    503: {
      change: { path: '/v1/inference/acme/assistant' },
      meanwhile: sim => sim.cluster.deployment('2cZeTxVFN7tKxCCh').crash(),
      says: 'the instance that answered was lost',
    },
  },
  createDeploymentInference: {
    ...ofCaller,
    400: withFields({ webhook: 'http://hooks.example/' }, 'hooks.example'),
    413: tooLarge('25 MB'),
    503: atPath(`/v1/inference/deploy/${STOPPED['text-generation']}`, 'is stopped, not running'),
  },
}

/** The provocations of each operation. A path of an unknown thing is 404 if it is not another one. */
export const PROVOCATIONS: Readonly<Record<string, ByStatus>> = Object.fromEntries(
  Object.entries<AnyEndpoint>(operations).map(([id, { path, refusals }]) => {
    const operation = id as keyof typeof operations
    const unknown = 404 in refusals && path.includes('{') && { 404: unknownPath(operation) }
    return [id, { ...unknown, ...OWN[operation] }]
  }),
)

const unknownToken: Provocation = {
  change: { headers: { authorization: `Bearer ${UNKNOWN}` } },
  says: 'User is not authorized',
}
const anonymous: Provocation = { change: { headers: { authorization: '' } }, says: 'not authenticated' }
const compressed: Provocation = { change: { headers: { 'content-encoding': 'gzip' } }, says: 'not compressed' }
const otherAddress: Provocation = {
  change: { headers: { authorization: `Bearer ${RESTRICTED_TOKEN}` } },
  says: 'is not allowed from',
}
const emptyForm: Provocation = {
  change: { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: '--x--\r\n' },
  says: 'Field required',
}
const otherMethod: Provocation = { method: 'PATCH', says: 'Method Not Allowed' }

/** Values of which each parameter that is not any text refuses one. `missing` leaves the parameter out. */
const INVALID_VALUES = [undefined, '~', '']

/** Returns a way to get a refusal that the service adds to the declared ones of an operation. */
export function commonProvocation(endpoint: AnyEndpoint, status: string): Provocation | undefined {
  if (status === '401') return endpoint.auth === 'optional' ? unknownToken : anonymous
  if (status === '403') return otherAddress
  if (status === '405') return otherMethod
  if (status === '415') return compressed
  return status === '422' ? invalidInput(endpoint) : undefined
}

function invalidInput({ path, params, query, body, consumes, upload }: AnyEndpoint): Provocation | undefined {
  if (upload !== undefined) return emptyForm
  if (body !== undefined && consumes === 'form') return { change: { body: 'name=' }, says: '"name"' }
  if (body !== undefined) return { change: { body: '"text"' }, says: '"body"' }
  for (const [name, schema] of Object.entries(query)) {
    const value = INVALID_VALUES.find(candidate => !schema.safeParse(candidate).success)
    const isValid = INVALID_VALUES.every(candidate => schema.safeParse(candidate).success)
    if (isValid) continue
    return value === undefined
      ? { change: { search: '' }, says: `"${name}"` }
      : { change: { query: { [name]: value } }, says: `"${name}"` }
  }
  const checked = routeParamNames(path).find(name => params[name]?.safeParse(UNKNOWN).success === false)
  return checked === undefined
    ? undefined
    : { change: { path: path.replaceAll(/\{\w+\}/g, UNKNOWN) }, says: `"${checked}"` }
}
