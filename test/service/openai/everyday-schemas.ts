/** Schemas of everyday use (from zod, Pydantic and by hand), and schemas without a value or with too large values. */
import * as z from 'zod'

type Schema = Record<string, unknown>

const text = (more: Schema = {}): Schema => ({ type: 'string', ...more })
const object = (properties: Schema, more: Schema = {}): Schema => ({ type: 'object', properties, ...more })
const list = (items: unknown, more: Schema = {}): Schema => ({ type: 'array', items, ...more })
const matching = (pattern: string, more: Schema = {}): Schema => text({ pattern, ...more })
const zod = (shape: z.ZodType): Schema => z.toJSONSchema(shape) as Schema
const integer: Schema = { type: 'integer' }
const DECIMAL = '^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$'

interface Category {
  name: string
  parents: Category[]
}
const Category: z.ZodType<Category> = z.lazy(() => z.object({ name: z.string(), parents: z.array(Category) }))
const Cat = z.object({ kind: z.literal('cat'), lives: z.int().min(1).max(9) })
const Dog = z.object({ kind: z.literal('dog'), name: z.string().regex(/^[A-Z][a-z]+$/) })

/** Objects as programs declare them. An answer under their schema is parsed by zod. */
export const ZOD_SHAPES: Readonly<Record<string, z.ZodType>> = {
  person: z.object({ name: z.string().min(1).max(40), age: z.int().min(0).max(120), email: z.email().max(80) }),
  event: z.strictObject({ title: z.string(), on: z.iso.date(), at: z.iso.datetime({ precision: 3 }) }),
  order: z.object({ id: z.uuidv7(), total: z.number().positive().multipleOf(0.25), paid: z.boolean().optional() }),
  nullable: z.object({ a: z.string().nullable(), b: z.number().nullish(), c: z.string().default('x').readonly() }),
  union: z.object({ value: z.union([z.string().min(3), z.int(), z.array(z.boolean()), z.null()]) }),
  discriminated: z.array(z.discriminatedUnion('kind', [Cat, Dog])).min(2),
  intersection: z.intersection(z.object({ a: z.string() }), z.object({ b: z.number().lt(0) })),
  recursive: Category,
  enums: z.object({ a: z.enum(['low', 'high']), b: z.literal([1, 'two', null]), c: z.never().optional() }),
  records: z.object({
    words: z.record(z.string(), z.object({ count: z.int() })),
    byLevel: z.record(z.enum(['low', 'high']), z.number()),
    some: z.partialRecord(z.enum(['low', 'high']), z.number()),
    headers: z.record(z.string().regex(/^x-[a-z]+$/), z.string()),
    loose: z.looseRecord(z.string().regex(/^_/), z.int()),
  }),
  tuples: z.object({ point: z.tuple([z.number(), z.number()]), row: z.tuple([z.string()], z.int()) }),
  patterns: z.object({
    zip: z.string().regex(/^\d{5}(-\d{4})?$/),
    version: z.templateLiteral(['v', z.int(), '.', z.int()]),
    slug: z
      .string()
      .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/)
      .min(5)
      .max(20),
    password: z.string().min(8).regex(/[A-Z]/).regex(/[a-z]/).regex(/[0-9]/),
    key: z.string().startsWith('sk-').min(24),
    file: z.string().startsWith('a').includes('_').endsWith('.png'),
    code: z.string().length(6).uppercase(),
  }),
  formats: z.object({
    ...{ url: z.url(), ip: z.ipv4(), ip6: z.ipv6(), host: z.hostname(), time: z.iso.time(), lasts: z.iso.duration() },
    ...{ net: z.cidrv4(), mac: z.mac(), phone: z.e164(), ulid: z.ulid(), nano: z.nanoid(), cuid: z.cuid2() },
    ...{ base64: z.base64(), base64url: z.base64url(), guid: z.guid(), emoji: z.emoji(), hex: z.hash('sha256') },
    ...{ zoned: z.iso.datetime({ offset: true }), local: z.iso.datetime({ local: true }), xid: z.xid() },
  }),
}

