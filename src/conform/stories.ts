/** What an operation is asked beside its example: what brings the simulator to the refusals that it has. */
import { type AnyEndpoint, type Operations, routeNames } from '../api/endpoint.ts'
import { inputShape } from '../api/shape.ts'
import type { Simulator } from '../simulator.ts'
import { GPU_TYPES } from '../store/records.ts'

/** What a request has in place of what its example has. */
export interface Change {
  readonly path?: string
  readonly search?: string
  /** Parameters of the query, put among those there are. */
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Fields of a body in JSON, put among those there are. */
  readonly fields?: Readonly<Record<string, unknown>>
}

/** A request, and what happens to its world before. */
export interface Story {
  readonly change?: Change
  /** @param usual the request as its example is, made anew for each that is asked */
  readonly before?: (sim: Simulator, usual: () => Request) => unknown
}

const NOBODY = 'none-of-the-kind'
/** A token of the default world that another network alone may use. */
const ELSEWHERE = 'sim_office_token'
/** A value that no parameter takes which is more than a text. */
const NO_VALUE = '~'
const FORM = 'application/x-www-form-urlencoded'
/** Fields that name something which there has to be. */
const NAMING = ['base_model', 'input_file_id', 'model', 'gpu_type', 'deploy_id', 'after']
/** More bytes than anybody may send. */
const TOO_MANY = String(2 ** 40)

/** All that an operation is asked, its example first. */
export function storiesOf(operations: Operations, operation: string): Story[] {
  const endpoint = operations[operation] as AnyEndpoint
  return [
    {},
    ...ofCaller(endpoint),
    ...ofInput(endpoint),
    ...ofNames(endpoint),
    ...ofState(operations, endpoint),
    ...(OWN[operation] ?? []),
  ]
}

/** Who asks. */
function ofCaller({ auth }: AnyEndpoint): Story[] {
  const bearer = (token: string): Story => ({ change: { headers: { authorization: `Bearer ${token}` } } })
  if (auth === 'none') return []
  const strangers = [bearer(NOBODY), bearer(ELSEWHERE)]
  return auth === 'token' ? [{ change: { headers: { authorization: '' } } }, ...strangers] : strangers
}

/** Input that fits no declaration, or is of another kind. */
function ofInput({ body, upload, consumes, query }: AnyEndpoint): Story[] {
  const changes: Change[] = []
  if (body !== undefined) {
    const other = consumes === 'form' ? 'application/json' : FORM
    changes.push({ body: '"text"' }, { headers: { 'content-type': other } })
  }
  if (upload !== undefined) {
    changes.push({ headers: { 'content-encoding': 'gzip' } }, { headers: { 'content-length': TOO_MANY } })
    changes.push({ headers: { 'content-type': FORM } })
  }
  if (Object.values(query).some(schema => !schema.safeParse(undefined).success)) changes.push({ search: '' })
  const judged = Object.keys(query).find(name => !query[name]!.safeParse(NO_VALUE).success)
  if (judged !== undefined) changes.push({ query: { [judged]: NO_VALUE } })
  return changes.map(change => ({ change }))
}

/** Things that there are not, by their names. */
function ofNames({ path, body, query }: AnyEndpoint): Story[] {
  const changes: Change[] = []
  if (routeNames(path).length > 0) changes.push({ path: path.replaceAll(/\{\w+\}/g, NOBODY) })
  const fields = body === undefined ? undefined : inputShape(body).fields
  for (const name of NAMING) {
    if (fields?.has(name)) changes.push({ fields: { [name]: NOBODY } })
    if (Object.hasOwn(query, name)) changes.push({ query: { [name]: NOBODY } })
  }
  return changes.map(change => ({ change }))
}

