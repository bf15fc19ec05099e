import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createEndpointFactory, type Operations } from '../../src/service/endpoint.ts'
import { integer, queryFlag, queryInteger, stringMap, text } from '../../src/service/fields.ts'
import { Pipeline } from '../../src/service/http/pipeline.ts'

const endpoint = createEndpointFactory<object>('assumed')
const base = { summary: '', auth: 'none' } as const

/** A pipeline over one endpoint that answers with what it was given. */
function echo(one: Operations<object>[string]) {
  const pipeline = new Pipeline<null, object>({
    operations: { echo: one },
    createScope: () => ({}),
    clock: () => ({ epochMs: 0, now: 0 }),
  })
  return async (path: string, body?: unknown) => {
    const init = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const response = await pipeline.answer(null, new Request(`http://sim${path}`, { method: one.method, ...init }))
    return { status: response.status, body: await response.json() }
  }
}

const order = echo(
  endpoint({
    ...base,
    route: 'POST /orders/{kind}',
    params: { kind: z.enum(['a', 'b']) },
    query: { from: queryInteger(), dry: queryFlag().optional() },
    body: z.object({
      name: text({ min: 1, max: 3 }),
      gpu: z.enum(['x', 'y']),
      count: integer({ min: 1, max: 8 }).default(1),
      amount: integer({ above: 0 }).optional(),
      rate: z.number().optional(),
      enabled: z.boolean().optional(),
      tags: z.array(text()).max(2).optional(),
      note: text().nullable().optional(),
      metadata: stringMap({ max: 2, key: 3, value: 2 }).nullable().optional(),
      hub: z.object({ repo: text() }).optional(),
      content: z.union([text(), z.array(z.object({ text: text() }))]).optional(),
    }),
    returns: z.unknown(),
    handle: ({ params, query, body }) => ({ params, query, body }),
  }),
)

const good = { name: 'n', gpu: 'x' }

/** The one issue about one field: [loc, type, msg]. */
async function issue(body: unknown) {
  const answer = await order('/orders/a?from=1', body)
  expect(answer.status).toBe(422)
  expect(answer.body.detail).toHaveLength(1)
  const [{ loc, type, msg }] = answer.body.detail
  return [loc.join('/'), type, msg]
}

test('a good request gets its defaults, and unknown fields are ignored', async () => {
  expect(await order('/orders/a?from=5&other=1&dry=true', { ...good, surprise: 1 })).toEqual({
    status: 200,
    body: { params: { kind: 'a' }, query: { from: 5, dry: true }, body: { ...good, count: 1 } },
  })
})

test('every issue is reported: path, query, body, each in the order of its fields', async () => {
  const { status, body } = await order('/orders/c?from=x', { gpu: 'z', count: 9, hub: {} })
  expect(status).toBe(422)
  expect(body).toEqual({
    detail: [
      { loc: ['path', 'kind'], msg: "Input should be 'a' or 'b'", type: 'literal_error' },
      {
        loc: ['query', 'from'],
        msg: 'Input should be a valid integer, unable to parse string as an integer',
        type: 'int_parsing',
      },
      { loc: ['body', 'name'], msg: 'Field required', type: 'missing' },
      { loc: ['body', 'gpu'], msg: "Input should be 'x' or 'y'", type: 'literal_error' },
      { loc: ['body', 'count'], msg: 'Input should be less than or equal to 8', type: 'less_than_equal' },
      { loc: ['body', 'hub', 'repo'], msg: 'Field required', type: 'missing' },
    ],
  })
})

describe('types in a body are strict', () => {
  const integerMessage = 'Input should be a valid integer'
  test.each([
    [{ count: 'two' }, 'body/count', 'int_parsing', `${integerMessage}, unable to parse string as an integer`],
    [{ count: '2' }, 'body/count', 'int_type', integerMessage],
    [{ count: true }, 'body/count', 'int_type', integerMessage],
    [{ count: null }, 'body/count', 'int_type', integerMessage],
    [{ count: 1.5 }, 'body/count', 'int_from_float', `${integerMessage}, got a number with a fractional part`],
    [{ amount: 1e300 }, 'body/amount', 'less_than_equal', 'Input should be less than or equal to 9007199254740991'],
    [{ count: 1e300 }, 'body/count', 'less_than_equal', 'Input should be less than or equal to 8'],
    [{ count: 0 }, 'body/count', 'greater_than_equal', 'Input should be greater than or equal to 1'],
    [{ amount: 0 }, 'body/amount', 'greater_than', 'Input should be greater than 0'],
    [{ rate: '1' }, 'body/rate', 'float_type', 'Input should be a valid number'],
    [{ name: 1 }, 'body/name', 'string_type', 'Input should be a valid string'],
    [{ name: '' }, 'body/name', 'string_too_short', 'String should have at least 1 character'],
    [{ name: 'abcd' }, 'body/name', 'string_too_long', 'String should have at most 3 characters'],
    [{ enabled: 1 }, 'body/enabled', 'bool_type', 'Input should be a valid boolean'],
    [{ enabled: null }, 'body/enabled', 'bool_type', 'Input should be a valid boolean'],
    [{ tags: 'a' }, 'body/tags', 'list_type', 'Input should be a valid list'],
    [{ tags: ['a', 1] }, 'body/tags/1', 'string_type', 'Input should be a valid string'],
    [{ tags: ['a', 'b', 'c'] }, 'body/tags', 'too_long', 'List should have at most 2 items after validation, not 3'],
    [{ gpu: null }, 'body/gpu', 'literal_error', "Input should be 'x' or 'y'"],
    [{ metadata: [] }, 'body/metadata', 'dict_type', 'Input should be a valid dictionary'],
    [{ metadata: { k: 1 } }, 'body/metadata/k', 'string_type', 'Input should be a valid string'],
    [{ metadata: { k: 'abc' } }, 'body/metadata/k', 'string_too_long', 'String should have at most 2 characters'],
    [
      { metadata: { long: 'a' } },
      'body/metadata/long/[key]',
      'string_too_long',
      'String should have at most 3 characters',
    ],
    [
      { metadata: { a: '', b: '', c: '' } },
      'body/metadata',
      'too_long',
      'Dictionary should have at most 2 items after validation, not 3',
    ],
    [
      { hub: [] },
      'body/hub',
      'model_attributes_type',
      'Input should be a valid dictionary or object to extract fields from',
    ],
    [{ content: 1 }, 'body/content', 'string_type', 'Input should be a valid string'],
    [{ content: [{ text: 'a' }, {}] }, 'body/content/1/text', 'missing', 'Field required'],
  ])('%j', async (change, loc, type, msg) => {
    expect(await issue({ ...good, ...change })).toEqual([loc, type, msg])
  })

  test.each([{ count: 1 }, { count: 8 }, { count: 2.0 }, { note: null }, { metadata: null }, { name: '🦙🦙🦙' }])(
    '%j is fine',
    async change => {
      expect((await order('/orders/a?from=1', { ...good, ...change })).status).toBe(200)
    },
  )
})