/** Schemas of Pydantic 2.13, by the parts that have a form of their own. */
const PYDANTIC: readonly Schema[] = [
  object(
    {
      value: { title: 'Value', type: 'integer' },
      children: { default: [], items: { $ref: '#/$defs/Node' }, title: 'Children', type: 'array' },
      parent: { anyOf: [{ $ref: '#/$defs/Node' }, { type: 'null' }], default: null },
    },
    {
      required: ['value'],
      $defs: { Node: object({ parent: { anyOf: [{ $ref: '#/$defs/Node' }, { type: 'null' }] } }) },
    },
  ),
  {
    $defs: {
      Cat: object({ kind: { const: 'cat', type: 'string' } }, { required: ['kind'] }),
      Dog: object({ kind: { enum: ['dog', 'puppy'], type: 'string' } }, { required: ['kind'] }),
    },
    discriminator: { mapping: { cat: '#/$defs/Cat', dog: '#/$defs/Dog' }, propertyName: 'kind' },
    oneOf: [{ $ref: '#/$defs/Cat' }, { $ref: '#/$defs/Dog' }],
  },
  { $defs: { Color: { enum: ['red', 'blue'] } }, ...object({}, { propertyNames: { $ref: '#/$defs/Color' } }) },
  { type: 'object', patternProperties: { '^x-': integer }, title: 'R' },
  { type: 'object', additionalProperties: integer, minProperties: 1, maxProperties: 3 },
  { type: 'object', additionalProperties: integer, propertyNames: { format: 'uuid' } },
  { type: 'array', prefixItems: [integer, text({ default: 'x' })], minItems: 1, maxItems: 2 },
  list(integer, { uniqueItems: true, minItems: 2, maxItems: 4 }),
  list(text({ minLength: 1 }), { maxItems: 0, minItems: 0 }),
  { anyOf: [{ type: 'number', exclusiveMinimum: 0 }, matching(DECIMAL)] },
  matching(DECIMAL, { title: 'Amount' }),
  matching('^(?!^[-+.]*$)[+-]?0*(?:\\d{0,4}|(?=[\\d.]{1,7}0*$)\\d{0,4}\\.\\d{0,2}0*$)'),
  text({ contentMediaType: 'application/json', contentSchema: list(integer) }),
  text({ format: 'uri', minLength: 1, maxLength: 2083 }),
  ...['binary', 'password', 'path', 'uuid4', 'ipvanyaddress', 'base64url', 'duration', 'regex'].map(format =>
    text({ format, examples: ['x'], deprecated: true, writeOnly: true }),
  ),
]

export const FITTED: readonly Schema[] = [
  ...Object.values(ZOD_SHAPES).map(zod),
  ...PYDANTIC,
  // Alternatives.
  object({ email: text(), phone: text(), n: integer }, { oneOf: [{ required: ['email'] }, { required: ['phone'] }] }),
  object({ a: { not: {} }, b: text() }, { required: ['b'] }),
  { oneOf: [{ type: 'number' }, integer] },
  { oneOf: [integer, { type: 'number' }] },
  { anyOf: [{ minimum: 5 }, { maximum: -5 }], allOf: [integer, { anyOf: [{ multipleOf: 3 }, { multipleOf: 7 }] }] },
  {
    allOf: [{ anyOf: [text(), integer] }, { anyOf: [integer, { type: 'boolean' }] }],
  },
  { allOf: [{ enum: ['a', 'b'] }, { enum: ['b', 'c'] }] },
  { allOf: [{ type: ['string', 'null'] }, { type: ['string', 'integer'] }] },
  text({ enum: ['a', 1] }),
  {
    oneOf: [
      object({ type: { const: 'a' }, v: integer }, { required: ['type'] }),
      object({ type: { const: 'b' }, v: text() }, { required: ['type'] }),
    ],
  },
  { enum: Array.from({ length: 2000 }, (_, nth) => `v${nth}`) },
  // Objects.
  { type: 'object', patternProperties: { '^x-': integer }, additionalProperties: false, minProperties: 3 },
  { type: 'object', required: ['a', 'b'], properties: { a: text() }, additionalProperties: integer },
  { type: 'object', minProperties: 2, propertyNames: { pattern: '^[A-Z]{3}$' } },
  { type: 'object', maxProperties: 1, properties: { a: text(), b: text(), c: text() } },
  object({ if: text(), not: integer, contains: { type: 'boolean' } }, { required: ['if', 'not', 'contains'] }),
  object(Object.fromEntries([...'abcdefghi'].map(name => [name, { $ref: '#' }]))),
  { $id: 'https://example.com/y.json', ...object({ a: { $ref: '#/$defs/t~1x' } }), $defs: { 't/x': integer } },
  // Arrays.
  list([text(), integer]),
  list([text(), integer], { additionalItems: false, minItems: 2 }),
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
  matching('\\bfoo\\b'),
  matching("^\\p{Lu}[\\p{L}' -]{1,30}$"),
  matching('^[^\\p{N}]{2}\\p{Nd}{4}$'),
  matching('^[\\u4e00-\\u9fa5]{2,4}$'),
  matching('^[\\u{410}-\\u{44f}ё]+ \\p{Ll}$'),
  matching('^.*$', { minLength: 100 }),
  matching('x', { minLength: 5, maxLength: 5 }),
  matching('^a|b$'),
  matching('^(a+)+$', { maxLength: 5 }),
  matching('^arn:aws:[a-z0-9-]+:[a-z0-9-]*:\\d{12}:.+$'),
  matching('^(?=.*[A-Z])(?=.*[a-z])(?=.*\\d)(?=.*[@$!%*?&])[A-Za-z\\d@$!%*?&]{8,}$'),
  ...['date-time', 'date', 'time', 'duration', 'uuid', 'ipv4', 'ipv6', 'url', 'byte', 'json-pointer', 'regex'].map(
    format => text({ format }),
  ),
  {},
]

