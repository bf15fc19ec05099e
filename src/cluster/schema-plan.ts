/** Which way is taken through schemas that leave a choice: what is to be made, as schemas that all have to fit. */
import { type JsonSchema, type SchemaDocument, SchemaError, type SchemaObject } from './schema-document.ts'
import { dependentsOf } from './schema-validator.ts'

/** A schema that has to fit, and where it stands. */
export interface Part {
  readonly schema: JsonSchema
  readonly at: string
}

/** One way. */
export interface Plan {
  /** All that has to fit: with what is referred to, `allOf`, and the chosen of other branches. */
  readonly parts: readonly { readonly schema: SchemaObject; readonly at: string }[]
  /** Properties that must not be there. */
  readonly absent: ReadonlySet<string>
  /** Properties that branches name of which just one may fit, and which were not chosen. */
  readonly others: ReadonlySet<string>
  /** What the value is; undefined where its values are listed. */
  readonly type: string | undefined
  /** Keywords that making a value does not keep by itself. */
  readonly hard: readonly string[]
}

export interface Choosing {
  /** Of all ways, counted through, the one to take. */
  readonly way: number
  /** Which of so many comes first, the same whenever it is asked for the same thing. */
  readonly first: (of: unknown, count: number) => number
  /** Takes what leads to an end, where it can. */
  readonly isPlain: boolean
  /** Told how many ways there are, as far as they are seen. */
  readonly onWays: (count: number) => void
}

const HARD = [
  ...['not', 'oneOf', 'if', 'contains', 'unevaluatedItems', 'unevaluatedProperties', 'propertyNames'],
  ...['patternProperties', 'dependentRequired', 'dependentSchemas', 'dependencies', 'minProperties', 'maxProperties'],
]

