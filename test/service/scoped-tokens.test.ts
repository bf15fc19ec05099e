/** Scoped tokens: who may sign them, what they allow, and how they end. */
import { createHmac } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { operations } from '../../src/service/index.ts'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { issues, refused, SECOND, type Service, service } from './service-world.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'
const EPOCH = 1_767_225_600
const YEAR = 365 * 86_400

beforeAll(async () => {
  await loadTokenizer()
})

const chatBody = (model = MODEL, words = 'Hello!') => ({
  model,
  messages: [{ role: 'user', content: words }],
  max_tokens: 40,
})
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** Sends a chat with a token. Returns the status and the message of a refusal. */
async function chat({ ask }: Service, token: string, model = MODEL, words?: string): Promise<[number, string]> {
  const { status, body } = await ask('POST /v1/chat/completions', chatBody(model, words), bearer(token))
  return [status, body.error?.message ?? body.detail ?? '']
}

const create = async ({ client }: Service, fields = {}) =>
  (await client.createScopedToken({ api_key_name: 'default', ...fields })).token

function decode(token: string) {
  const [header, payload] = token
    .slice(4)
    .split('.', 2)
    .map(part => JSON.parse(Buffer.from(part, 'base64url').toString()))
  return { header, payload }
}

function signed(header: object, payload: object, secret: string): string {
  const text = [header, payload].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `jwt:${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

describe('POST /v1/scoped-jwt', () => {
  test('answers a JSON Web Token that the API token signs', async () => {
    const one = service()
    const token = await create(one, { models: [MODEL], expires_delta: 3600, spending_limit: 1 })
    const { header, payload } = decode(token)
    const { uid } = one.world.store.account
    expect(header).toEqual({ alg: 'HS256', kid: `${uid}:${Buffer.from('default').toString('base64')}`, typ: 'JWT' })
    const expected = { sub: uid, exp: EPOCH + 3600, jti: expect.any(String), models: [MODEL], spending_limit: 1 }
    expect(payload).toEqual(expected)
    expect(token).toBe(signed(header, payload, 'sim_default_token'))
    expect(await create(one, { models: [MODEL], expires_delta: 3600, spending_limit: 1 })).not.toBe(token)
  })

  test('lasts a year by default', async () => {
    const one = service()
    const token = await create(one)
    const expected = { expires_at: EPOCH + YEAR, models: null, spending_limit: null }
    expect(await one.client.inspectScopedToken({ jwtoken: token })).toEqual(expected)
  })

  test.each<[object, string]>([
    [{ expires_delta: 0 }, 'body/expires_delta value_error'],
    [{ expires_delta: YEAR + 1 }, 'body/expires_delta value_error'],
    [{ expires_at: EPOCH }, 'body/expires_at value_error'],
    [{ expires_at: EPOCH + 60, expires_delta: 60 }, 'body/expires_at value_error'],
    [{ spending_limit: -1 }, 'body/spending_limit greater_than_equal'],
    [{ models: [] }, 'body/models too_short'],
    [{ api_key_name: 7 }, 'body/api_key_name string_type'],
  ])('%j: 422', async (fields, expected) => {
    expect(await issues(service().client.createScopedToken({ api_key_name: 'default', ...fields } as never))).toEqual([
      expected,
    ])
  })

  test.each(['default', 'empty', 'fleet', 'full', 'two-nodes'])(
    'can be signed by the token auto in %s',
    async fixture => {
      expect((await service(fixture).client.createScopedToken({ api_key_name: 'auto' })).token).toMatch(/^jwt:/)
    },
  )

  test('needs a known api_key_name', async () => {
    const { client } = service()
    const expected = [404, expect.stringContaining('unknown')]
    expect(await refused(client.createScopedToken({ api_key_name: 'unknown' }))).toEqual(expected)
  })
})

describe('a scoped token', () => {
  test('sends requests to its models and to no other', async () => {
    const one = service()
    const token = await create(one, { models: [MODEL, 'acme/assistant'] })
    expect((await chat(one, token))[0]).toBe(200)
    expect((await chat(one, token, 'acme/assistant'))[0]).toBe(200)
    expect(await chat(one, token, 'cedarline/cedar-embed-base')).toEqual([403, expect.stringContaining(MODEL)])
    expect((await chat(one, token, 'no/such'))[0]).toBe(403)
    expect((await chat(one, await create(one), 'no/such'))[0]).toBe(404)
    const usage = await one.client.getUsageOfApiToken({ api_token: 'sim_default_token', from: 'current' })
    expect(usage.months[0]!.items.length).toBeGreaterThan(0)
  })

  test('is accepted by every operation that answers with a model, in each header of tokens', async () => {
    const answering = Object.entries(operations).filter(([, { refusals }]) => 429 in refusals && 503 in refusals)
    expect(answering.length).toBeGreaterThanOrEqual(4)
    expect(answering.filter(([, { acceptsScopedTokens }]) => !acceptsScopedTokens).map(([name]) => name)).toEqual([])
    const one = service()
    const token = await create(one)
    for (const header of ['alt-api-key', 'x-api-key'])
      expect((await one.ask('POST /v1/chat/completions', chatBody(), { [header]: token })).status).toBe(200)
    const message = { model: MODEL, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }
    expect((await one.ask('POST /vendor_a/v1/messages', message, bearer(token))).status).toBe(200)
  })

  test('is 403 for any other operation', async () => {
    const one = service()
    const token = await create(one)
    for (const request of ['GET /v1/me', 'GET /deploy/list', 'GET /v1/api-tokens', 'DELETE /v1/me']) {
      const { status, body } = await one.ask(request, undefined, bearer(token))
      expect([status, body.error], request).toEqual([403, expect.stringContaining('scoped token')])
    }
    expect((await one.ask('POST /v1/scoped-jwt', { api_key_name: 'default' }, bearer(token))).status).toBe(403)
  })

  test('expires on the clock of the world', async () => {
    const one = service()
    const token = await create(one, { expires_delta: 60 })
    one.world.runTo(59 * SECOND)
    expect((await chat(one, token))[0]).toBe(200)
    one.world.runTo(60 * SECOND)
    expect(await chat(one, token)).toEqual([401, 'the scoped token has expired'])
    expect((await one.client.inspectScopedToken({ jwtoken: token })).expires_at).toBe(EPOCH + 60)
  })

  test('ends at its spending limit, and another one of the same API token goes on', async () => {
    const one = service()
    const token = await create(one, { spending_limit: 0.00001 })
    const twin = await create(one, { spending_limit: 0.00001 })
    let answered = 0
    while ((await chat(one, token, MODEL, `number ${answered}`))[0] === 200) answered++
    expect(answered).toBeGreaterThan(0)
    expect(await chat(one, token)).toEqual([402, expect.stringContaining('0.00001 US dollars')])
    const fork = one.world.fork()
    expect(
      fork.access.scopedTokens.isSpent({
        id: decode(token).payload.jti,
        spendingLimit: 0.00001,
        models: undefined,
        expiresAt: 0,
      }),
    ).toBe(true)
    expect((await chat(one, twin))[0]).toBe(200)
    expect((await chat(one, await create(one, { spending_limit: 0 })))[0]).toBe(402)
  })

  test('ends with the API token that signed it', async () => {
    const one = service()
    const { token_id } = await one.client.createApiToken({ name: 'täglich' })
    const token = await create(one, { api_key_name: 'täglich' })
    expect((await chat(one, token))[0]).toBe(200)
    await one.client.deleteApiToken({ token: token_id })
    expect(await chat(one, token)).toEqual([401, expect.stringContaining('names no API token')])
    await one.client.createApiToken({ name: 'täglich' })
    expect(await chat(one, token)).toEqual([401, expect.stringContaining('signature is wrong')])
  })

  test('has the addresses of the API token that signed it', async () => {
    const one = service()
    const [status, message] = await chat(one, await create(one, { api_key_name: 'office network only' }))
    expect([status, message]).toEqual([403, expect.stringContaining('203.0.113.0/24')])
  })

  test('can be signed by a client', async () => {
    const one = service()
    const { uid } = one.world.store.account
    const header = { alg: 'HS256', kid: `${uid}:${btoa('default')}`, typ: 'JWT' }
    const mine = signed(header, { sub: uid, model: MODEL, exp: EPOCH + 60 }, 'sim_default_token')
    expect((await chat(one, mine))[0]).toBe(200)
    expect((await chat(one, mine, 'acme/assistant'))[0]).toBe(403)
    expect(await one.client.inspectScopedToken({ jwtoken: mine })).toMatchObject({ models: [MODEL] })
  })

  test('is refused with a reason if anything of it is wrong', async () => {
    const one = service()
    const { uid } = one.world.store.account
    const header = { alg: 'HS256', kid: `${uid}:${btoa('default')}`, typ: 'JWT' }
    const payload = { sub: uid, exp: EPOCH + 60 }
    const good = signed(header, payload, 'sim_default_token')
    const by = (changes: object, claims: object = {}) =>
      signed({ ...header, ...changes }, { ...payload, ...claims }, 'sim_default_token')
    const wrong: [string, string][] = [
      ['jwt:', 'not a token of the form jwt:'],
      ['jwt:a.b', 'not a token of the form jwt:'],
      ['jwt:a.b.c', 'not a JSON object'],
      [`${good}x`, 'signature is wrong'],
      [
        good.replace(
          /\.[\w-]+\./,
          `.${Buffer.from(JSON.stringify({ ...payload, exp: EPOCH + 9999 })).toString('base64url')}.`,
        ),
        'signature is wrong',
      ],
      [signed(header, payload, 'sim_ci_token'), 'signature is wrong'],
      [by({ alg: 'none' }), 'alg is not HS256'],
      [by({ kid: 'user:x' }), 'names no API token'],
      [by({}, { sub: 'user_2' }), 'sub is not the account'],
      [by({}, { exp: '1' }), 'exp is not a time'],
      [by({}, { models: 'all' }), 'models are not a list'],
      [by({}, { spending_limit: -1 }), 'spending_limit is not an amount'],
      [by({}, { exp: EPOCH }), 'has expired'],
    ]
    for (const [token, reason] of wrong)
      expect(await chat(one, token), token).toEqual([401, expect.stringContaining(reason)])
    const jwtoken = by({ alg: 'none' })
    const expected = [400, expect.stringContaining('alg is not HS256')]
    expect(await refused(one.client.inspectScopedToken({ jwtoken }))).toEqual(expected)
    const ofAnother = await create(one, { api_key_name: 'continuous integration' })
    expect((await refused(one.client.inspectScopedToken({ jwtoken: ofAnother })))[0]).toBe(403)
  })
})
