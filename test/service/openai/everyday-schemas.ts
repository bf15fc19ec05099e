/** Schemas of everyday use (handwritten, from zod and Pydantic), and schemas without a value or with too large values. */
import * as z from 'zod'

type Schema = Record<string, unknown>

const text = (more: Schema = {}): Schema => ({ type: 'string', ...more })
const object = (properties: Schema, more: Schema = {}): Schema => ({ type: 'object', properties, ...more })
const list = (items: unknown, more: Schema = {}): Schema => ({ type: 'array', items, ...more })
const matching = (pattern: string, more: Schema = {}): Schema => text({ pattern, ...more })
const zod = (shape: z.ZodType): Schema => z.toJSONSchema(shape) as Schema
const integer: Schema = { type: 'integer' }
const DECIMAL = '^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$'

export const FITTED: readonly Schema[] = [
  // Alternatives, conditions and negations.
  object({ email: text(), phone: text(), n: integer }, { oneOf: [{ required: ['email'] }, { required: ['phone'] }] }),
  object({ a: { not: {} }, b: text() }, { required: ['b'] }),
  object(
    { country: { enum: ['US', 'CA'] }, zip: text() },
    {
      if: { properties: { country: { const: 'US' } }, required: ['country'] },
      // biome-ignore lint/suspicious/noThenProperty: so the keyword is called
      then: { required: ['zip'], properties: { zip: { pattern: '^\\d{5}$' } } },
      else: { properties: { zip: { pattern: '^[A-Z]\\d[A-Z]$' } } },
    },
  ),
  { oneOf: [{ type: 'number' }, integer] },
  { oneOf: [integer, { type: 'number' }] },
  { anyOf: [{ minimum: 5 }, { maximum: -5 }], allOf: [integer, { anyOf: [{ multipleOf: 3 }, { multipleOf: 7 }] }] },
  {
    allOf: [{ anyOf: [text(), integer] }, { anyOf: [integer, { type: 'boolean' }] }],
  },
  { allOf: [{ enum: ['a', 'b'] }, { enum: ['b', 'c'] }] },
  { allOf: [{ type: ['string', 'null'] }, { type: ['string', 'integer'] }] },
  text({ enum: ['a', 1] }),
  { not: text() },
  { not: { enum: ['a'] } },
  object({ a: text(), b: text() }, { not: { required: ['b'] } }),
  {
    oneOf: [
      object({ type: { const: 'a' }, v: integer }, { required: ['type'] }),
      object({ type: { const: 'b' }, v: text() }, { required: ['type'] }),
    ],
  },
  { oneOf: [object({ a: text() }), object({ b: integer })] },
  {
    oneOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }],
    $defs: { a: object({ a: text() }), b: object({ b: text() }) },
  },
  { enum: Array.from({ length: 2000 }, (_, nth) => `v${nth}`) },
  object(
    { kind: { enum: ['x', 'y', 'z'] }, x: text(), y: text() },
    {
      required: ['kind'],
      allOf: ['x', 'y'].map(kind => ({
        if: { properties: { kind: { const: kind } } },
        // biome-ignore lint/suspicious/noThenProperty: so the keyword is called
        then: { required: [kind] },
        else: { not: { required: [kind] } },
      })),
    },
  ),
  object(
    { kind: { enum: [...'abcdefghijkl'] } },
    {
      required: ['kind'],
      allOf: [...'abcdefghijkl'].map(kind => ({
        if: { properties: { kind: { const: kind } } },
        // biome-ignore lint/suspicious/noThenProperty: so the keyword is called
        then: { properties: { [`of_${kind}`]: integer }, required: [`of_${kind}`] },
      })),
    },
  ),
  object(Object.fromEntries([...'abcdefghij'].map(name => [name, { type: 'boolean' }])), {
    allOf: [...'abcdefghij'].map(name => ({
      if: { properties: { [name]: { const: true } }, required: [name] },
      // biome-ignore lint/suspicious/noThenProperty: so the keyword is called
      then: { required: [`why_${name}`] },
      else: { not: { required: [`why_${name}`] } },
    })),
  }),
  // Objects.
  object({ card: text() }, { dependentRequired: { card: ['address'] } }),
  object({ card: text() }, { dependentSchemas: { card: object({ zip: integer }, { required: ['zip'] }) } }),
  object({ card: text() }, { dependencies: { card: ['zip'], zip: object({ zip: integer }) } }),
  { type: 'object', patternProperties: { '^x-': integer }, additionalProperties: false, minProperties: 3 },
  { type: 'object', required: ['a', 'b'], properties: { a: text() }, additionalProperties: integer },
  { type: 'object', minProperties: 2, propertyNames: { pattern: '^[A-Z]{3}$' } },
  { type: 'object', maxProperties: 1, properties: { a: text(), b: text(), c: text() } },
  {
    type: 'object',
    allOf: [object({ a: text() }), object({ b: text() })],
    unevaluatedProperties: false,
    required: ['a'],
  },
  zod(z.partialRecord(z.enum(['x', 'y']), z.number())),
  zod(z.record(z.enum(['x', 'y']), z.number())),
  zod(z.record(z.string(), z.number())),
  zod(z.object({ a: z.string(), b: z.never().optional() })),
  zod(z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() }))),
  object(Object.fromEntries([...'abcdefghi'].map(name => [name, { $ref: '#' }]))),
  {
    $id: 'https://example.com/y.json',
    ...object({ a: { $ref: 'https://example.com/y.json#/$defs/t' }, b: { $ref: '#named' } }),
    $defs: { t: integer, u: { $anchor: 'named', type: 'boolean' } },
  },
  // Arrays.
  list([text(), integer]),
  list([text(), integer], { additionalItems: false, minItems: 2 }),
  { type: 'array', prefixItems: [integer], unevaluatedItems: false },
  { type: 'array', contains: { const: 5 } },
  list(integer, { contains: { minimum: 150 }, maxContains: 2 }),
  list({ type: 'integer', maximum: 9 }, { contains: { const: 5 }, minContains: 2 }),
  list(integer, { minItems: 300, uniqueItems: true }),
  list({ enum: [1, 2, 3] }, { uniqueItems: true, minItems: 3 }),
  list(false),
  // Numbers.
  { type: 'number', multipleOf: 0.1, minimum: 50, maximum: 51 },
  { type: 'number', multipleOf: 0.01, minimum: 0.05, maximum: 0.3 },
  { type: 'integer', multipleOf: 0.5 },
  { type: 'integer', multipleOf: 1.5 },
  { allOf: [{ multipleOf: 0.04 }, { type: 'number', multipleOf: 0.06 }] },
  { type: 'number', minimum: 1e20 },
  { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1e-9 },
  { type: 'integer', format: 'int32' },
  // Texts.
  matching('^[a-z0-9_-]+$', { minLength: 8 }),
  matching('^[^ ]+$'),
  matching('^[^@]+@[^@]+$'),
  matching('^[^A-Z]*$'),
  matching('\\bfoo\\b'),
  matching('\\bfoo\\b', { minLength: 20 }),
  matching('^.*$', { minLength: 100 }),
  matching('x', { minLength: 5, maxLength: 5 }),
  matching('^a|b$'),
  matching('^(a+)+$', { minLength: 50 }),
  matching('(?<=a)b'),
  matching('^(?=.*[A-Z])(?=.*[a-z])(?=.*\\d)(?=.*[@$!%*?&])[A-Za-z\\d@$!%*?&]{8,}$'),
  matching('^\\p{Lu}\\p{L}+$'),
  matching('^[\\u4e00-\\u9fa5]{2,4}$'),
  matching('^[\\n]+$'),
  matching(DECIMAL),
  { anyOf: [{ type: 'number' }, matching(DECIMAL)] },
  text({ format: 'email', maxLength: 10 }),
  text({ format: 'email', minLength: 50 }),
  text({ format: 'uri', minLength: 60 }),
  text({ format: 'hostname', minLength: 80 }),
  ...['date-time', 'date', 'time', 'duration', 'uuid', 'ipv4', 'ipv6', 'url', 'byte', 'json-pointer', 'regex'].map(
    format => text({ format }),
  ),
  zod(z.string().lowercase()),
  zod(z.string().startsWith('ab').endsWith('yz').includes('q')),
  ...[z.hostname(), z.iso.duration(), z.iso.datetime({ offset: true }), z.iso.time(), z.email(), z.url()].map(zod),
  ...[z.ipv6(), z.cidrv4(), z.base64(), z.nanoid(), z.ulid(), z.e164(), z.emoji(), z.cuid2(), z.guid()].map(zod),
  zod(z.templateLiteral(['v', z.int(), '.', z.int()])),
  zod(z.tuple([z.string(), z.int()])),
  zod(
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a'), n: z.number() }),
      z.object({ kind: z.literal('b'), s: z.string().min(3) }),
    ]),
  ),
  {},
]

