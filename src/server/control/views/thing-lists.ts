/** The things of a world by their kind, each as a row with the fields that the service or the simulator shows. */
import { bitCount } from '../../../simulation/fleet/node-row.ts'
import type { World } from '../../../simulation/world.ts'
import { hideSecretsIn } from '../../../simulator/requests/secrets.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { ViewedKind } from './thing-view.ts'

/** A thing in a table. */
export interface ListedThing {
  readonly id: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface ThingList {
  /** The path of the GET that lists them; undefined for things that the service does not show. */
  readonly path: string | undefined
  /** Undefined if the service refuses the list, as for a suspended account. */
  readonly things: readonly ListedThing[] | undefined
}

/** A list of the service: its path, the field with the id of a row, and the field with the rows of an object. */
interface ServiceList {
  readonly path: string
  readonly id: string
  readonly rows?: string
}

const SERVICE_LISTS = {
  deployment: { path: '/deploy/list', id: 'deploy_id' },
  batch: { path: '/v1/batches?limit=100', id: 'id', rows: 'data' },
  file: { path: '/v1/files', id: 'id', rows: 'data' },
  container: { path: '/v1/containers', id: 'container_id' },
  hosted: { path: '/v1/hosted', id: 'id' },
  token: { path: '/v1/api-tokens', id: 'token_id' },
  ssh_key: { path: '/v1/ssh_keys', id: 'id' },
  model: { path: '/models/private/list', id: 'model_name' },
  voice: { path: '/v1/voices', id: 'voice_id', rows: 'voices' },
} as const satisfies Record<string, ServiceList>

const OWN_LISTS = {
  instance: ({ world }: Simulator) =>
    Array.from(world.instances.entries(), ([, { id, deployment, state, node, gpus, since }]) => ({
      id,
      fields: {
        ...{ deployment: world.deployments.read(deployment).id, state },
        ...{
          node: node < 0 ? null : world.nodes.read(node).id,
          gpus: bitCount(gpus),
          since: world.clock.iso(Math.max(0, since)),
        },
      },
    })),
  node: ({ world }: Simulator) => world.nodes.list().map(node => ({ id: node.name, fields: { ...node } })),
  fault: ({ faults }: Simulator) => faults.list().map(rule => ({ id: rule.id, fields: { ...rule } })),
}

export const LISTED_KINDS = [
  ...(['deployment', 'instance', 'batch', 'file', 'container', 'hosted', 'node', 'fault'] as const),
  ...(['token', 'ssh_key', 'model', 'voice'] as const),
] as const satisfies readonly (keyof typeof SERVICE_LISTS | keyof typeof OWN_LISTS)[]
export type ListedKind = (typeof LISTED_KINDS)[number]

/** Lists the things of a kind. The service is asked in a copy of the world, so neither the journal nor a limit sees it. */
export async function listThings(sim: Simulator, kind: ListedKind): Promise<ThingList> {
  if (kind in OWN_LISTS) return { path: undefined, things: OWN_LISTS[kind as keyof typeof OWN_LISTS](sim) }
  const { path, id, rows }: ServiceList = SERVICE_LISTS[kind as keyof typeof SERVICE_LISTS]
  const things: ListedThing[] = []
  const copy = sim.world.fork()
  for (let page = path, isMore = true; isMore; page = `${path}&after=${things.at(-1)?.id}`) {
    const answer = await readFromCopy(sim, copy, page)
    if (answer === null) return { path, things: undefined }
    const { [rows ?? '']: list = answer, has_more: more } = answer as Readonly<Record<string, unknown>>
    for (const fields of list as Record<string, unknown>[]) things.push({ id: String(fields[id]), fields })
    isMore = more === true
  }
  return { path, things }
}

/** The operations that return one thing, with their paths. */
const OPERATIONS: Readonly<Partial<Record<ViewedKind, readonly [operation: string, path: (id: string) => string]>>> = {
  deployment: ['getDeployment', id => `/deploy/${id}`],
  batch: ['getBatch', id => `/v1/batches/${id}`],
  file: ['getFile', id => `/v1/files/${id}`],
  container: ['getContainer', id => `/v1/containers/${id}`],
  hosted: ['getHosted', id => `/v1/hosted/${id}`],
  token: ['getApiToken', id => `/v1/api-tokens/${id}`],
  model: ['getModel', id => `/models/${encodeURIComponent(id)}`],
  voice: ['getVoice', id => `/v1/voices/${id}`],
  account: ['getMe', () => '/v1/me'],
}

/** What the service answers about a thing. */
export interface ServiceObject {
  /** The path of its GET. */
  readonly path: string
  /** Null if the answer is an error, as for a deleted thing or a suspended account. */
  readonly object: unknown
}

/**
 * Asks a copy of the world for a thing, so that neither the journal nor a rate limit of the world sees it. Credentials are
 * hidden. Returns undefined for a kind without an operation.
 */
export async function askForThing(sim: Simulator, kind: ViewedKind, id: string): Promise<ServiceObject | undefined> {
  const [operation, toPath] = OPERATIONS[kind] ?? []
  if (operation === undefined || toPath === undefined || !(operation in sim.api.operations)) return undefined
  const path = toPath(id)
  return { path, object: await readFromCopy(sim, sim.world.fork(), path) }
}

/** Returns the JSON that a copy of the world answers to a GET, without credentials. Null for an error. */
export async function readFromCopy(sim: Simulator, copy: World, path: string): Promise<unknown> {
  const request = new Request(`http://sim${path}`, { headers: { authorization: `Bearer ${sim.token}` } })
  const response = await sim.api.answer(copy, request, { path })
  const isJson = response.ok && /json/.test(response.headers.get('content-type') ?? '')
  return isJson ? hideSecretsIn(sim, await response.json()) : null
}
