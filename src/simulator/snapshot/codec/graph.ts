/**
 * Things and what they lead to, as bytes and back: the same values, of the same classes, shared where they were shared.
 *
 * Things of one form (a class, or the names of their fields) lie together, field by field: a world of ten thousand
 * deployments has a few dozen forms, and most fields of most things are equal.
 */
import { ByteReader, ByteWriter } from './bytes.ts'
import {
  Column,
  type DecodedColumn,
  type DecodedNumbers,
  FIRST_OBJECT_ID,
  isSameAsLast,
  NumberSequence,
  type ObjectRegistry,
  readColumn,
  readNumbers,
} from './columns.ts'

/** How things of a class are taken apart and put together. Without either: by their own fields. */
export interface SerializableClass<T extends object = object> {
  // Only its prototype matters: whatever it is made of.
  readonly of: abstract new (
    ...made: never[]
  ) => T
  readonly take?: (thing: T) => readonly unknown[]
  readonly make?: (parts: readonly unknown[]) => T
}

/** Classes that may be in a graph, by the names under which they are written. */
export type SerializableClasses = Readonly<Record<string, SerializableClass>>

type FormKind = 'fields' | 'parts' | 'list' | 'map' | 'set' | 'bytes' | 'date' | 'bigint'
type GraphObject = object | bigint

/** Things of one form. */
interface ObjectForm {
  readonly sort: FormKind
  /** The class; '' for a plain object; for lists, sets and maps the type of what is first in them, for it lies better with its like. */
  readonly name: string
  readonly keys: readonly string[]
  /** What things by fields or by parts inherit from. */
  readonly prototype: object | null | undefined
  readonly things: GraphObject[]
  /** How many of them are in the columns, and how many values each column has. */
  writtenCount: number
  valueCount: number
  readonly columns: Column[]
  /** How many items each list, set or map has, or bytes. */
  readonly lengths: NumberSequence
}

/** What is written of a form ahead of its things. */
interface FormHeader extends Pick<ObjectForm, 'sort' | 'name' | 'keys'> {
  readonly count: number
  readonly columns: number
}

const TYPED_ARRAYS = {
  Uint8Array,
  Int8Array,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
} as const

/**
 * Bytes of a value and everything it leads to.
 *
 * @throws Error for an object of a class that is not among those that may be there: a fault of ours
 */
export function encodeGraph(root: object, classes: SerializableClasses): readonly Uint8Array[] {
  const { forms, formOf } = new GraphWalker(classes, root)
  const out = new ByteWriter()
  const headers: FormHeader[] = forms.map(({ sort, name, keys, things, columns }) => {
    return { sort, name, keys, count: things.length, columns: columns.length }
  })
  out.text(JSON.stringify(headers))
  formOf.write(out)
  for (const { sort, things, valueCount: values, columns, lengths } of forms) {
    lengths.write(out)
    for (const column of columns) column.write(out, values)
    if (sort === 'bytes') for (const thing of things) out.raw(thing as ArrayBufferView)
  }
  return out.finish()
}

/** @throws when the bytes make no graph, or hold a class that is not there */
export function decodeGraph(bytes: Uint8Array, classes: SerializableClasses): unknown {
  return new GraphDecoder(new ByteReader(bytes), classes).root
}

/** Finds everything that a value leads to, and gives each thing a number. */
class GraphWalker implements ObjectRegistry {
  readonly forms: ObjectForm[] = []
  /** The form of each thing, in the order of their numbers. */
  readonly formOf = new NumberSequence()
  readonly #names: ReadonlyMap<object, string>
  readonly #classes: SerializableClasses
  readonly #ids = new Map<GraphObject, number>()

  constructor(classes: SerializableClasses, root: object) {
    this.#classes = classes
    this.#names = new Map(Object.entries(classes).map(([name, kept]) => [kept.of.prototype as object, name]))
    this.register(root, new Column())
    // Each round may find things of forms that were done before.
    for (let hasMore = true; hasMore; ) {
      hasMore = false
      for (let i = 0; i < this.forms.length; i++) {
        const form = this.forms[i]!
        if (form.writtenCount === form.things.length) continue
        hasMore = true
        this.#writeForm(form)
      }
    }
  }

