/** Compares two schemas of one value, the provider's and the simulator's. */
import { type DocumentPart, escapePointer, isObject, type Json, type OpenapiDocument, toObject } from './document.ts'

/** A difference at a place of a body: `[].pricing.type`. */
export interface SchemaDifference {
  readonly severity: 'break' | 'warning' | 'note'
  readonly kind: 'field' | 'type' | 'value'
  readonly place: string
  readonly pointer: string
  readonly says: string
  readonly ours: string
}

/** A schema with its document. */
export interface SchemaSide {
  readonly document: OpenapiDocument
  readonly schema: DocumentPart
}

/** Deeper than any body; limits recursive schemas. */
const MAX_DEPTH = 12

/**
 * Returns the differences for a client that was written for the provider's document.
 *
 * @param way `asked`: the client sends values of their schema. `answered`: it reads values of our schema
 */
export function compareSchemas(
  theirs: SchemaSide,
  ours: SchemaSide,
  way: 'asked' | 'answered',
  place = '',
  level = 0,
): SchemaDifference[] {
  if (level > MAX_DEPTH) return []
  const [theirView, ourView] = [viewOf(theirs), viewOf(ours)]
  if (theirView.isAny || ourView.isAny) return []
  const at = { place: place === '' ? 'the body' : place, pointer: theirs.schema.pointer }
  const types = compareTypes(theirView, ourView, way)
  if (types !== undefined) return [{ ...at, kind: 'type', ...types }]
  const words = compareEnums(theirView, ourView, way)
  const bounds = way === 'asked' ? compareBounds(theirView, ourView) : undefined
  return [
    ...(words === undefined ? [] : [{ ...at, kind: 'value' as const, ...words }]),
    ...(bounds === undefined ? [] : [{ ...at, kind: 'value' as const, ...bounds }]),
    ...compareFields(theirView, ourView, way, place, level),
    ...(theirView.items && ourView.items
      ? compareSchemas(theirView.items, ourView.items, way, `${place}[]`, level + 1)
      : []),
  ]
}

function compareFields(
  theirView: SchemaView,
  ourView: SchemaView,
  way: 'asked' | 'answered',
  place: string,
  level: number,
): SchemaDifference[] {
  if (theirView.fields.size === 0 && ourView.fields.size === 0) return []
  const under = (name: string) => (place === '' ? name : `${place}.${name}`)
  const differences: SchemaDifference[] = []
  for (const [name, field] of theirView.fields) {
    const ours = ourView.fields.get(name)
    const at = { kind: 'field' as const, place: under(name), pointer: field.schema.pointer }
    if (ours === undefined) {
      if (ourView.isOpen) continue
      const isNeeded = theirView.required.has(name)
      if (way === 'asked') {
        differences.push({ ...at, severity: 'warning', says: 'it may be sent', ours: 'it is ignored' })
      } else {
        const severity = isNeeded ? ('break' as const) : ('warning' as const)
        const says = isNeeded ? 'it is required' : 'it may be present'
        differences.push({ ...at, severity, says, ours: 'it is never present' })
      }
      continue
    }
    if (way === 'asked' && ourView.required.has(name) && !theirView.required.has(name)) {
      differences.push({
        ...at,
        severity: 'break',
        says: 'it is optional',
        ours: 'it is required',
      })
    }
    differences.push(...compareSchemas(field, ours, way, under(name), level + 1))
  }
  for (const name of ourView.fields.keys()) {
    if (theirView.fields.has(name) || theirView.isOpen) continue
    const at = { kind: 'field' as const, place: under(name), pointer: theirView.pointer }
    if (way === 'answered')
      differences.push({ ...at, severity: 'note', says: 'it is not declared', ours: 'it may be present' })
    else if (ourView.required.has(name)) {
      differences.push({ ...at, severity: 'break', says: 'it is not declared', ours: 'it is required' })
    }
  }
  return differences
}

type DifferenceText = Pick<SchemaDifference, 'severity' | 'says' | 'ours'>

