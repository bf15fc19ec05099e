/** Compares two schemas of one value, the provider's and the simulator's. */
import { fieldsOf, inclusive, isAny, isWithin, MAX_DEPTH, membersOf, type SchemaView, viewOf } from './schema-views.ts'

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

/** `asked`: the client sends values of their schema. `answered`: it reads values of our schema. */
type Way = 'asked' | 'answered'

/** What is compared. The level counts the schemas around. */
interface Step {
  readonly way: Way
  readonly place: string
  readonly level: number
}

/**
 * Returns the differences for a client that was written for the provider's document.
 *
 * @param isMember the views are alternatives of two that were compared: a null beside the other types does not count
 */
export function compareSchemas(theirs: SchemaView, ours: SchemaView, step: Step, isMember = false): Difference[] {
  const { way, place, level } = step
  if (level > MAX_DEPTH || isAny(theirs) || isAny(ours)) return []
  const at = { place: place === '' ? 'the body' : place, pointer: theirs.pointer }
  const types = compareTypes(theirs, ours, way, isMember)
  const differs = types === undefined ? [] : [{ ...at, kind: 'type' as const, ...types }]
  if (types !== undefined && !haveSharedType(theirs, ours)) return differs
  const ofRequests = way === 'asked' ? [compareBounds, comparePatterns] : []
  const values = [compareEnums, ...ofRequests].flatMap(compare => compare(theirs, ours, way) ?? [])
  const ofItems = { way, place: `${place}[]`, level: level + 1 }
  return [
    ...differs,
    ...values.map(one => ({ ...at, kind: 'value' as const, ...one })),
    ...compareFields(theirs, ours, step),
    ...(theirs.items && ours.items ? compareSchemas(viewOf(theirs.items), viewOf(ours.items), ofItems) : []),
    ...compareMembers(theirs, ours, { ...step, level: level + 1 }),
  ]
}

const IS_REQUIRED = 'it is required'

const fieldPlace = ({ place }: Step, name: string) => (place === '' ? name : `${place}.${name}`)

/** Returns the differences of each alternative that is sent from the alternative of the reader that is nearest to it. */
function compareMembers(theirs: SchemaView, ours: SchemaView, step: Step): Difference[] {
  const [theirMembers, ourMembers] = [membersOf(theirs), membersOf(ours)]
  if (theirMembers.length + ourMembers.length < 3) return []
  const compare = (one: SchemaView, other: SchemaView) => {
    const places = [...other.required].map(name => fieldPlace(step, name))
    const all = compareSchemas(one, other, step, true)
    const omitted = all.filter(({ ours, place }) => ours === IS_REQUIRED && places.includes(place))
    const breaks = all.filter(difference => difference.severity === 'break' && !omitted.includes(difference))
    // Another alternative may have an optional field. One that none has is found in the whole.
    const warnings = all.filter(({ severity, kind }) => severity === 'warning' && kind !== 'field')
    const rank = countStrangers(one, other) * 1e6 + breaks.length * 1e3 + warnings.length
    return { omitted, breaks, found: [...breaks, ...warnings], rank }
  }
  const nearest = (pairs: ReturnType<typeof compare>[]) => pairs.sort((a, b) => a.rank - b.rank)[0]
  if (step.way === 'answered')
    return ourMembers.flatMap(member => nearest(theirMembers.map(one => compare(one, member)))?.found ?? [])
  /** Returns the fields that may be left out, if each alternative of ours that fits the other fields requires one. */
  const findOmitted = (member: SchemaView) => {
    if (ourMembers.every(one => [...one.required].every(name => member.required.has(name)))) return []
    const fields = [...member.fields].filter(([name]) => member.required.has(name))
    const smallest = { ...member, fields: new Map(fields), members: [] }
    const fitting = ourMembers.filter(one => compare(smallest, one).breaks.length === 0)
    if (fitting.some(one => [...one.required].every(name => member.required.has(name)))) return []
    return nearest(fitting.map(one => compare(member, one)))?.omitted ?? []
  }
  // A single one may have the values of several of ours. It is compared as a whole.
  const compared = theirMembers.length === 1 ? [] : theirMembers
  return [
    ...compared.flatMap(member => nearest(ourMembers.map(one => compare(member, one)))?.found ?? []),
    ...theirMembers.flatMap(member => [member, ...narrow(member)]).flatMap(findOmitted),
  ]
}

/** Returns the number of fields whose listed values have none in common. Other types count more. */
function countStrangers(one: SchemaView, other: SchemaView): number {
  if (one.types.length > 0 && other.types.length > 0 && !haveSharedType(one, other)) return 1e3
  return [...one.fields].filter(([name, field]) => {
    const [a, b] = [field, other.fields.get(name)].map(side => (side === undefined ? [] : viewOf(side).words))
    return a!.length > 0 && b!.length > 0 && !a!.some(word => b!.includes(word))
  }).length
}

