/** Schemas with their references, alternatives and parts merged into one view. */

import { isRecord } from '../../lib/json-text.ts'
import { oncePer } from '../../lib/once.ts'
import { type DocumentPart, escapePointer, type Json, type OpenapiDocument, toObject } from './document.ts'

/** A schema with its document. */
export interface SchemaSide {
  readonly document: OpenapiDocument
  readonly schema: DocumentPart
  /** References to the schemas that a field has in several alternatives. Undefined for one schema. */
  readonly alternatives?: readonly Json[]
}

/** Deeper than any body; limits recursive schemas. */
export const MAX_DEPTH = 12

const LOWER_BOUNDS = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems']
const UPPER_BOUNDS = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems']

/** @param oursWord the word of our bound, if it may be another one of the same end */
export function isWithin(word: string, bound: number, ours: number, oursWord = word): boolean {
  if (bound === ours) return word === oursWord || !oursWord.startsWith('exclusive')
  return LOWER_BOUNDS.includes(word) === bound > ours
}

/** Returns the bounds of a schema. An exclusive bound of whole numbers is the next whole number. */
function boundsOf(value: Json, types: readonly string[]): ReadonlyMap<string, number> {
  const isWhole = types.length > 0 && types.every(type => type === 'integer' || type === 'null')
  const bounds = [...LOWER_BOUNDS, ...UPPER_BOUNDS].flatMap(word => {
    const bound = value[word]
    if (typeof bound !== 'number') return []
    if (!isWhole || inclusive(word) === word) return [[word, bound] as const]
    return [[inclusive(word), word === 'exclusiveMinimum' ? Math.floor(bound) + 1 : Math.ceil(bound) - 1] as const]
  })
  return new Map(bounds)
}

/** Returns the word of the inclusive bound at the same end: `minimum` for `exclusiveMinimum`. */
export const inclusive = (word: string): string => word.replace(/^exclusiveM/, 'm')

/** Returns the bounds that both sets declare, each the wider of the two. */
function widestBounds(one: SchemaView['bounds'], other: SchemaView['bounds']): SchemaView['bounds'] {
  const both = [...one].filter(([word]) => other.has(word))
  return new Map(
    both.map(([word, bound]) => [word, isWithin(word, bound, other.get(word)!) ? other.get(word)! : bound]),
  )
}

/** A schema with its references, alternatives and parts merged. */
export interface SchemaView {
  readonly pointer: string
  readonly types: readonly string[]
  readonly words: readonly unknown[]
  /** Bounds by keyword: `maximum`, `maxLength` and others. */
  readonly bounds: ReadonlyMap<string, number>
  /** The pattern of its strings. Undefined: none, or an alternative accepts any string. */
  readonly pattern: string | undefined
  readonly fields: ReadonlyMap<string, SchemaSide>
  readonly required: ReadonlySet<string>
  /** Undeclared fields are allowed. */
  readonly isOpen: boolean
  readonly items: SchemaSide | undefined
  /** The views of its alternatives, each with the parts that apply to all of them. Empty: it has none. */
  readonly members: readonly SchemaView[]
}

/** The views of a schema by level: parts can share parts, so that there are more paths to a part than parts. */
const knownViews = oncePer((_schema: Json): SchemaView[] => [])

export function viewOf({ document, schema }: SchemaSide, level = 0): SchemaView {
  const part = document.follow(schema)
  const known = knownViews(part.value)
  known[level] ??= mergeParts(document, part, level)
  return known[level]
}

function mergeParts(document: OpenapiDocument, { value, pointer }: DocumentPart, level: number): SchemaView {
  const fields = new Map<string, SchemaSide>()
  for (const [name, inner] of Object.entries(toObject(value.properties))) {
    if (isRecord(inner)) fields.set(name, sideOf(document, inner, `${pointer}/properties/${escapePointer(name)}`))
  }
  const words = value.const !== undefined ? [value.const] : Array.isArray(value.enum) ? (value.enum as unknown[]) : []
  const types = typesOf(value, words)
  const ownView: SchemaView = {
    pointer,
    types,
    // No value that is sent is in the list of nothing.
    words: types[0] === NOTHING ? [undefined] : words.filter(word => word !== null),
    bounds: boundsOf(value, types),
    pattern: typeof value.pattern === 'string' ? value.pattern : undefined,
    fields,
    required: new Set(Array.isArray(value.required) ? (value.required as string[]) : []),
    isOpen: value.additionalProperties === true || isRecord(value.additionalProperties),
    items: isRecord(value.items) ? sideOf(document, value.items, `${pointer}/items`) : undefined,
    members: [],
  }
  const parts = level > MAX_DEPTH ? [] : partsOf({ value, pointer })
  const withAllOf = parts
    .filter(({ of }) => of === 'allOf')
    .map(part => viewOf({ document, schema: part }, level + 1))
    .reduce(mergeAllOf, ownView)
  const options = parts.filter(({ of }) => of !== 'allOf').map(part => viewOf({ document, schema: part }, level + 1))
  return options.length === 0 ? withAllOf : mergeAllOf(withAllOf, options.reduce(mergeAlternatives))
}

/** Tells whether a schema accepts anything. */
export function isAny({ types, fields, words, items, required }: SchemaView): boolean {
  return types.length + fields.size + words.length + required.size === 0 && items === undefined
}

