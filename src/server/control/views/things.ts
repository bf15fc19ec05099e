import * as z from 'zod'
import { queryInteger, rowsOf } from '../../../service/fields.ts'
import { bitCount } from '../../../simulation/fleet/node-row.ts'
import type { World } from '../../../simulation/world.ts'
import { hideSecretsIn } from '../../../simulator/requests/secrets.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { control, refuseInvalid } from '../endpoint.ts'
import { ThingSchema, type ThingView, type ViewedKind, viewThing } from './thing-view.ts'

const LISTED_KINDS = [
  ...(['deployment', 'instance', 'batch', 'file', 'container', 'hosted', 'node', 'fault'] as const),
  ...(['token', 'ssh_key', 'model', 'voice'] as const),
] as const
type ListedKind = (typeof LISTED_KINDS)[number]

export const getThing = control({
  route: 'GET /_sim/things/{id}',
  summary:
    'Return what an id or a name is, and everything about it: the object as the service shows it, its newest journal ' +
    'entries, requests and postings, and related things. A number is a position in the journal',
  example: { target: '/_sim/things/h100-0' },
  refusals: { 404: 'an unknown id, or a position that the journal does not have' },
  returns: ThingSchema,
  handle: async ({ params: { id }, sim, lookAtMoney }) => {
    const view = await refuseInvalid(() => viewThing(sim, id), 404)
    const { entries, requests, ledger, related, ...head } = view
    const asked = await askForThing(sim, view.kind, view.id)
    const { path = null, object = ownObject(sim, view) } = asked ?? {}
    const owner = lookAtMoney().owners.find(each => each.id === view.id)
    const cost = owner && { burn_microcents_per_hour: owner.burnPerHour, spent_microcents: owner.spent }
    const all = { ...head, object, path, entries, requests, ledger, cost: cost ?? null, related }
    return { ...all, links: linksOf(view) }
  },
})

/** A cell of a table is a short text. The whole value is that of the thing. */
const MAX_CELL = 200

export const listThings = control({
  route: 'GET /_sim/things',
  summary:
    'List the things of a kind as a table, with a row for each. Fields that are a text, a number or a boolean are ' +
    'columns. `filter` is a part of the id or of any cell. `GET /_sim/things/{id}` has the whole thing',
  example: { target: '/_sim/things?kind=deployment&limit=20' },
  query: {
    kind: z.enum(LISTED_KINDS),
    filter: z.string().optional(),
    limit: queryInteger({ min: 1, max: 5000 }).default(200),
  },
  returns: z.object({
    path: z.string().nullable().describe('Where the service lists them; null if only the simulator does'),
    refused: z.boolean().describe('Whether the service refuses the list, as for a suspended account'),
    columns: z.array(z.string()),
    rows: rowsOf({ id: z.string(), cells: z.array(z.string()).describe('One for each column') }),
    matched: z.int().describe('How many match, also those beyond limit'),
    total: z.int().describe('How many there are without filter and limit'),
  }),
  handle: async ({ query: { kind, filter = '', limit }, sim }) => {
    // A filter must not tell what is hidden.
    const hide = (text: string) => sim.world.apiTokens.hideSecrets(text)
    const { path = null, things } = await readThings(sim, kind)
    const columns = [
      ...new Set((things ?? []).flatMap(({ id, fields }) => Object.keys(fields).filter(isCell(id, fields)))),
    ]
    const wanted = filter.toLowerCase()
    const rows = (things ?? [])
      .map(({ id, fields }) => ({ id: hide(id), cells: columns.map(column => toCell(fields[column], hide)) }))
      .filter(({ id, cells }) => [id, ...cells].some(text => text.toLowerCase().includes(wanted)))
    return {
      ...{ path, refused: things === undefined, columns },
      ...{ rows: rows.slice(0, limit), matched: rows.length, total: things?.length ?? 0 },
    }
  },
})