  register(object: GraphObject, column: Column): number {
    const known = this.#ids.get(object)
    if (known !== undefined) return known
    const lastForm = this.forms[column.formIndex]
    if (lastForm === undefined || !hasForm(object, lastForm)) column.formIndex = this.#formOf(object)
    this.forms[column.formIndex]!.things.push(object)
    this.formOf.push(column.formIndex)
    const id = FIRST_OBJECT_ID + this.#ids.size
    this.#ids.set(object, id)
    return id
  }

  /** Puts what has been found of a form into its columns. By the thing, because things lie far apart in memory. */
  #writeForm(form: ObjectForm): void {
    const { sort, name, things, columns, lengths } = form
    const end = things.length
    const take = this.#classes[name]?.take
    for (; form.writtenCount < end; form.writtenCount++) {
      const thing = things[form.writtenCount]!
      if (sort === 'fields') this.#putValues(form, Object.values(thing))
      else if (sort === 'parts') {
        const parts = take!(thing as object)
        while (columns.length < parts.length) columns.push(new Column())
        this.#putValues(form, parts)
      } else if (sort === 'bytes') lengths.push((thing as ArrayBufferView).byteLength)
      else if (sort === 'date') this.#putValues(form, [(thing as Date).getTime()])
      else if (sort === 'bigint') this.#putValues(form, [String(thing)])
      else {
        const before = form.valueCount
        if (sort === 'map') this.#putEntries(form, thing as ReadonlyMap<unknown, unknown>)
        else if (sort === 'set') for (const item of thing as ReadonlySet<unknown>) this.#putValues(form, [item])
        // A hole in a list reads as undefined, and is written so.
        else this.#putItems(form, thing as readonly unknown[])
        lengths.push(form.valueCount - before)
      }
    }
  }

  /** Puts a value into each column. */
  #putValues(form: ObjectForm, values: readonly unknown[]): void {
    const { columns } = form
    const place = form.valueCount++
    for (let k = 0; k < values.length; k++) {
      const column = columns[k]!
      if (!isSameAsLast(values[k], column.last)) column.put(place, values[k], this)
    }
  }

  #putItems(form: ObjectForm, items: readonly unknown[]): void {
    const column = form.columns[0]!
    for (let i = 0; i < items.length; i++) {
      const place = form.valueCount++
      if (!isSameAsLast(items[i], column.last)) column.put(place, items[i], this)
    }
  }

  #putEntries(form: ObjectForm, entries: ReadonlyMap<unknown, unknown>): void {
    const [keys, values] = form.columns as [Column, Column]
    // An iterator would make a list of each of them.
    entries.forEach((value, key) => {
      const place = form.valueCount++
      if (!isSameAsLast(key, keys.last)) keys.put(place, key, this)
      if (!isSameAsLast(value, values.last)) values.put(place, value, this)
    })
  }

  #formOf(thing: GraphObject): number {
    const known = this.forms.findIndex(form => hasForm(thing, form))
    return known < 0 ? this.forms.push(this.#newForm(thing)) - 1 : known
  }

  #newForm(thing: GraphObject): ObjectForm {
    if (typeof thing === 'bigint') return newForm('bigint', '', 1)
    if (Array.isArray(thing)) return newForm('list', typeof thing[0], 1)
    const prototype: object | null = Object.getPrototypeOf(thing)
    const name = prototype === Object.prototype || prototype === null ? '' : this.#names.get(prototype)
    if (name !== undefined) {
      if (this.#classes[name]?.take) return { ...newForm('parts', name, 0), prototype }
      const keys = Object.keys(thing)
      return { ...newForm('fields', name, keys.length), keys, prototype }
    }
    if (thing instanceof Map) return newForm('map', typeof firstOf(thing), 2)
    if (thing instanceof Set) return newForm('set', typeof firstOf(thing), 1)
    if (thing instanceof Date) return newForm('date', '', 1)
    const array = typedArrayName(thing)
    if (array !== undefined) return newForm('bytes', array, 0)
    throw new Error(
      `Failed to write a snapshot: ${prototype!.constructor.name} is no class that one keeps. Name it among those that are kept.`,
    )
  }
}