/** Returns the fields of a schema that a request (`asked`) or an answer may have: `readOnly` and `writeOnly` exclude one. */
export function fieldsOf({ fields }: SchemaView, way: 'asked' | 'answered'): SchemaView['fields'] {
  const flag = way === 'asked' ? 'readOnly' : 'writeOnly'
  return new Map([...fields].filter(([, { document, schema }]) => document.follow(schema).value[flag] !== true))
}

/** Returns the alternatives of a schema; the schema itself if it has none. A null does not count. */
export function membersOf(view: SchemaView): readonly SchemaView[] {
  return view.members.length === 0 ? [view] : view.members.filter(member => !isNull(member))
}

function sideOf(document: OpenapiDocument, value: Json, pointer: string): SchemaSide {
  return { document, schema: document.follow({ value, pointer }) }
}

/** Returns the direct parts and alternatives of a schema. */
export function partsOf({ value, pointer }: DocumentPart): (DocumentPart & { of: string })[] {
  return ['allOf', 'anyOf', 'oneOf'].flatMap(of => {
    const parts = Array.isArray(value[of]) ? (value[of] as unknown[]) : []
    return parts.filter(isRecord).map((part, i) => ({ value: part, pointer: `${pointer}/${of}/${i}`, of }))
  })
}

/** The type of no value: a field that may only be left out. */
const NOTHING = 'nothing'

function typesOf({ type, properties, items, not }: Json, words: readonly unknown[]): readonly string[] {
  if (isRecord(not) && Object.keys(not).length === 0) return [NOTHING]
  if (typeof type === 'string') return [type]
  if (Array.isArray(type)) return type as string[]
  if (words.length > 0) return [...new Set(words.map(typeOf))]
  if (isRecord(properties)) return ['object']
  return isRecord(items) ? ['array'] : []
}

const typeOf = (word: unknown) => (word === null ? 'null' : Number.isInteger(word) ? 'integer' : typeof word)

/** Merges two schemas that both apply. */
function mergeAllOf(one: SchemaView, other: SchemaView): SchemaView {
  return {
    ...one,
    types: one.types.length > 0 ? one.types : other.types,
    words: one.words.length > 0 ? one.words : other.words,
    bounds: new Map([...other.bounds, ...one.bounds]),
    pattern: one.pattern ?? other.pattern,
    fields: new Map([...one.fields, ...other.fields]),
    required: new Set([...one.required, ...other.required]),
    isOpen: one.isOpen || other.isOpen,
    items: one.items ?? other.items,
    members: combineMembers(one, other),
  }
}

/** More alternatives than any union has that people write; limits unions that are combined. */
const MAX_MEMBERS = 200

/** Returns each alternative of one schema with each of the other, at the place of the second. Both schemas apply. */
function combineMembers(one: SchemaView, other: SchemaView): readonly SchemaView[] {
  const [ofOne, ofOther] = [membersOf(one), membersOf(other)]
  const isUnion = one.members.length + other.members.length > 0
  if (!isUnion || ofOne.length * ofOther.length > MAX_MEMBERS) return []
  return ofOne.flatMap(a => ofOther.map(b => ({ ...mergeAllOf(a, b), pointer: b.pointer })))
}

function isNull({ types }: SchemaView): boolean {
  return types.length === 1 && types[0] === 'null'
}

/** Merges two alternatives. */
function mergeAlternatives(one: SchemaView, other: SchemaView): SchemaView {
  // An alternative null has no fields that could be missing.
  if (isNull(other)) return { ...one, types: one.types.length === 0 ? [] : [...new Set([...one.types, 'null'])] }
  if (isNull(one)) return mergeAlternatives(other, one)
  if (other.types[0] === NOTHING) return one
  if (one.types[0] === NOTHING) return other
  return {
    ...one,
    types: one.types.length === 0 || other.types.length === 0 ? [] : [...new Set([...one.types, ...other.types])],
    words: one.words.length === 0 || other.words.length === 0 ? [] : [...one.words, ...other.words],
    bounds: widestBounds(one.bounds, other.bounds),
    pattern: mergePatterns(one, other),
    fields: mergeFields(one.fields, other.fields),
    required: new Set([...one.required].filter(name => other.required.has(name))),
    isOpen: one.isOpen || other.isOpen,
    items: one.items ?? other.items,
    members: [...new Set([one, other].flatMap(view => (view.members.length > 0 ? view.members : [view])))],
  }
}

/** Returns the fields of two alternatives. A field of both has the schemas of both. */
function mergeFields(one: SchemaView['fields'], other: SchemaView['fields']): SchemaView['fields'] {
  const merged = new Map([...other, ...one])
  for (const [name, side] of one) {
    const second = other.get(name)
    if (second === undefined || second.schema.pointer === side.schema.pointer) continue
    const { document } = side
    const { pointer } = side.schema
    const alternatives = [side, second].flatMap(part => part.alternatives ?? [{ $ref: part.schema.pointer }])
    merged.set(name, { document, schema: { value: { anyOf: alternatives }, pointer }, alternatives })
  }
  return merged
}

function mergePatterns(one: SchemaView, other: SchemaView): string | undefined {
  const isFree = ({ types, words, pattern }: SchemaView) =>
    pattern === undefined && words.length === 0 && (types.length === 0 || types.includes('string'))
  if (isFree(one) || isFree(other)) return undefined
  const patterns = [one.pattern, other.pattern].filter(pattern => pattern !== undefined)
  return patterns.length < 2 ? patterns[0] : patterns.map(pattern => `(?:${pattern})`).join('|')
}
