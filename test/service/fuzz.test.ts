/**
 * Random input for each endpoint: paths, queries, headers, bodies and uploads generated from the declaration.
 *
 * Asserts that no answer is 5xx, that a refusal changes nothing, and that a success has the declared schema. The default is
 * 50 runs for each endpoint, and 500 in `.ci/run`. More runs: `FUZZ_RUNS=2000 npm test`. Other input: `FUZZ_SEED=8 npm test`.
 */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { type AnyEndpoint, routeParamNames } from '../../src/service/endpoint.ts'
import { operations } from '../../src/service/index.ts'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'

const RUNS = Number(process.env.FUZZ_RUNS ?? 50)
const SEED = Number(process.env.FUZZ_SEED ?? 7)

const CONTAINER = {
  container_id: 'container_1',
  name: 'trial',
  gpu_config: '1xL4-24GB',
  container_image: 'registry.example/cuda-dev:12.8',
  created_at: 1_767_000_000,
}
const sim = createSimulator({
  maxStorageBytes: 4_000_000,
  with: { containers: [CONTAINER] },
  onBug(error) {
    throw error
  },
})

/** A whole request. Its path is raw, or parsed by URL, as transports pass it. */
interface Sent {
  target: string
  raw: boolean
  headers: [string, string][]
  body: string | Uint8Array<ArrayBuffer> | undefined
}

beforeAll(async () => {
  await loadTokenizer()
})

describe.each(Object.entries<AnyEndpoint>(operations))('%s', (operation, endpoint) => {
  test(`answers ${RUNS} random requests as declared`, { timeout: 30_000 + 20 * RUNS }, async () => {
    sim.reset()
    const pristine = state()
    const statuses = new Map<number, number>()
    let lastJson = ''
    const property = fc.asyncProperty(requests(endpoint), async sent => {
      const { status, text, led } = await answerTo(endpoint.method, sent)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      // 503 is valid for a model that does not run yet. Any other 5xx is a bug.
      if (status >= 500 && status !== 503) expect.fail(`${status}: ${text}`)
      if (status >= 400) {
        // A matcher is slow, so it runs only for the message of a failure.
        if (!isDeepStrictEqual(state(), pristine)) {
          expect(state(), 'a refused request changes nothing').toEqual(pristine)
        }
        const usual = led === undefined ? [404, 405] : [400, 401, 403, 413, 415, 422]
        const declared = led === undefined ? {} : operations[led as keyof typeof operations].refusals
        if (!usual.includes(status) && !(status in declared)) expect.fail(`a refusal is declared, and ${status} is not`)
        if (typeof JSON.parse(text) !== 'object') expect.fail(`a refusal is an object, and this is ${text}`)
        return
      }
      if (status !== 200) expect(status).toBe(200)
      if (endpoint.streamEvent !== undefined && text.startsWith('data: ')) {
        if (!text.endsWith('data: [DONE]\n\n'))
          expect.fail(`a stream ends with [DONE], and this with ${text.slice(-80)}`)
      } else if (led === operation && endpoint.produces === 'application/json' && text !== lastJson) {
        endpoint.returns.parse(JSON.parse(text))
        lastJson = text
      }
      if (sim.digest !== pristine.digest) sim.reset()
    })
    // A request without an answer must fail the test.
    await fc.assert(property, { numRuns: RUNS, seed: SEED, timeout: 2_000 } as fc.Parameters<[Sent]>)
    if (process.env.FUZZ_SHOW) process.stdout.write(`${operation} ${JSON.stringify(Object.fromEntries(statuses))}\n`)
    if (RUNS >= 500) expect([...statuses.keys()], 'what is random enough gets through as well').toContain(200)
    expect(statuses.size).toBeGreaterThan(1)
  })
})

function state() {
  return { digest: sim.digest, balance: sim.ledger.balance, planned: sim.world.agenda.size }
}

