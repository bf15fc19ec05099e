/** Chooses a path through schemas with alternatives. A path is a list of schemas that a value has to match. */
import { type JsonSchema, type SchemaDocument, SchemaError, type SchemaObject } from './document.ts'
import { dependentEntries } from './validate.ts'

/** A schema that the value has to match, and its place. */
export interface LocatedSchema {
  readonly schema: JsonSchema
  readonly at: string
}

/** One path. */
export interface GenerationPlan {
  /** All schemas to match: references, `allOf`, and the chosen branches of the others. */
  readonly locatedSchemas: readonly { readonly schema: SchemaObject; readonly at: string }[]
  /** Properties that must be absent. */
  readonly forbiddenNames: ReadonlySet<string>
  /** Properties of the branches of `oneOf` that were not chosen. */
  readonly unchosenNames: ReadonlySet<string>
  /** Type of the value. Undefined: its values are listed. */
  readonly type: string | undefined
  /** Keywords that the generator does not observe by itself. */
  readonly uncheckedKeywords: readonly string[]
}

export interface BranchChoice {
  /** Number of the path to take. */
  readonly path: number
  /** Returns the first of a number of branches. Equal arguments give equal results. */
  readonly firstBranch: (of: unknown, count: number) => number
  /** Whether to prefer branches that end a recursion. */
  readonly prefersPlain: boolean
  /** Receives the number of paths that are known so far. */
  readonly onPathCount: (count: number) => void
}

const UNCHECKED_KEYWORDS = [
  ...['not', 'oneOf', 'if', 'contains', 'unevaluatedItems', 'unevaluatedProperties', 'propertyNames'],
  ...['patternProperties', 'dependentRequired', 'dependentSchemas', 'dependencies', 'minProperties', 'maxProperties'],
]