/** What tells the type of a value whose schemas name none. */
const TELLING: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames']],
  ['object', ['minProperties', 'maxProperties', 'dependentRequired', 'dependentSchemas', 'unevaluatedProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'unevaluatedItems']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
]

/**
 * The way of this number through schemas that all have to fit.
 *
 * @throws SchemaError where it leads to a contradiction
 */
export function planOf(parts: readonly Part[], document: SchemaDocument, choosing: Choosing): Plan {
  return new Planner(document, choosing).plan(parts)
}

class Planner {
  readonly #document: SchemaDocument
  readonly #choosing: Choosing
  readonly #found: { schema: SchemaObject; at: string }[] = []
  readonly #absent = new Set<string>()
  readonly #others = new Set<string>()
  readonly #pinned = new Map<string, string>()
  readonly #done = new Set<SchemaObject>()
  readonly #open = new Set<SchemaObject>()
  #left: number
  #ways = 1

  constructor(document: SchemaDocument, choosing: Choosing) {
    this.#document = document
    this.#choosing = choosing
    this.#left = choosing.way
  }

  plan(parts: readonly Part[]): Plan {
    for (const { schema, at } of parts) this.#add(schema, at)
    const hard = HARD.filter(keyword => this.#found.some(({ schema }) => keyword in schema))
    const isListed = this.#found.some(({ schema }) => schema.enum !== undefined || schema.const !== undefined)
    return {
      parts: this.#found,
      absent: this.#absent,
      others: this.#others,
      hard,
      type: isListed ? undefined : this.#type(hard.length > 0),
    }
  }

  #add(schema: JsonSchema, at: string): void {
    if (schema === true) return
    if (schema === false) throw new SchemaError(at, 'nothing fits the schema false')
    if (this.#open.has(schema)) throw new SchemaError(at, '$ref leads in a circle')
    if (this.#done.has(schema)) return
    this.#open.add(schema)
    for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
      const ref = schema[keyword] as string | undefined
      if (ref !== undefined) this.#add(this.#document.resolve(ref, at), at)
    }
    if (isAnything(schema.not)) throw new SchemaError(at, 'nothing fits not what anything fits')
    this.#found.push({ schema, at })
    const { allOf = [], anyOf, oneOf, if: condition, then, else: otherwise } = schema as Record<string, JsonSchema[]>
    for (const one of allOf) this.#add(one, at)
    if (anyOf !== undefined) this.#add(this.#oneOf(anyOf), at)
    if (oneOf !== undefined) {
      const chosen = this.#oneOf(oneOf)
      for (const other of oneOf) if (other !== chosen) this.#unchosen(other, at)
      this.#add(chosen, at)
    }
    if (condition !== undefined && (then !== undefined || otherwise !== undefined)) {
      const isMet = this.#isMet(condition as unknown as JsonSchema)
      if (isMet) this.#add(condition as unknown as JsonSchema, at)
      else this.#unmet(condition as unknown as JsonSchema, at)
      this.#add(((isMet ? then : otherwise) ?? true) as JsonSchema, at)
    }
    for (const [name, needs] of dependentsOf(schema)) {
      if (!Array.isArray(needs)) this.#dependent(name, needs as JsonSchema, at)
    }
    this.#open.delete(schema)
    this.#done.add(schema)
  }

  #oneOf(branches: readonly JsonSchema[]): JsonSchema {
    // What refers to itself ends by the first branch that does not: null and plain types.
    const plain = this.#choosing.isPlain
      ? branches.filter(branch => typeof branch !== 'object' || !/object|array|\$ref/.test(JSON.stringify(branch)))
      : branches
    const favored = plain.length > 0 ? plain : branches
    const first = this.#choosing.first(branches, favored.length)
    const ordered = [...favored.slice(first), ...favored.slice(0, first)]
    if (plain.length > 0 && plain !== branches) ordered.push(...branches.filter(one => !plain.includes(one)))
    return ordered[this.#choose(ordered.length, 0)]!
  }

  /** Whether a condition is taken to be met. Of those that ask one property for different values one can be. */
  #isMet(condition: JsonSchema): boolean {
    const values = Object.entries(propertiesOf(condition)).flatMap(([name, inner]) =>
      typeof inner === 'object' && inner.const !== undefined ? [[name, JSON.stringify(inner.const)] as const] : [],
    )
    if (values.some(([name, value]) => (this.#pinned.get(name) ?? value) !== value)) return false
    if (this.#choose(2, this.#choosing.first(condition, 2)) !== 0) return false
    for (const [name, value] of values) this.#pinned.set(name, value)
    return true
  }

  /** Keeps a condition from being met, where one property is enough for that. */
  #unmet(condition: JsonSchema, at: string): void {
    const [first] = Object.entries(propertiesOf(condition))
    const required = typeof condition === 'object' ? ((condition.required ?? []) as string[]) : []
    if (first !== undefined) {
      const [name, inner] = first
      this.#found.push({ schema: { properties: { [name]: { not: inner } }, required: [name] }, at })
    } else if (required.length === 1) this.#absent.add(required[0]!)
  }

  #unchosen(branch: JsonSchema, at: string): void {
    if (typeof branch === 'boolean') return
    const target = typeof branch.$ref === 'string' ? this.#document.resolve(branch.$ref, at) : branch
    for (const name of Object.keys(propertiesOf(target))) this.#others.add(name)
  }

  #dependent(name: string, needs: JsonSchema, at: string): void {
    const isLikely = this.#found.some(
      ({ schema }) =>
        Object.hasOwn((schema.properties ?? {}) as object, name) ||
        ((schema.required ?? []) as string[]).includes(name),
    )
    if (this.#choose(2, isLikely ? 0 : 1) === 1) {
      this.#absent.add(name)
      return
    }
    this.#found.push({ schema: { required: [name] }, at })
    this.#add(needs, at)
  }

  #type(isHard: boolean): string {
    let types: readonly string[] | undefined
    for (const { schema, at } of this.#found) {
      if (schema.type === undefined) continue
      const own = [schema.type].flat() as string[]
      const both: readonly string[] = types === undefined ? own : inBoth(types, own)
      if (both.length === 0) throw new SchemaError(at, `nothing is ${types!.join(' or ')} and ${own.join(' or ')}`)
      types = both
    }
    if (types?.length === 1) return types[0]!
    if (types !== undefined) {
      const simple = types.filter(one => one !== 'object' && one !== 'array')
      const among = this.#choosing.isPlain && simple.length > 0 ? simple : types
      const first = this.#choosing.first('type', among.length)
      const rest = types.filter(one => !among.includes(one))
      return [...among.slice(first), ...among.slice(0, first), ...rest][this.#choose(types.length, 0)]!
    }
    const told = TELLING.find(([, keywords]) =>
      keywords.some(keyword => this.#found.some(({ schema }) => keyword in schema)),
    )
    const likely = told?.[0] ?? 'string'
    if (!isHard) return likely
    const others = ['string', 'object', 'array', 'number', 'boolean', 'null'].filter(one => one !== likely)
    return [likely, ...others][this.#choose(6, 0)]!
  }

  /** One of so many by the number of the way, from the first on. */
  #choose(count: number, first: number): number {
    const digit = this.#left % count
    this.#left = Math.floor(this.#left / count)
    this.#ways *= count
    this.#choosing.onWays(this.#ways)
    return (first + digit) % count
  }
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return typeof schema === 'object' ? ((schema.properties ?? {}) as Record<string, JsonSchema>) : {}
}

function isAnything(schema: unknown): boolean {
  return schema === true || (typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0)
}

/** Types that are in both lists; an integer is a number. */
function inBoth(some: readonly string[], others: readonly string[]): string[] {
  const found = some.flatMap(one => {
    if (others.includes(one)) return [one]
    const isWhole = (one === 'number' && others.includes('integer')) || (one === 'integer' && others.includes('number'))
    return isWhole ? ['integer'] : []
  })
  return [...new Set(found)]
}
