/**
 * Things and what they lead to, as bytes and back: the same values, of the same classes, shared where they were shared.
 *
 * Things of one form (a class, or the names of their fields) lie together, field by field: a world of ten thousand
 * deployments has a few dozen forms, and most fields of most things are equal.
 */
import { Reader, Writer } from './bytes.ts'
import {
  Column,
  type ColumnRead,
  FIRST_THING,
  type Finder,
  isLast,
  Numbers,
  type NumbersRead,
  readColumn,
  readNumbers,
} from './columns.ts'

/** How things of a class are taken apart and put together. Without either: by their own fields. */
export interface Kept<T extends object = object> {
  // Only its prototype matters: whatever it is made of.
  readonly of: abstract new (
    ...made: never[]
  ) => T
  readonly take?: (thing: T) => readonly unknown[]
  readonly make?: (parts: readonly unknown[]) => T
}

/** Classes that may be in a graph, by the names under which they are written. */
export type KeptClasses = Readonly<Record<string, Kept>>

type Sort = 'fields' | 'parts' | 'list' | 'map' | 'set' | 'bytes' | 'date' | 'bigint'
type Thing = object | bigint

/** Things of one form. */
interface Form {
  readonly sort: Sort
  /** The class; '' for a plain object; for lists, sets and maps the type of what is first in them, for it lies better with its like. */
  readonly name: string
  readonly keys: readonly string[]
  /** What things by fields or by parts inherit from. */
  readonly prototype: object | null | undefined
  readonly things: Thing[]
  /** How many of them are in the columns, and how many values each column has. */
  done: number
  values: number
  readonly columns: Column[]
  /** How many items each list, set or map has, or bytes. */
  readonly lengths: Numbers
}

/** What is written of a form ahead of its things. */
interface FormAbout extends Pick<Form, 'sort' | 'name' | 'keys'> {
  readonly count: number
  readonly columns: number
}

const ARRAYS = {
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
export function encodeGraph(root: object, classes: KeptClasses): readonly Uint8Array[] {
  const { forms, formOf } = new GraphFinder(classes, root)
  const out = new Writer()
  const about: FormAbout[] = forms.map(({ sort, name, keys, things, columns }) => {
    return { sort, name, keys, count: things.length, columns: columns.length }
  })
  out.text(JSON.stringify(about))
  formOf.write(out)
  for (const { sort, things, values, columns, lengths } of forms) {
    lengths.write(out)
    for (const column of columns) column.write(out, values)
    if (sort === 'bytes') for (const thing of things) out.raw(thing as ArrayBufferView)
  }
  return out.finish()
}

/** @throws when the bytes make no graph, or hold a class that is not there */
export function decodeGraph(bytes: Uint8Array, classes: KeptClasses): unknown {
  return new Builder(new Reader(bytes), classes).root
}

/** Finds everything that a value leads to, and gives each thing a number. */
class GraphFinder implements Finder {
  readonly forms: Form[] = []
  /** The form of each thing, in the order of their numbers. */
  readonly formOf = new Numbers()
  readonly #names: ReadonlyMap<object, string>
  readonly #classes: KeptClasses
  readonly #ids = new Map<Thing, number>()

  constructor(classes: KeptClasses, root: object) {
    this.#classes = classes
    this.#names = new Map(Object.entries(classes).map(([name, kept]) => [kept.of.prototype as object, name]))
    this.see(root, new Column())
    // Each round may find things of forms that were done before.
    for (let again = true; again; ) {
      again = false
      for (let i = 0; i < this.forms.length; i++) {
        const form = this.forms[i]!
        if (form.done === form.things.length) continue
        again = true
        this.#follow(form)
      }
    }
  }

  see(thing: Thing, column: Column): number {
    const known = this.#ids.get(thing)
    if (known !== undefined) return known
    const usual = this.forms[column.form]
    if (usual === undefined || !isOf(thing, usual)) column.form = this.#formOf(thing)
    this.forms[column.form]!.things.push(thing)
    this.formOf.push(column.form)
    const id = FIRST_THING + this.#ids.size
    this.#ids.set(thing, id)
    return id
  }

  /** Puts what has been found of a form into its columns. By the thing, because things lie far apart in memory. */
  #follow(form: Form): void {
    const { sort, name, things, columns, lengths } = form
    const to = things.length
    const take = this.#classes[name]?.take
    for (; form.done < to; form.done++) {
      const thing = things[form.done]!
      if (sort === 'fields') this.#put(form, Object.values(thing))
      else if (sort === 'parts') {
        const parts = take!(thing as object)
        while (columns.length < parts.length) columns.push(new Column())
        this.#put(form, parts)
      } else if (sort === 'bytes') lengths.push((thing as ArrayBufferView).byteLength)
      else if (sort === 'date') this.#put(form, [(thing as Date).getTime()])
      else if (sort === 'bigint') this.#put(form, [String(thing)])
      else {
        const before = form.values
        if (sort === 'map') this.#putEntries(form, thing as ReadonlyMap<unknown, unknown>)
        else if (sort === 'set') for (const item of thing as ReadonlySet<unknown>) this.#put(form, [item])
        // A hole in a list reads as undefined, and is written so.
        else this.#putItems(form, thing as readonly unknown[])
        lengths.push(form.values - before)
      }
    }
  }

  /** Puts a value into each column. */
  #put(form: Form, values: readonly unknown[]): void {
    const { columns } = form
    const place = form.values++
    for (let k = 0; k < values.length; k++) {
      const column = columns[k]!
      if (!isLast(values[k], column.last)) column.put(place, values[k], this)
    }
  }

  #putItems(form: Form, items: readonly unknown[]): void {
    const column = form.columns[0]!
    for (let i = 0; i < items.length; i++) {
      const place = form.values++
      if (!isLast(items[i], column.last)) column.put(place, items[i], this)
    }
  }

  #putEntries(form: Form, entries: ReadonlyMap<unknown, unknown>): void {
    const [keys, values] = form.columns as [Column, Column]
    // An iterator would make a list of each of them.
    entries.forEach((value, key) => {
      const place = form.values++
      if (!isLast(key, keys.last)) keys.put(place, key, this)
      if (!isLast(value, values.last)) values.put(place, value, this)
    })
  }

  #formOf(thing: Thing): number {
    const known = this.forms.findIndex(form => isOf(thing, form))
    return known < 0 ? this.forms.push(this.#newForm(thing)) - 1 : known
  }

  #newForm(thing: Thing): Form {
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
    const array = arrayOf(thing)
    if (array !== undefined) return newForm('bytes', array, 0)
    throw new Error(
      `Failed to write a snapshot: ${prototype!.constructor.name} is no class that one keeps. Name it among those that are kept.`,
    )
  }
}

