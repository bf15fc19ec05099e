/** Validates values against a schema. It interprets the schema step by step, so that the caller can bound the steps. */
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { isRecord } from '../json-text.ts'
import type { JsonValue, SchemaDocument, SchemaObject } from './document.ts'
import { Pattern } from './patterns.ts'

export class SchemaValidator {
  readonly #document: SchemaDocument
  readonly #countSteps: (steps: number) => void
  /** Compiled once each: a map has a pattern for every name. */
  readonly #patterns = new Map<string, Pattern>()

  constructor(document: SchemaDocument, countSteps: (steps: number) => void) {
    this.#document = document
    this.#countSteps = countSteps
  }

  /** @throws SchemaError for an unsupported pattern */
  isValid(schema: SchemaObject, value: JsonValue): boolean {
    this.#countSteps(1)
    const { $ref, type, allOf = [], anyOf, oneOf, enum: values, const: constant } = schema
    const isValid = (one: SchemaObject) => this.isValid(one, value)
    const isEqual = (one: JsonValue) => one === value || this.#canonical(one) === this.#canonical(value)
    return (
      (type === undefined || type.some(one => isOfType(one, value))) &&
      (constant === undefined || isEqual(constant)) &&
      (values === undefined || values.some(isEqual)) &&
      ($ref === undefined || isValid(this.#document.resolve($ref))) &&
      allOf.every(isValid) &&
      (anyOf === undefined || anyOf.some(isValid)) &&
      (oneOf === undefined || oneOf.filter(isValid).length === 1) &&
      (typeof value !== 'string' || this.#isValidString(schema, value)) &&
      (typeof value !== 'number' || isValidNumber(schema, value)) &&
      (!Array.isArray(value) || this.#isValidArray(schema, value)) &&
      (!isRecord(value) || this.#isValidObject(schema, value))
    )
  }

  #pattern(source: string): Pattern {
    const pattern = this.#patterns.get(source) ?? new Pattern(source)
    this.#patterns.set(source, pattern)
    return pattern
  }

  #isValidString({ minLength = 0, maxLength, pattern, format }: SchemaObject, text: string): boolean {
    const { length } = [...text]
    const matches = pattern === undefined || this.#pattern(pattern).matches(text)
    return length >= minLength && length <= (maxLength ?? length) && matches && hasFormat(format, text)
  }

  #isValidArray(schema: SchemaObject, list: JsonValue[]): boolean {
    const { minItems = 0, maxItems = list.length, prefixItems = [], items = {} } = schema
    return (
      list.length >= minItems &&
      list.length <= maxItems &&
      list.every((item, nth) => this.isValid(prefixItems[nth] ?? items, item)) &&
      (schema.uniqueItems !== true || new Set(list.map(item => this.#canonical(item))).size === list.length)
    )
  }

  #isValidObject(schema: SchemaObject, object: { [name: string]: JsonValue }): boolean {
    const names = Object.keys(object)
    const { minProperties = 0, maxProperties = names.length, required = [], propertyNames = {} } = schema
    const isValidProperty = (name: string) =>
      this.isValid(propertyNames, name) &&
      this.propertySchemas(schema, name).every(one => this.isValid(one, object[name]!))
    return (
      names.length >= minProperties &&
      names.length <= maxProperties &&
      required.every(name => Object.hasOwn(object, name)) &&
      names.every(isValidProperty)
    )
  }

  /** Returns the schemas of a property by name. */
  propertySchemas(schema: SchemaObject, name: string): SchemaObject[] {
    const { properties = {}, patternProperties = {}, additionalProperties } = schema
    const named = Object.hasOwn(properties, name) ? [properties[name]!] : []
    const matching = Object.entries(patternProperties).filter(([source]) => this.#pattern(source).matches(name))
    const schemas = [...named, ...matching.map(([, one]) => one)]
    return schemas.length > 0 || additionalProperties === undefined ? schemas : [additionalProperties]
  }

  /** Returns a text that is the same for equal values, for every order of their properties. */
  #canonical(value: JsonValue): string {
    this.#countSteps(1)
    if (Array.isArray(value)) return `[${value.map(one => this.#canonical(one)).join()}]`
    if (!isRecord(value)) return JSON.stringify(value)
    const names = Object.keys(value).sort()
    return `{${names.map(name => `${JSON.stringify(name)}:${this.#canonical(value[name]!)}`).join()}}`
  }
}

/** Returns whether a value has a type. */
function isOfType(type: string, value: JsonValue): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isRecord(value)
  return type === 'integer' ? Number.isInteger(value) : typeof value === type
}

/** Returns whether a number matches the numeric keywords of a schema. */
export function isValidNumber(schema: SchemaObject, value: number): boolean {
  const { minimum = value, maximum = value, exclusiveMinimum, exclusiveMaximum, multipleOf, format } = schema
  // One division, as in other validators: 0.14 is then not a multiple of 0.01.
  const quotient = multipleOf === undefined ? 0 : value / multipleOf
  const isWithin = value >= minimum && value <= maximum && value > (exclusiveMinimum ?? Number.NEGATIVE_INFINITY)
  const isMultiple = Number.isInteger(quotient) && Math.abs(quotient) < 1e21
  return isWithin && value < (exclusiveMaximum ?? Number.POSITIVE_INFINITY) && isMultiple && hasFormat(format, value)
}

/** Returns whether a value has a format. An unknown format matches every value. */
export function hasFormat(name: string | undefined, value: string | number): boolean {
  const format: Format = (Object.hasOwn(fullFormats, name ?? '') ? fullFormats[name as FormatName] : true) as Format
  if (format === true) return true
  const { type = 'string', validate } = 'validate' in format ? format : { validate: format }
  return typeof value !== type || (validate instanceof RegExp ? validate.test(String(value)) : validate(value))
}

type FormatName = keyof typeof fullFormats
type Check = RegExp | ((value: unknown) => boolean)
type Format = true | Check | { readonly type?: string; readonly validate: Check }
