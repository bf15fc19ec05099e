import * as z from 'zod'
import type { World } from '../../../simulation/world.ts'
import { documented, neighbour } from '../../endpoint.ts'
import { text } from '../../fields.ts'
import { ApiTokenRecord, EmptyRecord } from '../../records.ts'
import { refuse } from '../../refusals.ts'

export const listApiTokens = documented({
  route: 'GET /v1/api-tokens',
  summary: "List the account's API tokens",
  roles: ['list token'],
  assumptions: ['a bare array; each entry has the full token value', 'created_at in Unix seconds'],
  returns: z.array(ApiTokenRecord),
  handle: ({ world }) => [...world.store.tokens.all()],
})

export const createApiToken = neighbour({
  route: 'POST /v1/api-tokens',
  summary: 'Create an API token, which is valid at once',
  roles: ['create token'],
  assumptions: [
    'name has 1 to 64 characters',
    'allowed_ips is empty, which allows every address',
    'a new token_id is token_ and 24 letters and digits',
  ],
  refusals: { 409: 'a token has this name already' },
  body: z.object({ name: text({ min: 1, max: 64 }) }),
  returns: ApiTokenRecord,
  example: { body: { name: 'notebook' } },
  handle: ({ body: { name }, world }) => {
    if (world.apiTokens.isNameTaken(name)) refuse(409, `a token is named '${name}' already`)
    return { ...world.apiTokens.create(name) }
  },
})

export const getApiToken = neighbour({
  route: 'GET /v1/api-tokens/{token}',
  summary: 'Get one API token, by its value or its token_id',
  roles: ['read token'],
  assumptions: ['the answer has the full token value'],
  refusals: { 404: 'unknown token' },
  returns: ApiTokenRecord,
  example: { target: '/v1/api-tokens/token_9dJJ6PyFdjRGUDYcMa6xvisV' },
  handle: ({ params, world }) => ({ ...requireToken(world, params.token) }),
})

export const deleteApiToken = neighbour({
  route: 'DELETE /v1/api-tokens/{token}',
  summary: 'Delete an API token, by its value or its token_id',
  assumptions: [
    '200 {}',
    'requests with a deleted token are 401',
    'a request can delete its own token, and the last token',
  ],
  roles: ['delete token'],
  refusals: { 404: 'unknown token' },
  returns: EmptyRecord,
  example: { target: '/v1/api-tokens/token_9dJJ6PyFdjRGUDYcMa6xvisV' },
  handle: ({ params, world }) => {
    world.apiTokens.delete(requireToken(world, params.token))
    return {}
  },
})

function requireToken(world: World, valueOrId: string) {
  return world.apiTokens.find(valueOrId) ?? refuse(404, 'no such token')
}
