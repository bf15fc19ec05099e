/** The simulator compared with documents of providers. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { parse } from 'yaml'
import { type ConformArguments, handler } from '../../../src/cli/commands/conform.ts'
import { BodyValidator } from '../../../src/cli/conform/bodies.ts'
import { conform } from '../../../src/cli/conform/conform.ts'
import { OpenapiDocument } from '../../../src/cli/conform/document.ts'
import { isAny, membersOf, viewOf } from '../../../src/cli/conform/schema-views.ts'
import { compareSchemas } from '../../../src/cli/conform/schemas.ts'
import { eventForms, parseEvents } from '../../../src/cli/conform/streams.ts'

const PROVIDER = 'test/cli/conform/provider.yaml'
const names = {
  paths: { hosted: 'machines' },
  fields: { hub: 'depot', account_balance: 'owed' },
  headers: { 'alt-api-key': 'x-depot-key' },
} as const

/** Returns a document with one operation. */
const small = (path: string, operation: object, more: object = {}) => ({
  ...{ openapi: '3.0.3', info: { title: 'small', version: '1' } },
  paths: { [path]: { get: operation } },
  ...more,
})

const answering = (schema: object) => ({
  responses: { 200: { description: '', content: { 'application/json': { schema } } }, '4XX': { description: '' } },
})

async function run(args: ConformArguments): Promise<{ code: number; said: string }> {
  const written: string[] = []
  vi.spyOn(process.stdout, 'write').mockImplementation(chunk => written.push(String(chunk)) > 0)
  process.exitCode = undefined
  await handler(args)
  const code = Number(process.exitCode ?? 0)
  process.exitCode = undefined
  return { code, said: written.join('') }
}

function written(name: string, content: string): string {
  mkdirSync('.tmp/conform', { recursive: true })
  writeFileSync(`.tmp/conform/${name}`, content)
  return `.tmp/conform/${name}`
}

afterEach(() => void vi.restoreAllMocks())

test('conform finds each planted difference and nothing else', async () => {
  const { findings, operations, served } = await conform(parse(readFileSync(PROVIDER, 'utf8')), { names })
  const seen = findings.map(({ severity, kind, operation, place, says, ours }) =>
    [`${severity} ${kind}`, `${operation}: ${place}`, `${says} | ${ours}`].join(' · '),
  )
  expect(seen.sort()).toEqual(
    [
      'break path · GET /v1/quotas: the path · it is served | unknown path',
      'warning parameter · GET /v1/voices: query language · it may be sent | it is ignored',
      expect.stringMatching(/^break method · TRACE \/v1\/voices\/\{id\}: the path · TRACE is served \| only GET/),
      'break parameter · GET /v2/hardware: query model · it is optional | it is required',
      expect.stringMatching(
        /^break value · POST \/deploy\/llm: request, gpu · it may be "T4-16GB" \| it is one of "L4/,
      ),
      'warning field · POST /deploy/llm: request, region · it may be sent | it is ignored',
      'break type · POST /deploy/llm: request, num_gpus · string | integer',
      'note status · POST /deploy/llm: answer 418 · 418 is an answer | it is never answered',
      'break status · POST /payment/funds: answer 200 · answers are 201, 4XX | 200',
      'break field · GET /payment/checklist: answer 200, currency · it is required | it is missing',
      'warning status · PATCH /v1/machines/{id}: refusals · answers are 200, 400, 404 | it may be 401, 403, 415, 422',
      'break field · PATCH /v1/machines/{id}: answer 404, message · it is required | it is missing',
      'break media · GET /v1/files/{id}/content: answer 200 · the content is application/json | binary/octet-stream',
      'break type · GET /v1/voices: answer 200, voices[].created_at · string | 1755129600',
      'note field · GET /v1/voices: answer 200, voices[].updated_at · it is not declared | it may be present',
      'break value · GET /deploy/list/: answer 200, [].status · it is one of "initializing", "downloading", "running", "stopped", "failed", "deleted" | "deploying"',
      'break field · GET /v1/voices: answer 429, retry_after · it is required | it is missing',
      'note status · GET /v1/voices: answer 429 · 429 is an answer | only a fault rule produces it',
      expect.stringMatching(
        /^break value · POST \/deploy\/\{id\}\/stop: answer 400, error · it is one of "not_running" \| "/,
      ),
      'warning type · POST /payment/funds: request, amount · number | integer',
      'warning status · POST /v1/api-tokens: refusals · answers are 200, 401, 403, 415, 422 | it may be 409',
      'break media · GET /v1/batches: answer 200 · the content may be text/event-stream | it is never streamed',
      'break field · POST /v1/chat/completions: answer 200, each event, provider · it is required | it is missing',
      'break type · POST /v1/chat/completions: answer 200, each event, created · string | 1767225600',
      'warning value · POST /deploy/llm: answer 200, status · it is one of "initializing", "downloading", "running", "stopped", "failed", "deleted" | it may be "deploying"',
    ].sort(byText),
  )
  expect([operations, served]).toEqual([14, 12])
})

