/** Compares two schemas of one value, the provider's and the simulator's. */
import { fieldsOf, isWithin, MAX_DEPTH, membersOf, type SchemaSide, type SchemaView, viewOf } from './schema-views.ts'

/**
 * A difference between the simulator and the document.
 *
 * `break`: a client written for the document fails. `warning`: it may fail. `note`: the simulator has more, or less, than
 * the client uses.
 */
export interface Difference {
  readonly severity: 'break' | 'warning' | 'note'
  readonly kind: 'path' | 'method' | 'parameter' | 'header' | 'field' | 'type' | 'value' | 'status' | 'media'
  /** A place of a body, as in `[].pricing.type`, or of the operation, as in `answer 200, [].status`. */
  readonly place: string
  /** Place in the document, a JSON pointer. */
  readonly pointer: string
  /** What the document declares. */
  readonly says: string
  /** What the simulator does. */
  readonly ours: string
}

export type ReportDifference = (difference: Difference) => void

export function withPlace(difference: Difference, place: string): Difference {
  return { ...difference, place: `${place}, ${difference.place}` }
}

/**
 * Returns the differences for a client that was written for the provider's document.
 *
 * @param way `asked`: the client sends values of their schema. `answered`: it reads values of our schema
 * @param isMember the schemas are alternatives of two that were compared: a null beside the other types does not count
 */
export function compareSchemas(
  theirs: SchemaSide,
  ours: SchemaSide,
  way: 'asked' | 'answered',
  place = '',
  level = 0,
  isMember = false,
): Difference[] {
  if (level > MAX_DEPTH) return []
  const [theirView, ourView] = [viewOf(theirs), viewOf(ours)]
  if (theirView.isAny || ourView.isAny) return []
  const at = { place: place === '' ? 'the body' : place, pointer: theirs.schema.pointer }
  const types = compareTypes(theirView, ourView, way, isMember)
  const differs = types === undefined ? [] : [{ ...at, kind: 'type' as const, ...types }]
  if (types !== undefined && !haveSharedType(theirView, ourView)) return differs
  const ofRequests = way === 'asked' ? [compareBounds, comparePatterns] : []
  const values = [compareEnums, ...ofRequests].flatMap(compare => compare(theirView, ourView, way) ?? [])
  return [
    ...differs,
    ...values.map(one => ({ ...at, kind: 'value' as const, ...one })),
    ...compareFields(theirView, ourView, way, place, level),
    ...(theirView.items && ourView.items
      ? compareSchemas(theirView.items, ourView.items, way, `${place}[]`, level + 1)
      : []),
    ...(way === 'asked' ? findRefusedMembers(theirs, ours, place, level) : []),
  ]
}

const IS_OPTIONAL = 'it is optional'

/** Returns the breaks of each alternative of the provider that no alternative of the simulator accepts. */
function findRefusedMembers(theirs: SchemaSide, ours: SchemaSide, place: string, level: number): Difference[] {
  const [theirMembers, ourMembers] = [membersOf(theirs), membersOf(ours)]
  if (theirMembers.length < 2) return []
  return theirMembers.flatMap(member => {
    // A value without an optional field can belong to another alternative of the simulator.
    const attempts = ourMembers.map(one =>
      compareSchemas(member, one, 'asked', place, level + 1, true).filter(
        ({ severity, says }) => severity === 'break' && says !== IS_OPTIONAL,
      ),
    )
    return attempts.reduce((best, one) => (one.length < best.length ? one : best))
  })
}

function compareFields(
  theirView: SchemaView,
  ourView: SchemaView,
  way: 'asked' | 'answered',
  place: string,
  level: number,
): Difference[] {
  if (theirView.fields.size === 0 && ourView.fields.size === 0) return []
  const under = (name: string) => (place === '' ? name : `${place}.${name}`)
  const differences: Difference[] = []
  const theirFields = fieldsOf(theirView, way)
  for (const [name, field] of theirFields) {
    const ours = ourView.fields.get(name)
    const at = { kind: 'field' as const, place: under(name), pointer: field.schema.pointer }
    if (ours === undefined) {
      if (ourView.isOpen) continue
      if (way === 'asked') {
        differences.push({ ...at, severity: 'warning', says: 'it may be sent', ours: 'it is ignored' })
      } else if (theirView.required.has(name)) {
        differences.push({ ...at, severity: 'break', says: 'it is required', ours: 'it is never present' })
      } else differences.push({ ...at, severity: 'warning', says: 'it may be present', ours: 'it is never present' })
      continue
    }
    if (way === 'asked' && ourView.required.has(name) && !theirView.required.has(name)) {
      differences.push({ ...at, severity: 'break', says: IS_OPTIONAL, ours: 'it is required' })
    }
    differences.push(...compareSchemas(field, ours, way, under(name), level + 1))
  }
  for (const name of ourView.fields.keys()) {
    if (theirFields.has(name) || theirView.isOpen) continue
    const at = { kind: 'field' as const, place: under(name), pointer: theirView.pointer }
    if (way === 'answered')
      differences.push({ ...at, severity: 'note', says: 'it is not declared', ours: 'it may be present' })
    else if (ourView.required.has(name)) {
      differences.push({ ...at, severity: 'break', says: 'it is not declared', ours: 'it is required' })
    }
  }
  return differences
}

