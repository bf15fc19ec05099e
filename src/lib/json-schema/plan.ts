/** Chooses a path through schemas with alternatives. A path is a list of schemas that a value has to match. */
import { type SchemaDocument, SchemaError, type SchemaObject } from './document.ts'
import type { Effort } from './effort.ts'

/** One path. */
export interface GenerationPlan {
  /** All schemas to match: references, `allOf`, and the chosen branches of the others. */
  readonly schemas: readonly SchemaObject[]
  /** Type of the value. Undefined: its values are listed. */
  readonly type: string | undefined
}

/** The paths of a value. */
export interface Paths {
  /** Number of the path to take. */
  current: number
  /** Number of the paths that are known so far. */
  count: number
  /** The drawn first of several branches. */
  readonly firstBranches: Map<unknown, number>
}

/** Keywords that imply the type of a value without the keyword `type`. */
const TYPE_KEYWORDS: readonly (readonly [type: string, keywords: readonly (keyof SchemaObject)[]])[] = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames']],
  ['object', ['minProperties', 'maxProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
]

/**
 * Returns a path through schemas that all have to match.
 *
 * @param prefersPlain whether to prefer branches that end a recursion
 * @throws SchemaError if the path has a contradiction
 */
export function planGeneration(
  parts: readonly SchemaObject[],
  document: SchemaDocument,
  paths: Paths,
  effort: Effort,
  prefersPlain: boolean,
): GenerationPlan {
  const schemas = new Set<SchemaObject>()
  const visiting = new Set<SchemaObject>()
  let remainingPath = paths.current
  let pathCount = 1

  /** Returns one of several branches by the number of the path. Plain ones come first if they are preferred. */
  function choose<Branch>(branches: readonly Branch[], isPlain: (branch: Branch) => boolean): Branch {
    const plain = prefersPlain ? branches.filter(isPlain) : []
    const preferred = plain.length > 0 ? plain : branches
    const first = paths.firstBranches.get(branches) ?? effort.drawInteger(preferred.length)
    paths.firstBranches.set(branches, first)
    const others = plain.length > 0 ? branches.filter(one => !plain.includes(one)) : []
    const ordered = [...preferred.slice(first), ...preferred.slice(0, first), ...others]
    const chosen = ordered[remainingPath % ordered.length]!
    remainingPath = Math.floor(remainingPath / ordered.length)
    pathCount *= ordered.length
    paths.count = Math.max(paths.count, pathCount)
    return chosen
  }

  function add(schema: SchemaObject): void {
    if (visiting.has(schema)) throw new SchemaError(document.placeOf(schema), '$ref leads in a circle')
    if (schemas.has(schema)) return
    visiting.add(schema)
    const { $ref, allOf = [], anyOf, oneOf } = schema
    if ($ref !== undefined) add(document.resolve($ref))
    schemas.add(schema)
    for (const one of allOf) add(one)
    for (const branches of [anyOf, oneOf]) {
      if (branches === undefined) continue
      if (branches.length === 0) throw new SchemaError(document.placeOf(schema), 'nothing fits this schema')
      // A recursion ends by a branch without a reference: null and plain types.
      add(choose(branches, branch => !/"object"|"array"|"\$ref"/.test(JSON.stringify(branch))))
    }
    visiting.delete(schema)
  }

  function typeOfValue(): string {
    let types: readonly string[] | undefined
    for (const schema of schemas) {
      const { type = types } = schema
      const commonTypes = types === undefined || type === undefined ? type : commonOf(types, type)
      if (commonTypes?.length === 0)
        throw new SchemaError(document.placeOf(schema), `nothing is ${types!.join(' or ')} and ${type!.join(' or ')}`)
      types = commonTypes
    }
    if (types?.length === 1) return types[0]!
    if (types !== undefined) return choose(types, one => one !== 'object' && one !== 'array')
    const isUsed = (keyword: keyof SchemaObject) => [...schemas].some(one => one[keyword] !== undefined)
    return TYPE_KEYWORDS.find(([, keywords]) => keywords.some(isUsed))?.[0] ?? 'string'
  }

  for (const part of parts) add(part)
  const isListed = [...schemas].some(one => one.enum !== undefined || one.const !== undefined)
  return { schemas: [...schemas], type: isListed ? undefined : typeOfValue() }
}

/** Returns the types in both lists. An integer is a number. */
function commonOf(some: readonly string[], others: readonly string[]): string[] {
  const isIn = (type: string, types: readonly string[]) =>
    types.includes(type) || (type === 'integer' && types.includes('number'))
  return [...new Set([...some.filter(one => isIn(one, others)), ...others.filter(one => isIn(one, some))])]
}
