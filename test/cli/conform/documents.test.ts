/** What documents of providers contain: each form is read as OpenAPI means it, or refused with its place. */
import { describe, expect, test } from 'vitest'
import { conform } from '../../../src/cli/conform/conform.ts'
import { OpenapiDocument } from '../../../src/cli/conform/document.ts'
import { viewOf } from '../../../src/cli/conform/schema-views.ts'
import { compareSchemas } from '../../../src/cli/conform/schemas.ts'
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

test('a parameter of the path or a cookie is compared', { tags: 'slow' }, async () => {
  const schema = { type: 'string', enum: ['default', 'ai-sdk', 'zzz'] }
  const parameters = [
    ...[
      ['path', 'modelId'],
      ['path', 'key', schema],
      ['cookie', 'session'],
      ['cookie', 'theme'],
    ].map(([place, name, values = { type: 'string' }]) => ({
      in: place,
      name,
      required: name !== 'theme',
      schema: values,
    })),
  ]
  const responses = { 200: { description: '' }, ...REFUSALS }
  for (const path of ['/models/{modelId}/schema/{key}', '/models/{owner}/{modelId}/schema/{key}/']) {
    const found = await findingsOf({
      openapi: '3.1.0',
      info: {},
      paths: { [path]: { get: { parameters, responses } } },
    })
    expect(found).toEqual([
      expect.stringMatching(/^break path key: it may be "zzz" \| it is refused: /),
      'warning cookie session: it may be sent | it is ignored',
    ])
  }
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

/** Comparisons of a field `x`, of requests or answers: their schema, ours, and the difference. */
const FIELD_DIFFERENCES: [way: 'asked' | 'answered', theirs: object, ours: object, difference: string][] = [
  ['asked', { x: { type: 'string' } }, { 'x!': { type: 'string' } }, 'break x: it is optional | it is required'],
  ['asked', {}, { 'x!': { type: 'string' } }, 'break x: it is not declared | it is required'],
  ['asked', { x: { enum: ['a', 'b'] } }, { x: { enum: ['a'] } }, 'break x: it may be "b" | it is one of "a"'],
  ['asked', { x: { type: 'string' } }, { x: { enum: ['a'] } }, 'warning x: any value | it is one of "a"'],
  [
    ...(['asked', { x: { type: 'integer', maximum: 9 } }, { x: { type: 'integer', maximum: 8 } }] as const),
    'break x: maximum 9 | maximum 8; values beyond are refused',
  ],
  [
    ...(['asked', { x: { type: 'string' } }, { x: { type: 'string', pattern: '^a' } }] as const),
    'break x: any string | it matches ^a; other values are refused',
  ],
  ['asked', { x: { type: 'string' } }, { x: { type: 'integer' } }, 'break x: string | integer'],
  ['asked', { x: { type: 'number' } }, { x: { type: 'integer' } }, 'warning x: number | integer'],
  ['asked', { x: { type: ['string', 'null'] } }, { x: { type: 'string' } }, 'break x: string or null | string'],
  ['answered', { 'x!': { type: 'string' } }, {}, 'break x: it is required | it is never present'],
  ['answered', { x: { type: 'string' } }, { x: { type: 'integer' } }, 'break x: string | integer'],
  ['answered', { x: { type: 'string' } }, { x: { type: ['string', 'null'] } }, 'warning x: string | string or null'],
  ['answered', { x: { enum: ['a'] } }, { x: { enum: ['a', 'b'] } }, 'warning x: it is one of "a" | it may be "b"'],
]

/** Returns an object. A name with `!` is required. */
const object = (fields: object, more: object = {}) => ({
  ...{ type: 'object', required: Object.keys(fields).flatMap(name => (name.endsWith('!') ? [name.slice(0, -1)] : [])) },
  properties: Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name.replace('!', ''), schema])),
  ...more,
})

const [a, b] = [{ 'type!': { const: 'a' } }, { 'type!': { const: 'b' } }]
const WIDE = { x: { type: ['string', 'integer', 'null'] } }
/** Places of an object with the field `x`. */
const PLACES: Record<string, (fields: object) => object> = {
  'an object': fields => object(fields),
  'one of two objects': fields => ({ oneOf: [object({ ...b }), object({ ...a, ...fields })] }),
  'one of two objects with that field': fields => ({ oneOf: [object({ ...b, ...WIDE }), object({ ...a, ...fields })] }),
  'one of two objects and a null': fields => ({
    anyOf: [{ type: 'null' }, object({ ...b, ...WIDE }), object({ ...a, ...fields })],
  }),
  'a text or an object': fields => ({ anyOf: [{ type: 'string' }, object({ ...a, ...fields })] }),
  'a union of unions': fields => ({
    oneOf: [{ type: 'integer' }, { anyOf: [object({ ...b, ...WIDE }), { oneOf: [object({ ...a, ...fields })] }] }],
  }),
  'a part of an alternative': fields => ({
    oneOf: [object({ ...b, ...WIDE }), { allOf: [object(a), object(fields)] }],
  }),
  'an alternative beside fields': fields =>
    object({ more: {} }, { oneOf: [object({ ...b, ...WIDE }), object({ ...a, ...fields })] }),
  'a union that is a part': fields => ({
    allOf: [object({ more: {} }), { oneOf: [object({ ...b, ...WIDE }), object({ ...a, ...fields })] }],
  }),
}