/** As texts and patterns sort beside one another. */
function byText(one: unknown, other: unknown): number {
  const [a, b] = [one, other].map(value =>
    typeof value === 'string'
      ? value
      : (value as { sample: RegExp }).sample.source.replace('^', '').replaceAll('\\', ''),
  )
  return a! < b! ? -1 : 1
}

test('bounds of a request are a break only when they are wider than those of the simulator', async () => {
  const asking = (properties: object) => ({
    openapi: '3.1.0',
    info: { title: 'asking', version: '1' },
    paths: {
      '/v1/chat/completions': {
        post: {
          requestBody: { content: { 'application/json': { schema: { type: 'object', properties } } } },
          responses: { 200: { description: '' }, '4XX': { description: '' }, '5XX': { description: '' } },
        },
      },
    },
  })
  const values = async (properties: object) =>
    (await conform(asking(properties))).findings
      .filter(({ kind }) => kind === 'value')
      .map(({ severity, place, says, ours }) => [severity, place, says, ours])
  const wide = { anyOf: [{ type: 'number', minimum: -1, maximum: 3 }, { type: 'null' }] }
  expect(await values({ temperature: wide })).toEqual([
    ['break', 'request, temperature', 'minimum -1, maximum 3', 'minimum 0, maximum 2; values beyond are refused'],
  ])
  expect(await values({ temperature: { type: 'number', minimum: 0, maximum: 1 }, top_p: { type: 'number' } })).toEqual(
    [],
  )
})

