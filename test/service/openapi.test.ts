import { describe, expect, test } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { createApi } from '../../src/service/http/service.ts'
import { operations } from '../../src/service/index.ts'
import { createOpenapiDocument } from '../../src/service/openapi/openapi.ts'
import { World } from '../../src/simulation/world.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document to look into
const document = createOpenapiDocument(operations) as any
const at = (method: string, path: string) => document.paths[path][method]

test('429 and 503 declare the header Retry-After', () => {
  type Answers = Record<string, { headers?: object }>
  const all = Object.values(document.paths as Record<string, Record<string, { responses: Answers }>>).flatMap(path =>
    Object.values(path).flatMap(({ responses }) => Object.entries(responses)),
  )
  const isTold = ([, { headers }]: [string, Answers[string]]) => headers !== undefined
  expect(new Set(all.filter(isTold).map(([status]) => status))).toEqual(new Set(['429', '503']))
  expect(all.filter(one => !isTold(one)).map(([status]) => status)).not.toContain('503')
  expect(at('post', '/v1/batches').responses[429].headers).toEqual({
    'Retry-After': { description: expect.any(String), schema: { type: 'integer', minimum: 0 } },
  })
})

test('every operation is in the document under its export name', () => {
  const described = Object.values(document.paths).flatMap(path =>
    Object.values(path as Record<string, { operationId: string; 'x-mirror-of'?: string }>),
  )
  const mirrors = described.filter(one => one['x-mirror-of'] !== undefined)
  const own = described.filter(one => one['x-mirror-of'] === undefined)
  const mirrored = Object.entries(operations).filter(([, { mirror }]) => mirror !== undefined)
  expect(own.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(operations).sort())
  expect(mirrors.map(one => one['x-mirror-of']).sort()).toEqual(mirrored.map(([name]) => name).sort())
  expect(new Set(described.map(({ operationId }) => operationId)).size).toBe(described.length)
  expect(document.openapi).toBe('3.1.0')
})

test('the document explains each of its extensions', () => {
  const extensions = new Set(JSON.stringify(document).match(/"x-[a-z-]+"(?=:)/g))
  expect([...extensions].sort()).toEqual(['"x-assumed"', '"x-mirror-of"', '"x-open"', '"x-provenance"'])
  for (const name of extensions) expect(document.info.description).toContain(JSON.parse(name))
})

