/** Two schemas of one thing, theirs and ours: where what one says the other does not. */
import { escaped, isObject, type Json, type OpenapiDocument, objectOf, type Part } from './document.ts'

/** A difference at a place of a body: `[].pricing.type`. */
export interface Difference {
  readonly severity: 'break' | 'warning' | 'note'
  readonly kind: 'field' | 'type' | 'value'
  readonly place: string
  readonly pointer: string
  readonly says: string
  readonly ours: string
}

/** A schema among the rest of its document. */
export interface Side {
  readonly document: OpenapiDocument
  readonly schema: Part
}

/** Deeper than any body goes: a schema may contain itself. */
const MOST_LEVELS = 12

/**
 * What differs, seen by a client that was written for theirs.
 *
 * @param way `asked`: it sends what theirs says, and ours has to take it. `answered`: it reads what ours says
 */
export function differences(theirs: Side, ours: Side, way: 'asked' | 'answered', place = '', level = 0): Difference[] {
  if (level > MOST_LEVELS) return []
  const [one, other] = [viewOf(theirs), viewOf(ours)]
  if (one.isAny || other.isAny) return []
  const at = { place: place === '' ? 'the body' : place, pointer: theirs.schema.pointer }
  const types = typeDifference(one, other, way)
  if (types !== undefined) return [{ ...at, kind: 'type', ...types }]
  const words = wordDifference(one, other, way)
  const bounds = way === 'asked' ? boundDifference(one, other) : undefined
  return [
    ...(words === undefined ? [] : [{ ...at, kind: 'value' as const, ...words }]),
    ...(bounds === undefined ? [] : [{ ...at, kind: 'value' as const, ...bounds }]),
    ...fieldDifferences(one, other, way, place, level),
    ...(one.items && other.items ? differences(one.items, other.items, way, `${place}[]`, level + 1) : []),
  ]
}

function fieldDifferences(
  one: View,
  other: View,
  way: 'asked' | 'answered',
  place: string,
  level: number,
): Difference[] {
  if (one.fields.size === 0 && other.fields.size === 0) return []
  const under = (name: string) => (place === '' ? name : `${place}.${name}`)
  const found: Difference[] = []
  for (const [name, field] of one.fields) {
    const ours = other.fields.get(name)
    const at = { kind: 'field' as const, place: under(name), pointer: field.schema.pointer }
    if (ours === undefined) {
      if (other.isOpen) continue
      const isNeeded = one.required.has(name)
      if (way === 'asked') {
        found.push({ ...at, severity: 'warning', says: 'it may be sent', ours: 'it is ignored' })
      } else {
        const severity = isNeeded ? ('break' as const) : ('warning' as const)
        const says = isNeeded ? 'it is always there' : 'it may be there'
        found.push({ ...at, severity, says, ours: 'it is never there' })
      }
      continue
    }
    if (way === 'asked' && other.required.has(name) && !one.required.has(name)) {
      found.push({ ...at, severity: 'break', says: 'it may be left out', ours: 'without it the request is refused' })
    }
    found.push(...differences(field, ours, way, under(name), level + 1))
  }
  for (const name of other.fields.keys()) {
    if (one.fields.has(name) || one.isOpen) continue
    const at = { kind: 'field' as const, place: under(name), pointer: one.pointer }
    if (way === 'answered') found.push({ ...at, severity: 'note', says: 'nothing of it', ours: 'it may be there' })
    else if (other.required.has(name)) {
      found.push({ ...at, severity: 'break', says: 'nothing of it', ours: 'without it the request is refused' })
    }
  }
  return found
}

type Told = Pick<Difference, 'severity' | 'says' | 'ours'>

function typeDifference(one: View, other: View, way: 'asked' | 'answered'): Told | undefined {
  if (one.types.length === 0 || other.types.length === 0) return undefined
  const [given, taken] = way === 'asked' ? [one.types, other.types] : [other.types, one.types]
  const fits = (type: string) => taken.includes(type) || (type === 'integer' && taken.includes('number'))
  // A client that sends numbers where an integer is asked for may well send integers.
  const may = (type: string) => fits(type) || (way === 'asked' && type === 'number' && taken.includes('integer'))
  if (given.every(may)) return undefined
  const severity = given.some(type => type !== 'null' && may(type)) ? 'warning' : 'break'
  return { severity, says: one.types.join(' or '), ours: other.types.join(' or ') }
}