/** Keywords that imply the type of a value without the keyword `type`. */
const TYPE_KEYWORDS: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames']],
  ['object', ['minProperties', 'maxProperties', 'dependentRequired', 'dependentSchemas', 'unevaluatedProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'unevaluatedItems']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
]

/**
 * Returns the path of a number through schemas that all have to match.
 *
 * @throws SchemaError if the path has a contradiction
 */
export function planGeneration(
  parts: readonly LocatedSchema[],
  document: SchemaDocument,
  choice: BranchChoice,
): GenerationPlan {
  return new Planner(document, choice).plan(parts)
}

class Planner {
  readonly #document: SchemaDocument
  readonly #choice: BranchChoice
  readonly #schemas: { schema: SchemaObject; at: string }[] = []
  readonly #forbiddenNames = new Set<string>()
  readonly #unchosenNames = new Set<string>()
  readonly #requiredValues = new Map<string, string>()
  readonly #visited = new Set<SchemaObject>()
  readonly #visiting = new Set<SchemaObject>()
  #remainingPath: number
  #pathCount = 1

  constructor(document: SchemaDocument, choice: BranchChoice) {
    this.#document = document
    this.#choice = choice
    this.#remainingPath = choice.path
  }

  plan(parts: readonly LocatedSchema[]): GenerationPlan {
    for (const { schema, at } of parts) this.#add(schema, at)
    const uncheckedKeywords = UNCHECKED_KEYWORDS.filter(keyword =>
      this.#schemas.some(({ schema }) => keyword in schema),
    )
    const isListed = this.#schemas.some(({ schema }) => schema.enum !== undefined || schema.const !== undefined)
    return {
      locatedSchemas: this.#schemas,
      forbiddenNames: this.#forbiddenNames,
      unchosenNames: this.#unchosenNames,
      uncheckedKeywords,
      type: isListed ? undefined : this.#type(uncheckedKeywords.length > 0),
    }
  }

  #add(schema: JsonSchema, at: string): void {
    if (schema === true) return
    if (schema === false) throw new SchemaError(at, 'nothing fits the schema false')
    if (this.#visiting.has(schema)) throw new SchemaError(at, '$ref leads in a circle')
    if (this.#visited.has(schema)) return
    this.#visiting.add(schema)
    for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
      const ref = schema[keyword] as string | undefined
      if (ref !== undefined) this.#add(this.#document.resolve(ref, at), at)
    }
    if (acceptsAnything(schema.not)) throw new SchemaError(at, 'nothing fits not what anything fits')
    this.#schemas.push({ schema, at })
    const { allOf = [], anyOf, oneOf, if: condition, then, else: otherwise } = schema as Record<string, JsonSchema[]>
    for (const one of allOf) this.#add(one, at)
    if (anyOf !== undefined) this.#add(this.#chooseBranch(anyOf), at)
    if (oneOf !== undefined) {
      const chosen = this.#chooseBranch(oneOf)
      for (const other of oneOf) if (other !== chosen) this.#noteUnchosen(other, at)
      this.#add(chosen, at)
    }
    if (condition !== undefined && (then !== undefined || otherwise !== undefined)) {
      const isMet = this.#isMet(condition as unknown as JsonSchema)
      if (isMet) this.#add(condition as unknown as JsonSchema, at)
      else this.#preventCondition(condition as unknown as JsonSchema, at)
      this.#add(((isMet ? then : otherwise) ?? true) as JsonSchema, at)
    }
    for (const [name, needs] of dependentEntries(schema)) {
      if (!Array.isArray(needs)) this.#addDependent(name, needs as JsonSchema, at)
    }
    this.#visiting.delete(schema)
    this.#visited.add(schema)
  }

  #chooseBranch(branches: readonly JsonSchema[]): JsonSchema {
    // A recursion ends by the first branch without a reference: null and plain types.
    const plain = this.#choice.prefersPlain
      ? branches.filter(branch => typeof branch !== 'object' || !/object|array|\$ref/.test(JSON.stringify(branch)))
      : branches
    const preferred = plain.length > 0 ? plain : branches
    const first = this.#choice.firstBranch(branches, preferred.length)
    const ordered = [...preferred.slice(first), ...preferred.slice(0, first)]
    if (plain.length > 0 && plain !== branches) ordered.push(...branches.filter(one => !plain.includes(one)))
    return ordered[this.#choose(ordered.length, 0)]!
  }

  /**
   * Returns whether a condition is assumed to hold. Of conditions for different values of one property, one can hold.
   */
  #isMet(condition: JsonSchema): boolean {
    const values = Object.entries(propertiesOf(condition)).flatMap(([name, inner]) =>
      typeof inner === 'object' && inner.const !== undefined ? [[name, JSON.stringify(inner.const)] as const] : [],
    )
    if (values.some(([name, value]) => (this.#requiredValues.get(name) ?? value) !== value)) return false
    if (this.#choose(2, this.#choice.firstBranch(condition, 2)) !== 0) return false
    for (const [name, value] of values) this.#requiredValues.set(name, value)
    return true
  }

  /** Makes a condition false, if one property is enough for that. */
  #preventCondition(condition: JsonSchema, at: string): void {
    const [first] = Object.entries(propertiesOf(condition))
    const required = typeof condition === 'object' ? ((condition.required ?? []) as string[]) : []
    if (first !== undefined) {
      const [name, inner] = first
      this.#schemas.push({ schema: { properties: { [name]: { not: inner } }, required: [name] }, at })
    } else if (required.length === 1) this.#forbiddenNames.add(required[0]!)
  }

  #noteUnchosen(branch: JsonSchema, at: string): void {
    if (typeof branch === 'boolean') return
    const target = typeof branch.$ref === 'string' ? this.#document.resolve(branch.$ref, at) : branch
    for (const name of Object.keys(propertiesOf(target))) this.#unchosenNames.add(name)
  }

  #addDependent(name: string, dependentSchema: JsonSchema, at: string): void {
    const isLikely = this.#schemas.some(
      ({ schema }) =>
        Object.hasOwn((schema.properties ?? {}) as object, name) ||
        ((schema.required ?? []) as string[]).includes(name),
    )
    if (this.#choose(2, isLikely ? 0 : 1) === 1) {
      this.#forbiddenNames.add(name)
      return
    }
    this.#schemas.push({ schema: { required: [name] }, at })
    this.#add(dependentSchema, at)
  }

  #type(isHard: boolean): string {
    let types: readonly string[] | undefined
    for (const { schema, at } of this.#schemas) {
      if (schema.type === undefined) continue
      const ownTypes = [schema.type].flat() as string[]
      const commonTypes: readonly string[] = types === undefined ? ownTypes : intersectTypes(types, ownTypes)
      if (commonTypes.length === 0)
        throw new SchemaError(at, `nothing is ${types!.join(' or ')} and ${ownTypes.join(' or ')}`)
      types = commonTypes
    }
    if (types?.length === 1) return types[0]!
    if (types !== undefined) {
      const simple = types.filter(one => one !== 'object' && one !== 'array')
      const preferred = this.#choice.prefersPlain && simple.length > 0 ? simple : types
      const first = this.#choice.firstBranch('type', preferred.length)
      const rest = types.filter(one => !preferred.includes(one))
      return [...preferred.slice(first), ...preferred.slice(0, first), ...rest][this.#choose(types.length, 0)]!
    }
    const typeKeywords = TYPE_KEYWORDS.find(([, keywords]) =>
      keywords.some(keyword => this.#schemas.some(({ schema }) => keyword in schema)),
    )
    const likelyType = typeKeywords?.[0] ?? 'string'
    if (!isHard) return likelyType
    const others = ['string', 'object', 'array', 'number', 'boolean', 'null'].filter(one => one !== likelyType)
    return [likelyType, ...others][this.#choose(6, 0)]!
  }

  /** Returns one of a number of branches by the number of the path, from the first on. */
  #choose(count: number, first: number): number {
    const digit = this.#remainingPath % count
    this.#remainingPath = Math.floor(this.#remainingPath / count)
    this.#pathCount *= count
    this.#choice.onPathCount(this.#pathCount)
    return (first + digit) % count
  }
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return typeof schema === 'object' ? ((schema.properties ?? {}) as Record<string, JsonSchema>) : {}
}

function acceptsAnything(schema: unknown): boolean {
  return schema === true || (typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0)
}

/** Returns the types in both lists. An integer is a number. */
function intersectTypes(some: readonly string[], others: readonly string[]): string[] {
  const common = some.flatMap(one => {
    if (others.includes(one)) return [one]
    const isWhole = (one === 'number' && others.includes('integer')) || (one === 'integer' && others.includes('number'))
    return isWhole ? ['integer'] : []
  })
  return [...new Set(common)]
}
