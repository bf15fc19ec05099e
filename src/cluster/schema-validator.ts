/** Whether a value fits a schema: by interpretation, step by step, so that whoever asks can bound the steps. */
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { Pattern, type Spend } from './pattern.ts'
import {
  type JsonSchema,
  type JsonValue,
  type SchemaDocument,
  SchemaError,
  type SchemaObject,
} from './schema-document.ts'

/** What keywords beside it have looked at, for `unevaluatedProperties` and `unevaluatedItems`. */
class Evaluated {
  readonly names = new Set<string>()
  readonly items = new Set<number>()

  add(other: Evaluated): void {
    for (const name of other.names) this.names.add(name)
    for (const item of other.items) this.items.add(item)
  }
}

/**
 * Judges values by schemas of JSON Schema 2020-12, and by what draft 7 says in another way: lists in `items`,
 * `additionalItems`, `dependencies`.
 */
export class SchemaValidator {
  readonly #document: SchemaDocument
  readonly #spend: Spend
  readonly #patterns = new Map<string, Pattern>()

  constructor(document: SchemaDocument, spend: Spend) {
    this.#document = document
    this.#spend = spend
  }

  /** @throws SchemaError for a pattern that cannot be read */
  fits(schema: JsonSchema, value: JsonValue, seen?: Evaluated): boolean {
    this.#spend(1)
    if (typeof schema === 'boolean') return schema
    const own =
      seen !== undefined || 'unevaluatedProperties' in schema || 'unevaluatedItems' in schema
        ? new Evaluated()
        : undefined
    if (!this.#isOfType(schema, value) || !this.#isComposed(schema, value, own)) return false
    if (typeof value === 'string' && !this.#isText(schema, value)) return false
    if (typeof value === 'number' && !isNumber(schema, value)) return false
    if (Array.isArray(value)) {
      if (!this.#isList(schema, value, own)) return false
    } else if (typeof value === 'object' && value !== null && !this.#isObject(schema, value, own)) return false
    if (own !== undefined) seen?.add(own)
    return true
  }

  /** The pattern of this source, made once. */
  pattern(source: string, at = ''): Pattern {
    const known = this.#patterns.get(source)
    if (known !== undefined) return known
    try {
      const made = new Pattern(source, this.#spend)
      this.#patterns.set(source, made)
      return made
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      throw new SchemaError(
        at,
        `pattern ${JSON.stringify(source)} is no regular expression that is read: ${error.message}`,
      )
    }
  }

  #isOfType({ type, enum: values, const: only }: SchemaObject, value: JsonValue): boolean {
    if (type !== undefined && ![type].flat().some(one => isOf(one as string, value))) return false
    if (only !== undefined && !this.#isEqual(only as JsonValue, value)) return false
    if (values === undefined) return true
    this.#spend((values as JsonValue[]).length >> 4)
    return (values as JsonValue[]).some(one => this.#isEqual(one, value))
  }

  /** Whether it fits the schemas beside: references, all, some, one, none of them, and conditions. */
  #isComposed(schema: SchemaObject, value: JsonValue, own: Evaluated | undefined): boolean {
    for (const word of ['$ref', '$dynamicRef', '$recursiveRef']) {
      const ref = schema[word] as string | undefined
      if (ref !== undefined && !this.fits(this.#document.resolve(ref, ''), value, own)) return false
    }
    const { allOf = [], anyOf, oneOf, not, if: condition } = schema as Record<string, JsonSchema[]>
    if (!allOf.every(one => this.fits(one, value, own))) return false
    if (anyOf !== undefined) {
      // Each branch that fits has looked at something.
      const fitting =
        own === undefined
          ? anyOf.some(one => this.fits(one, value))
          : anyOf.filter(one => this.fits(one, value, own)).length > 0
      if (!fitting) return false
    }
    if (oneOf !== undefined && oneOf.filter(one => this.fits(one, value, own)).length !== 1) return false
    if (not !== undefined && this.fits(not as unknown as JsonSchema, value)) return false
    if (condition === undefined) return true
    const then = this.fits(condition as unknown as JsonSchema, value, own) ? schema.then : schema.else
    return then === undefined || this.fits(then as JsonSchema, value, own)
  }

  #isText({ minLength, maxLength, pattern, format }: SchemaObject, text: string): boolean {
    if (minLength !== undefined || maxLength !== undefined) {
      let length = 0
      for (const _ of text) length++
      if (length < ((minLength as number) ?? 0) || length > ((maxLength as number) ?? length)) return false
    }
    if (pattern !== undefined && !this.pattern(pattern as string).fits(text)) return false
    return format === undefined || isFormat(format as string, text)
  }

  #isList(schema: SchemaObject, list: JsonValue[], own: Evaluated | undefined): boolean {
    const { minItems = 0, maxItems = list.length } = schema as { minItems?: number; maxItems?: number }
    if (list.length < minItems || list.length > maxItems) return false
    const { first, rest } = itemsOf(schema)
    for (const [nth, item] of list.entries()) {
      const inner = first[nth] ?? rest
      if (inner === undefined) continue
      own?.items.add(nth)
      if (!this.fits(inner, item)) return false
    }
    if (schema.contains !== undefined) {
      const { minContains = 1, maxContains = list.length } = schema as { minContains?: number; maxContains?: number }
      const found = list.flatMap((item, nth) => (this.fits(schema.contains as JsonSchema, item) ? [nth] : []))
      if (found.length < minContains || found.length > maxContains) return false
      for (const nth of found) own?.items.add(nth)
    }
    if (schema.uniqueItems === true) {
      const texts = new Set(list.map(item => this.#canonical(item)))
      if (texts.size < list.length) return false
    }
    if (schema.unevaluatedItems === undefined) return true
    return list.every((item, nth) => {
      if (own!.items.has(nth)) return true
      own!.items.add(nth)
      return this.fits(schema.unevaluatedItems as JsonSchema, item)
    })
  }

  #isObject(schema: SchemaObject, object: { [name: string]: JsonValue }, own: Evaluated | undefined): boolean {
    const names = Object.keys(object)
    const { minProperties = 0, maxProperties = names.length } = schema as Record<string, number>
    if (names.length < minProperties || names.length > maxProperties) return false
    if (schema.required !== undefined && !(schema.required as string[]).every(name => Object.hasOwn(object, name))) {
      return false
    }
    for (const name of names) {
      this.#spend(1)
      const inner = propertySchemas(schema, name, source => this.pattern(source))
      if (inner.length > 0) own?.names.add(name)
      if (!inner.every(one => this.fits(one.schema, object[name]!))) return false
      const { propertyNames } = schema
      if (propertyNames !== undefined && !this.fits(propertyNames as JsonSchema, name)) return false
    }
    if (!this.#dependents(schema, object, own)) return false
    if (schema.unevaluatedProperties === undefined) return true
    return names.every(name => {
      if (own!.names.has(name)) return true
      own!.names.add(name)
      return this.fits(schema.unevaluatedProperties as JsonSchema, object[name]!)
    })
  }

  #dependents(schema: SchemaObject, object: { [name: string]: JsonValue }, own: Evaluated | undefined): boolean {
    return dependentsOf(schema).every(
      ([name, needs]) =>
        !Object.hasOwn(object, name) ||
        (Array.isArray(needs)
          ? needs.every(one => Object.hasOwn(object, one))
          : this.fits(needs as JsonSchema, object, own)),
    )
  }

  #isEqual(one: JsonValue, other: JsonValue): boolean {
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other
    return this.#canonical(one) === this.#canonical(other)
  }

  /** A text that equal values have in common, whatever the order of their properties. */
  #canonical(value: JsonValue): string {
    this.#spend(1)
    if (typeof value !== 'object' || value === null) return JSON.stringify(value)
    if (Array.isArray(value)) return `[${value.map(one => this.#canonical(one)).join()}]`
    const names = Object.keys(value).sort()
    return `{${names.map(name => `${JSON.stringify(name)}:${this.#canonical(value[name]!)}`).join()}}`
  }
}

/** Whether a value is of a type. */
function isOf(type: string, value: JsonValue): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    default:
      return typeof value === type
  }
}

/** Whether a number fits the keywords of a schema for numbers. */
function isNumber(schema: SchemaObject, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, format } = schema as {
    [keyword: string]: number | undefined
  }
  return (
    !(minimum !== undefined && value < minimum) &&
    !(maximum !== undefined && value > maximum) &&
    !(exclusiveMinimum !== undefined && value <= exclusiveMinimum) &&
    !(exclusiveMaximum !== undefined && value >= exclusiveMaximum) &&
    !(multipleOf !== undefined && !isMultiple(value, multipleOf)) &&
    !(format !== undefined && !isFormat(format as unknown as string, value))
  )
}

/** As validators of JSON Schema judge it, by one division: 0.14 is no multiple of 0.01 to them. */
export function isMultiple(value: number, of: number): boolean {
  const times = value / of
  return Number.isInteger(times) && Math.abs(times) < 1e21
}

/** Whether a value has a format; one that is unknown says nothing. */
export function isFormat(name: string, value: string | number): boolean {
  const format = Object.hasOwn(fullFormats, name) ? fullFormats[name as keyof typeof fullFormats] : true
  if (format === true) return true
  if (format instanceof RegExp) return typeof value !== 'string' || format.test(value)
  if (typeof format === 'function') return typeof value !== 'string' || format(value)
  const { type = 'string', validate } = format as { type?: string; validate: RegExp | ((value: unknown) => boolean) }
  if (typeof value !== type) return true
  return validate instanceof RegExp ? validate.test(String(value)) : validate(value)
}

/** What stands at the first places of a list, and at all others; undefined for anything. */
export function itemsOf(schema: SchemaObject): { first: readonly JsonSchema[]; rest: JsonSchema | undefined } {
  const { items, prefixItems, additionalItems } = schema
  // So says draft 7.
  if (Array.isArray(items)) return { first: items, rest: additionalItems as JsonSchema | undefined }
  return { first: (prefixItems as JsonSchema[] | undefined) ?? [], rest: items as JsonSchema | undefined }
}

/** What a schema says of the property of this name, and where. */
export function propertySchemas(
  { properties, patternProperties, additionalProperties }: SchemaObject,
  name: string,
  patternOf: (source: string) => Pattern,
): { readonly schema: JsonSchema; readonly keyword: string }[] {
  const found: { schema: JsonSchema; keyword: string }[] = []
  if (properties !== undefined && Object.hasOwn(properties as object, name)) {
    found.push({ schema: (properties as Record<string, JsonSchema>)[name]!, keyword: 'properties' })
  }
  for (const [source, schema] of Object.entries((patternProperties ?? {}) as Record<string, JsonSchema>)) {
    if (patternOf(source).fits(name)) found.push({ schema, keyword: 'patternProperties' })
  }
  if (found.length === 0 && additionalProperties !== undefined) {
    found.push({ schema: additionalProperties as JsonSchema, keyword: 'additionalProperties' })
  }
  return found
}

/** Names that bring others with them, or a schema. */
export function dependentsOf(schema: SchemaObject): [name: string, needs: readonly string[] | JsonSchema][] {
  const { dependentRequired = {}, dependentSchemas = {}, dependencies = {} } = schema as Record<string, object>
  return [dependentRequired, dependentSchemas, dependencies].flatMap(map => Object.entries(map))
}