/** Returns a schema with a schema within a field, a list and a union. */
const within = (schema: object) =>
  object({ up: { type: 'array', items: { anyOf: [object({ ...b, in: {} }), object({ ...a, in: schema })] } } })

function compare(theirs: object, ours: object, way: 'asked' | 'answered') {
  const [one, other] = [theirs, ours].map(value => {
    const document = new OpenapiDocument(voices(value))
    const schema = document.find(part => part.schema === value)!
    return viewOf({ document, schema: document.partAt(schema, 'schema')! })
  })
  return compareSchemas(one!, other!, { way, place: '', level: 0 })
    .filter(({ severity }) => severity !== 'note')
    .map(({ severity, place, says, ours: is }) => `${severity} ${place}: ${says} | ${is}`)
}

test.each(Object.entries(PLACES))('a field of %s is compared as that of an object is, at any depth', (_, put) => {
  for (const [way, theirs, ours, difference] of FIELD_DIFFERENCES) {
    const [one, other] = [put(theirs), put(ours)]
    for (const [found, place] of [
      [compare(one, other, way), 'x'],
      [compare(within(one), within(other), way), 'up[].in.x'],
    ] as const) {
      expect.soft(found).toContain(difference.replace(' x', ` ${place}`))
      expect.soft(found.filter(text => !text.includes(` ${place}: `))).toEqual([])
    }
    for (const schema of [one, other, within(one)]) expect(compare(schema, schema, way)).toEqual([])
  }
})

test('an alternative may leave out only what some alternative of the simulator does not require', () => {
  const [text, regex] = [object({ 'type!': { const: 'text' } }), { 'type!': { const: 'regex' }, 'regex!': {} }]
  const ours = { oneOf: [text, object(regex)] }
  const one = (words: string[], more: object) => object({ 'type!': { enum: words }, ...more })
  const needed = 'break regex: it is optional | it is required'
  expect(compare(one(['text', 'regex'], { regex: {} }), ours, 'asked')).toEqual([needed])
  expect(compare(one(['text', 'regex'], {}), ours, 'asked')).toEqual([needed.replace('optional', 'not declared')])
  expect(compare(one(['text'], { regex: {} }), ours, 'asked')).toEqual([])
  expect(compare(one(['text', 'regex'], { 'regex!': {} }), ours, 'asked')).toEqual([])
  const open = (fields: object) => object(fields, { additionalProperties: {} })
  const tools = [open({ type: { const: 'a' }, 'a!': {} }), open({ 'type!': { const: 'b' }, 'b!': {} })]
  const loose = [tools[0]!, open({ type: { const: 'b' }, 'b!': {} })]
  const found = compare({ oneOf: loose }, { oneOf: tools }, 'asked')
  expect(found).toEqual(['break type: it is optional | it is required'])
  const either = { anyOf: [object({ 'input!': {} }), object({ 'text!': {} })] }
  expect(compare(object({ input: {}, 'text!': {} }), either, 'asked')).toEqual([])
  expect(compare(object({ input: {}, text: {} }), either, 'asked')).toEqual([
    'break input: it is optional | it is required',
  ])
  expect(
    compare(
      object({ input: {}, text: {} }, { anyOf: ['input', 'text'].map(one => ({ required: [one] })) }),
      either,
      'asked',
    ),
  ).toEqual([])
})

const FROM_1_TO_8 = { type: 'integer', minimum: 1, maximum: 8 }
const MAXIMUM = 'maximum 8; values beyond are refused'
const MINIMUM = 'minimum 1; values beyond are refused'
test.each<[theirs: object, difference?: string | undefined, ours?: object]>([
  [{ enum: [1, 2, 4, 8] }],
  [{ type: 'integer', enum: [1, 16] }, `break : it may be 16 | ${MAXIMUM}`],
  [{ type: 'integer', enum: [1, 16], maximum: 8 }, `break : it may be 16 | ${MAXIMUM}`],
  [{ type: 'integer', const: 0 }, `break : it may be 0 | ${MINIMUM}`],
  [{ oneOf: [{ const: 1 }, { const: 16 }] }, `break : it may be 16 | ${MAXIMUM}`],
  [{ type: 'integer', exclusiveMaximum: 9 }],
  [{ type: 'integer', exclusiveMaximum: 17 }, `break : maximum 16 | ${MAXIMUM}`],
  [{ type: 'integer', exclusiveMinimum: -1 }, `break : minimum 0 | ${MINIMUM}`],
  [{ type: 'integer', exclusiveMaximum: 9 }, undefined, { type: 'integer', exclusiveMaximum: 9 }],
  [{ type: 'number', exclusiveMaximum: 2 }, undefined, { type: 'number', maximum: 2 }],
  [
    { type: 'number', maximum: 2 },
    'break : maximum 2 | exclusiveMaximum 2; values beyond are refused',
    { type: 'number', exclusiveMaximum: 2 },
  ],
])('listed numbers and exclusive bounds are compared with the bounds: %j', (theirs, difference, ours = FROM_1_TO_8) => {
  const found = compare(object({ n: theirs }), object({ n: ours }), 'asked')
  expect([...new Set(found)]).toEqual(difference === undefined ? [] : [difference.replace(' :', ' n:')])
})
