import { expect, test } from 'vitest'
import { loadProfile } from '../../src/data/profiles/load.ts'
import { replaceLaxTexts } from '../../src/service/http/validate-input.ts'
import { SECOND, service } from './service-world.ts'

const LLM = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const STRICT = { profile: loadProfile({ policies: { validation: 'strict' } }) }

test('an integer, a number and a boolean are accepted as texts in a body', async () => {
  const { ask } = service('two-nodes')
  const settings = { min_instances: '0', max_instances: '3' }
  const { status, body } = await ask('POST /deploy/llm', { ...LLM, num_gpus: '2', settings })
  expect([status, body.config.num_gpus, body.settings]).toEqual([200, 2, { min_instances: 0, max_instances: 3 }])
  const chat = { messages: [{ role: 'user', content: 'Hi' }], model: 'aurora-labs/aurora-8b-instruct' }
  const answer = await ask('POST /v1/chat/completions', {
    ...chat,
    temperature: '0.5',
    max_tokens: '3',
    stream: 'false',
  })
  expect([answer.status, answer.body.object]).toEqual([200, 'chat.completion'])
})

test.each([
  ['2.0', 'int_parsing'],
  ['two', 'int_parsing'],
  ['', 'int_parsing'],
  ['9', 'less_than_equal'],
  [true, 'int_type'],
])('num_gpus %j is refused with %s', async (num_gpus, type) => {
  const { status, body } = await service('two-nodes').ask('POST /deploy/llm', { ...LLM, num_gpus })
  expect([status, body.detail[0].type]).toEqual([422, type])
})

test.each(['yes', '1', 1, 'True'])('a boolean %j is refused', async stream => {
  const chat = { messages: [{ role: 'user', content: 'Hi' }], model: 'aurora-labs/aurora-8b-instruct', stream }
  const { status, body } = await service('two-nodes').ask('POST /v1/chat/completions', chat)
  expect([status, body.detail[0].type]).toEqual([422, 'bool_type'])
})

test('the policy strict refuses texts in a body, but not in a query', async () => {
  const { ask } = service('default', undefined, STRICT)
  expect((await ask('POST /deploy/llm', { ...LLM, num_gpus: '2' })).status).toBe(422)
  expect((await ask('POST /deploy/llm', { ...LLM, gpu: 'L4-24GB', num_gpus: 1 })).status).toBe(200)
  expect((await ask('GET /v1/batches?limit=5')).status).toBe(200)
  expect((await ask('GET /v1/me?checklist=true')).status).toBe(200)
})

test.each([
  ['lax', undefined, 'completed', null],
  [
    'strict',
    STRICT,
    'failed',
    { object: 'list', data: [{ code: 'invalid_line', param: '/v1/chat/completions.body.max_tokens', line: 0 }] },
  ],
])('the policy %s applies to the lines of a batch', async (_, options, status, errors) => {
  const { world, client, ask } = service('default', undefined, options)
  const body = { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'Hi' }], max_tokens: '3' }
  const url = '/v1/chat/completions'
  const file = JSON.stringify({ custom_id: 'a', method: 'POST', url, body })
  const input_file_id = (await client.uploadFile({ purpose: 'batch', file })).id
  const { id } = (await ask('POST /v1/batches', { input_file_id, endpoint: url, completion_window: '24h' })).body
  world.runTo(3600 * SECOND)
  expect((await ask(`GET /v1/batches/${id}`)).body).toMatchObject({ status, errors })
})

test('replaceLaxTexts copies what it changes and leaves a key that sets a prototype alone', () => {
  const value = JSON.parse('{"a":[{"n":"1"},{"n":2}],"__proto__":{"n":"1"}}')
  const issue = (path: PropertyKey[]) =>
    ({ code: 'invalid_type', expected: 'number', input: '1', path, message: '' }) as never
  const replaced = replaceLaxTexts(value, [issue(['a', 0, 'n']), issue(['__proto__', 'n'])])
  expect(replaced).toEqual(JSON.parse('{"a":[{"n":1},{"n":2}],"__proto__":{"n":"1"}}'))
  expect(value.a[0].n).toBe('1')
  expect(replaceLaxTexts(value, [issue(['__proto__', 'n'])])).toBeUndefined()
})