type DifferenceText = Pick<Difference, 'severity' | 'says' | 'ours'>

function compareTypes(
  theirView: SchemaView,
  ourView: SchemaView,
  way: 'asked' | 'answered',
  isMember: boolean,
): DifferenceText | undefined {
  if (theirView.types.length === 0 || ourView.types.length === 0) return undefined
  const [sentTypes, acceptedTypes] =
    way === 'asked' ? [theirView.types, ourView.types] : [ourView.types, theirView.types]
  const fits = (type: string) =>
    acceptedTypes.includes(type) || (type === 'integer' && acceptedTypes.includes('number'))
  // A client that sends numbers where an integer is expected may send integers only: a risk.
  const mayFit = (type: string) =>
    fits(type) || (way === 'asked' && type === 'number' && acceptedTypes.includes('integer'))
  if (sentTypes.every(type => fits(type) || (isMember && type === 'null'))) return undefined
  // A null is a value that clients send. In an answer, a type that may come is no more than a risk.
  const isRefused = way === 'asked' && !isMember && sentTypes.includes('null') && !fits('null')
  const severity = !isRefused && sentTypes.some(type => type !== 'null' && mayFit(type)) ? 'warning' : 'break'
  return { severity, says: theirView.types.join(' or '), ours: ourView.types.join(' or ') }
}

/** Returns whether a value exists, other than null, whose type both schemas have. */
function haveSharedType(one: SchemaView, other: SchemaView): boolean {
  const plain = (type: string) => (type === 'integer' ? 'number' : type)
  const types = other.types.map(plain)
  return one.types.some(type => type !== 'null' && types.includes(plain(type)))
}

function compareEnums(
  theirView: SchemaView,
  ourView: SchemaView,
  way: 'asked' | 'answered',
): DifferenceText | undefined {
  const listed = (words: readonly unknown[]) => words.map(word => JSON.stringify(word)).join(', ')
  const theirWords = wordsOf(theirView)
  if (theirWords.length === 0) {
    if (way === 'answered' || ourView.words.length === 0) return undefined
    return { severity: 'warning', says: 'any value', ours: `it is one of ${listed(ourView.words)}` }
  }
  if (way === 'asked') {
    const refused = ourView.words.length === 0 ? [] : theirWords.filter(word => !ourView.words.includes(word))
    if (refused.length === 0) return undefined
    return { severity: 'break', says: `it may be ${listed(refused)}`, ours: `it is one of ${listed(ourView.words)}` }
  }
  const more = ourView.words.filter(word => !theirWords.includes(word))
  if (more.length === 0) return undefined
  return { severity: 'warning', says: `it is one of ${listed(theirWords)}`, ours: `it may be ${listed(more)}` }
}

/** Returns the listed values of a schema. A boolean lists its two values. */
function wordsOf({ words, types }: SchemaView): readonly unknown[] {
  const isBoolean = types.includes('boolean') && types.every(type => type === 'boolean' || type === 'null')
  return words.length === 0 && isBoolean ? [true, false] : words
}

/** Compares a pattern of ours with the strings that the document allows. */
function comparePatterns(theirView: SchemaView, ourView: SchemaView): DifferenceText | undefined {
  const { pattern } = ourView
  const isText = theirView.types.length === 0 || theirView.types.includes('string')
  if (pattern === undefined || pattern === theirView.pattern || !isText) return undefined
  const ours = `it matches ${pattern}; other values are refused`
  if (theirView.words.length > 0) {
    const refused = theirView.words.filter(word => typeof word === 'string' && !new RegExp(pattern, 'u').test(word))
    if (refused.length === 0) return undefined
    return { severity: 'break', says: `it may be ${refused.map(word => JSON.stringify(word)).join(', ')}`, ours }
  }
  // Two patterns cannot be compared: the strings of theirs may all match ours.
  if (theirView.pattern !== undefined) return { severity: 'warning', says: `it matches ${theirView.pattern}`, ours }
  return { severity: 'break', says: 'any string', ours }
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
