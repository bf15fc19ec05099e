/** JSON Schemas of requests: checks their form and resolves their references. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue }
export type JsonSchema = boolean | SchemaObject
export type SchemaObject = { readonly [keyword: string]: unknown }

/** A schema without a possible answer: it contradicts itself, or has an unsupported keyword. */
export class SchemaError extends Error {
  override readonly name: string = 'SchemaError'
  /** The place in the schema, as a JSON pointer. */
  readonly at: string
  constructor(at: string, message: string) {
    super(`${at === '' ? '#' : `#${at}`}: ${message}`)
    this.at = at
  }
}

/** The schema exceeds a limit of effort. No other branch is tried. */
export class EffortLimitError extends SchemaError {
  override readonly name = 'EffortError'
}

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null']
const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef']
const ANCHORS = ['$anchor', '$dynamicAnchor']

const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0
const isNumber = (value: unknown) => typeof value === 'number' && Number.isFinite(value)
const isString = (value: unknown) => typeof value === 'string'
const isBoolean = (value: unknown) => typeof value === 'boolean'
const isStringArray = (value: unknown) => Array.isArray(value) && value.every(isString)
const isObject = (value: unknown): value is SchemaObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isType = (value: unknown) => TYPES.includes(value as string)

/** The types of keywords whose value is not a schema, with their names for errors. */
const PLAIN_KEYWORDS: Readonly<Record<string, readonly [(value: unknown) => boolean, string]>> = {
  ...Object.fromEntries(
    ['Length', 'Items', 'Properties', 'Contains'].flatMap(what => [
      [`min${what}`, [isCount, 'an integer from 0']],
      [`max${what}`, [isCount, 'an integer from 0']],
    ]),
  ),
  ...Object.fromEntries(
    ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].map(word => [word, [isNumber, 'a number']]),
  ),
  multipleOf: [value => isNumber(value) && (value as number) > 0, 'a number above 0'],
  uniqueItems: [isBoolean, 'true or false'],
  pattern: [isString, 'a text'],
  format: [isString, 'a text'],
  required: [isStringArray, 'a list of names'],
  enum: [value => Array.isArray(value) && value.length > 0, 'a list of values, and it is empty or none'],
  type: [
    value => isType(value) || (Array.isArray(value) && value.length > 0 && value.every(isType)),
    `of ${TYPES.join(', ')}, or a list of these`,
  ],
  dependentRequired: [
    value => isObject(value) && Object.values(value).every(isStringArray),
    'an object of lists of names',
  ],
  ...Object.fromEntries([...REFERENCES, ...ANCHORS].map(word => [word, [isString, 'a text']])),
}
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  ...['not', 'if', 'then', 'else', 'items', 'additionalItems', 'contains', 'unevaluatedItems'],
  ...['additionalProperties', 'propertyNames', 'unevaluatedProperties'],
])
const SCHEMA_LIST_KEYWORDS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])
const SCHEMA_MAP_KEYWORDS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])

/** A checked schema: each keyword has a valid value, and each reference has a target. */
export class SchemaDocument {
  readonly #root: JsonSchema
  readonly #anchors = new Map<string, SchemaObject>()
  readonly #visited = new Set<SchemaObject>()

  /** @throws SchemaError for an invalid schema, or a reference without a target */
  constructor(root: JsonSchema) {
    this.#root = root
    const references: [ref: string, at: string][] = []
    this.#visit(root, '', references)
    // A reference may point to a place outside of the known keywords.
    for (let nth = 0; nth < references.length; nth++) this.#visit(this.resolve(...references[nth]!), '', references)
  }

  /** Returns the schema of a reference. */
  resolve(ref: string, at: string): JsonSchema {
    const id = this.#root !== true && this.#root !== false ? this.#root.$id : undefined
    const localRef =
      typeof id === 'string' && ref.startsWith(id.replace(/#$/, '')) ? ref.slice(id.replace(/#$/, '').length) : ref
    if (localRef !== '' && !localRef.startsWith('#')) {
      throw new SchemaError(at, `$ref ${JSON.stringify(ref)} leads out of the schema`)
    }
    const anchor = this.#anchors.get(localRef.slice(1))
    if (anchor !== undefined) return anchor
    let target: unknown = localRef === '' || localRef.startsWith('#/') || localRef === '#' ? this.#root : undefined
    for (const step of localRef.slice(1).split('/').slice(1)) {
      const name = decodeUri(step).replaceAll('~1', '/').replaceAll('~0', '~')
      target =
        typeof target === 'object' && target !== null && Object.hasOwn(target, name) ? target[name as never] : undefined
    }
    if (target === undefined) throw new SchemaError(at, `$ref ${JSON.stringify(ref)} leads nowhere`)
    return target as JsonSchema
  }

  #visit(schema: unknown, at: string, references: [string, string][]): void {
    if (typeof schema === 'boolean') return
    if (!isObject(schema)) throw new SchemaError(at, `${JSON.stringify(schema)} is not a schema`)
    if (this.#visited.has(schema)) return
    this.#visited.add(schema)
    if (schema !== this.#root && typeof schema.$id === 'string' && !schema.$id.startsWith('#')) {
      throw new SchemaError(at, '$id within a schema is not understood')
    }
    for (const [keyword, value] of Object.entries(schema)) {
      const pointer = `${at}/${keyword.replaceAll('~', '~0').replaceAll('/', '~1')}`
      const rule = Object.hasOwn(PLAIN_KEYWORDS, keyword) ? PLAIN_KEYWORDS[keyword] : undefined
      if (rule !== undefined && !rule[0](value)) throw new SchemaError(at, `${keyword} must be ${rule[1]}`)
      if (REFERENCES.includes(keyword)) references.push([value as string, at])
      if (ANCHORS.includes(keyword)) this.#anchors.set(value as string, schema)
      if (SCHEMA_LIST_KEYWORDS.has(keyword) && Array.isArray(value)) {
        if (value.length === 0 && keyword !== 'items') throw new SchemaError(at, `${keyword} must not be empty`)
        for (const [nth, one] of value.entries()) this.#visit(one, `${pointer}/${nth}`, references)
      } else if (SCHEMA_KEYWORDS.has(keyword)) this.#visit(value, pointer, references)
      else if (SCHEMA_LIST_KEYWORDS.has(keyword)) throw new SchemaError(at, `${keyword} must be a list of schemas`)
      else if (SCHEMA_MAP_KEYWORDS.has(keyword)) {
        if (!isObject(value)) throw new SchemaError(at, `${keyword} must be an object of schemas`)
        for (const [name, one] of Object.entries(value)) {
          if (keyword === 'dependencies' && isStringArray(one)) continue
          this.#visit(one, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, references)
        }
      }
    }
  }
}

function decodeUri(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}