function newForm(sort: FormKind, name: string, width: number): ObjectForm {
  const columns = Array.from({ length: width }, () => new Column())
  return {
    sort,
    name,
    keys: [],
    prototype: undefined,
    things: [],
    writtenCount: 0,
    valueCount: 0,
    columns,
    lengths: new NumberSequence(),
  }
}

/** Whether a thing is of a form. Those of one class may have different fields: one that was never written is not there. */
function hasForm(thing: GraphObject, { sort, name, keys, prototype }: ObjectForm): boolean {
  switch (sort) {
    case 'fields':
      return typeof thing === 'object' && Object.getPrototypeOf(thing) === prototype && hasFields(thing, keys)
    case 'parts':
      return Object.getPrototypeOf(thing) === prototype
    case 'list':
      return Array.isArray(thing) && typeof thing[0] === name
    case 'map':
      return thing instanceof Map && typeof firstOf(thing) === name
    case 'set':
      return thing instanceof Set && typeof firstOf(thing) === name
    case 'bytes':
      return typedArrayName(thing) === name
    case 'date':
      return thing instanceof Date
    case 'bigint':
      return typeof thing === 'bigint'
  }
}

/** Whether these are a thing's fields, in this order. */
function hasFields(thing: object, keys: readonly string[]): boolean {
  let at = 0
  // What is inherited can not be enumerated: neither what Object has, nor the accessors and methods of a class.
  for (const key in thing) if (keys[at++] !== key) return false
  return at === keys.length
}

function firstOf(items: ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>): unknown {
  return items.values().next().value
}

function typedArrayName(thing: GraphObject): string | undefined {
  return Object.entries(TYPED_ARRAYS).find(([, Numbers]) => thing instanceof Numbers)?.[0]
}

/** Makes the things of a form, one at a time, as they are asked for. */
type ObjectFactory = (index: number) => unknown

class GraphDecoder {
  readonly root: unknown
  readonly #formOf: DecodedNumbers
  readonly #indexInForm: Int32Array
  readonly #factories: readonly ObjectFactory[]
  readonly #objects: unknown[]
  /** How many more values the bytes may hold. */
  #valuesLeft: number

  constructor(from: ByteReader, classes: SerializableClasses) {
    this.#valuesLeft = VALUES_MIN + from.length * VALUES_PER_BYTE
    const forms = JSON.parse(from.text()) as FormHeader[]
    if (!Array.isArray(forms)) throw new RangeError('the forms are not a list')
    this.#formOf = readNumbers(from)
    const { length } = this.#formOf
    // Each thing but the first has a number of its own in a column, which takes a byte at least.
    if (length > from.length) throw new RangeError(`${from.length} bytes cannot hold ${length} things`)
    this.#objects = new Array(length)
    this.#indexInForm = new Int32Array(length)
    const next = new Int32Array(forms.length)
    for (let i = 0; i < length; i++) {
      const form = this.#formOf.at(i)
      if (next[form] === undefined) throw new RangeError('a thing has no form')
      this.#indexInForm[i] = next[form]++
    }
    if (forms.some(({ count }, i) => count !== next[i])) throw new RangeError('a form has another number of things')
    this.#factories = forms.map(form => this.#factoryOf(form, from, classes))
    if (!from.isAtEnd) throw new RangeError('bytes are left over')
    this.root = this.#objectOf(FIRST_OBJECT_ID)
  }

  readonly #objectOf = (id: number): unknown => {
    const at = id - FIRST_OBJECT_ID
    const known = this.#objects[at]
    if (known !== undefined) return known
    const make = this.#factories[this.#formOf.at(at)]
    if (make === undefined) throw new RangeError(`there is no thing ${id}`)
    const object = make(this.#indexInForm[at]!)
    this.#objects[at] = object
    return object
  }