function wordDifference(one: View, other: View, way: 'asked' | 'answered'): Told | undefined {
  if (one.words.length === 0) return undefined
  const listed = (words: readonly unknown[]) => words.map(word => JSON.stringify(word)).join(', ')
  if (way === 'asked') {
    const refused = other.words.length === 0 ? [] : one.words.filter(word => !other.words.includes(word))
    if (refused.length === 0) return undefined
    return { severity: 'break', says: `it may be ${listed(refused)}`, ours: `it is one of ${listed(other.words)}` }
  }
  const more = other.words.filter(word => !one.words.includes(word))
  if (more.length === 0) return undefined
  return { severity: 'warning', says: `it is one of ${listed(one.words)}`, ours: `it may be ${listed(more)}` }
}

/** Bounds that theirs names and that go beyond ours: of what has none a client is not told how far it may go. */
function boundDifference(one: View, other: View): Told | undefined {
  const beyond = [...one.bounds].filter(([word, bound]) => {
    const ours = other.bounds.get(word)
    return ours !== undefined && !isWithin(word, bound, ours)
  })
  if (beyond.length === 0) return undefined
  const told = (bounds: View['bounds']) => beyond.map(([word]) => `${word} ${bounds.get(word)}`).join(', ')
  return { severity: 'break', says: told(one.bounds), ours: `${told(other.bounds)}: what is beyond is refused` }
}

const LEAST = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems']
const MOST = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems']

function isWithin(word: string, bound: number, ours: number): boolean {
  return LEAST.includes(word) ? bound >= ours : bound <= ours
}

function boundsOf(value: Json): ReadonlyMap<string, number> {
  return new Map(
    [...LEAST, ...MOST].flatMap(word => {
      const bound = value[word]
      return typeof bound === 'number' ? [[word, bound] as const] : []
    }),
  )
}

/** Of two sets of bounds those that both name, each as wide as the wider. */
function widest(one: View['bounds'], other: View['bounds']): View['bounds'] {
  const both = [...one].filter(([word]) => other.has(word))
  return new Map(
    both.map(([word, bound]) => [word, isWithin(word, bound, other.get(word)!) ? other.get(word)! : bound]),
  )
}

/** A schema with everything it is made of in one: references, alternatives, parts. */
interface View {
  readonly pointer: string
  /** Nothing is said of it. */
  readonly isAny: boolean
  readonly types: readonly string[]
  readonly words: readonly unknown[]
  /** Figures by their keyword: `maximum`, `maxLength` and the like. */
  readonly bounds: ReadonlyMap<string, number>
  readonly fields: ReadonlyMap<string, Side>
  readonly required: ReadonlySet<string>
  /** It may have fields that are not named. */
  readonly isOpen: boolean
  readonly items: Side | undefined
}

function viewOf({ document, schema }: Side, level = 0): View {
  const { value, pointer } = document.follow(schema)
  const fields = new Map<string, Side>()
  for (const [name, inner] of Object.entries(objectOf(value.properties))) {
    if (isObject(inner)) fields.set(name, sideOf(document, inner, `${pointer}/properties/${escaped(name)}`))
  }
  const words = value.const !== undefined ? [value.const] : Array.isArray(value.enum) ? (value.enum as unknown[]) : []
  const own: View = {
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
  const parts = level > MOST_LEVELS ? [] : partsOf(value, pointer)
  const whole = parts
    .filter(({ of }) => of === 'allOf')
    .map(part => viewOf({ document, schema: part }, level + 1))
    .reduce(joined, own)
  const options = parts.filter(({ of }) => of !== 'allOf').map(part => viewOf({ document, schema: part }, level + 1))
  const view = options.length === 0 ? whole : joined(whole, options.reduce(oneOf))
  const isAny = view.types.length === 0 && view.fields.size === 0 && view.words.length === 0 && view.items === undefined
  return { ...view, isAny }
}

function sideOf(document: OpenapiDocument, value: Json, pointer: string): Side {
  return { document, schema: document.follow({ value, pointer }) }
}

function partsOf(value: Json, pointer: string): (Part & { of: string })[] {
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

/** Both hold. */
function joined(one: View, other: View): View {
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

/** One of them holds. */
function oneOf(one: View, other: View): View {
  // What is null has no fields that could be missing.
  const isNull = (view: View) => view.types.length === 1 && view.types[0] === 'null'
  if (isNull(other)) return { ...one, types: one.types.length === 0 ? [] : [...new Set([...one.types, 'null'])] }
  if (isNull(one)) return oneOf(other, one)
  return {
    ...one,
    types: one.types.length === 0 || other.types.length === 0 ? [] : [...new Set([...one.types, ...other.types])],
    words: one.words.length === 0 || other.words.length === 0 ? [] : [...one.words, ...other.words],
    bounds: widest(one.bounds, other.bounds),
    fields: new Map([...other.fields, ...one.fields]),
    required: new Set([...one.required].filter(name => other.required.has(name))),
    isOpen: one.isOpen || other.isOpen,
    items: one.items ?? other.items,
  }
}
