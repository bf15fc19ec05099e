import * as z from 'zod'
import type { World } from '../../simulation/world.ts'
import { endpoint, refuse } from '../endpoint.ts'
import { text } from '../fields.ts'
import { ApiTokenRecord, EmptyRecord } from '../records.ts'

export const listApiTokens = endpoint({
  route: 'GET /v1/api-tokens',
  summary: "List the account's API tokens",
  provenance: 'documented',
  assumptions: ['a bare array with the full token values', 'created_at in Unix seconds'],
  returns: z.array(ApiTokenRecord),
  handle: ({ world }) => [...world.store.tokens.all()],
})

export const createApiToken = endpoint({
  route: 'POST /v1/api-tokens',
  summary: 'Make an API token, which is good at once',
  provenance: 'neighbour',
  assumptions: [
    'name of 1 to 64 characters',
    'allowed_ips is empty: every address',
    'token_id is token_ and 24 characters',
  ],
  refusals: { 409: 'a token has the name' },
  body: z.object({ name: text({ min: 1, max: 64 }) }),
  returns: ApiTokenRecord,
  example: { body: { name: 'notebook' } },
  handle: ({ body: { name }, world }) => {
    if (world.apiTokens.isNameTaken(name)) refuse(409, `a token is named '${name}' already`)
    return { ...world.apiTokens.create(name) }
  },
})

export const getApiToken = endpoint({
  route: 'GET /v1/api-tokens/{token}',
  summary: 'One API token, by its value or its token_id',
  provenance: 'neighbour',
  assumptions: ['with the full token value'],
  refusals: { 404: 'unknown token' },
  returns: ApiTokenRecord,
  example: { target: '/v1/api-tokens/token_9dJJ6PyFdjRGUDYc' },
  handle: ({ params, world }) => ({ ...requireToken(world, params.token) }),
})

export const deleteApiToken = endpoint({
  route: 'DELETE /v1/api-tokens/{token}',
  summary: 'Delete an API token, by its value or its token_id; it is refused from then on',
  provenance: 'neighbour',
  assumptions: ['200 {}', 'the token of the request itself, and the last one, can be deleted too'],
  refusals: { 404: 'unknown token' },
  returns: EmptyRecord,
  example: { target: '/v1/api-tokens/token_9dJJ6PyFdjRGUDYc' },
  handle: ({ params, world }) => {
    world.apiTokens.delete(requireToken(world, params.token))
    return {}
  },
})

function requireToken(world: World, valueOrId: string) {
  return world.apiTokens.find(valueOrId) ?? refuse(404, 'no such token')
}
