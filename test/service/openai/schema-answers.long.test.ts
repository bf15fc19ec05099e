/** Answers under a schema, validated by ajv. */

import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as formats from 'ajv-formats'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { REFUSED_KEYWORDS, SchemaDocument } from '../../../src/lib/json-schema/document.ts'
import { SchemaValidator } from '../../../src/lib/json-schema/validate.ts'
import { forAll, forAllAsync } from '../../setup/for-all.ts'
import { FITTED, REFUSED, ZOD_SHAPES } from './everyday-schemas.ts'
import { HELLO, openaiWorld } from './openai-world.ts'

const asked = (schema: unknown) => ({
  ...{ model: 'acme/chat', messages: HELLO, max_tokens: 30_000 },
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
})
const called = (parameters: unknown) => ({
  ...{ model: 'acme/chat', messages: HELLO },
  tools: [{ type: 'function', function: { name: 'note', parameters } }],
})

/** Returns the validator of a schema: 2020-12, or draft 7 if the schema uses it. */
function judge(schema: Record<string, unknown>): (value: unknown) => boolean {
  const { $schema: _, ...rest } = schema
  const options = { strict: false, validateSchema: false, logger: false } as const
  const ajv = Array.isArray(schema.items) ? new Ajv(options) : new Ajv2020(options)
  const add = formats.default as unknown as { default?: (to: unknown) => void } & ((to: unknown) => void)
  ;(add.default ?? add)(ajv)
  const validate = ajv.compile(rest)
  return value => validate(value) as boolean
}

/** A third of the random schemas of each property. */
const RUNS = Number(process.env.INVARIANT_RUNS ?? 20)

describe('a schema', () => {
  test('with a pattern that is too long is refused in a few words', async () => {
    const { ask } = openaiWorld({ check: false })
    const { status, body } = await ask(
      '/v1/chat/completions',
      asked({ type: 'string', pattern: 'a'.repeat(1_000_000) }),
    )
    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain('pattern has 1000000 characters, and at most 4000 are read')
    expect(JSON.stringify(body).length).toBeLessThan(1_000)
  })

  test.each([
    ['^(a|a){30}b$', 20],
    ['^a*a*a*a*a*a*a*a*b$', 25],
    [`^${'a*'.repeat(12)}b$`, 3],
  ])('with the slow pattern %s is tested with at most %i characters', async (pattern, most) => {
    const { ask } = openaiWorld({ check: false })
    const allOf = [{ pattern }, { pattern: '^a{30}$' }]
    const { status, body } = await ask('/v1/chat/completions', asked({ type: 'string', allOf }))
    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain(`at most ${most} characters`)
  })

  test('of an integer without bounds, as zod writes it, has a small answer', async () => {
    const { ask } = openaiWorld({ check: false })
    for (const schema of [z.int(), z.int().min(3), z.int().max(-5)]) {
      const { body } = await ask('/v1/chat/completions', asked(z.toJSONSchema(schema)))
      const value = Number(body.choices[0].message.content)
      expect(schema.parse(value)).toBe(value)
      expect(Math.abs(value)).toBeLessThan(1_000_000)
    }
  })

  test('of everyday use has four valid answers and valid tool arguments', async () => {
    const { ask } = openaiWorld({ check: false })
    for (const schema of FITTED) {
      const isGood = judge(schema)
      const { status, body } = await ask('/v1/chat/completions', { ...asked(schema), n: 4 })
      expect([status, body.error, schema]).toEqual([200, undefined, schema])
      for (const { message } of body.choices)
        expect([message.content, isGood(JSON.parse(message.content)), schema]).toEqual([message.content, true, schema])
      if (schema.type !== 'object') continue
      const call = await ask('/v1/chat/completions', called(schema))
      expect(isGood(JSON.parse(call.body.choices[0].message.tool_calls[0].function.arguments))).toBe(true)
    }
  })

  test.each(Object.entries(ZOD_SHAPES))('of the shape %s has answers that zod parses', async (name, shape) => {
    const { ask } = openaiWorld({ check: false })
    for (const target of ['draft-2020-12', 'draft-7', 'openapi-3.0'] as const) {
      // OpenAPI 3.0 cannot say what zod says about names and tuples.
      if (target === 'openapi-3.0' && (name === 'records' || name === 'tuples')) continue
      for (const io of ['input', 'output'] as const) {
        const schema = z.toJSONSchema(shape, { target, io })
        const { status, body } = await ask('/v1/chat/completions', { ...asked(schema), n: 4 })
        expect([status, body.error, schema]).toEqual([200, undefined, schema])
        for (const { message } of body.choices) shape.parse(JSON.parse(message.content))
      }
    }
  })

  test('without a value, with an unsupported keyword, or with too large values, is refused with its location and changes nothing', async () => {
    const { sim, ask } = openaiWorld({ check: false })
    const before = sim.digest
    for (const [schema, why] of REFUSED) {
      const { status, body } = await ask('/v1/chat/completions', asked(schema))
      expect([status, body.error.message]).toEqual([400, expect.stringContaining(why)])
      // The schema has no such limit: it is that of the simulator.
      expect(body.error.message).not.toContain('1000000 characters')
    }
    for (const keyword of REFUSED_KEYWORDS) {
      for (const value of ['a', { type: 'string' }]) {
        const { status, body } = await ask('/v1/chat/completions', asked({ properties: { a: { [keyword]: value } } }))
        const place = `#/properties/a/${keyword}: the keyword ${keyword} is not supported`
        expect([status, body.error.message]).toEqual([400, expect.stringContaining(place)])
      }
    }
    const none = await ask('/v1/chat/completions', called({ type: 'array' }))
    expect([none.status, none.body.error.message]).toEqual([400, expect.stringContaining('tool note')])
    expect(sim.digest).toBe(before)
  })

  test('for tool arguments always gives an object', async () => {
    const { ask } = openaiWorld({ check: false })
    for (const parameters of [{}, { anyOf: [{ type: 'string' }, { required: ['a'] }] }]) {
      const { body } = await ask('/v1/chat/completions', called(parameters))
      expect(JSON.parse(body.choices[0].message.tool_calls[0].function.arguments)).toBeTypeOf('object')
    }
  })
})