function newForm(sort: Sort, name: string, width: number): Form {
  const columns = Array.from({ length: width }, () => new Column())
  return { sort, name, keys: [], prototype: undefined, things: [], done: 0, values: 0, columns, lengths: new Numbers() }
}

/** Whether a thing is of a form. Those of one class may have different fields: one that was never written is not there. */
function isOf(thing: Thing, { sort, name, keys, prototype }: Form): boolean {
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
      return arrayOf(thing) === name
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

function arrayOf(thing: Thing): string | undefined {
  return Object.entries(ARRAYS).find(([, Numbers]) => thing instanceof Numbers)?.[0]
}

/** Makes the things of a form, one at a time, as they are asked for. */
type Maker = (index: number) => unknown

class Builder {
  readonly root: unknown
  readonly #formOf: NumbersRead
  readonly #indexIn: Int32Array
  readonly #makers: readonly Maker[]
  readonly #made: unknown[]
  /** How many more values the bytes may hold. */
  #valuesLeft: number

  constructor(from: Reader, classes: KeptClasses) {
    this.#valuesLeft = VALUES_MIN + from.length * VALUES_PER_BYTE
    const forms = JSON.parse(from.text()) as FormAbout[]
    if (!Array.isArray(forms)) throw new RangeError('the forms are not a list')
    this.#formOf = readNumbers(from)
    const { length } = this.#formOf
    // Each thing but the first has a number of its own in a column, which takes a byte at least.
    if (length > from.length) throw new RangeError(`${from.length} bytes cannot hold ${length} things`)
    this.#made = new Array(length)
    this.#indexIn = new Int32Array(length)
    const next = new Int32Array(forms.length)
    for (let i = 0; i < length; i++) {
      const form = this.#formOf.at(i)
      if (next[form] === undefined) throw new RangeError('a thing has no form')
      this.#indexIn[i] = next[form]++
    }
    if (forms.some(({ count }, i) => count !== next[i])) throw new RangeError('a form has another number of things')
    this.#makers = forms.map(form => this.#makerOf(form, from, classes))
    if (!from.isAtEnd) throw new RangeError('bytes are left over')
    this.root = this.#thing(FIRST_THING)
  }

  readonly #thing = (id: number): unknown => {
    const at = id - FIRST_THING
    const known = this.#made[at]
    if (known !== undefined) return known
    const make = this.#makers[this.#formOf.at(at)]
    if (make === undefined) throw new RangeError(`there is no thing ${id}`)
    const made = make(this.#indexIn[at]!)
    this.#made[at] = made
    return made
  }

  #makerOf({ sort, name, keys, count, columns: width }: FormAbout, from: Reader, classes: KeptClasses): Maker {
    const lengths = readNumbers(from)
    const hasLengths = sort === 'list' || sort === 'set' || sort === 'map' || sort === 'bytes'
    if (lengths.length !== (hasLengths ? count : 0)) throw new RangeError('a form has another number of lengths')
    const { starts, total } = startsOf(lengths)
    const items = hasLengths && sort !== 'bytes' ? total : count
    this.#valuesLeft -= items * width
    if (!(width <= from.length && this.#valuesLeft >= 0))
      throw new RangeError('there are more values than bytes for them')
    const columns = Array.from({ length: width }, () => readColumn(from, items, this.#thing))
    const [first, second] = columns as [ColumnRead, ColumnRead]
    switch (sort) {
      case 'fields': {
        const prototype = name === '' ? Object.prototype : keptIn(classes, name).of.prototype
        return fieldsMaker(prototype, keys, columns)
      }
      case 'parts': {
        const { make } = keptIn(classes, name)
        if (make === undefined) throw new RangeError(`${name} is not made of parts`)
        return index => make(columns.map(({ at }) => at(index)))
      }
      case 'list':
        return index => between(starts, index, first)
      case 'set':
        return index => new Set(between(starts, index, first))
      case 'map':
        return index => {
          const values = between(starts, index, second)
          return new Map(between(starts, index, first).map((key, i) => [key, values[i]]))
        }
      case 'bytes': {
        const Numbers = ARRAYS[name as keyof typeof ARRAYS]
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

function keptIn(classes: KeptClasses, name: string): Kept {
  if (!Object.hasOwn(classes, name)) throw new RangeError(`there is no class '${name}'`)
  return classes[name]!
}

/** Things of a form: a copy of a model with what they all have, and then what is each one's own. */
function fieldsMaker(prototype: object, keys: readonly string[], columns: readonly ColumnRead[]): Maker {
  const own = keys.flatMap((key, i) => (columns[i]!.isSame ? [] : [{ key, at: columns[i]!.at }]))
  let model: Record<string, unknown> | undefined
  return index => {
    model ??= modelOf(keys, columns)
    const made: Record<string, unknown> = { ...model }
    if (prototype !== Object.prototype) Object.setPrototypeOf(made, prototype)
    for (const { key, at } of own) made[key] = at(index)
    return made
  }
}

function modelOf(keys: readonly string[], columns: readonly ColumnRead[]): Record<string, unknown> {
  const model = {}
  for (const [i, key] of keys.entries()) {
    const { isSame, at } = columns[i]!
    // Assigned, '__proto__' would be another prototype instead of a field.
    Object.defineProperty(model, key, { ...OWN, value: isSame ? at(0) : undefined })
  }
  return model
}

const OWN = { configurable: true, enumerable: true, writable: true } as const

/**
 * How many values some bytes may hold. Equal values in a row take a few bytes together, but worlds hold less than one
 * value a byte.
 */
const VALUES_PER_BYTE = 4
const VALUES_MIN = 2 ** 22

function startsOf(lengths: NumbersRead): { starts: Float64Array; total: number } {
  const starts = new Float64Array(lengths.length + 1)
  for (let i = 0; i < lengths.length; i++) {
    const length = lengths.at(i)
    if (!Number.isSafeInteger(length) || length < 0) throw new RangeError(`a list cannot have ${length} items`)
    starts[i + 1] = starts[i]! + length
  }
  return { starts, total: starts[lengths.length]! }
}

function between(starts: Float64Array, index: number, { at }: ColumnRead): unknown[] {
  const items: unknown[] = []
  for (let i = starts[index]!; i < starts[index + 1]!; i++) items.push(at(i))
  return items
}
