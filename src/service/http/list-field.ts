/** Lists among the texts of a query or a form, which a client sends by repeating a name. */
import type * as z from 'zod'
import { attempt } from '../../lib/errors.ts'
import { unwrapSchema } from '../../lib/zod-problems.ts'
import type { EndpointMapping } from '../naming/endpoint-mapping.ts'
import { inputShape } from '../naming/schema-shape.ts'

/** Tells whether a field of a form is a list, which a client sends by repeating it. */
export function isListField(schema: z.ZodType): boolean {
  return inputShape(schema).items !== undefined
}

/** Returns all values of a field that is a list, and otherwise the last. A schema can take one text beside lists. */
export function readRepeated(schema: z.ZodType | undefined, values: readonly string[]): string | readonly string[] {
  const last = values.at(-1)!
  if (schema === undefined || !unwrapSchema(schema).safeParse(last).success) return values
  return values.length > 1 && attempt(() => schema.safeParse(values).success) ? values : last
}

/** Returns the fields of a form of texts, with the lists that the body declares. `name[]` is an entry of the list `name`. */
export function withLists(
  fields: Readonly<Record<string, string>>,
  lists: Readonly<Record<string, readonly string[]>>,
  body: z.ZodType,
  mapping: EndpointMapping | undefined,
): Record<string, unknown> {
  const { shape } = body as { readonly shape?: Readonly<Record<string, z.ZodType>> }
  const read: Record<string, unknown> = Object.assign(Object.create(null), fields)
  for (const [name, { items, places }] of inputShape(body).fields) {
    if (items === undefined) continue
    const vendorName = mapping?.names.fieldName(name, places, mapping.operation) ?? name
    for (const sent of new Set([vendorName, name])) {
      const listName = sent.replace(/\[\]$/, '')
      const values = lists[listName]
      if (values === undefined) continue
      delete read[`${listName}[]`]
      read[sent] = readRepeated(shape?.[name], values)
    }
  }
  return read
}