  #factoryOf(
    { sort, name, keys, count, columns: width }: FormHeader,
    from: ByteReader,
    classes: SerializableClasses,
  ): ObjectFactory {
    const lengths = readNumbers(from)
    const hasLengths = sort === 'list' || sort === 'set' || sort === 'map' || sort === 'bytes'
    if (lengths.length !== (hasLengths ? count : 0)) throw new RangeError('a form has another number of lengths')
    const { starts, total } = startsOf(lengths)
    const items = hasLengths && sort !== 'bytes' ? total : count
    this.#valuesLeft -= items * width
    if (!(width <= from.length && this.#valuesLeft >= 0))
      throw new RangeError('there are more values than bytes for them')
    const columns = Array.from({ length: width }, () => readColumn(from, items, this.#objectOf))
    const [first, second] = columns as [DecodedColumn, DecodedColumn]
    switch (sort) {
      case 'fields': {
        const prototype = name === '' ? Object.prototype : findClass(classes, name).of.prototype
        return fieldsFactory(prototype, keys, columns)
      }
      case 'parts': {
        const { make } = findClass(classes, name)
        if (make === undefined) throw new RangeError(`${name} is not made of parts`)
        return index => make(columns.map(({ at }) => at(index)))
      }
      case 'list':
        return index => itemsBetween(starts, index, first)
      case 'set':
        return index => new Set(itemsBetween(starts, index, first))
      case 'map':
        return index => {
          const values = itemsBetween(starts, index, second)
          return new Map(itemsBetween(starts, index, first).map((key, i) => [key, values[i]]))
        }
      case 'bytes': {
        const Numbers = TYPED_ARRAYS[name as keyof typeof TYPED_ARRAYS]
        if (Numbers === undefined) throw new RangeError(`there is no array '${name}'`)
        const arrays = Array.from({ length: count }, (_, i) => new Numbers(from.raw(lengths.at(i)).buffer))
        return index => arrays[index]
      }
      case 'date':
        return index => new Date(first.at(index) as number)
      case 'bigint':
        return index => BigInt(first.at(index) as string)
      default:
        throw new RangeError(`there is no form of the sort '${sort}'`)
    }
  }
}

function findClass(classes: SerializableClasses, name: string): SerializableClass {
  if (!Object.hasOwn(classes, name)) throw new RangeError(`there is no class '${name}'`)
  return classes[name]!
}

/** Things of a form: a copy of a model with what they all have, and then what is each one's own. */
function fieldsFactory(prototype: object, keys: readonly string[], columns: readonly DecodedColumn[]): ObjectFactory {
  const differing = keys.flatMap((key, i) => (columns[i]!.isSame ? [] : [{ key, at: columns[i]!.at }]))
  let template: Record<string, unknown> | undefined
  return index => {
    template ??= templateOf(keys, columns)
    const object: Record<string, unknown> = { ...template }
    if (prototype !== Object.prototype) Object.setPrototypeOf(object, prototype)
    for (const { key, at } of differing) object[key] = at(index)
    return object
  }
}

function templateOf(keys: readonly string[], columns: readonly DecodedColumn[]): Record<string, unknown> {
  const template = {}
  for (const [i, key] of keys.entries()) {
    const { isSame, at } = columns[i]!
    // Assigned, '__proto__' would be another prototype instead of a field.
    Object.defineProperty(template, key, { ...DATA_PROPERTY, value: isSame ? at(0) : undefined })
  }
  return template
}

const DATA_PROPERTY = { configurable: true, enumerable: true, writable: true } as const

/**
 * How many values some bytes may hold. Equal values in a row take a few bytes together, but worlds hold less than one
 * value a byte.
 */
const VALUES_PER_BYTE = 4
const VALUES_MIN = 2 ** 22

function startsOf(lengths: DecodedNumbers): { starts: Float64Array; total: number } {
  const starts = new Float64Array(lengths.length + 1)
  for (let i = 0; i < lengths.length; i++) {
    const length = lengths.at(i)
    if (!Number.isSafeInteger(length) || length < 0) throw new RangeError(`a list cannot have ${length} items`)
    starts[i + 1] = starts[i]! + length
  }
  return { starts, total: starts[lengths.length]! }
}

function itemsBetween(starts: Float64Array, index: number, { at }: DecodedColumn): unknown[] {
  const items: unknown[] = []
  for (let i = starts[index]!; i < starts[index + 1]!; i++) items.push(at(i))
  return items
}