const name = fc.constantFrom('a', 'b', 'c')
const small = fc.integer({ min: 0, max: 3 })
const value = fc.letrec(tie => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, 1, 2.5, -3, '', 'a', 'ab', 'b-1'),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(name, tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any
/** Schemas with random keywords, mostly unrelated. */
const { schema: anySchema } = fc.letrec<{ schema: Record<string, unknown>; inner: unknown }>(tie => ({
  inner: fc.oneof(
    { weight: 8, arbitrary: tie('schema') },
    { weight: 1, arbitrary: fc.constantFrom(true, false, { not: {} }) },
  ),
  schema: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.record(
      {
        type: fc.constantFrom(
          'string',
          'integer',
          'number',
          'boolean',
          'null',
          ['string', 'integer'],
          'array',
          'object',
        ),
        ...{ minLength: small, maxLength: fc.integer({ min: 2, max: 9 }) },
        ...{ minimum: fc.integer({ min: -9, max: 9 }), multipleOf: fc.constantFrom(0.5, 3, 0.1) },
        pattern: fc.constantFrom('^a', 'b$', '[0-9]', '^[a-z-]*$'),
      },
      { requiredKeys: [] },
    ),
    fc.record({ enum: fc.array(value, { minLength: 1, maxLength: 4 }) }),
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(name, tie('inner'), { maxKeys: 3 }),
        required: fc.uniqueArray(name, { maxLength: 2 }),
        additionalProperties: tie('inner'),
        patternProperties: fc.dictionary(fc.constantFrom('^a', 'b', '^c$'), tie('inner'), { maxKeys: 1 }),
        propertyNames: fc.constantFrom({ enum: ['a', 'b'] }, { maxLength: 1 }, true),
        ...{ minProperties: small, maxProperties: small },
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        type: fc.constant('array'),
        items: tie('inner'),
        prefixItems: fc.array(tie('inner'), { minLength: 1, maxLength: 2 }),
        ...{ minItems: small, maxItems: small, uniqueItems: fc.boolean() },
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        ...{ anyOf: fc.array(tie('inner'), { minLength: 1, maxLength: 3 }) },
        ...{ oneOf: fc.array(tie('inner'), { minLength: 1, maxLength: 3 }) },
        ...{ allOf: fc.array(tie('inner'), { minLength: 1, maxLength: 2 }) },
      },
      { requiredKeys: [] },
    ),
  ) as fc.Arbitrary<Record<string, unknown>>,
}))

describe('any schema', () => {
  test('has a valid answer or is refused', async () => {
    const { ask } = openaiWorld({ check: false })
    let answered = 0
    await forAllAsync([anySchema], { numRuns: 3 * RUNS }, async schema => {
      const { status, body } = await ask('/v1/chat/completions', asked(schema))
      if (status === 400) return
      answered++
      const { content } = body.choices[0].message
      expect([content, judge(schema)(JSON.parse(content))]).toEqual([content, true])
    })
    expect(answered).toBeGreaterThan(RUNS / 2)
  })

  test('is validated as by ajv', () => {
    forAll([anySchema, fc.array(value, { minLength: 8, maxLength: 8 })], { numRuns: 3 * RUNS }, (schema, values) => {
      const isGood = judge(schema)
      const document = new SchemaDocument(schema)
      const validator = new SchemaValidator(document, () => {})
      for (const one of values)
        expect([one, validator.isValid(document.root, one as never)]).toEqual([one, isGood(one)])
    })
  })
})