describe('what the document allows in a request', () => {
  /** Returns the findings of a request body for one operation, without those of its statuses. */
  const findingsOf = async (path: string, properties: object) => {
    const schema = { type: 'object', properties }
    const document = {
      ...{ openapi: '3.1.0', info: { title: 'asking', version: '1' } },
      paths: {
        [path]: {
          post: {
            requestBody: { content: { 'application/json': { schema } } },
            responses: { 200: { description: '' }, '4XX': { description: '' }, '5XX': { description: '' } },
          },
        },
      },
    }
    return (await conform(document)).findings
      .filter(({ place }) => place.startsWith('request, '))
      .map(({ severity, place, says, ours }) => `${severity} ${place.slice(9)}: ${says} | ${ours}`)
  }

  test('is a break when the simulator refuses a null', async () => {
    expect(await findingsOf('/v1/voices/add', {})).toEqual([])
    const amount = { type: ['number', 'null'] }
    expect(await findingsOf('/payment/funds', { amount })).toEqual([
      'break amount: it is optional | it is required',
      'break amount: number or null | integer',
    ])
  })

  test('is compared below a nullable object', async () => {
    const function_ = {
      anyOf: [{ type: 'object', properties: { name: { type: 'integer' } } }, { type: 'null' }],
    }
    const tools = { type: 'array', items: { type: 'object', properties: { function: function_ } } }
    const found = await findingsOf('/v1/chat/completions', { tools })
    expect(found).toContain('break tools[].function: object or null | object')
    expect(found).toContain('break tools[].function.name: integer | string')
  })

  test('is a break when the simulator requires a body that the document makes optional', async () => {
    const bodyOf = async (required: boolean) => {
      const requestBody = { required, content: { 'application/json': { schema: { type: 'object' } } } }
      const post = { requestBody, responses: { 200: { description: '' }, '4XX': { description: '' } } }
      const { findings } = await conform({ openapi: '3.1.0', info: {}, paths: { '/v1/embeddings': { post } } })
      return findings.filter(({ place }) => place === 'the body').map(({ says, ours }) => `${says} | ${ours}`)
    }
    expect(await bodyOf(false)).toEqual(['it is optional | it is required'])
    expect(await bodyOf(true)).toEqual([])
  })

  test('is a break when the simulator refuses one element of a list in the query', async () => {
    const schema = { anyOf: [{ type: 'array', items: { enum: ['running', 'paused'] } }, { type: 'null' }] }
    const parameters = [{ name: 'status', in: 'query', schema }]
    const { findings } = await conform(small('/deploy/list', { parameters, ...answering({ type: 'array' }) }))
    expect(findings).toMatchObject([
      {
        severity: 'break',
        place: 'query status',
        says: 'it may be "paused"',
        ours: expect.stringMatching(/^it is refused: unknown status/),
      },
    ])
  })

  /** Returns the differences for a client that sends values of one schema to the simulator with another. */
  const compare = (theirs: object, ours: object) => {
    const [one, other] = [theirs, ours].map(schema => {
      const document = new OpenapiDocument(small('/v1/voices', answering(schema)))
      const content = ['get', 'responses', '200', 'content', 'application/json', 'schema']
      const root = { value: document.root, pointer: '#' }
      return viewOf({ document, schema: document.partAt(root, 'paths', '/v1/voices', ...content)! })
    })
    return compareSchemas(one!, other!, { way: 'asked', place: '', level: 0 }).map(
      ({ severity, says, ours: is }) => `${severity} ${says} | ${is}`,
    )
  }

  test('is a break when the simulator refuses one of the two booleans', () => {
    const refused = ['break it may be true | it is one of false']
    expect(compare({ type: 'boolean' }, { type: 'boolean', const: false })).toEqual(refused)
    expect(compare({ type: ['boolean', 'null'] }, { enum: [false, null] })).toEqual(refused)
    expect(compare({ type: 'boolean' }, { type: 'boolean' })).toEqual([])
    expect(compare({ const: false }, { enum: [false] })).toEqual([])
  })

  test('is a warning when the simulator accepts only some of the values', () => {
    expect(compare({ type: 'string' }, { enum: ['a', null] })).toEqual(['warning any value | it is one of "a"'])
    expect(compare({ type: 'string' }, { anyOf: [{ enum: ['a'] }, { type: 'string' }] })).toEqual([])
    expect(compare({ type: 'number' }, { type: ['integer', 'null'] })).toEqual(['warning number | integer or null'])
    expect(compare({ type: 'integer' }, { type: 'number' })).toEqual([])
  })

  test('is a break when the simulator refuses one member of a union', async () => {
    const member = (type: string, more: object = {}) => ({
      ...{ type: 'object', properties: { type: { type: 'string', const: type, default: type }, ...more } },
    })
    const ours = { oneOf: [{ ...member('text'), required: ['type'] }, { properties: { type: { not: {} } } }] }
    const found = compare({ anyOf: [member('text'), member('regex', { regex: { type: 'string' } })] }, ours)
    expect([...new Set(found)]).toEqual([
      'break it may be "regex" | it is one of "text"',
      'warning it may be sent | it is ignored',
    ])
    const format = { anyOf: [member('text'), member('regex'), member('yaml'), { type: 'null' }] }
    const formats = await findingsOf('/v1/chat/completions', { response_format: format })
    expect(formats.filter(one => one.includes('yaml'))).toEqual([
      'break response_format.type: it may be "yaml" | it is one of "text", "json_object", "json_schema", "regex"',
    ])
  })

  test('is a break when a listed value is published by the simulator, and refused', async () => {
    const parameters = [{ name: 'output_format', in: 'query', schema: { enum: ['mp3_44100_128', 'pcm_8000'] } }]
    const document = {
      ...{ openapi: '3.1.0', info: { title: 'asking', version: '1' } },
      paths: {
        '/v1/text-to-speech/{voice_id}': {
          post: {
            parameters,
            requestBody: {
              required: true,
              content: {
                'application/json': { schema: { type: 'object', required: ['text'], properties: { text: {} } } },
              },
            },
            responses: { 200: { description: '' }, '4XX': { description: '' }, '5XX': { description: '' } },
          },
        },
      },
    }
    const { findings } = await conform(document)
    const breaks = findings.filter(({ severity }) => severity === 'break')
    expect(breaks.map(({ place, says, ours }) => [place, says, ours])).toEqual([
      ['query output_format', 'it may be "pcm_8000"', expect.stringMatching(/^it is refused: output_format pcm_8000/)],
    ])
  })

  test('is a break when the simulator requires a pattern of a free string', () => {
    const pattern = '^[a-z]+$'
    const ours = 'it matches ^[a-z]+$; other values are refused'
    const text = { type: 'string', pattern }
    expect(compare({ type: 'string' }, text)).toEqual([`break any string | ${ours}`])
    expect(compare({ type: ['string', 'null'] }, { anyOf: [text, { type: 'null' }] })).toEqual([
      `break any string | ${ours}`,
    ])
    expect(compare({ enum: ['get', 'a b'] }, text)).toEqual([`break it may be "a b" | ${ours}`])
    expect(compare({ enum: ['get'] }, text)).toEqual([])
    expect(compare({ type: 'string', pattern: '^g' }, text)).toEqual([`warning it matches ^g | ${ours}`])
    expect(compare(text, text)).toEqual([])
    expect(compare({ type: 'integer' }, { anyOf: [{ type: 'integer' }, text] })).toEqual([])
    // One of our alternatives takes any string.
    expect(compare({ type: 'string' }, { anyOf: [text, { type: 'string' }] })).toEqual([])
  })
})

