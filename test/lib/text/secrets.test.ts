/** What counts as a credential in a text, and what does not. */

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { hideSecrets, isSecretName } from '../../../src/lib/text/secrets.ts'
import { forAll } from '../../setup/for-all.ts'

const json = JSON.stringify
const hide = (text: string) => hideSecrets(text)

test.each([
  ['a field of JSON', json({ apiKey: 'a1', n: 1 }), json({ apiKey: '(hidden)', n: 1 })],
  ['a name in another case', '{ "API-KEY" : "a1" }', '{ "API-KEY" : "(hidden)" }'],
  ['a value with escapes', json({ password: '\\"a\\', n: 1 }), json({ password: '(hidden)', n: 1 })],
  ['JSON in a text', json({ a: json({ token: 'a\\' }), n: 1 }), json({ a: json({ token: '(hidden)' }), n: 1 })],
  ['JSON in JSON in a text', json([json([json({ secret: 'a"b' })])]), json([json([json({ secret: '(hidden)' })])])],
  ['JSON that is cut off', '{"a":1,"token":"a1', '{"a":1,"token":"(hidden)'],
  ['JSON in a text that is cut off', '{"a":"{\\"token\\":\\"a1"}', '{"a":"{\\"token\\":\\"(hidden)"}'],
  ['a list', json({ api_keys: [1, 'a', 'b'], n: ['c'] }), json({ api_keys: [1, '(hidden)', '(hidden)'], n: ['c'] })],
  ['pairs', json([{ name: 'x-api-key', value: 'a' }]), json([{ name: 'x-api-key', value: '(hidden)' }])],
  ['an argument', json(['--api-key', 'a1', 'b']), json(['--api-key', '(hidden)', 'b'])],
  ['an argument in a text of JSON', json([json(['--hf-token', 'a1'])]), json([json(['--hf-token', '(hidden)'])])],
  ['a command line', 'vllm serve --api-key a1b2c3 --port 1', 'vllm serve --api-key (hidden) --port 1'],
  ['a command line in JSON', json({ args: '--api-key a1b2c3' }), json({ args: '--api-key (hidden)' })],
  ['an argument in quotes', "vllm --api-key 'a1b2c3' -p 1", "vllm --api-key '(hidden)' -p 1"],
  ['one in JSON', json({ args: 'vllm --api-key "a1b2c3"' }), json({ args: 'vllm --api-key "(hidden)"' })],
  ['a flag of one dash', '-token a1b2c3', '-token (hidden)'],
  [
    'a map of variables',
    json({ env: { A: 1, B: 'b', C: 2 }, n: 1 }),
    json({ env: { A: 1, B: '(hidden)', C: 2 }, n: 1 }),
  ],
  ['a scheme', json({ Authorization: 'Bearer a1' }), json({ Authorization: 'Bearer (hidden)' })],
  ['a form', 'n=1&hub_token=a1&m=2', 'n=1&hub_token=(hidden)&m=2'],
  ['a query', 'GET /a?api_key=a1#b 404', 'GET /a?api_key=(hidden) 404'],
  ['a part', '; name="api_key"\r\n\r\na"\n1\r\n--b', '; name="api_key"\r\n\r\n(hidden)\r\n--b'],
  [
    'a part in JSON',
    json(['; name="token"\r\n\r\na\n1\r\n--b', 1]),
    json(['; name="token"\r\n\r\n(hidden)\r\n--b', 1]),
  ],
  ['a part that is cut off', json(['; name="token"\n\na1', 1]), json(['; name="token"\n\n(hidden)', 1])],
  ['an address', 'see https://me:a1@host.example/b', 'see https://(hidden)@host.example/b'],
  ['an escaped address', '/a?b=https%3A%2F%2Fme%3Aa1%40host', '/a?b=https%3A%2F%2F(hidden)%40host'],
  ['a bearer token', 'it sent Bearer a1b2c3 twice', 'it sent Bearer (hidden) twice'],
  ['a header', "-H 'x-api-key: a1b2c3'", "-H 'x-api-key: (hidden)'"],
  ['a scoped token', 'jwt:ab.cd.ef is expired', 'jwt:ab.cd.(hidden) is expired'],
  ['a token of the simulator', '/a/sim_office_token/b', '/a/(hidden)/b'],
])('%s has its credential hidden', (_, text, hidden) => {
  expect(hide(text)).toBe(hidden)
  expect(hide(hidden)).toBe(hidden)
})