/** A world in which there is no more of it, or in which it has been done already. */
function ofState(operations: Operations, { method, path, refusals }: AnyEndpoint): Story[] {
  const stories: Story[] = []
  if (402 in refusals) stories.push({ before: sim => sim.cluster.account.suspend() })
  if (403 in refusals) {
    const lower = (sim: Simulator) => {
      for (const gpu of GPU_TYPES) if (gpu !== 'other') sim.cluster.limit.set(gpu, 0)
    }
    stories.push({ before: lower })
  }
  const again = async (sim: Simulator, usual: () => Request) => void (await sim.fetch(usual()))
  // What is gone, or done, is told from what never was by these alone.
  if (method !== 'GET' && [400, 403, 409].some(status => status in refusals)) stories.push({ before: again })
  if (!(400 in refusals)) return stories
  if (method !== 'GET') stories.push({ before: (sim, usual) => later(sim, again(sim, usual)) })
  const thing = /^.*?\{\w+\}/.exec(path)?.[0]
  const declared = Object.values(operations as Operations<unknown>) as AnyEndpoint[]
  if (thing !== undefined && declared.some(one => one.method === 'DELETE' && one.path === thing)) {
    const deleted = (sim: Simulator, usual: () => Request) => {
      const { url, headers } = usual()
      const { pathname, origin } = new URL(url)
      const target = pathname.split('/').slice(0, thing.split('/').length).join('/')
      return sim.fetch(`${origin}${target}`, {
        method: 'DELETE',
        headers: { authorization: headers.get('authorization')! },
      })
    }
    stories.push({ before: deleted }, { before: (sim, usual) => later(sim, deleted(sim, usual)) })
  }
  return stories
}

async function later(sim: Simulator, done: Promise<unknown>): Promise<void> {
  await done
  await sim.clock.advance('1h')
}

const OTHER_GPU: Story = { change: { fields: { gpu: 'other' } } }
const EMBEDS = 'cedarline/cedar-embed-base'
const CHATS = 'aurora-labs/aurora-8b-instruct'
const STOPPED = 'acme/summarizer'
const MOST_FUNDS = 1_000_000_000

/** What one operation alone refuses. */
const OWN: Readonly<Record<string, readonly Story[]>> = {
  listDeployments: [{ change: { search: '?status=walking' } }],
  createLlmDeployment: [OTHER_GPU],
  createHosted: [OTHER_GPU],
  createContainer: [{ change: { fields: { gpu_config: '1xother' } } }],
  createChatCompletion: [EMBEDS, STOPPED].map(model => ({ change: { fields: { model } } })),
  createCompletion: [EMBEDS, STOPPED].map(model => ({ change: { fields: { model } } })),
  createEmbeddings: [CHATS, STOPPED].map(model => ({ change: { fields: { model } } })),
  addFunds: [
    { before: sim => sim.cluster.card.decline() },
    {
      change: { fields: { amount: MOST_FUNDS } },
      async before(sim, usual) {
        for (let i = 0; i < 4; i++)
          await sim.fetch(new Request(usual(), { body: JSON.stringify({ amount: MOST_FUNDS }) }))
      },
    },
  ],
  requestGpuLimit: [{ change: { fields: { requested_limit: 1 } } }],
  expandHostedStorage: [{ change: { fields: { new_size_gb: 21 } } }],
  deleteModel: [{ change: { path: `/models/${CHATS}` } }],
  getModelSchema: [{ change: { path: '/models/no/such/schema/default' } }],
  editVoice: [{ change: { body: 'name=' } }],
}

/** A request with what a change puts in place of what it has. */
export async function altered(usual: Request, change: Change): Promise<Request> {
  const url = new URL(usual.url)
  url.pathname = change.path ?? url.pathname
  url.search = change.search ?? url.search
  for (const [name, value] of Object.entries(change.query ?? {})) url.searchParams.set(name, value)
  const fields = change.fields && JSON.stringify({ ...(await usual.clone().json()), ...change.fields })
  const content = change.body ?? fields ?? usual.body
  return new Request(url, {
    method: usual.method,
    headers: { ...Object.fromEntries(usual.headers), ...change.headers },
    ...(content !== null && { body: content, duplex: 'half' }),
  } as RequestInit)
}
