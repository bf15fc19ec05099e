/** JSON Schemas with the vendor names of a names profile. */
import type { Names } from './names-profile.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * Returns a JSON Schema, or an object with schemas in it, with vendor names. Keys below `properties` are field names, and
 * all other keys are keywords.
 *
 * @param place a record or an operation with the path in it
 */
export function nameSchema(
  schema: Json,
  names: Names,
  place: string,
  nameExample: (example: unknown) => unknown = example => example,
): Record<string, unknown> {
  const fieldName = (name: string) => names.fieldName(name, [`${place}.${name}`], '')
  const nameValue = (value: unknown) => (typeof value === 'string' ? names.toVendorValue(value, [place]) : value)
  const nameInner = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(nameInner)
    return typeof value === 'object' && value !== null ? nameSchema(value as Json, names, place, nameExample) : value
  }
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      switch (keyword) {
        case 'properties': {
          const fields = Object.entries(value as Readonly<Record<string, Json>>)
          return [
            keyword,
            Object.fromEntries(
              fields.map(([name, one]) => [fieldName(name), nameSchema(one, names, `${place}.${name}`)]),
            ),
          ]
        }
        case '$defs':
          // Zod gives schemas without an id a name with underscores.
          return [
            keyword,
            mapValues(value as Readonly<Record<string, Json>>, (one, id) =>
              nameSchema(one, names, id.startsWith('__') ? place : id),
            ),
          ]
        case 'required':
          return [keyword, Array.isArray(value) ? value.map(fieldName) : value]
        case 'enum':
          return [keyword, (value as unknown[]).map(nameValue)]
        case 'const':
        case 'default':
          return [keyword, nameValue(value)]
        case 'example':
          return [keyword, nameExample(value)]
        default:
          return [keyword, nameInner(value)]
      }
    }),
  )
}

/** Returns a record with changed values. */
export function mapValues<Key extends string, Value, Result>(
  record: Readonly<Record<Key, Value>>,
  transform: (value: Value, key: Key) => Result,
): Record<Key, Result> {
  const entries = Object.entries(record) as [Key, Value][]
  return Object.fromEntries(entries.map(([key, value]) => [key, transform(value, key)])) as Record<Key, Result>
}