/** Returns an alternative with each single value of its fields that list several. */
function narrow(member: SchemaView): SchemaView[] {
  return [...member.fields].flatMap(([name, side]) => {
    const { words } = viewOf(side)
    const { document, schema } = side
    const only = (word: unknown) => ({ document, schema: { ...schema, value: { ...schema.value, const: word } } })
    const fieldsWith = (word: unknown) => new Map([...member.fields, [name, only(word)]])
    return words.length < 2 ? [] : words.map(word => ({ ...member, fields: fieldsWith(word), members: [] }))
  })
}

function compareFields(theirView: SchemaView, ourView: SchemaView, step: Step): Difference[] {
  const { way, level } = step
  if (theirView.fields.size === 0 && ourView.fields.size === 0) return []
  const differences: Difference[] = []
  const theirFields = fieldsOf(theirView, way)
  for (const [name, field] of theirFields) {
    const ours = ourView.fields.get(name)
    const at = { kind: 'field' as const, place: fieldPlace(step, name), pointer: field.schema.pointer }
    if (ours === undefined) {
      if (ourView.isOpen) continue
      const isMissed = way === 'answered' && theirView.required.has(name)
      const severity = isMissed ? 'break' : 'warning'
      const [says, ours] =
        way === 'asked' ? ['it may be sent', 'it is ignored'] : ['it may be present', 'it is never present']
      differences.push({ ...at, severity, says: isMissed ? IS_REQUIRED : says, ours })
      continue
    }
    if (way === 'asked' && ourView.required.has(name) && !theirView.required.has(name)) {
      differences.push({ ...at, severity: 'break', says: 'it is optional', ours: IS_REQUIRED })
    }
    differences.push(...compareSchemas(viewOf(field), viewOf(ours), { way, place: at.place, level: level + 1 }))
  }
  const [severity, ours] =
    way === 'asked' ? (['break', IS_REQUIRED] as const) : (['note', 'it may be present'] as const)
  for (const name of way === 'asked' ? ourView.required : ourView.fields.keys()) {
    if (theirFields.has(name) || theirView.isOpen || !ourView.fields.has(name)) continue
    const at = { kind: 'field', place: fieldPlace(step, name), pointer: theirView.pointer } as const
    differences.push({ ...at, severity, says: 'it is not declared', ours })
  }
  return differences
}

type DifferenceText = Pick<Difference, 'severity' | 'says' | 'ours'>

function compareTypes(theirs: SchemaView, ours: SchemaView, way: Way, isMember: boolean): DifferenceText | undefined {
  if (theirs.types.length === 0 || ours.types.length === 0) return undefined
  const [sent, accepted] = way === 'asked' ? [theirs.types, ours.types] : [ours.types, theirs.types]
  const fits = (type: string) => accepted.includes(type) || (type === 'integer' && accepted.includes('number'))
  // A client that sends numbers where an integer is expected may send integers only: a risk.
  const mayBeInteger = way === 'asked' && accepted.includes('integer')
  const mayFit = (type: string) => fits(type) || (mayBeInteger && type === 'number')
  if (sent.every(type => fits(type) || (isMember && type === 'null'))) return undefined
  // A null is a value that clients send. In an answer, a type that may come is no more than a risk.
  const isRefused = way === 'asked' && !isMember && sent.includes('null') && !fits('null')
  const severity = !isRefused && sent.some(type => type !== 'null' && mayFit(type)) ? 'warning' : 'break'
  return { severity, says: theirs.types.join(' or '), ours: ours.types.join(' or ') }
}

/** Returns whether a value exists, other than null, whose type both schemas have. */
function haveSharedType(one: SchemaView, other: SchemaView): boolean {
  const plain = (type: string) => (type === 'integer' ? 'number' : type)
  const types = other.types.map(plain)
  return one.types.some(type => type !== 'null' && types.includes(plain(type)))
}

function compareEnums(theirView: SchemaView, ourView: SchemaView, way: Way): DifferenceText | undefined {
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
  const numbers = one.words.filter(word => typeof word === 'number')
  const isListed = numbers.length > 0
  const ends = { minimum: Math.min(...numbers), maximum: Math.max(...numbers) }
  const beyond = (isListed ? Object.entries(ends) : [...one.bounds]).flatMap(([word, bound]) =>
    [...other.bounds]
      .filter(([ours, limit]) => inclusive(ours) === inclusive(word) && !isWithin(word, bound, limit, ours))
      .map(limit => [isListed ? bound : `${word} ${bound}`, limit.join(' ')]),
  )
  if (beyond.length === 0) return undefined
  const [said, limits] = [0, 1].map(side => beyond.map(texts => texts[side]).join(', '))
  const says = isListed ? `it may be ${said}` : said!
  return { severity: 'break', says, ours: `${limits}; values beyond are refused` }
}