describe('the schemas for client generators', () => {
  const llm = document.paths['/deploy/llm'].post.requestBody.content['application/json'].schema

  test('have bounds, defaults and enums', () => {
    expect(llm.properties.num_gpus).toEqual({ type: 'integer', minimum: 1, maximum: 8, default: 1 })
    expect(llm.properties.max_batch_size).toEqual({ type: 'integer', minimum: 1, maximum: 256, default: 96 })
    expect(llm.properties.gpu.enum).toHaveLength(9)
    expect(llm.required).toEqual(['model_name', 'gpu'])
  })

  test('have null for nullable fields', () => {
    expect(llm.properties.base_model).toEqual({ type: ['string', 'null'] })
    const { metadata } = document.components.schemas.Batch.properties
    expect(JSON.stringify(metadata)).toContain('null')
  })

  test('have lengths in code points', () => {
    const { schema } = at('patch', '/v1/hosted/{instance_id}').requestBody.content['application/json']
    expect(schema.properties.name).toMatchObject({ type: 'string', minLength: 1, maxLength: 64 })
  })

  test('have parameters', () => {
    expect(at('get', '/payment/usage/rent').parameters).toEqual([
      { name: 'from', in: 'query', required: true, schema: { type: 'integer' } },
      { name: 'to', in: 'query', required: false, schema: { type: 'integer' } },
    ])
    const [model, variant, version, key] = at('get', '/models/{model_name}/schema/{variantKey}').parameters
    expect([model.in, variant.in, version.in, key.in]).toEqual(['path', 'path', 'query', 'header'])
    expect(variant.schema.enum).toHaveLength(16)
    expect(key.name).toBe('alt-api-key')
  })

  test('have both content types', () => {
    const form = at('post', '/v1/files').requestBody.content['multipart/form-data'].schema
    expect(form.properties.purpose).toEqual({ type: 'string', enum: ['batch'] })
    expect(form.required).toEqual(['purpose', 'file'])
    expect(at('get', '/v1/files/{file_id}/content').responses[200].content).toHaveProperty('binary/octet-stream')
  })

  test('have refusals with the error schema of the endpoint', () => {
    const shape = (
      operation: { responses: Record<number, { content: Record<string, { schema: { $ref: string } }> }> },
      status: number,
    ) => operation.responses[status]?.content['application/json']?.schema.$ref.split('/').at(-1)
    expect(shape(at('post', '/deploy/llm'), 402)).toBe('SimpleError')
    expect(shape(at('post', '/v1/batches'), 404)).toBe('WrappedError')
    expect(shape(at('post', '/payment/funds'), 422)).toBe('ValidationError')
    expect(shape(at('get', '/aggregator/models'), 401)).toBeUndefined()
  })

  test('have provenance, assumptions and security', () => {
    expect(at('get', '/deploy/{deploy_id}')['x-provenance']).toBe('neighbour')
    expect(at('post', '/deploy/{deploy_id}/start')['x-assumed']).toContain('404: unknown deployment')
    expect(at('get', '/aggregator/models').security).toEqual([])
    expect(at('get', '/v1/voices').security).toEqual([{ bearer: [] }, { 'alt-api-key': [] }, { 'second-api-key': [] }])
  })

  test('pass linters: servers, licence, a refusal for each operation, no unused schema', () => {
    expect(document.servers).toEqual([{ url: '/' }])
    expect(document.info.license).toEqual({ name: 'MIT', identifier: 'MIT' })
    for (const [path, methods] of Object.entries<Record<string, { responses: object }>>(document.paths)) {
      for (const [method, { responses }] of Object.entries(methods))
        expect([path, method, Object.keys(responses).some(status => /^4/.test(status))]).toEqual([path, method, true])
    }
    const text = JSON.stringify(document)
    const unused = Object.keys(document.components.schemas).filter(
      name => !text.includes(`#/components/schemas/${name}"`),
    )
    expect(unused).toEqual([])
  })

  test('declare 415 only for operations with a body', () => {
    const { 415: media } = at('post', '/deploy/llm').responses
    expect(media.description).toContain('send application/json')
    expect(media.content['application/json'].schema.$ref).toMatch(/DetailError$/)
    expect(at('post', '/v1/files').responses).toHaveProperty('415')
    expect(at('get', '/deploy/list').responses).not.toHaveProperty('415')
  })

  test('have only valid references', () => {
    const references = new Set(JSON.stringify(document).match(/#\/components\/schemas\/\w+/g))
    for (const reference of references)
      expect(document.components.schemas, reference).toHaveProperty(reference.split('/').at(-1)!)
    expect(JSON.stringify(document)).not.toContain('$defs')
  })
})

test('/openapi.json needs no token; documentedOnly reduces it to the interface document', async () => {
  const world = new World({ fixture: loadFixture('empty') })
  const get = async (options = {}) =>
    (await createApi(options).answer(world, new Request('http://sim/openapi.json'))).json()
  const response = await createApi().answer(world, new Request('http://sim/openapi.json'))
  expect(response.headers.get('date')).toBe('Thu, 01 Jan 2026 00:00:00 GMT')
  expect(Object.keys((await get()).paths)).toContain('/deploy/{deploy_id}')
  expect(Object.keys((await get({ neighbours: false })).paths)).not.toContain('/deploy/{deploy_id}')
})

test('paths of neighbours are unknown with documentedOnly', async () => {
  const world = new World({ fixture: loadFixture('empty') })
  const ask = async (method: string, path: string) =>
    (await createApi({ neighbours: false }).answer(world, new Request(`http://sim${path}`, { method }))).status
  expect(await ask('GET', '/deploy/x')).toBe(404)
  expect(await ask('GET', '/v1/batches/x')).toBe(404)
  expect(await ask('GET', '/deploy/list')).toBe(401)
})

test('each status has its provenance, and 403 for an address has the same schema everywhere', () => {
  const { responses } = at('post', '/v1/batches')
  expect(responses[200]['x-provenance']).toBe('documented')
  expect(at('get', '/v1/batches/{batch_id}').responses[200]['x-provenance']).toBe('neighbour')
  expect(responses[404]['x-provenance']).toBe('assumed')
  expect(responses[403].content['application/json'].schema.$ref).toBe('#/components/schemas/SimpleError')
  expect(responses[404].content['application/json'].schema.$ref).toBe('#/components/schemas/WrappedError')
})
