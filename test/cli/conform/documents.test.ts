/** What documents of providers contain: each form is read as OpenAPI means it, or refused with its place. */
import { describe, expect, test } from 'vitest'
import { conform } from '../../../src/cli/conform/conform.ts'
import { parseDocumentText } from '../../../src/cli/files/data-file.ts'

const REFUSALS = { '4XX': { description: '' }, '5XX': { description: '' } }

/** Returns the differences of a document, without notes. */
async function findingsOf(document: unknown): Promise<string[]> {
  const { findings } = await conform(document)
  return findings
    .filter(({ severity }) => severity !== 'note')
    .map(({ severity, place, says, ours }) => `${severity} ${place}: ${says} | ${ours}`)
}

/** Returns a document whose list of voices is answered by a schema. */
const voices = (schema: object, more: object = {}) => {
  const content = { 'application/json': { schema } }
  const get = { responses: { 200: { description: '', content }, ...REFUSALS } }
  return { openapi: '3.1.0', info: {}, paths: { '/v1/voices': { get } }, ...more }
}

describe('a document in YAML', { tags: 'slow' }, () => {
  const text = `
openapi: 3.1.0
x-base: &base
  required: [voices, next_page]
x-refusals: &refusals { 4XX: { description: '' }, 5XX: { description: '' } }
paths:
  /v1/voices:
    get:
      responses:
        <<: *refusals
        200: { description: '', content: { application/json: { schema: { <<: *base, type: object } } } }
`

  test('is read with its merge keys', async () => {
    expect(await findingsOf(parseDocumentText(text))).toEqual([
      'break answer 200, next_page: it is required | it is missing',
    ])
  })

  test('is refused when its aliases cannot be used', () => {
    const aliases = Array.from(
      { length: 12 },
      (_, i) => `a${i}: &a${i} [${i === 0 ? '1' : `${`*a${i - 1}, `.repeat(9)}`}]`,
    )
    expect(() => parseDocumentText(aliases.join('\n'))).toThrow(
      'its aliases and merge keys cannot be used (Excessive alias count indicates a resource exhaustion attack). ' +
        'Write their contents out, or use $ref.',
    )
    expect(() => parseDocumentText('a: { <<: 5 }')).toThrow(
      /^its aliases and merge keys cannot be used \(Merge sources/,
    )
  })
})

test('a difference has its pointer in the document when the schema has references', { tags: 'slow' }, async () => {
  const schemas = {
    List: {
      type: 'object',
      required: ['none'],
      properties: { voices: { type: 'array', items: { $ref: '#/components/schemas/a~1b' } } },
    },
    'a/b': { type: 'object', additionalProperties: true, properties: { name: { maxLength: 1 }, id: false } },
  }
  const pointers = async (schema: object) => {
    const { findings } = await conform(voices(schema, { components: { schemas } }))
    return findings.filter(({ severity }) => severity === 'break').map(({ pointer }) => pointer)
  }
  const ofParts = ['#/components/schemas/List/required', '#/components/schemas/a~1b/properties/name/maxLength']
  expect(await pointers({ $ref: '#/components/schemas/List' })).toEqual(ofParts)
  const at = '#/paths/~1v1~1voices/get/responses/200/content/application~1json/schema'
  expect(await pointers({ required: ['more'], allOf: [{ $ref: '#/components/schemas/List' }] })).toEqual(
    expect.arrayContaining([`${at}/required`, ...ofParts]),
  )
})

test('a pattern is checked without the flag u, or not at all with a warning', { tags: 'slow' }, async () => {
  const name = (pattern: string) => ({
    type: 'object',
    properties: {
      voices: { items: { additionalProperties: true, properties: { name: { type: 'string', pattern } } } },
    },
  })
  for (const pattern of [String.raw`^[\w\_\-. ]+$`, '^[^<-\\d]'])
    expect(await findingsOf(voices(name(pattern)))).toEqual([])
  expect(await findingsOf(voices(name(String.raw`^[\@]+$`)))).toEqual([
    expect.stringMatching(/^break answer 200, voices\[\]\.name: pattern /),
  ])
  for (const pattern of ['(?P<n>x)', String.raw`\A[a-z]+\Z`, String.raw`^[\w-.\p{Lu}]`]) {
    const { findings } = await conform(voices({ ...name(pattern), required: ['none'] }))
    expect(findings.filter(({ severity }) => severity !== 'note')).toMatchObject([
      { severity: 'break', place: 'answer 200, none' },
      {
        ...{ severity: 'warning', place: `pattern ${pattern}`, ours: 'it is not checked: JavaScript cannot read it' },
        pointer: expect.stringMatching(/schema\/properties\/voices\/items\/properties\/name$/),
      },
    ])
  }
})

describe('a field', { tags: 'slow' }, () => {
  const schemas = { Secret: { type: 'string', writeOnly: true } }
  const secret = { $ref: '#/components/schemas/Secret' }
  const answer = async (schema: object) => findingsOf(voices(schema, { components: { schemas } }))

  test('that only a request may have is required of no answer', async () => {
    const required = ['voices', 'secret']
    const properties = { voices: { type: 'array', items: {} }, secret }
    expect(await answer({ type: 'object', required, properties })).toEqual([])
    expect(await answer({ oneOf: [{ type: 'array' }, { allOf: [{ properties }, { required }] }] })).toEqual([])
    expect(await answer({ properties: { ...properties, secret: { writeOnly: false } }, required })).toEqual([
      'break answer 200, secret: it is required | it is missing',
    ])
  })

  test('that only an answer may have is sent in no request', async () => {
    const asking = (more: object) => {
      const properties = { id: { type: 'string', readOnly: true }, name: { type: 'string', ...more } }
      const content = { 'application/json': { schema: { required: ['id'], properties } } }
      const post = { requestBody: { required: true, content }, responses: { 200: { description: '' }, ...REFUSALS } }
      return { openapi: '3.1.0', info: {}, paths: { '/v1/api-tokens': { post } } }
    }
    expect(await findingsOf(asking({}))).toEqual(['break request, name: it is optional | it is required'])
    expect(await findingsOf(asking({ readOnly: true, enum: ['a'] }))).toEqual([
      'break request, name: it is not declared | it is required',
    ])
  })
})

test('fields beside a reference count only after 3.0', { tags: 'slow' }, async () => {
  const schemas = { List: { type: 'object' } }
  const schema = { allOf: [{ $ref: '#/components/schemas/List', required: ['none'] }] }
  const found = async (openapi: string) => findingsOf(voices(schema, { openapi, components: { schemas } }))
  expect(await found('3.0.3')).toEqual([])
  expect(await found('3.1.0')).toEqual(['break answer 200, none: it is required | it is missing'])
})

test('an anchor and a dynamic reference are followed', { tags: 'slow' }, async () => {
  const schemas = { List: { $anchor: 'list', type: 'object', required: ['none'] } }
  for (const schema of [{ $ref: '#list' }, { $dynamicRef: '#/components/schemas/List' }]) {
    expect(await findingsOf(voices(schema, { components: { schemas } }))).toEqual([
      'break answer 200, none: it is required | it is missing',
    ])
  }
})

test('an additional operation of 3.2 is read', { tags: 'slow' }, async () => {
  const { get } = voices({}).paths['/v1/voices']
  const paths = { '/v1/voices': { additionalOperations: { COPY: get } } }
  const { findings } = await conform({ openapi: '3.2.0', info: {}, paths })
  expect(findings).toMatchObject([
    {
      ...{ severity: 'break', operation: 'COPY /v1/voices', says: 'COPY is served', ours: 'only GET is served' },
      pointer: '#/paths/~1v1~1voices/additionalOperations/COPY',
    },
  ])
})

/** Returns a document whose operation has a request body of content types. */
const asking = (path: string, content: object, more: object = {}) => {
  const post = { requestBody: { required: true, content }, responses: { 200: { description: '' }, ...REFUSALS } }
  return { openapi: '3.1.0', info: {}, paths: { [path]: { post } }, ...more }
}

describe('a null', { tags: 'slow' }, () => {
  const union = (name: string, schema: object) => ({
    anyOf: [
      { type: 'object', required: ['input'], properties: { input: { type: 'string' }, [name]: schema } },
      { type: 'object', required: ['text'], properties: { text: { type: 'string' }, [name]: { ...schema } } },
    ],
  })
  const found = async (name: string, schema: object) =>
    (await findingsOf(asking('/v1/inference/{id}', { 'application/json': { schema: union(name, schema) } }))).filter(
      one => one.includes(name),
    )

  test('beside the type or the words of a field counts as an alternative of it', async () => {
    const temperature = { minimum: 0, maximum: 1 }
    expect(await found('temperature', { type: ['number', 'null'], ...temperature })).toEqual([])
    expect(await found('service_tier', { enum: ['default', null] })).toEqual([])
    expect(await found('temperature', { type: ['string', 'null'] })).toEqual([
      'break request, temperature: string or null | number or null',
    ])
  })

  test('may be declared by its type, by a list, or by a constant', async () => {
    const object = { type: 'object', properties: { min_instances: { type: 'integer' } } }
    const components = { schemas: { Null: { enum: [null] } } }
    const settings = (openapi: string, schema: object) => {
      const properties = { model_name: { type: 'string' }, gpu: { type: 'string' }, hub: { type: 'object' } }
      const body = {
        type: 'object',
        required: Object.keys(properties),
        properties: { ...properties, settings: schema },
      }
      return findingsOf(asking('/deploy/llm', { 'application/json': { schema: body } }, { openapi, components }))
    }
    const usual = await settings('3.1.0', { anyOf: [object, { type: 'null' }] })
    for (const none of [{ type: ['null'] }, { enum: [null] }, { const: null }, { $ref: '#/components/schemas/Null' }]) {
      expect(await settings('3.1.0', { oneOf: [object, none] })).toEqual(usual)
    }
    const ofFramework = { nullable: true, oneOf: [object, { $ref: '#/components/schemas/Null' }] }
    expect(await settings('3.0.3', ofFramework)).toEqual(usual)
  })
})

describe('a content type', { tags: 'slow' }, () => {
  const deploy = (media: string) => {
    const properties = { model_name: { type: 'string' }, gpu: { type: 'string' }, region: { type: 'string' } }
    return findingsOf(asking('/deploy/llm', { [media]: { schema: { type: 'object', properties } } }))
  }

  test('of a request may have parameters, capitals or be a range', async () => {
    const usual = await deploy('application/json')
    expect(usual).toContain('warning request, region: it may be sent | it is ignored')
    for (const media of ['application/json; charset=utf-8', 'Application/JSON', 'application/*', '*/*'])
      expect(await deploy(media)).toEqual(usual)
    expect(await deploy('text/*')).toContain('break the body: it is text/* | it is application/json')
    const schema = { type: 'object', properties: { file: { type: 'string' }, purpose: { type: 'string' } } }
    const upload = (media: string) => findingsOf(asking('/v1/files', { [media]: { schema } }))
    expect(await upload('multipart/form-data; boundary=x')).toEqual(await upload('multipart/form-data'))
  })

  test('of an answer may be a range, and the exact type counts before it', async () => {
    const wrong = { schema: { type: 'object', properties: { voices: { type: 'string' } } } }
    const answer = (content: object) => {
      const document = voices({})
      document.paths['/v1/voices'].get.responses[200].content = content as never
      return findingsOf(document)
    }
    const usual = await answer({ 'application/json': wrong })
    expect(usual).toEqual([expect.stringMatching(/^break answer 200, voices: string \| /)])
    for (const media of ['application/*', '*/*', 'application/json; charset=utf-8'])
      expect(await answer({ [media]: wrong })).toEqual(usual)
    expect(await answer({ 'application/*': wrong, 'application/json': { schema: { type: 'object' } } })).toEqual([])
  })
})