/** Tells whether a field is a column of its own. The id is that of the row. */
function isCell(id: string, fields: Readonly<Record<string, unknown>>): (name: string) => boolean {
  return name => ['string', 'number', 'boolean'].includes(typeof fields[name]) && fields[name] !== id
}

function toCell(value: unknown, hide: (text: string) => string): string {
  const text = hide(value === undefined || typeof value === 'object' ? '' : String(value))
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL)}…` : text
}

/** Returns what the simulator shows of a thing that the service does not. */
function ownObject({ world, faults }: Simulator, { id, kind }: ThingView): unknown {
  if (kind === 'ssh_key') return world.store.sshKeys.get(id) ?? null
  if (kind === 'node') return world.nodes.view(world.nodes.ordinalOf(id)!)
  if (kind === 'fault') return faults.list().find(rule => rule.id === id) ?? null
  return null
}

function linksOf({ id, kind }: ThingView): { relation: string; path: string }[] {
  const name = encodeURIComponent(id)
  const isPosition = kind === 'entry' || kind === 'request'
  return [
    { relation: 'explanation', path: `/_sim/explain/${name}` },
    ...(isPosition
      ? [{ relation: 'journal', path: `/_sim/journal?after=${Math.max(0, Number(id) - 5)}&limit=10` }]
      : [
          { relation: 'events', path: `/_sim/events?after=start&follow=false&subject=${name}` },
          { relation: 'requests', path: `/_sim/requests?subject=${name}` },
          { relation: 'ledger', path: `/_sim/ledger?subject=${name}` },
        ]),
    ...(kind === 'instance' ? [{ relation: 'metrics', path: `/_sim/engines/${name}/metrics` }] : []),
    ...(kind === 'deployment' ? [{ relation: 'node', path: `/_sim/cluster/deployments/${name}/node` }] : []),
    ...(kind === 'fault' ? [{ relation: 'rule', path: `/_sim/faults/${name}` }] : []),
    ...(kind === 'scenario' ? [{ relation: 'scenario', path: `/_sim/scenarios/${name}` }] : []),
  ]
}

/** The things of a kind. */
interface ThingList {
  /** The path of the GET that lists them; undefined for things that the service does not show. */
  readonly path: string | undefined
  /** Undefined if the service refuses the list, as for a suspended account. */
  readonly things: readonly { readonly id: string; readonly fields: Readonly<Record<string, unknown>> }[] | undefined
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

/** Lists the things of a kind. The service is asked in a copy of the world, so neither the journal nor a limit sees it. */
async function readThings(sim: Simulator, kind: ListedKind): Promise<ThingList> {
  if (kind in OWN_LISTS) return { path: undefined, things: OWN_LISTS[kind as keyof typeof OWN_LISTS](sim) }
  const { path, id, rows }: ServiceList = SERVICE_LISTS[kind as keyof typeof SERVICE_LISTS]
  const things: { id: string; fields: Record<string, unknown> }[] = []
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

/**
 * Asks a copy of the world for a thing, so that neither the journal nor a rate limit of the world sees it. Credentials are
 * hidden. The object is null if the answer is an error, as for a deleted thing or a suspended account. Returns undefined
 * for a kind without an operation.
 */
async function askForThing(sim: Simulator, kind: ViewedKind, id: string) {
  const [operation, toPath] = OPERATIONS[kind] ?? []
  if (operation === undefined || toPath === undefined || !(operation in sim.api.operations)) return undefined
  const path = toPath(id)
  return { path, object: await readFromCopy(sim, sim.world.fork(), path) }
}

/** Returns the JSON that a copy of the world answers to a GET, without credentials. Null for an error. */
async function readFromCopy(sim: Simulator, copy: World, path: string): Promise<unknown> {
  const request = new Request(`http://sim${path}`, { headers: { authorization: `Bearer ${sim.token}` } })
  const response = await sim.api.answer(copy, request, { path })
  const isJson = response.ok && /json/.test(response.headers.get('content-type') ?? '')
  return isJson ? hideSecretsIn(sim, await response.json()) : null
}
