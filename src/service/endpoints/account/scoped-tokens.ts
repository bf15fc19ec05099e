import * as z from 'zod'
import type { ReadScopedToken } from '../../../simulation/account/access/scoped-tokens.ts'
import type { World } from '../../../simulation/world.ts'
import { neighbour } from '../../endpoint.ts'
import { integer, text } from '../../fields.ts'
import { refuse, rejectInput } from '../../refusals.ts'

/** The longest life of a scoped token, which is also the default. */
const YEAR_SECONDS = 365 * 86_400
const MAX_MODELS = 100

export const createScopedToken = neighbour({
  route: 'POST /v1/scoped-jwt',
  summary: 'Create a scoped token: for some models, until a time, up to a spending limit',
  assumptions: [
    'the token begins with jwt: and authenticates requests to models as an API token does; any other request is 403',
    'api_key_name is the name of the API token that signs it; after that token is deleted or revoked, the scoped token is 401',
    'it is a JSON Web Token with HS256; the secret is the value of the API token',
    'a client can sign one by itself: kid is the uid, a colon and the name of the API token in base64; sub, exp, models or model, spending_limit',
    'models: up to 100 names; missing or null: all models; another model is 403',
    'it expires expires_delta seconds from now or at expires_at, at most a year from now, default a year; then it is 401',
    'spending_limit is in US dollars; when the ended requests of the token have cost it, further requests are 402',
  ],
  refusals: { 404: 'unknown api_key_name' },
  body: z.object({
    api_key_name: text(),
    models: z
      .array(text({ min: 1, max: 256 }))
      .min(1)
      .max(MAX_MODELS)
      .nullish(),
    expires_delta: integer().nullish(),
    expires_at: integer().nullish(),
    spending_limit: z.number().min(0).nullish(),
  }),
  returns: z.object({ token: z.string() }),
  example: {
    body: {
      api_key_name: 'default',
      models: ['aurora-labs/aurora-8b-instruct'],
      expires_delta: 3600,
      spending_limit: 1.0,
    },
  },
  handle: ({ body: { api_key_name, models, expires_delta, expires_at, spending_limit }, world }) => {
    const signer = world.store.tokens.all().find(({ name }) => name === api_key_name)
    if (signer === undefined) refuse(404, `no API token is named '${api_key_name}'`)
    const now = world.clock.unix()
    if (expires_delta != null && expires_at != null) {
      rejectInput(['body', 'expires_at'], 'Value error, expected expires_delta or expires_at, not both')
    }
    const field = expires_at != null ? 'expires_at' : 'expires_delta'
    const expiresAt = expires_at ?? now + (expires_delta ?? YEAR_SECONDS)
    if (expiresAt <= now || expiresAt > now + YEAR_SECONDS) {
      rejectInput(['body', field], 'Value error, expected a time from one second to one year from now')
    }
    const token = world.access.scopedTokens.create(signer, {
      models: models ?? undefined,
      expiresAt,
      spendingLimit: spending_limit ?? undefined,
    })
    return { token }
  },
})

export const inspectScopedToken = neighbour({
  route: 'GET /v1/scoped-jwt',
  summary: 'Read what a scoped token allows',
  assumptions: [
    'an expired token is answered too',
    'the request must be authenticated by the API token that signed it',
    'models and spending_limit are null for all models and for no limit',
  ],
  refusals: {
    400: 'jwtoken is not a valid scoped token of the account',
    403: 'another API token signed it',
  },
  query: { jwtoken: z.string() },
  returns: z.object({
    expires_at: z.int(),
    models: z.array(z.string()).nullable(),
    spending_limit: z.number().nullable(),
  }),
  example: { target: '/v1/scoped-jwt?jwtoken={token}', prerequisites: ['createScopedToken'] },
  handle: ({ query: { jwtoken }, token, world }) => {
    const { signer, scope } = requireScopedToken(world, jwtoken)
    if (signer.token_id !== token?.token_id) refuse(403, `the API token '${signer.name}' signed it`)
    const { expiresAt, models, spendingLimit } = scope
    return {
      expires_at: Math.floor(expiresAt),
      models: models ? [...models] : null,
      spending_limit: spendingLimit ?? null,
    }
  },
})

function requireScopedToken(world: World, jwtoken: string): ReadScopedToken {
  const found = world.access.scopedTokens.read(jwtoken)
  return typeof found === 'string' ? refuse(400, `jwtoken is invalid: ${found}`) : found
}
