/** The error shape of the OpenAI-compatible routes, and the headers that take a token. */
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { HELLO, openaiWorld } from './openai-world.ts'

const CHAT = { model: 'acme/chat', messages: HELLO }
const TOKEN_REQUIRED = { policies: { model_list_token: 'required' } } as const
const PATHS = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/models'] as const
const compat = (message: unknown, type: string, code: string | null) => ({
  error: { message, type, param: null, code },
})

describe('a refusal of an OpenAI-compatible route', () => {
  test('has an error object when the model is unknown, has another task, or the account has no funds', async () => {
    const { sim, ask } = openaiWorld({ fixtures: 'default', with: {} })
    const unknown = await ask('/v1/chat/completions', { ...CHAT, model: 'acme/nope' })
    expect([unknown.status, unknown.body]).toEqual([
      404,
      compat(expect.stringContaining('acme/nope'), 'invalid_request_error', 'model_not_found'),
    ])
    const wrongTask = await ask('/v1/embeddings', { model: 'acme/assistant', input: 'a' })
    expect([wrongTask.status, wrongTask.body]).toEqual([
      400,
      compat('model acme/assistant does text-generation, not embeddings', 'invalid_request_error', null),
    ])
    sim.cluster.account.suspend()
    const unpaid = await ask('/v1/completions', { model: 'acme/assistant', prompt: 'a' })
    const expected = [402, compat(expect.any(String), 'insufficient_quota', 'insufficient_quota')]
    expect([unpaid.status, unpaid.body]).toEqual(expected)
  })

  test('has the code context_length_exceeded when the prompt does not fit the context', async () => {
    const { client } = openaiWorld()
    const create = client.chat.completions.create({
      ...CHAT,
      messages: [{ role: 'user', content: 'a '.repeat(9_000) }],
    })
    await expect(create).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      type: 'invalid_request_error',
    })
  })

  test('has this code, too, when the cache of an instance is smaller than the context', async () => {
    const deployment = { model_name: 'acme/large', weights: { repo: 'aurora-labs/aurora-70b-instruct' } }
    const { ask, client } = openaiWorld({ with: { deployments: [deployment] } })
    const { body } = await ask('/v1/chat/completions', {
      model: 'acme/large',
      messages: [{ role: 'user', content: 'a '.repeat(14_000) }],
    })
    // One H100 has 4.6 GB beside the weights, and a token takes 327,680 bytes.
    const [, context] = /and the context of acme\/large is (\d+)$/.exec(body.error.message) ?? []
    expect(Number(context)).toBeGreaterThan(13_000)
    expect(Number(context)).toBeLessThan(14_000)
    const models = await client.models.list()
    expect(models.data.find(({ id }) => id === 'acme/large')).toMatchObject({
      metadata: { context_length: Number(context) },
    })
  })

  test('has the code engine_overloaded and Retry-After when the model is busy', async () => {
    const { sim, client } = openaiWorld({ profile: { extends: 'realistic', limits: { requests_in_flight: 1 } } })
    const stream = await client.chat.completions.create({ ...CHAT, stream: true })
    const error = await client.chat.completions
      .create(CHAT)
      .catch((thrown: InstanceType<typeof OpenAI.APIError>) => thrown)
    expect(error).toBeInstanceOf(OpenAI.RateLimitError)
    expect(error).toMatchObject({ code: 'engine_overloaded', param: null })
    expect((error as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after')).toBe('1')
    stream.controller.abort()
    sim.reset()
  })

  test.each(PATHS)('of %s has an error object when the token is missing, unknown or not allowed', async path => {
    const { sim } = openaiWorld({ fixtures: 'default', with: {}, profile: TOKEN_REQUIRED })
    const send = async (headers: Record<string, string>) => {
      const method = path === '/v1/models' ? 'GET' : 'POST'
      const response = await sim.fetch(`http://sim${path}`, {
        method,
        headers,
        ...(method === 'POST' && { body: '{}' }),
      })
      return [response.status, await response.json()]
    }
    expect(await send({})).toEqual([401, compat('not authenticated', 'authentication_error', 'invalid_api_key')])
    expect(await send({ 'x-api-key': 'unknown' })).toEqual([
      401,
      compat('User is not authorized to access this resource', 'authentication_error', 'invalid_api_key'),
    ])
    expect(await send({ authorization: 'Bearer sim_office_token' })).toEqual([
      403,
      compat(expect.stringContaining('is not allowed from 127.0.0.1'), 'permission_error', null),
    ])
  })

  test('has an error object when the body is a form or not JSON, and keeps detail when it is invalid', async () => {
    const { sim, ask } = openaiWorld()
    const form = await sim.fetch('http://sim/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${sim.token}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'a=1',
    })
    expect([form.status, await form.json()]).toEqual([415, compat(expect.any(String), 'invalid_request_error', null)])
    const invalid = await ask('/v1/chat/completions', { model: 'acme/chat' })
    expect([invalid.status, invalid.body]).toEqual([
      422,
      { detail: [{ loc: ['body', 'messages'], msg: 'Field required', type: 'missing' }] },
    ])
  })

  test('has an error object when a fault answers, except for 422', async () => {
    const { sim, ask } = openaiWorld()
    sim.faults.add({
      on: 'createChatCompletion',
      times: 1,
      fault: { kind: 'status', status: 503, message: 'later' },
    })
    expect((await ask('/v1/chat/completions', CHAT)).body).toEqual(compat('later', 'server_error', null))
    sim.faults.add({
      on: 'createChatCompletion',
      times: 1,
      fault: { kind: 'status', status: 422, message: 'odd' },
    })
    expect((await ask('/v1/chat/completions', CHAT)).body).toEqual({
      detail: [{ loc: ['body'], msg: 'odd', type: 'value_error' }],
    })
  })

  test('is unlike those of files, batches and count_tokens, which keep their shapes', async () => {
    const { ask } = openaiWorld()
    expect((await ask('/v1/files/nope')).body).toEqual({ detail: { error: 'file not found' } })
    const count = await ask('/vendor_a/v1/messages/count_tokens', { model: 'no/such', messages: [] })
    expect([count.status, count.body]).toEqual([404, { error: 'no model no/such' }])
  })
})