function compareTypes(
  theirView: SchemaView,
  ourView: SchemaView,
  way: 'asked' | 'answered',
): DifferenceText | undefined {
  if (theirView.types.length === 0 || ourView.types.length === 0) return undefined
  const [sentTypes, acceptedTypes] =
    way === 'asked' ? [theirView.types, ourView.types] : [ourView.types, theirView.types]
  const fits = (type: string) =>
    acceptedTypes.includes(type) || (type === 'integer' && acceptedTypes.includes('number'))
  // A client that sends numbers where an integer is expected may send integers only.
  const mayFit = (type: string) =>
    fits(type) || (way === 'asked' && type === 'number' && acceptedTypes.includes('integer'))
  if (sentTypes.every(mayFit)) return undefined
  const severity = sentTypes.some(type => type !== 'null' && mayFit(type)) ? 'warning' : 'break'
  return { severity, says: theirView.types.join(' or '), ours: ourView.types.join(' or ') }
}

function compareEnums(
  theirView: SchemaView,
  ourView: SchemaView,
  way: 'asked' | 'answered',
): DifferenceText | undefined {
  if (theirView.words.length === 0) return undefined
  const listed = (words: readonly unknown[]) => words.map(word => JSON.stringify(word)).join(', ')
  if (way === 'asked') {
    const refused = ourView.words.length === 0 ? [] : theirView.words.filter(word => !ourView.words.includes(word))
    if (refused.length === 0) return undefined
    return { severity: 'break', says: `it may be ${listed(refused)}`, ours: `it is one of ${listed(ourView.words)}` }
  }
  const more = ourView.words.filter(word => !theirView.words.includes(word))
  if (more.length === 0) return undefined
  return { severity: 'warning', says: `it is one of ${listed(theirView.words)}`, ours: `it may be ${listed(more)}` }
}

/** Compares bounds that both schemas declare. A bound that only ours declares is not a difference. */
function compareBounds(one: SchemaView, other: SchemaView): DifferenceText | undefined {
  const beyond = [...one.bounds].filter(([word, bound]) => {
    const ours = other.bounds.get(word)
    return ours !== undefined && !isWithin(word, bound, ours)
  })
  if (beyond.length === 0) return undefined
  const formatBounds = (bounds: SchemaView['bounds']) =>
    beyond.map(([word]) => `${word} ${bounds.get(word)}`).join(', ')
  return {
    severity: 'break',
    says: formatBounds(one.bounds),
    ours: `${formatBounds(other.bounds)}; values beyond are refused`,
  }
}

const LOWER_BOUNDS = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems']
const UPPER_BOUNDS = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems']

function isWithin(word: string, bound: number, ours: number): boolean {
  return LOWER_BOUNDS.includes(word) ? bound >= ours : bound <= ours
}

function boundsOf(value: Json): ReadonlyMap<string, number> {
  return new Map(
    [...LOWER_BOUNDS, ...UPPER_BOUNDS].flatMap(word => {
      const bound = value[word]
      return typeof bound === 'number' ? [[word, bound] as const] : []
    }),
  )
}

/** Returns the bounds that both sets declare, each the wider of the two. */
function widestBounds(one: SchemaView['bounds'], other: SchemaView['bounds']): SchemaView['bounds'] {
  const both = [...one].filter(([word]) => other.has(word))
  return new Map(
    both.map(([word, bound]) => [word, isWithin(word, bound, other.get(word)!) ? other.get(word)! : bound]),
  )
}

/** A schema with its references, alternatives and parts merged. */
interface SchemaView {
  readonly pointer: string
  /** The schema accepts anything. */
  readonly isAny: boolean
  readonly types: readonly string[]
  readonly words: readonly unknown[]
  /** Bounds by keyword: `maximum`, `maxLength` and others. */
  readonly bounds: ReadonlyMap<string, number>
  readonly fields: ReadonlyMap<string, SchemaSide>
  readonly required: ReadonlySet<string>
  /** Undeclared fields are allowed. */
  readonly isOpen: boolean
  readonly items: SchemaSide | undefined
}