test.each([
  json({ max_tokens: 5, tokens: { input: 1 }, token_count: 3, tokens_generated: '4', token_id: 'token_a1' }),
  json({ usage: { prompt_tokens: 1 }, api_key_name: 'ci', password_policy: 'long' }),
  json({ content: [{ token: 'Hel', logprob: -0.1, top_logprobs: [{ token: 'Jel', logprob: -2 }] }] }),
  json({ eos_token: '</s>', stop_token: 'END', tokens: [1, 2, 3], token: 5, secret: true }),
  json({ in: 'query', name: 'token', type: 'string' }),
  json(['--api-key', '--port', 'token', 'a1b2c3', '--max-tokens', '123456', 'the --api-key', 'a1b2c3']),
  'Give its --control-token again.',
  json({ email: 'a@b.example', website: 'https://acme.example', prompt: 'the password is: think of a token' }),
  'body.hub.token: received another value than expected',
  'query.token: Field required. price_per_token: 0.000123',
  "Send 'Authorization: Bearer TOKEN'. A Bearer token is missing. Bearer $TOKEN",
  'GET /v1/models/risk-assessment-of-all-models http://127.0.0.1:4010/_sim/requests?limit=5',
  'see http://host.example/a@b, sim_requests, simulate and task-0123456789abcdefghij',
])('%s stays readable', text => {
  expect(hide(text)).toBe(text)
})

test('the replacement gets a credential without its escapes, and is escaped again', () => {
  const upper = (text: string) => hideSecrets(text, value => value.toUpperCase())
  expect(upper(json({ token: 'a"\n' }))).toBe(json({ token: 'A"\n' }))
  expect(upper(json({ a: json({ token: 'a"\\' }) }))).toBe(json({ a: json({ token: 'A"\\' }) }))
  expect(upper('token=a%26b+c')).toBe('token=A%26B%20C')
})

const PIECES = [
  'token',
  '"',
  '\\',
  ':',
  '=',
  'a1b2c3',
  ' ',
  '\n',
  '@',
  'https://',
  'Bearer ',
  'name="',
  'env',
  '{',
  '[',
  ',',
  '--',
  'value',
  'jwt:',
  '.',
]

test('JSON stays JSON with the same names and lists, also as a text of JSON, and nothing more is hidden the next time', {
  tags: 'slow',
}, () => {
  const anyText = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map(pieces => pieces.join(''))
  const anyName = fc.constantFrom('a', 'token', 'tokens', 'env', 'value', 'name')
  const { tree } = fc.letrec(tie => ({
    tree: fc.oneof({ maxDepth: 4 }, anyText, fc.nat(), fc.array(tie('tree')), fc.dictionary(anyName, tie('tree'))),
  }))
  const shapeOf = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return typeof value
    return Array.isArray(value)
      ? value.map(shapeOf)
      : Object.entries(value).map(([name, item]) => [name, shapeOf(item)])
  }
  forAll([tree], { numRuns: 1_000 }, value => {
    const hidden = hide(json(value))
    expect(shapeOf(JSON.parse(hidden))).toEqual(shapeOf(value))
    expect(hide(hidden)).toBe(hidden)
    const nested = hide(json({ text: json(value) }))
    expect(shapeOf(JSON.parse(nested))).toEqual(shapeOf({ text: '' }))
  })
})

test('a name tells whether its value is a credential', () => {
  const secret = ['x-api-key', 'hub.token', 'apiKey', 'Set-Cookie', 'client_secret', 'proxy-authorization']
  const open = ['max_tokens', 'token_count', 'authorization_url', 'keyboard', 'stop_token', 'public_key']
  expect([...secret, ...open].filter(isSecretName)).toEqual(secret)
})

test.each([
  '\\\\"token\\\\":\\\\"\\',
  '"token":"',
  'a://',
  'token=',
  '"env":{"a":"',
  'name="token"\n\n',
  '\\"',
  'a%3A%2F%2F',
  'bearer ',
])('a long text that repeats %s ends', { tags: 'slow' }, piece => {
  expect(hide(`@${piece.repeat(40_000)}`).length).toBeGreaterThan(0)
})
