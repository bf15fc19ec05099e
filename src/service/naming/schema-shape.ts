/**
 * The shape of a schema, as a tree: the fields of an object, the items of a list, the words of an enumeration. Code that
 * walks a body by its schema walks this tree. Parts that the schema leaves open are not in it.
 */
import * as z from 'zod'

/**
 * What a text is, beside data: our own prose, the path of an endpoint, the endpoint of a batch, a tag of a model,
 * statuses of deployments with commas between them, or a credential.
 */
export type TextRole = 'message' | 'path' | 'endpoint' | 'tag' | 'statuses' | 'credential'

export interface SchemaShape {
  /** Declared fields of an object. */
  readonly fields: ReadonlyMap<string, SchemaShape>
  /** The places of each field: `Deployment.config.gpu` in a record, `.hub.repo` outside of records. */
  readonly places: ReadonlyMap<string, readonly string[]>
  /** Whether an object may have others as well. */
  readonly allowsOtherFields: boolean
  /** The shape of the values of a map. */
  readonly additional: SchemaShape | undefined
  /** The shape of the items of a list. */
  readonly items: SchemaShape | undefined
  /** The words that a text is one of; empty where it may be any. */
  readonly allowedWords: readonly string[]
  readonly textRole: TextRole | undefined
}

type Json = Readonly<Record<string, unknown>>

/** Anything: nothing is known below. */
const ANY_SHAPE: SchemaShape = {
  fields: new Map(),
  places: new Map(),
  allowsOtherFields: true,
  additional: undefined,
  items: undefined,
  allowedWords: [],
  textRole: undefined,
}

/** Shapes by schema: neither changes. */
const inputShapes = new WeakMap<z.ZodType, SchemaShape>()
const outputShapes = new WeakMap<z.ZodType, SchemaShape>()

/** What may be sent for a schema. */
export function inputShape(schema: z.ZodType): SchemaShape {
  return memoize(inputShapes, schema, () => {
    const output = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' })
    const input = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    // What is made ready before it is judged may be anything on its way in: what it is judged by says more.
    return refineShape(parseShape(input as Json), parseShape(output as Json))
  })
}

/** What a schema's values are when they are answered. */
export function outputShape(schema: z.ZodType): SchemaShape {
  return memoize(outputShapes, schema, () =>
    parseShape(z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }) as Json),
  )
}

function memoize(cache: WeakMap<z.ZodType, SchemaShape>, schema: z.ZodType, make: () => SchemaShape): SchemaShape {
  const cachedShape = cache.get(schema)
  if (cachedShape !== undefined) return cachedShape
  const shape = make()
  cache.set(schema, shape)
  return shape
}

function parseShape(root: Json): SchemaShape {
  const definitions = (root.$defs ?? {}) as Readonly<Record<string, Json>>
  const openSchemas = new Set<Json>()
  return of(root, '')

  /** @param place the record with the path in it; empty outside of records */
  function of(schema: Json, place: string): SchemaShape {
    // A schema within itself is JSON of any kind.
    if (openSchemas.has(schema)) return ANY_SHAPE
    openSchemas.add(schema)
    const shape = shapeOf(schema, typeof schema.id === 'string' ? schema.id : place)
    openSchemas.delete(schema)
    return shape
  }

  function shapeOf(schema: Json, place: string): SchemaShape {
    if (typeof schema.$ref === 'string') {
      const id = schema.$ref.replace('#/$defs/', '')
      const target = schema.$ref === '#' ? root : definitions[id]
      // Zod gives schemas without an id a name with underscores.
      const isRecord = schema.$ref !== '#' && !id.startsWith('__')
      return target === undefined ? ANY_SHAPE : of(target, isRecord ? id : place)
    }
    const options = (schema.anyOf ?? schema.oneOf) as readonly Json[] | undefined
    if (options !== undefined)
      return options
        .filter(({ type }) => type !== 'null')
        .map(option => of(option, place))
        .reduce(mergeShapes, EMPTY_SHAPE)
    if (schema.type === undefined && schema.enum === undefined && schema.const === undefined) return ANY_SHAPE
    // What is kept and not read is declared nowhere.
    const rest = schema['x-unread'] === true ? undefined : schema.additionalProperties
    const properties = Object.entries((schema.properties ?? {}) as Readonly<Record<string, Json>>)
    return {
      fields: new Map(properties.map(([name, inner]) => [name, of(inner, `${place}.${name}`)])),
      places: new Map(properties.map(([name]) => [name, [`${place}.${name}`]])),
      allowsOtherFields: typeof rest === 'object' && rest !== null,
      additional: typeof rest === 'object' && rest !== null ? of(rest as Json, place) : undefined,
      items: itemsOf(schema, place),
      allowedWords: findAllowedWords(schema),
      textRole: schema['x-holds'] as TextRole | undefined,
    }
  }

  function itemsOf({ items, prefixItems }: Json, place: string): SchemaShape | undefined {
    // Places of a tuple that have one declaration each are looked at as one.
    if (Array.isArray(prefixItems))
      return (prefixItems as readonly Json[]).map(one => of(one, place)).reduce(mergeShapes, EMPTY_SHAPE)
    return typeof items === 'object' && items !== null ? of(items as Json, place) : undefined
  }
}

const EMPTY_SHAPE: SchemaShape = { ...ANY_SHAPE, allowsOtherFields: false }

function findAllowedWords(schema: Json): readonly string[] {
  const words = schema.enum ?? (schema.const === undefined ? [] : [schema.const])
  return (words as readonly unknown[]).filter(word => typeof word === 'string')
}

/** One of two: what either declares is declared. */
function mergeShapes(first: SchemaShape, other: SchemaShape): SchemaShape {
  if (first === EMPTY_SHAPE) return other
  const fields = new Map(first.fields)
  for (const [name, inner] of other.fields) {
    const merged = fields.get(name)
    fields.set(name, merged === undefined ? inner : mergeShapes(merged, inner))
  }
  const places = new Map(first.places)
  for (const [name, added] of other.places) places.set(name, [...new Set([...(places.get(name) ?? []), ...added])])
  return {
    fields,
    places,
    allowsOtherFields: first.allowsOtherFields || other.allowsOtherFields,
    additional:
      first.additional && other.additional
        ? mergeShapes(first.additional, other.additional)
        : (first.additional ?? other.additional),
    items: first.items && other.items ? mergeShapes(first.items, other.items) : (first.items ?? other.items),
    allowedWords: [...new Set([...first.allowedWords, ...other.allowedWords])],
    textRole: first.textRole ?? other.textRole,
  }
}

/** The first, and the second wherever the first is free. */
function refineShape(first: SchemaShape, other: SchemaShape): SchemaShape {
  if (first === ANY_SHAPE || other === ANY_SHAPE) return first === ANY_SHAPE ? other : first
  const fields = new Map(
    [...first.fields].map(([name, inner]) => [name, refineShape(inner, other.fields.get(name) ?? inner)]),
  )
  return {
    ...first,
    fields,
    additional:
      first.additional && other.additional ? refineShape(first.additional, other.additional) : first.additional,
    items: first.items && other.items ? refineShape(first.items, other.items) : first.items,
  }
}
