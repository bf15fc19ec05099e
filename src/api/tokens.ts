import { z } from 'zod'
import { ApiTokenRecord } from './answers.ts'
import { endpoint } from './endpoint.ts'

export const listApiTokens = endpoint({
  route: 'GET /v1/api-tokens',
  summary: "List the account's API tokens",
  provenance: 'documented',
  assumed: ['a bare array with the full token values', 'created_at in Unix seconds'],
  returns: z.array(ApiTokenRecord),
  handle: ({ world }) => [...world.store.tokens.all()],
})