/** Refused schemas with a part of the refusal. */
export const REFUSED: readonly (readonly [Schema, string])[] = [
  [{ type: 'integer', minimum: 5, maximum: 4 }, 'no integer lies within its bounds'],
  [{ $ref: '#/$defs/gone' }, '$ref "#/$defs/gone" leads nowhere'],
  [object({ a: { $ref: 'https://example.com/b.json' } }), '#/properties/a: $ref "https://example.com/b.json"'],
  [{ $ref: '#' }, 'circle'],
  [matching('^a(?=b)$'), 'no text is known that fits the pattern "^a(?=b)$"'],
  [matching('^\\p{Script=Han}+$'), 'no text is known that fits the pattern "^\\\\p{Script=Han}+$"'],
  [matching('^(a)\\1$'), 'the pattern "^(a)\\\\1$" has references to groups'],
  [matching('('), 'Unterminated group'],
  [object({ a: matching('(?<=a)b') }, { required: ['a'] }), '#/properties/a: the pattern "(?<=a)b" is not understood'],
  [matching('^\\p{Script=Han}$'), 'no text is known that fits the pattern "^\\\\p{Script=Han}$"'],
  [
    matching('^(ab)+$', { minLength: 30 }),
    'the pattern "^(ab)+$" can take long, so no text of more than 20 characters is tested, and minLength is 30',
  ],
  [matching('^(ab)+$', { minLength: 30, maxLength: 25 }), 'minLength is 30, and it has 25 characters at most'],
  [text({ format: 'email', maxLength: 10 }), 'no text is known that fits the format email and at most 10 characters'],
  [list({ const: 1 }, { uniqueItems: true, minItems: 2 }), 'no 2 different items'],
  [{ type: 'object', required: ['a', 'b'], properties: { a: text() }, additionalProperties: false }, '"b" is required'],
  [object({ a: { $ref: '#' } }, { required: ['a'] }), 'requires itself without end'],
  [{ allOf: [{ enum: ['a'] }, { enum: ['b'] }] }, 'none of the values'],
  [{ allOf: [text(), integer] }, 'nothing is string and integer'],
  [object({ a: { oneOf: [true, true] } }, { required: ['a'] }), '#/properties/a: no value is known that fits'],
  [{ oneOf: [object({ a: text() }), object({ b: integer })] }, 'only one branch of oneOf'],
  [{ type: 'objekt' }, '#/type/0: Invalid option'],
  [{ required: 'a' }, '#/required: Invalid input: expected array'],
  [object({ a: { anyOf: {} } }), '#/properties/a/anyOf: Invalid input: expected array'],
  [{ properties: 5 }, '#/properties: Invalid input: expected record'],
  [list(integer, { minItems: 1e9 }), '#/minItems: Too big'],
  [list(integer, { minItems: 1e5 }), '10000 values at most'],
  [list(list(list(integer, { minItems: 90 }), { minItems: 90 }), { minItems: 90 }), '10000 values at most'],
  [text({ minLength: 1e9 }), '#/minLength: Too big'],
  [list(text({ minLength: 1e4 }), { minItems: 11 }), '100000 characters at most'],
  [matching('^a{1000000000}$'), 'however long one tries'],
  [matching('^(a{1000}){1000}$'), '100000 characters at most'],
  [matching('^(a|a)+(?=b)$'), 'no text is known'],
  [{ $ref: '#/$defs/d0', $defs: doubling(40) }, 'however long one tries'],
]

/** Definitions that each refer to the next twice. */
function doubling(count: number): Schema {
  const both = (nth: number) => ({ allOf: [{ $ref: `#/$defs/d${nth + 1}` }, { $ref: `#/$defs/d${nth + 1}` }] })
  const all = Array.from({ length: count }, (_, nth) => [`d${nth}`, both(nth)])
  return { ...Object.fromEntries(all), [`d${count}`]: text() }
}