describe('headers', () => {
  const GET = { '4XX': { description: '' }, '5XX': { description: '' } }
  const found = async (operation: object, path = '/v1/voices') =>
    (await conform(small(path, operation))).findings
      .filter(({ place }) => place.includes('header'))
      .map(({ severity, kind, place, says, ours }) => `${severity} ${kind} ${place}: ${says} | ${ours}`)

  test('of a request are ignored only when they carry no key', async () => {
    const parameters = ['alt-api-key', 'X-API-Key', 'user-agent', 'x-region'].map(name => ({
      ...{ name, in: 'header', schema: { type: ['string', 'null'] } },
    }))
    const responses = { 200: { description: '' }, ...GET }
    expect(await found({ parameters, responses })).toEqual([
      'warning parameter header x-region: it may be sent | it is ignored',
    ])
    // This operation needs no key, so it reads none.
    expect(await found({ parameters, responses }, '/aggregator/models')).toEqual([
      'warning parameter header alt-api-key: it may be sent | it is ignored',
      'warning parameter header X-API-Key: it may be sent | it is ignored',
      'warning parameter header x-region: it may be sent | it is ignored',
    ])
  })

  test('of an answer are checked by their declaration', async () => {
    const headers = {
      'Content-Type': { schema: { type: 'integer' } },
      'X-Quota': { required: true, schema: { type: 'integer' } },
      'X-Region': { schema: { type: 'string' } },
    }
    const limited = { description: '', headers: { 'X-Reset': { required: true, schema: { type: 'integer' } } } }
    expect(await found({ responses: { 200: { description: '', headers }, ...GET, 429: limited } })).toEqual([
      'break header answer 200, header X-Quota: it is required | it is missing',
      'break header answer 429, header X-Reset: it is required | it is missing',
      'warning header answer 200, header X-Region: it may be present | no answer has it',
    ])
    const retryAfter = (schema: object) =>
      found({
        responses: {
          200: { description: '' },
          ...GET,
          429: { description: '', headers: { 'retry-after': { schema } } },
        },
      })
    expect(await retryAfter({ type: 'integer', minimum: 1 })).toEqual([])
    expect(await retryAfter({ type: 'integer', minimum: 1000 })).toEqual([
      'break header answer 429, header retry-after: minimum 1000 | 1',
    ])
    expect(await retryAfter({ type: 'string', format: 'date-time' })).toEqual([
      'break header answer 429, header retry-after: format "date-time" | "1"',
    ])
  })
})

