/**
 * What a schema declares, as a tree of places: which fields an object has, where a list goes on, which words a text may
 * be. Whoever walks a body by its declaration walks this; what a declaration leaves free stays free.
 */
import * as z from 'zod'

/** What a text is, beside data: our own prose, or the path of an endpoint. */
export type Holds = 'message' | 'path'

export interface Shape {
  /** Declared fields of an object. */
  readonly fields: ReadonlyMap<string, Shape>
  /** Whether an object may have others as well. */
  readonly isOpen: boolean
  /** What stands under the keys of a map. */
  readonly rest: Shape | undefined
  /** What stands in a list. */
  readonly items: Shape | undefined
  /** The words that a text is one of; empty where it may be any. */
  readonly words: readonly string[]
  readonly holds: Holds | undefined
}

type Json = Readonly<Record<string, unknown>>

/** Anything: nothing is known below. */
const FREE: Shape = { fields: new Map(), isOpen: true, rest: undefined, items: undefined, words: [], holds: undefined }

/** Shapes by schema: neither changes. */
const inputs = new WeakMap<z.ZodType, Shape>()
const outputs = new WeakMap<z.ZodType, Shape>()

/** What may be sent for a schema. */
export function inputShape(schema: z.ZodType): Shape {
  return remembered(inputs, schema, () => {
    const output = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' })
    const input = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    // What is made ready before it is judged may be anything on its way in: what it is judged by says more.
    return either(read(input as Json), read(output as Json))
  })
}

/** What a schema's values are when they are answered. */
export function outputShape(schema: z.ZodType): Shape {
  return remembered(outputs, schema, () =>
    read(z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }) as Json),
  )
}

function remembered(memory: WeakMap<z.ZodType, Shape>, schema: z.ZodType, make: () => Shape): Shape {
  const known = memory.get(schema)
  if (known !== undefined) return known
  const made = make()
  memory.set(schema, made)
  return made
}

function read(root: Json): Shape {
  const definitions = (root.$defs ?? {}) as Readonly<Record<string, Json>>
  const open = new Set<Json>()
  return of(root)

  function of(schema: Json): Shape {
    // A schema within itself is JSON of any kind.
    if (open.has(schema)) return FREE
    open.add(schema)
    const shape = shapeOf(schema)
    open.delete(schema)
    return shape
  }

  function shapeOf(schema: Json): Shape {
    if (typeof schema.$ref === 'string') {
      const target = schema.$ref === '#' ? root : definitions[schema.$ref.replace('#/$defs/', '')]
      return target === undefined ? FREE : of(target)
    }
    const options = (schema.anyOf ?? schema.oneOf) as readonly Json[] | undefined
    if (options !== undefined)
      return options
        .filter(({ type }) => type !== 'null')
        .map(of)
        .reduce(both, NONE)
    if (schema.type === undefined && schema.enum === undefined && schema.const === undefined) return FREE
    // What is kept and not read is declared nowhere.
    const rest = schema['x-unread'] === true ? undefined : schema.additionalProperties
    return {
      fields: new Map(
        Object.entries((schema.properties ?? {}) as Readonly<Record<string, Json>>).map(([name, inner]) => [
          name,
          of(inner),
        ]),
      ),
      isOpen: typeof rest === 'object' && rest !== null,
      rest: typeof rest === 'object' && rest !== null ? of(rest as Json) : undefined,
      items: itemsOf(schema),
      words: wordsOf(schema),
      holds: schema['x-holds'] as Holds | undefined,
    }
  }

  function itemsOf({ items, prefixItems }: Json): Shape | undefined {
    // Places of a tuple that have one declaration each are looked at as one.
    if (Array.isArray(prefixItems)) return (prefixItems as readonly Json[]).map(of).reduce(both, NONE)
    return typeof items === 'object' && items !== null ? of(items as Json) : undefined
  }
}

const NONE: Shape = { ...FREE, isOpen: false }

function wordsOf(schema: Json): readonly string[] {
  const words = schema.enum ?? (schema.const === undefined ? [] : [schema.const])
  return (words as readonly unknown[]).filter(word => typeof word === 'string')
}

/** One of two: what either declares is declared. */
function both(one: Shape, other: Shape): Shape {
  if (one === NONE) return other
  const fields = new Map(one.fields)
  for (const [name, inner] of other.fields) {
    const known = fields.get(name)
    fields.set(name, known === undefined ? inner : both(known, inner))
  }
  return {
    fields,
    isOpen: one.isOpen || other.isOpen,
    rest: one.rest && other.rest ? both(one.rest, other.rest) : (one.rest ?? other.rest),
    items: one.items && other.items ? both(one.items, other.items) : (one.items ?? other.items),
    words: [...new Set([...one.words, ...other.words])],
    holds: one.holds ?? other.holds,
  }
}

/** The first, and the second wherever the first is free. */
function either(one: Shape, other: Shape): Shape {
  if (one === FREE || other === FREE) return one === FREE ? other : one
  const fields = new Map([...one.fields].map(([name, inner]) => [name, either(inner, other.fields.get(name) ?? inner)]))
  return {
    ...one,
    fields,
    rest: one.rest && other.rest ? either(one.rest, other.rest) : one.rest,
    items: one.items && other.items ? either(one.items, other.items) : one.items,
  }
}