describe('a scripted error', () => {
  test('has an error object with its message', async () => {
    const { sim, ask } = openaiWorld()
    sim.inference.add({ times: 1, answer: { error: { status: 500, message: 'out of luck' } } })
    expect((await ask('/v1/chat/completions', CHAT)).body).toEqual(compat('out of luck', 'server_error', null))
  })

  test('has any body and any headers, and its own Retry-After takes precedence', async () => {
    const { sim, ask } = openaiWorld()
    const body = { error: { message: 'Model busy', code: 'engine_overloaded' }, hints: [1, null] }
    sim.inference.add({
      times: 1,
      answer: { error: { status: 429, body, headers: { 'Retry-After': '120', 'x-ratelimit-remaining': '0' } } },
    })
    const answer = await ask('/v1/chat/completions', CHAT)
    expect([answer.status, answer.body]).toEqual([429, body])
    expect([answer.headers.get('retry-after'), answer.headers.get('x-ratelimit-remaining')]).toEqual(['120', '0'])
    sim.inference.add({ times: 1, answer: { error: { status: 503, body: 'gone' } } })
    const text = await ask('/v1/chat/completions', CHAT)
    expect([text.body, text.headers.get('retry-after')]).toEqual(['gone', '1'])
  })

  test('is refused when a header has an invalid name or a line break', () => {
    const { sim } = openaiWorld()
    for (const headers of [{ 'a b': 'c' }, { a: 'b\r\nc: d' }]) {
      expect(() => sim.inference.add({ answer: { error: { status: 500, headers } } })).toThrow(
        'Failed to script an answer',
      )
    }
  })
})

test('a token is taken from x-api-key when Authorization and alt-api-key are missing', async () => {
  const { sim } = openaiWorld({ profile: TOKEN_REQUIRED })
  const status = async (headers: Record<string, string>) =>
    (await sim.fetch('http://sim/v1/models', { headers })).status
  expect(await status({ 'x-api-key': sim.token })).toBe(200)
  expect(await status({ 'x-api-key': 'null' })).toBe(401)
  expect(await status({ 'alt-api-key': 'unknown', 'x-api-key': sim.token })).toBe(401)
  expect(await status({ authorization: 'Bearer unknown', 'x-api-key': sim.token })).toBe(401)
})