test('a field that only one of two alternatives has is present when the simulator has both', async () => {
  const pricing = {
    anyOf: [
      {
        type: 'object',
        required: ['cents_per_million_input_tokens'],
        properties: { cents_per_million_input_tokens: {} },
      },
      { type: 'object', required: ['cents_per_minute'], properties: { cents_per_minute: { type: 'number' } } },
    ],
  }
  const option = { type: 'object', properties: { id: {}, name: {}, type: {}, pricing } }
  const schema = { type: 'object', properties: { hardware: { type: 'array', items: option } } }
  const parameters = [{ name: 'model', in: 'query', required: true, schema: { type: 'string' } }]
  const { findings } = await conform(small('/v2/hardware', { parameters, ...answering(schema) }))
  expect(findings.map(({ place, severity }) => `${severity} ${place}`)).toEqual([
    'note answer 200, hardware[].pricing.cents_per_million_output_tokens',
  ])
})

test('another kind of content is a note if the document has only JSON with an empty schema', async () => {
  const find = async (schema: object) => {
    const { findings } = await conform(small('/v1/files/{id}/content', answering(schema)))
    return findings.map(({ severity, kind, says, ours }) => [severity, kind, says, ours])
  }
  const difference = ['media', 'the content is application/json', 'binary/octet-stream']
  expect(await find({})).toEqual([['note', ...difference]])
  expect(await find({ type: 'string' })).toEqual([['break', ...difference]])
})

describe('streams of events', () => {
  const ASKED = {
    ...{ type: 'object', required: ['model', 'messages'] },
    properties: { model: { type: 'string' }, messages: { type: 'array' } },
  }
  const streaming = (media: object, openapi = '3.2.0') => ({
    ...{ openapi, info: { title: 'streaming', version: '1' } },
    paths: {
      '/v1/chat/completions': {
        post: {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: ASKED } },
          },
          responses: {
            200: { description: '', content: { 'application/json': {}, 'text/event-stream': media } },
            ...{ '4XX': { description: '' }, '5XX': { description: '' } },
          },
        },
      },
    },
  })
  const findingsOf = async (media: object) =>
    (await conform(streaming(media))).findings
      .filter(({ severity, kind }) => severity === 'break' && kind !== 'field')
      .map(({ kind, place, says, ours, pointer }) => [kind, place, says, ours, pointer.split('/').slice(-3).join('/')])
  const chunk = (created: object) => ({ type: 'object', additionalProperties: true, properties: { created } })
  const whole = ['type', 'answer 200, each event, created', 'string', '1767225600', 'properties/created/type']

  test('are checked by the schema of one event, of a list of events, or by itemSchema of OpenAPI 3.2', async () => {
    const [right, wrong] = [chunk({ type: 'integer' }), chunk({ type: 'string' })]
    const event = (contentSchema: object) => ({
      ...{ type: 'object', required: ['data'], additionalProperties: false },
      properties: { data: { type: 'string', contentMediaType: 'application/json', contentSchema } },
    })
    const forms = (schema: object) => [
      { schema },
      { schema: { type: 'array', items: schema } },
      { itemSchema: schema },
      { itemSchema: event(schema) },
      { itemSchema: { oneOf: [{ ...event({}), required: ['event'], properties: { event: {} } }, event(schema)] } },
    ]
    for (const media of forms(right)) expect([media, await findingsOf(media)]).toEqual([media, []])
    for (const media of forms(wrong)) expect([media, await findingsOf(media)]).toEqual([media, [whole]])
    const named = { ...event(right), required: ['data', 'event'] }
    expect((await conform(streaming({ itemSchema: named }))).findings).toMatchObject([
      { severity: 'break', kind: 'field', place: 'answer 200, each event, event', says: 'it is required' },
    ])
  })

  test('a schema of the text as a whole declares nothing of its events', async () => {
    expect(await findingsOf({ schema: { type: 'string' } })).toEqual([])
  })

  test('are parsed with fields, comments, several lines of data and any line ends', () => {
    const text =
      ': hello\r\n\r\nevent: a\r\nid: 7\r\nretry: 10\r\ndata: {"x":\r\ndata:1}\r\n\r\nid: 8\n\ndata\n\ndata: [DONE]\n\n'
    expect(parseEvents(text)).toEqual([
      { event: 'a', id: '7', retry: 10, data: '{"x":\n1}' },
      { data: '' },
      { data: '[DONE]' },
    ])
  })
})

