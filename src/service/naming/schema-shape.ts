/**
 * The shape of a schema, as a tree: the fields of an object, the items of a list, the words of an enumeration. Code that
 * walks a body by its schema walks this tree. Parts that the schema leaves open are not in it.
 */
import * as z from 'zod'
import { oncePer } from '../../lib/once.ts'
import type { FieldSchemas } from '../endpoint.ts'

/**
 * What a text is, beside data: the path of an endpoint, the endpoint of a batch, a tag of a model, statuses of
 * deployments with commas between them, a credential, or what is answered as it was sent.
 */
export type TextRole = 'path' | 'endpoint' | 'tag' | 'statuses' | 'credential' | 'opaque'

export interface SchemaShape {
  /** The places of the field that has it: `Deployment.config.gpu` in a record, `.hub.repo` outside of records. */
  readonly places: readonly string[]
  /** Declared fields of an object. */
  readonly fields: ReadonlyMap<string, SchemaShape>
  /** Whether it may be anything else as well. */
  readonly isOpen: boolean
  /** The shape of the values of a map. */
  readonly additional: SchemaShape | undefined
  /** The shape of the items of a list. */
  readonly items: SchemaShape | undefined
  /** The words that a text is one of; empty where it may be any. */
  readonly allowedWords: readonly string[]
  readonly textRole: TextRole | undefined
}

type Json = Readonly<Record<string, unknown>>

/** A text, or nothing that is known. */
const PLAIN_SHAPE: SchemaShape = {
  places: [],
  fields: new Map(),
  isOpen: false,
  additional: undefined,
  items: undefined,
  allowedWords: [],
  textRole: undefined,
}

/** What may be sent for a schema. */
// What is made ready before it is judged may be anything on its way in: what it is judged by says more.
export const inputShape = oncePer((schema: z.ZodType) => refineShape(parseShape(schema, 'input'), outputShape(schema)))

/** What a schema's values are when they are answered. */
export const outputShape = oncePer((schema: z.ZodType) => parseShape(schema, 'output'))

/** The shape of a query, path or form. */
export const fieldsShape = oncePer((fields: FieldSchemas) => parseShape(z.object(fields), 'output'))

function parseShape(rootSchema: z.ZodType, io: 'input' | 'output'): SchemaShape {
  const root = z.toJSONSchema(rootSchema, { io, unrepresentable: 'any' }) as Json
  const definitions = (root.$defs ?? {}) as Readonly<Record<string, Json>>
  const openSchemas = new Set<Json>()
  return of(root, '', [])

  /**
   * @param place the record with the path in it; empty outside of records
   * @param places those of the field that has the schema
   */
  function of(schema: Json, place: string, places: readonly string[]): SchemaShape {
    // A schema within itself is JSON of any kind.
    if (openSchemas.has(schema)) return { ...PLAIN_SHAPE, places, isOpen: true }
    openSchemas.add(schema)
    const shape = shapeOf(schema, typeof schema.id === 'string' ? schema.id : place, places)
    openSchemas.delete(schema)
    return shape
  }

  function shapeOf(schema: Json, place: string, places: readonly string[]): SchemaShape {
    if (typeof schema.$ref === 'string') {
      const id = schema.$ref.replace('#/$defs/', '')
      // Zod gives schemas without an id a name with underscores.
      const isRecord = schema.$ref !== '#' && !id.startsWith('__')
      return of(schema.$ref === '#' ? root : definitions[id]!, isRecord ? id : place, places)
    }
    // Places of a tuple are looked at as one.
    const anyOf = (options: unknown) =>
      (options as readonly Json[]).map(option => of(option, place, places)).reduce(mergeShapes, PLAIN_SHAPE)
    const options = (schema.anyOf ?? schema.oneOf) as readonly Json[] | undefined
    if (options !== undefined) return anyOf(options.filter(({ type }) => type !== 'null'))
    const { type, enum: words, const: word, prefixItems } = schema
    if (type === undefined && words === undefined && word === undefined) return { ...PLAIN_SHAPE, places, isOpen: true }
    const nested = (value: unknown) =>
      typeof value === 'object' && value !== null ? of(value as Json, place, places) : undefined
    return {
      ...{ ...PLAIN_SHAPE, places },
      fields: new Map(
        Object.entries((schema.properties ?? {}) as Readonly<Record<string, Json>>).map(([name, inner]) => [
          name,
          of(inner, `${place}.${name}`, [`${place}.${name}`]),
        ]),
      ),
      // What is kept and not read is declared nowhere.
      additional: schema['x-unread'] === true ? undefined : nested(schema.additionalProperties),
      items: Array.isArray(prefixItems) ? anyOf(prefixItems) : nested(schema.items),
      allowedWords: ((words ?? [word]) as readonly unknown[]).filter(one => typeof one === 'string'),
      textRole: schema['x-holds'] as TextRole | undefined,
    }
  }
}

/** One of two: what either declares is declared. */
function mergeShapes(first: SchemaShape, other: SchemaShape): SchemaShape {
  const either = (one: SchemaShape | undefined, two: SchemaShape | undefined) =>
    one && two ? mergeShapes(one, two) : (one ?? two)
  const names = new Set([...first.fields.keys(), ...other.fields.keys()])
  return {
    places: [...new Set([...first.places, ...other.places])],
    fields: new Map(Array.from(names, name => [name, either(first.fields.get(name), other.fields.get(name))!])),
    isOpen: first.isOpen || other.isOpen,
    additional: either(first.additional, other.additional),
    items: either(first.items, other.items),
    allowedWords: [...new Set([...first.allowedWords, ...other.allowedWords])],
    textRole: first.textRole ?? other.textRole,
  }
}

/** The first, and the second wherever the first is free. */
function refineShape(first: SchemaShape, other: SchemaShape): SchemaShape {
  if (first.isOpen && first.fields.size === 0) return other
  const both = (one: SchemaShape | undefined, two: SchemaShape | undefined) => one && two && refineShape(one, two)
  const { fields, additional, items } = first
  return {
    ...first,
    fields: new Map([...fields].map(([name, inner]) => [name, both(inner, other.fields.get(name)) ?? inner])),
    additional: both(additional, other.additional) ?? additional,
    items: both(items, other.items) ?? items,
  }
}