describe('bodies that are not objects', () => {
  test.each([
    ['', 'body', 'missing'],
    ['   ', 'body', 'missing'],
    ['null', 'body', 'model_attributes_type'],
    ['[]', 'body', 'model_attributes_type'],
    ['3', 'body', 'model_attributes_type'],
    ['"text"', 'body', 'model_attributes_type'],
    ['{', 'body/1', 'json_invalid'],
    ['{"name":}', 'body/8', 'json_invalid'],
    ['{"name":"n"} x', 'body/13', 'json_invalid'],
    ['{"a":\n  tru}', 'body/8', 'json_invalid'],
    ["{'name':1}", 'body/1', 'json_invalid'],
    ['{"name":NaN}', 'body/8', 'json_invalid'],
    [`${'['.repeat(64)}${']'.repeat(64)}`, 'body', 'model_attributes_type'],
    [`${'['.repeat(65)}${']'.repeat(65)}`, 'body/64', 'json_invalid'],
    [`{"a":${'{"a":'.repeat(200_000)}`, 'body/320', 'json_invalid'],
  ])('invalid JSON is refused at its place: %#', async (body, loc, type) => {
    const answer = await order('/orders/a?from=1', body)
    expect(answer.status).toBe(422)
    expect(answer.body.detail.map((one: { loc: string[] }) => one.loc.join('/'))).toEqual([loc])
    expect(answer.body.detail[0].type).toBe(type)
  })

  test('brackets inside strings do not count as nesting', async () => {
    const body = JSON.stringify({ ...good, note: `\\"${'[{'.repeat(100)}` })
    expect((await order('/orders/a?from=1', body)).status).toBe(200)
  })

  test('names of the language are only names', async () => {
    const body = '{"name":"n","gpu":"x","__proto__":{"count":5},"constructor":1,"metadata":{"__proto__":"x"}}'
    const answer = await order('/orders/a?from=1', body)
    expect(answer.status).toBe(200)
    expect(answer.body.body.count).toBe(1)
    expect(({} as { count?: number }).count).toBeUndefined()
  })
})

describe('query strings', () => {
  test.each([
    ['', 'missing'],
    ['?from=', 'int_parsing'],
    ['?from=1.5', 'int_parsing'],
    ['?from=1e3', 'int_parsing'],
    ['?from=1&from=x', 'int_parsing'],
    ['?from=99999999999999999999', 'less_than_equal'],
    ['?from=%FF', 'int_parsing'],
    ['?from=1&dry=maybe', 'bool_type'],
    ['?from=1&dry=1', 'bool_type'],
  ])('%s', async (search, type) => {
    const { status, body } = await order(`/orders/a${search}`, good)
    expect([status, body.detail[0].type]).toEqual([422, type])
  })

  test.each(['?from=-1', '?from=+1', '?from=%201', '?from=x&from=1', '?from=1&dry=false', '?&&from=1&=&x'])(
    '%s is fine',
    async search => {
      expect((await order(`/orders/a${search}`, good)).status).toBe(200)
    },
  )
})

test('a list of mistakes is read up to its 1,000th', { tags: 'slow' }, async () => {
  let reads = 0
  const counted = z.string().superRefine((value, context) => {
    reads++
    if (value !== 'ok') context.addIssue({ code: 'custom', message: 'no' })
  })
  const list = echo(
    endpoint({
      ...{ ...base, route: 'POST /lists', params: {}, query: {}, returns: z.unknown(), handle: () => null },
      body: z.object({ values: z.array(counted) }),
    }),
  )
  const { status, body } = await list('/lists', { values: Array(5_000).fill('wrong') })
  expect({ status, listed: body.detail.length }).toEqual({ status: 422, listed: 101 })
  expect(body.detail[100].msg).toBe('Only the first 100 errors are listed; there are at least 900 more')
  // Once to see that the value is invalid, and once for the reasons of the first 1,000.
  expect(reads).toBe(6_000)
  expect((await list('/lists', { values: Array(5_000).fill('ok') })).status).toBe(200)
})