describe('documents of 3.0', () => {
  const voice = (more: object) =>
    answering({
      type: 'object',
      properties: {
        voices: { type: 'array', items: { type: 'object', additionalProperties: true, properties: more } },
      },
    })

  test('flags for null and for exclusive bounds are understood', async () => {
    const wanted = voice({
      name: { type: 'string', nullable: true },
      created_at: { type: 'integer', minimum: 0, exclusiveMinimum: true },
    })
    expect((await conform(small('/v1/voices', wanted))).findings).toEqual([])
    const late = voice({ created_at: { type: 'integer', minimum: 9e9, exclusiveMinimum: true } })
    expect((await conform(small('/v1/voices', late))).findings).toMatchObject([
      {
        severity: 'break',
        kind: 'value',
        place: 'answer 200, voices[].created_at',
        says: 'exclusiveMinimum 9000000000',
      },
    ])
  })

  test('paths below the URL of the server, alternatives and recursive schemas are understood', async () => {
    const servers = [
      { url: 'https://{host}/{version}/', variables: { host: { default: 'a' }, version: { default: 'v1' } } },
    ]
    const schema = { oneOf: [{ type: 'string' }, { $ref: '#/components/schemas/Loop' }] }
    const components = {
      schemas: {
        Loop: {
          type: 'object',
          additionalProperties: true,
          properties: { next: { $ref: '#/components/schemas/Loop' } },
        },
      },
    }
    expect(
      (await conform(small('/voices', answering(schema), { servers, components }))).findings.filter(
        ({ severity }) => severity === 'break',
      ),
    ).toEqual([])
    const none = { oneOf: [{ type: 'string' }, { type: 'array' }] }
    expect((await conform(small('/voices', answering(none), { servers }))).findings).toMatchObject([
      { severity: 'break', kind: 'type', place: 'answer 200, the body', says: 'one of several schemas' },
    ])
  })
})

describe('the effort for a hostile document', () => {
  /** Returns a schema whose parts are two references to a schema of the same kind, to a depth. */
  const nested = (keyword: string, depth: number) => {
    const schemas: Record<string, object> = {
      A0: { type: 'object', properties: { voices: { type: 'string' }, data: {} } },
    }
    for (let level = 1; level <= depth; level++) {
      const $ref = `#/components/schemas/A${level - 1}`
      schemas[`A${level}`] = { [keyword]: [{ $ref }, { $ref }, { $ref }] }
    }
    const document = new OpenapiDocument(small('/v1/voices', {}, { components: { schemas } }))
    const pointer = `#/components/schemas/A${depth}`
    return { document, schema: document.follow({ value: { $ref: pointer }, pointer: '#' }) }
  }
  const check = ({ document, schema }: ReturnType<typeof nested>, body: unknown) =>
    new BodyValidator(document).findDifferences(schema, body)

  test('ends when a pattern goes back without end', () => {
    const schemas = { A: { type: 'string', pattern: '^(a+)+$' } }
    const document = new OpenapiDocument(small('/v1/voices', {}, { components: { schemas } }))
    const schema = { value: schemas.A, pointer: '#/components/schemas/A' }
    expect(() => check({ document, schema }, `${'a'.repeat(60)}!`)).toThrow(
      '#/components/schemas/A: its check takes more than 2 s. Simplify its patterns and its nested parts.',
    )
    expect(check({ document, schema }, 'aa')).toEqual([])
  })

  test('ends when parts have parts without end', () => {
    for (const keyword of ['allOf', 'anyOf', 'oneOf'])
      expect(() => check(nested(keyword, 40), {})).toThrow('more than 2 s')
  })

  test('does not grow with the number of paths to a part', () => {
    const differences = check(nested('allOf', 9), { voices: [] })
    expect(differences).toMatchObject([{ place: 'voices', says: 'string', ours: '[]' }])
    expect(membersOf(viewOf(nested('oneOf', 40)))).toHaveLength(1)
    for (const keyword of ['allOf', 'anyOf']) expect(isAny(viewOf(nested(keyword, 40)))).toBe(true)
    expect(viewOf(nested('allOf', 12)).fields.size).toBe(2)
    const { document, schema: itemSchema } = nested('anyOf', 40)
    expect(eventForms(document, { value: { itemSchema: itemSchema.value }, pointer: '#' }, itemSchema)).toHaveLength(1)
  })
})