function viewOf({ document, schema }: SchemaSide, level = 0): SchemaView {
  const { value, pointer } = document.follow(schema)
  const fields = new Map<string, SchemaSide>()
  for (const [name, inner] of Object.entries(toObject(value.properties))) {
    if (isObject(inner)) fields.set(name, sideOf(document, inner, `${pointer}/properties/${escapePointer(name)}`))
  }
  const words = value.const !== undefined ? [value.const] : Array.isArray(value.enum) ? (value.enum as unknown[]) : []
  const ownView: SchemaView = {
    pointer,
    isAny: false,
    types: typesOf(value, words),
    words: words.filter(word => word !== null),
    bounds: boundsOf(value),
    fields,
    required: new Set(Array.isArray(value.required) ? (value.required as string[]) : []),
    isOpen: value.additionalProperties === true || isObject(value.additionalProperties),
    items: isObject(value.items) ? sideOf(document, value.items, `${pointer}/items`) : undefined,
  }
  const parts = level > MAX_DEPTH ? [] : partsOf(value, pointer)
  const withAllOf = parts
    .filter(({ of }) => of === 'allOf')
    .map(part => viewOf({ document, schema: part }, level + 1))
    .reduce(mergeAllOf, ownView)
  const options = parts.filter(({ of }) => of !== 'allOf').map(part => viewOf({ document, schema: part }, level + 1))
  const view = options.length === 0 ? withAllOf : mergeAllOf(withAllOf, options.reduce(mergeAlternatives))
  const isAny = view.types.length === 0 && view.fields.size === 0 && view.words.length === 0 && view.items === undefined
  return { ...view, isAny }
}

function sideOf(document: OpenapiDocument, value: Json, pointer: string): SchemaSide {
  return { document, schema: document.follow({ value, pointer }) }
}

function partsOf(value: Json, pointer: string): (DocumentPart & { of: string })[] {
  return ['allOf', 'anyOf', 'oneOf'].flatMap(of => {
    const parts = Array.isArray(value[of]) ? (value[of] as unknown[]) : []
    return parts.filter(isObject).map((part, i) => ({ value: part, pointer: `${pointer}/${of}/${i}`, of }))
  })
}

function typesOf({ type, properties, items }: Json, words: readonly unknown[]): readonly string[] {
  if (typeof type === 'string') return [type]
  if (Array.isArray(type)) return type as string[]
  if (words.length > 0) return [...new Set(words.map(word => (word === null ? 'null' : typeof word)))]
  if (isObject(properties)) return ['object']
  return isObject(items) ? ['array'] : []
}

/** Merges two schemas that both apply. */
function mergeAllOf(one: SchemaView, other: SchemaView): SchemaView {
  return {
    ...one,
    types: one.types.length > 0 ? one.types : other.types,
    words: one.words.length > 0 ? one.words : other.words,
    bounds: new Map([...other.bounds, ...one.bounds]),
    fields: new Map([...one.fields, ...other.fields]),
    required: new Set([...one.required, ...other.required]),
    isOpen: one.isOpen || other.isOpen,
    items: one.items ?? other.items,
  }
}

/** Merges two alternatives. */
function mergeAlternatives(one: SchemaView, other: SchemaView): SchemaView {
  // An alternative null has no fields that could be missing.
  const isNull = (view: SchemaView) => view.types.length === 1 && view.types[0] === 'null'
  if (isNull(other)) return { ...one, types: one.types.length === 0 ? [] : [...new Set([...one.types, 'null'])] }
  if (isNull(one)) return mergeAlternatives(other, one)
  return {
    ...one,
    types: one.types.length === 0 || other.types.length === 0 ? [] : [...new Set([...one.types, ...other.types])],
    words: one.words.length === 0 || other.words.length === 0 ? [] : [...one.words, ...other.words],
    bounds: widestBounds(one.bounds, other.bounds),
    fields: new Map([...other.fields, ...one.fields]),
    required: new Set([...one.required].filter(name => other.required.has(name))),
    isOpen: one.isOpen || other.isOpen,
    items: one.items ?? other.items,
  }
}
