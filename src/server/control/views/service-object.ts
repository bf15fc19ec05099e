/** A thing as the service shows it to a client of the account. */

import type { World } from '../../../simulation/world.ts'
import { hideSecretsIn } from '../../../simulator/requests/secrets.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { ViewedKind } from './thing-view.ts'

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