async function answerTo(method: string, { target, raw, headers, body }: Sent) {
  const init = { method, headers, ...(body !== undefined && { body }) }
  const request = new Request(raw ? 'http://sim/' : `http://sim${target}`, init)
  const path = raw ? target : request.url.slice('http://sim'.length).split('#', 1)[0]!
  const response = await sim.answer(request, { path })
  const led = sim.api.findOperationId(method, path.split('?', 1)[0]!)
  return { status: response.status, text: await response.text(), led }
}

function requests(endpoint: AnyEndpoint): fc.Arbitrary<Sent> {
  const method = endpoint.method
  const { upload } = endpoint
  const content =
    endpoint.consumes === 'form'
      ? forms(Object.keys((endpoint.body as z.ZodObject).shape))
      : upload === undefined
        ? fc.tuple(jsonContentType, method === 'GET' ? fc.constant(undefined) : bodies(endpoint.body))
        : uploads(Object.keys(upload.fields ?? {}), upload.part)
  return fc
    .tuple(paths(endpoint.path), queries(endpoint.query), fc.boolean(), caller, encoding, content)
    .map(([path, query, raw, from, encoded, [contentType, body]]) => ({
      target: path + query,
      raw,
      headers: [...from, ...encoded, ...contentType],
      body,
    }))
}

// Known values of the world, by field name.

const known = new Map<string, string[]>([['ALL', Array(40).fill('ALL')]])
collect(JSON.parse(JSON.stringify({ ...loadFixture('default'), schemas: [] })), '')
collect(CONTAINER, '')

// Only models of the account can be deleted.
known.set('model_name', [...known.get('model_name')!, ...deployed()])

known.set('lora_name', adapterNames())

function adapterNames(): string[] {
  const adapters = loadFixture('default').deployments.filter(({ type }) => type === 'lora')
  return adapters.flatMap(({ model_name }) => [model_name, model_name.slice(model_name.indexOf('/') + 1)])
}

function deployed(): string[] {
  return loadFixture('default').deployments.flatMap(({ model_name }) => Array(6).fill(model_name) as string[])
}

function collect(value: unknown, name: string): void {
  if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) collect(inner, Array.isArray(value) ? name : key)
  } else if (typeof value === 'string' && value.length < 60) {
    const values = known.get(name) ?? []
    if (!values.includes(value)) known.set(name, [...values, value])
  }
}

const SAME_AS: Readonly<Record<string, readonly string[]>> = {
  batch_id: ['id'],
  file_id: ['id'],
  input_file_id: ['id'],
  model: ['model_name'],
  base_model: ['model_name', 'repo'],
  gpu_type: ['gpu'],
  variantKey: ['variant'],
  version: ['versions', 'version', 'ALL'],
}

function knownAs(name: string): fc.Arbitrary<string> {
  const values = (SAME_AS[name] ?? [name]).flatMap(one => known.get(one) ?? [])
  return fc.constantFrom(...(values.length > 0 ? values : ['default', 'some/text']))
}

const NASTY = [
  '',
  ' ',
  '.',
  '..',
  '/',
  '//',
  '%',
  '%2F',
  '%2f..%2f',
  '%zz',
  '%00',
  '%ff',
  '%F0%9F%A6%99',
  '\u0000',
  'ü🦙',
  '__proto__',
  'constructor',
  'null',
  'undefined',
  'NaN',
  '-1',
  '1e9',
  '9007199254740993',
  '1,2',
  ',',
  'x'.repeat(4_000),
]
const nasty = fc.oneof(fc.constantFrom(...NASTY), fc.string({ maxLength: 12, unit: 'binary' }))

// Paths and queries.