test('servers of an operation count before those of its path, and those before the ones of the document', async () => {
  const servers = (path: string) => ({ servers: [{ url: `https://api.test${path}` }] })
  const served = async (ofItem: object, ofOperation: object) => {
    const document = small('/voices', { ...answering({}), ...ofOperation }, servers('/v9'))
    Object.assign(document.paths['/voices']!, ofItem)
    return (await conform(document)).served
  }
  expect(await served({}, {})).toBe(0)
  expect(await served(servers('/v1'), {})).toBe(1)
  expect(await served(servers('/v2'), servers('/v1/'))).toBe(1)
  expect(await served(servers('/v1'), servers('/v2'))).toBe(0)
  const several = { servers: ['/', '/v9', '/v1'].flatMap(path => servers(path).servers) }
  expect(await served(several, {})).toBe(1)
  expect(await served(several, servers('/v9'))).toBe(0)
})

describe('the command', () => {
  test('prints control characters of the document escaped', async () => {
    const info = { title: 'red \u001b[31m', version: '\u009b1' }
    const document = { ...small('/v1/\u001b[2Jx', { responses: {} }), info }
    const openapi = written('controls.json', JSON.stringify(document))
    expect((await run({ openapi })).said).toContain(String.raw`red \u001b[31m \u009b1: 0 of 1`)
    for (const json of [true, false]) expect((await run({ openapi, json })).said).not.toMatch(/(?!\n)\p{Cc}/u)
  })

  test('prints breaks first, with their place in the document, and exits with 1', async () => {
    const profile = written('names.json', JSON.stringify(names))
    const { code, said } = await run({ openapi: PROVIDER, names: profile })
    expect(code).toBe(1)
    expect(said).toContain(`break    GET /v1/voices: answer 200, voices[].created_at (type)
         the document: string
         the simulator: 1755129600
         at #/components/schemas/Voice/properties/created_at/type
`)
    expect(said).toMatch(
      /Cloud of another 7: 12 of 14 operations served, checked with \d+ requests: 16 breaks, 6 warnings, 3 notes\n/,
    )
    expect(said.indexOf('break  ')).toBeLessThan(said.indexOf('warning  '))
  })

  test('prints JSON, and exits with 0 when there is no break', async () => {
    const openapi = written(
      'quiet.json',
      JSON.stringify(small('/v1/voices', { responses: { 200: { description: '' } } })),
    )
    const { code, said } = await run({ openapi, json: true })
    expect(code).toBe(0)
    const { findings, operations, served, answers } = JSON.parse(said)
    expect([operations, served, answers]).toEqual([1, 1, { 'GET /v1/voices': [200, 401, 403] }])
    expect(findings).toMatchObject([{ severity: 'warning', kind: 'status', operation: 'GET /v1/voices' }])
  })

  const bad: Record<string, [content: string | undefined, message: RegExp]> = {
    'no file': [undefined, /Failed to read --openapi '.*': the file is missing/],
    'broken JSON': ['{"openapi": "3.1.0",,}', /line 1, column 21: expected a field name/],
    'broken YAML': ['openapi: [', /Fix the YAML there/],
    'a text': ['hello', /not an OpenAPI document/],
    'an older version': [
      'swagger: "2.0"\npaths: {}',
      /version 2\.0 is unsupported\. Give an OpenAPI document of 3\.0, 3\.1 or 3\.2/,
    ],
    'no version': ['{}', /the field 'openapi' is missing/],
    'no operations': ['openapi: 3.1.0\npaths: {}', /it has no operations/],
    'a reference to nothing': [
      JSON.stringify(small('/v1/voices', { responses: { 200: { $ref: '#/components/responses/None' } } })),
      /#\/paths\/~1v1~1voices\/get\/responses\/200\/\$ref: unknown reference '#\/components\/responses\/None'/,
    ],
    'a reference to another file': [
      JSON.stringify(small('/v1/voices', { responses: { 200: { $ref: 'other.yaml' } } })),
      /unknown reference 'other\.yaml'\. Bundle the document/,
    ],
    'references in a circle': [
      JSON.stringify({
        ...small('/v1/voices', answering({ $ref: '#/components/schemas/A' })),
        components: { schemas: { A: { $ref: '#/components/schemas/B' }, B: { $ref: '#/components/schemas/A' } } },
      }),
      /application~1json\/schema: its references lead in a circle\. Give one of them a schema\./,
    ],
    'references in a circle within a schema': [
      JSON.stringify({
        ...small(
          '/v1/voices',
          answering({ type: 'object', properties: { voices: { items: { not: { $ref: '#/x-a' } } } } }),
        ),
        ...{ 'x-a': { $ref: '#/x-b' }, 'x-b': { $ref: '#/x-a' } },
      }),
      /application~1json\/schema: it applies itself to the same value for ever\. Remove that reference\./,
    ],
    'a parameter without a name': [
      JSON.stringify(small('/v1/voices', { ...answering({}), parameters: [{ in: 'query', schema: {} }] })),
      /#\/paths\/~1v1~1voices\/get\/parameters\/0: the parameter has no name\. Give it a 'name'\./,
    ],
    'a schema that is a part of itself': [
      JSON.stringify({
        ...small('/v1/voices', answering({ $ref: '#/components/schemas/A' })),
        components: { schemas: { A: { allOf: [{ $ref: '#/components/schemas/A' }] } } },
      }),
      /#\/components\/schemas\/A: it applies itself to the same value for ever\. Remove that reference\./,
    ],
    'a repeated key of JSON': [
      '{"openapi": "3.1.0", "openapi": "3.1.0"}',
      /line 1, column 22: the key "openapi" is there twice\. Fix the JSON there\./,
    ],
    'a repeated key of YAML': [
      'openapi: 3.1.0\nopenapi: 3.1.0',
      /must be unique at line 2, column 1\. Fix the YAML there\./,
    ],
    'a second document': [
      'openapi: 3.1.0\n---\nopenapi: 3.1.0',
      /line 2, column 1: a second document begins here\. Put it into its own file\./,
    ],
    'a document that is nested too deep': [
      JSON.stringify(small('/v1/voices', answering({}))).replace(
        '"schema":{}',
        `"schema":${'{"not":'.repeat(20_000)}{}${'}'.repeat(20_000)}`,
      ),
      /too-deep\.yaml': it is nested too deep\. Take levels out of its schemas\./,
    ],
    'an invalid id': [
      JSON.stringify(small('/v1/voices', answering({ $id: 'http://[' }))),
      /invalid-id\.yaml': its references cannot be used \(URI .+\)\. Fix its \$id and \$anchor\./,
    ],
    'an invalid schema': [
      JSON.stringify(small('/v1/voices', answering({ type: 'object', properties: { voices: { type: 'list' } } }))),
      /invalid schema \(.*type.*\)\. Fix it there/,
    ],
  }

  test('is refused when --openapi is missing', async () => {
    await expect(handler({})).rejects.toThrow('Failed to compare: --openapi is missing. Give a file or a URL')
  })

  test('reads a document from a URL and refuses any other content', async () => {
    const document = JSON.stringify(small('/v1/voices', { responses: { 200: { description: '' } } }))
    const server = createServer(({ url }, answer) => {
      answer.statusCode = url === '/none' ? 404 : 200
      answer.end(url === '/page' ? '<html></html>' : document)
    })
    await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
    onTestFinished(() => void server.close())
    const home = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect((await run({ openapi: `${home}/openapi.json` })).said).toContain('small 1: 1 of 1 operations served')
    const said = async (openapi: string) => (await handler({ openapi }).catch(error => error)).message
    expect(await said(`${home}/none`)).toBe(
      `Failed to read --openapi '${home}/none': the server answered 404. Download the document and give its file.`,
    )
    expect(await said(`${home}/page`)).toMatch(/\/page': not an OpenAPI document: it is not an object/)
    expect(await said('http://127.0.0.1:1/openapi.json')).toMatch(/no server answers \(.+\)\. Download the document/)
    expect(await said('https://')).toMatch(/invalid URL/)
    expect(await said(home.replace('//', '//user:hush@'))).toBe(
      `Failed to read --openapi '${home.replace('//', '//(hidden)@')}': it has a user name or a password, which is not ` +
        'sent. Download the document and give its file.',
    )
  })

  test.each(Object.entries(bad))('%s is refused', async (name, [content, message]) => {
    const openapi = content === undefined ? '.tmp/none.yaml' : written(`${name.replaceAll(' ', '-')}.yaml`, content)
    const failed = await handler({ openapi }).catch(error => error)
    expect(failed.name).toBe('UsageError')
    expect(failed.message).toMatch(message)
  })
})
