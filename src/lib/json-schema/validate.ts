/** Validates values against a schema. It interprets the schema step by step, so that the caller can bound the steps. */

import { fullFormats } from 'ajv-formats/dist/formats.js'
import { LIMITS } from '../../limits/limits.ts'
import { type JsonSchema, type JsonValue, type SchemaDocument, SchemaError, type SchemaObject } from './document.ts'
import { type CountSteps, RegexPattern } from './regex.ts'

/** The properties and items that other keywords have evaluated, for `unevaluatedProperties` and `unevaluatedItems`. */
class EvaluatedParts {
  readonly names = new Set<string>()
  readonly items = new Set<number>()

  add(other: EvaluatedParts): void {
    for (const name of other.names) this.names.add(name)
    for (const item of other.items) this.items.add(item)
  }
}

/**
 * Validates values by JSON Schema 2020-12, and by the keywords of draft 7 with another form: lists in `items`,
 * `additionalItems`, `dependencies`.
 */
export class SchemaValidator {
  readonly #document: SchemaDocument
  readonly #countSteps: CountSteps
  readonly #patterns = new Map<string, RegexPattern>()

  constructor(document: SchemaDocument, spend: CountSteps) {
    this.#document = document
    this.#countSteps = spend
  }

  /** @throws SchemaError for an unsupported pattern */
  isValid(schema: JsonSchema, value: JsonValue, evaluated?: EvaluatedParts): boolean {
    this.#countSteps(1)
    if (typeof schema === 'boolean') return schema
    const ownEvaluated =
      evaluated !== undefined || 'unevaluatedProperties' in schema || 'unevaluatedItems' in schema
        ? new EvaluatedParts()
        : undefined
    if (!this.#matchesType(schema, value) || !this.#matchesComposition(schema, value, ownEvaluated)) return false
    if (typeof value === 'string' && !this.#isValidString(schema, value)) return false
    if (typeof value === 'number' && !isValidNumber(schema, value)) return false
    if (Array.isArray(value)) {
      if (!this.#isValidArray(schema, value, ownEvaluated)) return false
    } else if (typeof value === 'object' && value !== null && !this.#isValidObject(schema, value, ownEvaluated))
      return false
    if (ownEvaluated !== undefined) evaluated?.add(ownEvaluated)
    return true
  }

  /** Returns the pattern of a source, from a cache. */
  pattern(source: string, at = ''): RegexPattern {
    const cached = this.#patterns.get(source)
    if (cached !== undefined) return cached
    if (source.length > LIMITS.schemaPattern) {
      throw new SchemaError(at, `pattern has ${source.length} characters, and at most ${LIMITS.schemaPattern} are read`)
    }
    try {
      const pattern = new RegexPattern(source, this.#countSteps)
      this.#patterns.set(source, pattern)
      return pattern
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      throw new SchemaError(
        at,
        `pattern ${JSON.stringify(source)} is not a regular expression that is read: ${error.message}`,
      )
    }
  }

  #matchesType({ type, enum: values, const: constant }: SchemaObject, value: JsonValue): boolean {
    if (type !== undefined && ![type].flat().some(one => isOfType(one as string, value))) return false
    if (constant !== undefined && !this.#isEqual(constant as JsonValue, value)) return false
    if (values === undefined) return true
    this.#countSteps((values as JsonValue[]).length >> 4)
    return (values as JsonValue[]).some(one => this.#isEqual(one, value))
  }

  /** Returns whether a value matches the applied schemas: `$ref`, `allOf`, `anyOf`, `oneOf`, `not` and conditions. */
  #matchesComposition(schema: SchemaObject, value: JsonValue, evaluated: EvaluatedParts | undefined): boolean {
    for (const word of ['$ref', '$dynamicRef', '$recursiveRef']) {
      const ref = schema[word] as string | undefined
      if (ref !== undefined && !this.isValid(this.#document.resolve(ref, ''), value, evaluated)) return false
    }
    const { allOf = [], anyOf, oneOf, not, if: condition } = schema as Record<string, JsonSchema[]>
    if (!allOf.every(one => this.isValid(one, value, evaluated))) return false
    if (anyOf !== undefined) {
      // Each matching branch adds the properties and items that it has evaluated.
      const isAnyValid =
        evaluated === undefined
          ? anyOf.some(one => this.isValid(one, value))
          : anyOf.filter(one => this.isValid(one, value, evaluated)).length > 0
      if (!isAnyValid) return false
    }
    if (oneOf !== undefined && oneOf.filter(one => this.isValid(one, value, evaluated)).length !== 1) return false
    if (not !== undefined && this.isValid(not as unknown as JsonSchema, value)) return false
    if (condition === undefined) return true
    const then = this.isValid(condition as unknown as JsonSchema, value, evaluated) ? schema.then : schema.else
    return then === undefined || this.isValid(then as JsonSchema, value, evaluated)
  }

  #isValidString({ minLength, maxLength, pattern, format }: SchemaObject, text: string): boolean {
    if (minLength !== undefined || maxLength !== undefined) {
      let length = 0
      for (const _ of text) length++
      if (length < ((minLength as number) ?? 0) || length > ((maxLength as number) ?? length)) return false
    }
    if (pattern !== undefined && !this.pattern(pattern as string).matches(text)) return false
    return format === undefined || hasFormat(format as string, text)
  }

  #isValidArray(schema: SchemaObject, list: JsonValue[], evaluated: EvaluatedParts | undefined): boolean {
    const { minItems = 0, maxItems = list.length } = schema as { minItems?: number; maxItems?: number }
    if (list.length < minItems || list.length > maxItems) return false
    const { first, rest } = arrayItems(schema)
    for (const [nth, item] of list.entries()) {
      const inner = first[nth] ?? rest
      if (inner === undefined) continue
      evaluated?.items.add(nth)
      if (!this.isValid(inner, item)) return false
    }
    if (schema.contains !== undefined) {
      const { minContains = 1, maxContains = list.length } = schema as { minContains?: number; maxContains?: number }
      const containedIndexes = list.flatMap((item, nth) =>
        this.isValid(schema.contains as JsonSchema, item) ? [nth] : [],
      )
      if (containedIndexes.length < minContains || containedIndexes.length > maxContains) return false
      for (const nth of containedIndexes) evaluated?.items.add(nth)
    }
    if (schema.uniqueItems === true) {
      const texts = new Set(list.map(item => this.#canonical(item)))
      if (texts.size < list.length) return false
    }
    if (schema.unevaluatedItems === undefined) return true
    return list.every((item, nth) => {
      if (evaluated!.items.has(nth)) return true
      evaluated!.items.add(nth)
      return this.isValid(schema.unevaluatedItems as JsonSchema, item)
    })
  }

  #isValidObject(
    schema: SchemaObject,
    object: { [name: string]: JsonValue },
    evaluated: EvaluatedParts | undefined,
  ): boolean {
    const names = Object.keys(object)
    const { minProperties = 0, maxProperties = names.length } = schema as Record<string, number>
    if (names.length < minProperties || names.length > maxProperties) return false
    if (schema.required !== undefined && !(schema.required as string[]).every(name => Object.hasOwn(object, name))) {
      return false
    }
    for (const name of names) {
      this.#countSteps(1)
      const inner = propertySchemas(schema, name, source => this.pattern(source))
      if (inner.length > 0) evaluated?.names.add(name)
      if (!inner.every(one => this.isValid(one.schema, object[name]!))) return false
      const { propertyNames } = schema
      if (propertyNames !== undefined && !this.isValid(propertyNames as JsonSchema, name)) return false
    }
    if (!this.#matchesDependents(schema, object, evaluated)) return false
    if (schema.unevaluatedProperties === undefined) return true
    return names.every(name => {
      if (evaluated!.names.has(name)) return true
      evaluated!.names.add(name)
      return this.isValid(schema.unevaluatedProperties as JsonSchema, object[name]!)
    })
  }

  #matchesDependents(
    schema: SchemaObject,
    object: { [name: string]: JsonValue },
    evaluated: EvaluatedParts | undefined,
  ): boolean {
    return dependentEntries(schema).every(
      ([name, needs]) =>
        !Object.hasOwn(object, name) ||
        (Array.isArray(needs)
          ? needs.every(one => Object.hasOwn(object, one))
          : this.isValid(needs as JsonSchema, object, evaluated)),
    )
  }

  #isEqual(one: JsonValue, other: JsonValue): boolean {
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other
    return this.#canonical(one) === this.#canonical(other)
  }

  /** Returns a text that is the same for equal values, for every order of their properties. */
  #canonical(value: JsonValue): string {
    this.#countSteps(1)
    if (typeof value !== 'object' || value === null) return JSON.stringify(value)
    if (Array.isArray(value)) return `[${value.map(one => this.#canonical(one)).join()}]`
    const names = Object.keys(value).sort()
    return `{${names.map(name => `${JSON.stringify(name)}:${this.#canonical(value[name]!)}`).join()}}`
  }
}

/** Returns whether a value has a type. */
function isOfType(type: string, value: JsonValue): boolean {
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

/** Returns whether a number matches the numeric keywords of a schema. */
function isValidNumber(schema: SchemaObject, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, format } = schema as {
    [keyword: string]: number | undefined
  }
  return (
    !(minimum !== undefined && value < minimum) &&
    !(maximum !== undefined && value > maximum) &&
    !(exclusiveMinimum !== undefined && value <= exclusiveMinimum) &&
    !(exclusiveMaximum !== undefined && value >= exclusiveMaximum) &&
    !(multipleOf !== undefined && !isMultiple(value, multipleOf)) &&
    !(format !== undefined && !hasFormat(format as unknown as string, value))
  )
}

/**
 * Returns whether a number is a multiple, by one division as in other validators: 0.14 is then not a multiple of 0.01.
 */
export function isMultiple(value: number, divisor: number): boolean {
  const quotient = value / divisor
  return Number.isInteger(quotient) && Math.abs(quotient) < 1e21
}

/** Returns whether a value has a format. An unknown format matches every value. */
export function hasFormat(name: string, value: string | number): boolean {
  const format = Object.hasOwn(fullFormats, name) ? fullFormats[name as keyof typeof fullFormats] : true
  if (format === true) return true
  if (format instanceof RegExp) return typeof value !== 'string' || format.test(value)
  if (typeof format === 'function') return typeof value !== 'string' || format(value)
  const { type = 'string', validate } = format as { type?: string; validate: RegExp | ((value: unknown) => boolean) }
  if (typeof value !== type) return true
  return validate instanceof RegExp ? validate.test(String(value)) : validate(value)
}

/** Returns the schemas of the first items of a list, and of all others. Undefined: any value. */
export function arrayItems(schema: SchemaObject): { first: readonly JsonSchema[]; rest: JsonSchema | undefined } {
  const { items, prefixItems, additionalItems } = schema
  // Draft 7 defines it so.
  if (Array.isArray(items)) return { first: items, rest: additionalItems as JsonSchema | undefined }
  return { first: (prefixItems as JsonSchema[] | undefined) ?? [], rest: items as JsonSchema | undefined }
}

/** Returns the schemas of a property by name, with their places. */
export function propertySchemas(
  { properties, patternProperties, additionalProperties }: SchemaObject,
  name: string,
  patternOf: (source: string) => RegexPattern,
): { readonly schema: JsonSchema; readonly keyword: string }[] {
  const schemas: { schema: JsonSchema; keyword: string }[] = []
  if (properties !== undefined && Object.hasOwn(properties as object, name)) {
    schemas.push({ schema: (properties as Record<string, JsonSchema>)[name]!, keyword: 'properties' })
  }
  for (const [source, schema] of Object.entries((patternProperties ?? {}) as Record<string, JsonSchema>)) {
    if (patternOf(source).matches(name)) schemas.push({ schema, keyword: 'patternProperties' })
  }
  if (schemas.length === 0 && additionalProperties !== undefined) {
    schemas.push({ schema: additionalProperties as JsonSchema, keyword: 'additionalProperties' })
  }
  return schemas
}

/** Returns the names that require other names, or a schema. */
export function dependentEntries(schema: SchemaObject): [name: string, needs: readonly string[] | JsonSchema][] {
  const { dependentRequired = {}, dependentSchemas = {}, dependencies = {} } = schema as Record<string, object>
  return [dependentRequired, dependentSchemas, dependencies].flatMap(map => Object.entries(map))
}
