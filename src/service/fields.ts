/** The building blocks of requests: what the wire allows, with bounds that also show in the OpenAPI document. */
import * as z from 'zod'
import { isIntegerText, isNumberText } from '../lib/text/numbers.ts'
import { NOT_AN_INTEGER } from './http/validation-errors.ts'

/** A string whose length is counted in code points, so that an emoji is one. */
export function text(bounds: { min?: number; max?: number } = {}) {
  const { min = 0, max } = bounds
  if (min === 0 && max === undefined) return z.string()
  return z
    .string()
    .check(context => {
      const length = countCodePoints(context.value)
      if (length < min) {
        context.issues.push({
          code: 'too_small',
          origin: 'string',
          minimum: min,
          inclusive: true,
          input: context.value,
        })
      }
      if (max !== undefined && length > max) {
        context.issues.push({ code: 'too_big', origin: 'string', maximum: max, inclusive: true, input: context.value })
      }
    })
    .meta({ ...(min > 0 && { minLength: min }), ...(max !== undefined && { maxLength: max }) })
}

/** Length of a text in code points. */
export function countCodePoints(value: string): number {
  let length = 0
  for (const _ of value) length++
  return length
}

/**
 * Marks a text as a credential. Evidence shows a hash of it, so the service compares it by its hash, or reads its length
 * alone.
 */
export function credential<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ 'x-holds': 'credential' })
}

/** Marks a text that is kept and answered as it was sent, and not computed with. Evidence has a hash of credentials in it. */
export function opaque<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ 'x-holds': 'opaque' })
}

/**
 * An integer with inclusive bounds; `above` is an exclusive one. A JSON string is invalid, `2.0` is valid.
 *
 * Zod reports a wrong type as `number` here too; the message is what tells an integer from a number afterwards.
 */
export function integer(bounds: { min?: number; max?: number; above?: number } = {}) {
  let schema = z.int({ error: NOT_AN_INTEGER })
  if (bounds.above !== undefined) schema = schema.gt(bounds.above)
  if (bounds.min !== undefined) schema = schema.min(bounds.min)
  if (bounds.max !== undefined) schema = schema.max(bounds.max)
  return schema
}

/**
 * An object that keeps unknown fields, though nothing reads them. A world with strict requests refuses them.
 */
export function looseObject<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.looseObject(shape).meta({ 'x-unread': true })
}

/** Returns the schema of a record that the OpenAPI document has under this name. */
export function recordSchema<Shape extends z.ZodRawShape>(id: string, shape: Shape) {
  return z.object(shape).meta({ id })
}

/** The seconds that a file can be kept after its creation. */
export const FILE_LIFE_SECONDS = { min: 3_600, max: 2_592_000 } as const

/** Map of strings to strings with bounds on the number of pairs, and on keys and values in code points. */
export function stringMap(bounds: { max: number; key: number; value: number }) {
  return z
    .record(text({ max: bounds.key }), opaque(text({ max: bounds.value })))
    .check(context => {
      if (Object.keys(context.value).length > bounds.max) {
        context.issues.push({
          code: 'too_big',
          origin: 'object',
          maximum: bounds.max,
          inclusive: true,
          input: context.value,
        })
      }
    })
    .meta({ maxProperties: bounds.max })
}

/** An integer in a query string; absent where the parameter is. A client may give a number. */
export function queryInteger(bounds: { min?: number; max?: number } = {}) {
  return fromText(integer(bounds), text => (isIntegerText(text.trim()) ? Number(text) : text))
}

/** A number with inclusive bounds in a form; absent where the field is. A client may give a number. */
export function formNumber({ min, max }: { min: number; max: number }) {
  return fromText(z.number().min(min).max(max), text => (isNumberText(text.trim()) ? Number(text) : text))
}

/** A truth value in a query string: `true` or `false`. */
export function queryFlag() {
  return fromText(z.boolean(), text => (text === 'true' ? true : text === 'false' ? false : text))
}

function fromText<Value>(schema: z.ZodType<Value>, read: (text: string) => Value | string) {
  const schemaOfText = z.preprocess(value => (typeof value === 'string' ? read(value) : value), schema)
  return schemaOfText as unknown as z.ZodType<Value, Value | string>
}

/** A comma-separated list as the words in it, spaces trimmed, empty ones dropped. */
export function words(value: string): string[] {
  return value
    .split(',')
    .map(word => word.trim())
    .filter(word => word !== '')
}

/** A list of rows with these fields. */
export function rowsOf<Shape extends z.ZodRawShape>(fields: Shape) {
  return z.array(z.object(fields))
}

/** An object with these fields, or null. */
export function orNull<Shape extends z.ZodRawShape>(fields: Shape) {
  return z.object(fields).nullable()
}
