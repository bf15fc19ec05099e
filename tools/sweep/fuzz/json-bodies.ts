/** Bodies in JSON, valid and invalid, from the JSON Schema of a declaration. They are texts, because JSON.stringify cannot write every invalid input. */
import fc from 'fast-check'
import { z } from 'zod'
import type { SentRequest } from './sent-request.ts'
import { headerText, type KnownValues, knownAs, nasty } from './values.ts'

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

export const jsonContentType = fc.oneof(
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

function field(known: KnownValues, schema: Json, name: string): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 60, arbitrary: valid(known, schema, name) },
    { weight: 8, arbitrary: atBounds(schema) },
    { weight: 4, arbitrary: wrong },
    { weight: 1, arbitrary: fc.oneof({ weight: 9, arbitrary: wrong }, { weight: 1, arbitrary: deep }) },
  )
}

function valid(known: KnownValues, schema: Json, name: string): fc.Arbitrary<string> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum.map(json))
  if (schema.const !== undefined) return fc.constant(json(schema.const))
  if (schema.oneOf !== undefined) return fc.oneof(...schema.oneOf.map(one => valid(known, one, name)))
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(one => valid(known, one, name)))
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map(type => valid(known, { ...schema, type }, name)))
  switch (schema.type) {
    case 'integer': {
      const min = Math.max(schema.minimum ?? (schema.exclusiveMinimum ?? -1_000) + 1, -1_000)
      return fc.integer({ min, max: Math.max(min, Math.min(schema.maximum ?? 1_000, 1_000)) }).map(String)
    }
    case 'number': {
      const min = Math.max(schema.minimum ?? schema.exclusiveMinimum ?? -1_000, -1_000)
      const max = Math.max(min, Math.min(schema.maximum ?? 100_000, 100_000))
      return fc
        .oneof(fc.integer({ min: Math.ceil(min), max: Math.floor(max) }), fc.double({ min, max, noNaN: true }))
        .map(json)
    }
    case 'boolean':
      return fc.boolean().map(String)
    case 'null':
      return fc.constant('null')
    case 'array':
      return fc
        .array(field(known, schema.items ?? {}, name), { minLength: schema.minItems ?? 0, maxLength: 3 })
        .map(items => `[${items.join(',')}]`)
    case 'object':
      return object(known, schema)
    case 'string': {
      const made = fc.string({ minLength: schema.minLength ?? 0, maxLength: Math.min(schema.maxLength ?? 12, 12) })
      return fc.oneof(
        { weight: 4, arbitrary: knownAs(known, name).map(json) },
        { weight: 1, arbitrary: made.map(json) },
      )
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

function object(known: KnownValues, schema: Json): fc.Arbitrary<string> {
  const properties = Object.entries(schema.properties ?? {})
  // With many fields each is rarer. Otherwise a valid body would be too rare.
  const present = Math.min(10, Math.ceil(60 / properties.length))
  const fields = properties.map(([name, inner]) => {
    const given = field(known, inner, name).map((text): [string, string] | undefined => [json(name), text])
    const isRequired = schema.required?.includes(name) ?? false
    const absent = { weight: isRequired ? 1 : 10, arbitrary: fc.constant(undefined) }
    return fc.oneof(absent, { weight: isRequired ? 25 : present, arbitrary: given })
  })
  const values = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
  const more = values
    ? fc.array(fc.tuple(extraName.map(json), field(known, values, '')), { maxLength: 3 })
    : fc.oneof({ weight: 5, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(extra, { maxLength: 3 }) })
  return fc.tuple(fc.tuple(...fields), more, fc.boolean()).map(([given, others, first]) => {
    const own = given.filter(pair => pair !== undefined)
    const all = first ? [...others, ...own] : [...own, ...others]
    return `{${all.map(([name, text]) => `${name}:${text}`).join(',')}}`
  })
}

/** Generates bodies for a schema; undefined generates bodies for an endpoint without one. */
export function bodies(known: KnownValues, schema: z.ZodType | undefined): fc.Arbitrary<SentRequest['body']> {
  const made =
    schema === undefined
      ? wrong
      : valid(known, z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json, '')
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