/** Refused schemas with a part of the refusal. */
export const REFUSED: readonly (readonly [Schema, string])[] = [
  [{ type: 'integer', minimum: 5, maximum: 4 }, 'no integer lies within its bounds'],
  [{ $ref: '#/$defs/gone' }, 'leads nowhere'],
  [{ $ref: '#' }, 'circle'],
  [{ not: { $ref: '#' } }, 'leads into itself without end'],
  [matching('^a(?=b)$'), 'no text is known that fits the pattern'],
  [matching('^(a)\\1$'), 'references to groups'],
  [matching('('), 'Unterminated group'],
  [list({ const: 1 }, { uniqueItems: true, minItems: 2 }), 'no 2 different items'],
  [{ type: 'object', required: ['a', 'b'], properties: { a: text() }, additionalProperties: false }, '"b" is required'],
  [object({ a: { $ref: '#' } }, { required: ['a'] }), 'requires itself without end'],
  [{ allOf: [{ enum: ['a'] }, { enum: ['b'] }] }, 'none of the values'],
  [{ allOf: [text(), integer] }, 'nothing is string and integer'],
  [object({ a: { oneOf: [true, true] } }, { required: ['a'] }), '#/properties/a: no value is known that fits oneOf'],
  [{ type: 'objekt' }, 'type must be of object'],
  [{ required: 'a' }, 'required must be a list of names'],
  [{ anyOf: {} }, 'anyOf must be a list of schemas'],
  [{ properties: 5 }, 'properties must be an object of schemas'],
  [list(integer, { minItems: 1e9 }), 'minItems is 1000000000: an answer has 10000 values at most'],
  [list(integer, { minItems: 1e6 }), 'minItems is 1000000'],
  [list(list(list(integer, { minItems: 90 }), { minItems: 90 }), { minItems: 90 }), '10000 values at most'],
  [text({ minLength: 1e9 }), '100000 characters at most'],
  [matching('^a{1000000000}$'), 'however long one tries'],
  [matching('^(a{1000}){1000}$'), 'however long one tries'],
  [matching('^(a+)+b$', { minLength: 2900, format: 'email' }), 'the format email and the pattern'],
  [{ $ref: '#/$defs/d0', $defs: doubling(40) }, 'however long one tries'],
]

/** Definitions that each refer to the next twice. */
function doubling(count: number): Schema {
  const both = (nth: number) => ({ allOf: [{ $ref: `#/$defs/d${nth + 1}` }, { $ref: `#/$defs/d${nth + 1}` }] })
  const all = Array.from({ length: count }, (_, nth) => [`d${nth}`, both(nth)])
  return { ...Object.fromEntries(all), [`d${count}`]: text() }
}