function paths(path: string): fc.Arbitrary<string> {
  const pieces = path.split(/\{([^}]+)\}/)
  const names = routeParamNames(path)
  const segment = (name: string) =>
    fc.oneof(
      { weight: 5, arbitrary: knownAs(name) },
      { weight: 2, arbitrary: knownAs(name).map(encodeURIComponent) },
      { weight: 3, arbitrary: nasty },
      { weight: 1, arbitrary: fc.tuple(knownAs(name), nasty).map(both => both.join('')) },
    )
  const ending = fc.oneof(
    { weight: 12, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.constantFrom('/', '//', '/x', '%', '%20', ';a=b', '/..') },
  )
  return fc.tuple(fc.tuple(...names.map(segment)), ending).map(([values, end]) => {
    // A question mark or a hash would end the path.
    const clean = values.map(value => value.replaceAll(/[?#]/g, ''))
    return pieces.map((piece, i) => (i % 2 === 0 ? piece : clean[(i - 1) / 2])).join('') + end
  })
}

function queries(fields: Readonly<Record<string, z.ZodType>>): fc.Arbitrary<string> {
  const value = (name: string) =>
    fc.oneof(
      { weight: 6, arbitrary: knownAs(name) },
      { weight: 4, arbitrary: fc.integer({ min: -1, max: 1_800_000_000 }).map(String) },
      { weight: 2, arbitrary: nasty },
      { weight: 1, arbitrary: fc.constantFrom('running,stopped', 'running, deleted,', '1.5', '1e400', '-0', '+5') },
    )
  const named = [...Object.keys(fields), 'from'].map(name => fc.tuple(fc.constant(name), value(name), fc.boolean()))
  const pair = fc
    .oneof(
      { weight: 10, arbitrary: fc.oneof(...named) },
      { weight: 1, arbitrary: fc.tuple(nasty, nasty, fc.boolean()) },
    )
    .map(([left, right, isEscaped]) =>
      isEscaped ? new URLSearchParams([[left, right]]).toString() : `${left}=${right}`,
    )
  const empty = Object.keys(fields).length === 0 ? 12 : 3
  return fc.oneof(
    { weight: empty, arbitrary: fc.constant('') },
    { weight: 6, arbitrary: fc.array(pair, { minLength: 1, maxLength: 4 }).map(pairs => `?${pairs.join('&')}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('?', '??', '?&&&', '?=', '?=1', '?%', '?a=%ff&%=', '?from', '?status[]=x'),
    },
  )
}

// Headers.

const headerText = fc.string({ maxLength: 20 }).map(text => text.replaceAll(/[^\x20-\x7e]/g, ''))
const good = `Bearer ${sim.token}`
const caller = fc.oneof(
  { weight: 30, arbitrary: fc.constant<[string, string][]>([['authorization', good]]) },
  { weight: 3, arbitrary: fc.constant<[string, string][]>([['alt-api-key', sim.token]]) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.constantFrom('authorization', 'alt-api-key'),
        fc.oneof(
          fc.constantFrom('', 'null', 'Bearer', 'Bearer ', 'bearer x', `${good} ${good}`, `Basic ${sim.token}`, '\xff'),
          ...(known.get('token') ?? []).map(token => fc.constant(`Bearer ${token}`)),
          headerText,
        ),
      )
      .map(pair => [pair] as [string, string][]),
  },
  { weight: 1, arbitrary: fc.constant<[string, string][]>([]) },
)
const encoding = fc.oneof(
  { weight: 24, arbitrary: fc.constant<[string, string][]>([]) },
  {
    weight: 1,
    arbitrary: fc
      .oneof(fc.constantFrom('identity', 'gzip', 'br', '', 'IDENTITY', 'gzip, identity'), headerText)
      .map(value => [['content-encoding', value]] as [string, string][]),
  },
)
const jsonContentType = fc.oneof(
  { weight: 12, arbitrary: fc.constant<[string, string][]>([['content-type', 'application/json']]) },
  { weight: 2, arbitrary: fc.constant<[string, string][]>([]) },
  {
    weight: 1,
    arbitrary: fc
      .oneof(
        fc.constantFrom(
          'text/plain',
          'multipart/form-data',
          'application/x-www-form-urlencoded',
          ';',
          'application/json; charset=x',
        ),
        headerText,
      )
      .map(value => [['content-type', value]] as [string, string][]),
  },
)

// Bodies as text, because JSON.stringify cannot write every invalid input.

type Json = {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  oneOf?: Json[]
  minItems?: number
  properties?: Record<string, Json>
  required?: string[]
  additionalProperties?: Json | boolean
  propertyNames?: Json
  items?: Json
  anyOf?: Json[]
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  maxProperties?: number
}

/** Deep enough to overflow the stack of a recursive parser. */
const DEEP = 20_000
const json = (value: unknown) => JSON.stringify(value)
const wrong = fc.oneof(
  fc.constantFrom(
    ...['null', 'true', 'false', '0', '-0', '-1', '1', '1.5', '2.0', '1e300', '1e400', '-1e400', '9007199254740993'],
    ...['""', '"x"', '"\\ud800"', '"\\u0000"', '"🦙"', '"__proto__"', '[]', '[null]', '[[]]', '{}', '{"a":{"b":[]}}'],
    ...['{"__proto__":{"x":1}}', '{"constructor":{"prototype":{"x":1}}}', '{"toString":1,"valueOf":null}'],
    `"${'x'.repeat(100_000)}"`,
    `"${'🦙'.repeat(600)}"`,
    `[${'0,'.repeat(2_000)}0]`,
  ),
  fc.jsonValue({ maxDepth: 2 }).map(json),
)
const deep = fc.constantFrom(
  `${'['.repeat(DEEP)}${']'.repeat(DEEP)}`,
  `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`,
  `${'[{"type":"text","content":'.repeat(DEEP / 4)}1${'}]'.repeat(DEEP / 4)}`,
)

function field(schema: Json, name: string): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 60, arbitrary: valid(schema, name) },
    { weight: 8, arbitrary: atBounds(schema) },
    { weight: 4, arbitrary: wrong },
    { weight: 1, arbitrary: fc.oneof({ weight: 9, arbitrary: wrong }, { weight: 1, arbitrary: deep }) },
  )
}

function valid(schema: Json, name: string): fc.Arbitrary<string> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum.map(json))
  if (schema.const !== undefined) return fc.constant(json(schema.const))
  if (schema.oneOf !== undefined) return fc.oneof(...schema.oneOf.map(one => valid(one, name)))
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(one => valid(one, name)))
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map(type => valid({ ...schema, type }, name)))
  switch (schema.type) {
    case 'integer': {
      const min = Math.max(schema.minimum ?? (schema.exclusiveMinimum ?? -1_000) + 1, -1_000)
      return fc.integer({ min, max: Math.max(min, Math.min(schema.maximum ?? 1_000, 1_000)) }).map(String)
    }
    case 'boolean':
      return fc.boolean().map(String)
    case 'null':
      return fc.constant('null')
    case 'array':
      return fc
        .array(field(schema.items ?? {}, name), { minLength: schema.minItems ?? 0, maxLength: 3 })
        .map(items => `[${items.join(',')}]`)
    case 'object':
      return object(schema)
    case 'string': {
      const made = fc.string({ minLength: schema.minLength ?? 0, maxLength: Math.min(schema.maxLength ?? 12, 12) })
      return fc.oneof({ weight: 4, arbitrary: knownAs(name).map(json) }, { weight: 1, arbitrary: made.map(json) })
    }
    default:
      return wrong
  }
}

/** Returns values one below, at, and one above the bound. */
function atBounds(schema: Json): fc.Arbitrary<string> {
  const bounds = [schema.minimum, schema.exclusiveMinimum, schema.maximum].filter(bound => bound !== undefined)
  const lengths = [schema.minLength, schema.maxLength].filter(bound => bound !== undefined)
  const around = (bound: number) => [bound - 1, bound, bound + 1]
  const texts = [
    ...bounds.flatMap(around).map(String),
    ...lengths.flatMap(around).flatMap(length => ['x', '🦙'].map(unit => json(unit.repeat(Math.max(0, length))))),
    ...(schema.maxProperties === undefined ? [] : around(schema.maxProperties)).map(count =>
      json(Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, 'value']))),
    ),
  ]
  return texts.length > 0 ? fc.constantFrom(...texts) : wrong
}

const extraName = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'toString', '', 'extra', 'file'), nasty)
const extra = fc.tuple(extraName, wrong).map(([name, text]): [string, string] => [json(name), text])

function object(schema: Json): fc.Arbitrary<string> {
  const properties = Object.entries(schema.properties ?? {})
  // With many fields each is rarer. Otherwise a valid body would be too rare.
  const present = Math.min(10, Math.ceil(60 / properties.length))
  const fields = properties.map(([name, inner]) => {
    const given = field(inner, name).map((text): [string, string] | undefined => [json(name), text])
    const isRequired = schema.required?.includes(name) ?? false
    const absent = { weight: isRequired ? 1 : 10, arbitrary: fc.constant(undefined) }
    return fc.oneof(absent, { weight: isRequired ? 25 : present, arbitrary: given })
  })
  const values = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
  const more = values
    ? fc.array(fc.tuple(extraName.map(json), field(values, '')), { maxLength: 3 })
    : fc.oneof({ weight: 5, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(extra, { maxLength: 3 }) })
  return fc.tuple(fc.tuple(...fields), more, fc.boolean()).map(([given, others, first]) => {
    const own = given.filter(pair => pair !== undefined)
    const all = first ? [...others, ...own] : [...own, ...others]
    return `{${all.map(([name, text]) => `${name}:${text}`).join(',')}}`
  })
}

function bodies(schema: z.ZodType | undefined): fc.Arbitrary<string | Uint8Array<ArrayBuffer> | undefined> {
  const made =
    schema === undefined ? wrong : valid(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json, '')
  const bytes = fc.uint8Array({ maxLength: 24 }).map(array => new Uint8Array(array))
  return fc.oneof(
    { weight: schema === undefined ? 4 : 40, arbitrary: made },
    { weight: 2, arbitrary: wrong },
    { weight: 2, arbitrary: fc.tuple(made, fc.nat(60)).map(([text, cut]) => text.slice(0, -1 - cut)) },
    { weight: 1, arbitrary: fc.tuple(made, nasty).map(both => both.join('')) },
    { weight: 1, arbitrary: bytes },
    { weight: 1, arbitrary: fc.constantFrom('', '\ufeff{}', '[', '{"a":1,}', "{'a':1}", 'NaN', '{"a":NaN}', '{} {}') },
    { weight: schema === undefined ? 10 : 1, arbitrary: fc.constant(undefined) },
  )
}

// Forms and uploads.

/** Fields as a form, sometimes with another content type or damaged. */
function forms(fields: readonly string[]): fc.Arbitrary<[[string, string][], Sent['body']]> {
  type Content = [[string, string][], Sent['body']]
  const url: [string, string][] = [['content-type', 'application/x-www-form-urlencoded']]
  const pair = fc.tuple(fc.oneof(fc.constantFrom(...fields), nasty), fc.oneof(nasty, fc.constant('A name')))
  const encoded = fc.array(pair, { maxLength: 4 }).map(pairs => new URLSearchParams(pairs).toString())
  const broken = fc.constantFrom('%', '&&=&', '=', 'name', 'name=%zz', 'name=a&name=b', '__proto__=1', '{}')
  const body = fc.oneof({ weight: 6, arbitrary: encoded }, { weight: 1, arbitrary: broken })
  return fc.oneof(
    { weight: 8, arbitrary: fc.tuple(fc.constant(url), body) as fc.Arbitrary<Content> },
    { weight: 2, arbitrary: uploads(fields, 'files') as fc.Arbitrary<Content> },
    { weight: 1, arbitrary: fc.tuple(jsonContentType, bodies(undefined)) as fc.Arbitrary<Content> },
    { weight: 1, arbitrary: fc.constant<Content>([[], undefined]) },
  )
}

interface Part {
  head: string
  content: string
}

function uploads(fields: readonly string[], part = 'file'): fc.Arbitrary<[[string, string][], string | undefined]> {
  const disposition = (name: string, filename?: string) =>
    `Content-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}`
  const content = fc.oneof(
    fc.constantFrom('', 'batch', '{"custom_id":"a"}\n', 'ü🦙', '\r\n--', '\r\n--b\r\n', 'x'.repeat(70_000)),
    nasty,
  )
  const usual = [
    fc
      .tuple(fc.constant(disposition(part, 'in.jsonl')), content)
      .map(([head, text]): Part => ({ head, content: text })),
    ...fields.map(name => fc.constant<Part>({ head: disposition(name), content: 'batch' })),
  ]
  const name = fc.oneof(fc.constantFrom(part, ...fields, '__proto__', 'constructor'), nasty)
  const odd = fc
    .tuple(
      fc.oneof(
        fc.tuple(name, fc.option(nasty, { nil: undefined })).map(([one, filename]) => disposition(one, filename)),
        fc.constantFrom(
          ...['', 'Content-Disposition: form-data', 'Content-Disposition: attachment', 'nonsense', ': x'],
          ...['Content-Disposition: form-data; name', 'Content-Disposition: form-data; name="file', 'X: \u0000'],
          "Content-Disposition: form-data; name=file; filename*=utf-8''%ff%zz",
          `${disposition('file', 'a')}\r\nContent-Type: text/plain; charset=nope`,
          `${disposition('purpose')}\r\nContent-Type: text/plain; charset=utf-16le`,
          `${disposition('file', 'a')}\r\nContent-Transfer-Encoding: base64`,
          `${disposition('file', 'a')}\r\nX: ${'x'.repeat(90_000)}`,
        ),
      ),
      content,
    )
    .map(([head, text]): Part => ({ head, content: text }))
  const parts = fc.oneof(
    { weight: 6, arbitrary: fc.tuple(...usual) },
    { weight: 2, arbitrary: fc.tuple(...usual).map(given => [...given].reverse()) },
    { weight: 6, arbitrary: fc.array(fc.oneof(...usual, odd), { maxLength: 5 }) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(99, 100, 101)
        .chain(count => fc.array(usual[1] ?? odd, { minLength: count, maxLength: count })),
    },
  )
  const boundary = fc.oneof(
    { weight: 9, arbitrary: fc.constant('b') },
    { weight: 1, arbitrary: fc.constantFrom('', '--', 'b b', '"', 'x'.repeat(300), 'ü') },
  )
  const said = (mark: string) =>
    fc.oneof(
      { weight: 15, arbitrary: fc.constant(`multipart/form-data; boundary=${mark}`) },
      { weight: 1, arbitrary: fc.constant(`multipart/form-data; boundary="${mark}"`) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          ...['multipart/form-data', 'multipart/form-data; boundary', 'multipart/form-data;boundary=', ';'],
          ...['multipart/form-data; boundary=other', 'multipart/mixed; boundary=b', 'application/json', 'multipart/'],
          'multipart/form-data; boundary=b; boundary=c; charset=%ff',
        ),
      },
    )
  return boundary
    .chain(mark => fc.tuple(fc.constant(mark), said(mark), parts, fc.option(fc.nat(120), { freq: 5 }), fc.nat(30)))
    .map(([mark, contentType, given, whole, absent]) => {
      const text = `${given.map(({ head, content }) => `--${mark}\r\n${head}\r\n\r\n${content}\r\n`).join('')}--${mark}--\r\n`
      const header: [string, string][] = /^[\x20-\xff]*$/.test(contentType) ? [['content-type', contentType]] : []
      // fc.option gives a number in four of five cases; only small numbers truncate the body.
      const cut = whole === null || whole > 30 ? text : text.slice(0, -whole)
      return [header, absent === 0 ? undefined : cut]
    })
}
