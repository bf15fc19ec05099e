/**
 * Things and what they lead to, as bytes and back: the same values, of the same classes, shared where they were shared.
 *
 * Things of one form (a class, or the names of their fields) lie together, field by field: a world of ten thousand
 * deployments has a few dozen forms, and most fields of most things are equal.
 */
import { lengthOf, Reader, Writer } from './bytes.ts'
import {
  type Column,
  ColumnBuilder,
  fromId,
  Reference,
  readColumn,
  readNumbers,
  readValue,
  TextReader,
  Texts,
  writeNumbers,
  writeValue,
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

type Sort = 'fields' | 'parts' | 'list' | 'map' | 'set' | 'bytes' | 'date'
const SORTS: readonly Sort[] = ['fields', 'parts', 'list', 'map', 'set', 'bytes', 'date']

/** Things of one form. */
interface Form {
  readonly sort: Sort
  /** The class; '' for a plain object, and for lists and maps the kind of what is first in them. */
  readonly name: string
  readonly keys: readonly string[]
  readonly things: object[]
  readonly columns: ColumnBuilder[]
  /** How many items each list, set or map has, or bytes. */
  readonly lengths: number[]
  /** Things whose fields are in the columns. */
  done: number
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
  const finder = new Finder(classes)
  finder.find(root)
  const out = new Writer()
  const texts = new Texts()
  out.count(finder.forms.length)
  for (const { sort, name, keys, things } of finder.forms) {
    out.u8(SORTS.indexOf(sort))
    texts.add(name)
    out.count(keys.length)
    for (const key of keys) texts.add(key)
    out.count(things.length)
  }
  writeNumbers(out, finder.formOf)
  for (const form of finder.forms) writeForm(out, texts, form)
  writeValue(out, texts, new Reference(1))
  const textsOut = new Writer()
  texts.write(textsOut)
  const body = out.finish()
  const start = new Writer()
  start.count(lengthOf(body))
  return [...start.finish(), ...body, ...textsOut.finish()]
}

/** @throws when the bytes make no graph, or hold a class that is not there */
export function decodeGraph(bytes: Uint8Array, classes: KeptClasses): unknown {
  const whole = new Reader(bytes)
  const from = new Reader(whole.raw(whole.count()))
  const texts = new TextReader(whole)
  const builder = new Builder(from, texts, classes)
  const root = readValue(from, texts)
  if (!from.isAtEnd || !whole.isAtEnd) throw new RangeError('bytes are left over')
  return builder.resolve(root)
}

/** Finds everything that a value leads to, and gives each thing a number. */
class Finder {
  readonly forms: Form[] = []
  /** The form of each thing, by its number less one. */
  readonly formOf: number[] = []
  readonly #names: ReadonlyMap<object, string>
  readonly #classes: KeptClasses
  readonly #ids = new Map<object, number>()
  readonly #byName = new Map<string, number>()
  readonly #byPrototype = new Map<object | null, number[]>()

  constructor(classes: KeptClasses) {
    this.#classes = classes
    this.#names = new Map(Object.entries(classes).map(([name, kept]) => [kept.of.prototype as object, name]))
  }

  find(root: object): void {
    this.#see(root)
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

  #follow(form: Form): void {
    const { sort, name, things, columns, lengths } = form
    const from = form.done
    const to = things.length
    form.done = to
    const see = this.#see
    if (sort === 'fields') {
      for (let i = from; i < to; i++) ColumnBuilder.addAll(columns, Object.values(things[i]!), see)
      return
    }
    if (sort === 'parts') {
      const take = this.#classes[name]!.take!
      for (let i = from; i < to; i++) {
        const parts = take(things[i]!)
        while (columns.length < parts.length) columns.push(new ColumnBuilder())
        ColumnBuilder.addAll(columns, parts, see)
      }
      return
    }
    if (sort === 'bytes') {
      for (let i = from; i < to; i++) lengths.push((things[i] as ArrayBufferView).byteLength)
      return
    }
    if (sort === 'date') {
      for (let i = from; i < to; i++) columns[0]!.add((things[i] as Date).getTime(), see)
      return
    }
    for (let i = from; i < to; i++) {
      const before = lengths.length
      const thing = things[i]!
      let length = 0
      if (sort === 'map') {
        for (const [key, value] of thing as ReadonlyMap<unknown, unknown>) {
          columns[0]!.add(key, see)
          columns[1]!.add(value, see)
        }
        length = (thing as ReadonlyMap<unknown, unknown>).size
      } else {
        // A hole in a list reads as undefined, and is written so.
        for (const item of thing as Iterable<unknown>) {
          columns[0]!.add(item, see)
          length++
        }
      }
      lengths[before] = length
    }
  }

  readonly #see = (value: object): number => {
    if (Array.isArray(value) && value.length === 0) return 0
    const known = this.#ids.get(value)
    if (known !== undefined) return known
    const form = this.#formOf(value)
    this.forms[form]!.things.push(value)
    const id = this.formOf.push(form)
    this.#ids.set(value, id)
    return id
  }

  #formOf(value: object): number {
    if (Array.isArray(value)) return this.#named('list', kindOf(value[0]), 1)
    const prototype: object | null = Object.getPrototypeOf(value)
    if (prototype === Object.prototype || prototype === null) return this.#byFields(value, prototype, '')
    const name = this.#names.get(prototype)
    if (name !== undefined) {
      return this.#classes[name]!.take ? this.#named('parts', name, 0) : this.#byFields(value, prototype, name)
    }
    if (value instanceof Map) return this.#named('map', kindOf(value.values().next().value), 2)
    if (value instanceof Set) return this.#named('set', kindOf(value.values().next().value), 1)
    if (value instanceof Date) return this.#named('date', '', 1)
    for (const [name, Numbers] of Object.entries(ARRAYS)) {
      if (value instanceof Numbers) return this.#named('bytes', name, 0)
    }
    throw new Error(
      `Failed to write a snapshot: ${prototype.constructor.name} is no class that one keeps. Name it among those that are kept.`,
    )
  }

  /** Things of one class may have different fields: one that was never written is not there. */
  #byFields(value: object, prototype: object | null, name: string): number {
    const known = this.#byPrototype.get(prototype)
    // What comes together is alike, so the form that was found last is tried first.
    for (let i = (known?.length ?? 0) - 1; i >= 0; i--) {
      const form = known![i]!
      if (!hasFields(value, this.forms[form]!.keys)) continue
      if (i < known!.length - 1) known!.push(...known!.splice(i, 1))
      return form
    }
    const keys = Object.keys(value)
    const form = this.#add('fields', name, keys, keys.length)
    if (known === undefined) this.#byPrototype.set(prototype, [form])
    else known.push(form)
    return form
  }

  #named(sort: Sort, name: string, columns: number): number {
    const full = `${sort} ${name}`
    let form = this.#byName.get(full)
    if (form === undefined) {
      form = this.#add(sort, name, [], columns)
      this.#byName.set(full, form)
    }
    return form
  }

  #add(sort: Sort, name: string, keys: readonly string[], columns: number): number {
    const builders = Array.from({ length: columns }, () => new ColumnBuilder())
    return this.forms.push({ sort, name, keys, things: [], columns: builders, lengths: [], done: 0 }) - 1
  }
}

/** Whether these are a thing's fields, in this order. */
function hasFields(thing: object, keys: readonly string[]): boolean {
  let at = 0
  // What is inherited can not be enumerated: neither what Object has, nor the accessors and methods of a class.
  for (const key in thing) if (keys[at++] !== key) return false
  return at === keys.length
}

/** Items of one kind lie better together. */
function kindOf(first: unknown): string {
  return first === undefined ? 'object' : typeof first
}

function writeForm(out: Writer, texts: Texts, { sort, things, columns, lengths }: Form): void {
  if (sort === 'parts') out.count(columns.length)
  else if (sort !== 'fields' && sort !== 'date') writeNumbers(out, lengths)
  for (const column of columns) column.write(out, texts)
  if (sort === 'bytes') for (const thing of things) out.raw(thing as ArrayBufferView)
}

/** Makes the things of a form, one at a time, as they are asked for. */
type Maker = (index: number) => object

class Builder {
  readonly #formOf: ArrayLike<number>
  readonly #indexIn: Int32Array
  readonly #makers: readonly Maker[]
  readonly #made: (object | undefined)[]

  constructor(from: Reader, texts: TextReader, classes: KeptClasses) {
    const forms = Array.from({ length: from.count() }, () => {
      const sort = SORTS[from.u8()]
      if (sort === undefined) throw new RangeError('there is no such form')
      const name = texts.next()
      const keys = Array.from({ length: from.count() }, () => texts.next())
      return { sort, name, keys, count: from.count() }
    })
    this.#formOf = readNumbers(from)
    this.#made = new Array(this.#formOf.length)
    this.#indexIn = new Int32Array(this.#formOf.length)
    const next = new Int32Array(forms.length)
    for (let i = 0; i < this.#formOf.length; i++) {
      const form = this.#formOf[i]!
      if (next[form] === undefined) throw new RangeError('a thing has no form')
      this.#indexIn[i] = next[form]++
    }
    this.#makers = forms.map(form => this.#makerOf(form, from, texts, classes))
  }

  /** A value with the things that it leads to. */
  resolve(value: unknown): unknown {
    return value instanceof Reference ? fromId(value.id, this.#thing) : value
  }

  readonly #thing = (id: number): object => {
    const known = this.#made[id - 1]
    if (known !== undefined) return known
    const make = this.#makers[this.#formOf[id - 1]!]
    if (make === undefined) throw new RangeError(`there is no thing ${id}`)
    const made = make(this.#indexIn[id - 1]!)
    this.#made[id - 1] = made
    return made
  }

  #makerOf(
    { sort, name, keys, count }: { sort: Sort; name: string; keys: readonly string[]; count: number },
    from: Reader,
    texts: TextReader,
    classes: KeptClasses,
  ): Maker {
    const column = (length: number) => this.#looker(readColumn(from, texts, length))
    switch (sort) {
      case 'fields': {
        const looks = keys.map(key => [key, column(count)] as const)
        const prototype = name === '' ? Object.prototype : this.#keptIn(classes, name).of.prototype
        return index => {
          const made: Record<string, unknown> = prototype === Object.prototype ? {} : Object.create(prototype)
          for (const [key, look] of looks) {
            // Assigned, it would be another prototype instead of a field.
            if (key === '__proto__') Object.defineProperty(made, key, { ...OWN, value: look(index) })
            else made[key] = look(index)
          }
          return made
        }
      }
      case 'parts': {
        const { make } = this.#keptIn(classes, name)
        const looks = Array.from({ length: from.count() }, () => column(count))
        if (make === undefined) throw new RangeError(`${name} is not made of parts`)
        return index => make(looks.map(look => look(index)))
      }
      case 'list': {
        const { starts, total } = startsOf(readNumbers(from))
        const look = column(total)
        return index => between(starts, index, look)
      }
      case 'set': {
        const { starts, total } = startsOf(readNumbers(from))
        const look = column(total)
        return index => new Set(between(starts, index, look))
      }
      case 'map': {
        const { starts, total } = startsOf(readNumbers(from))
        const keyOf = column(total)
        const itemOf = column(total)
        return index => {
          const values = between(starts, index, itemOf)
          return new Map(between(starts, index, keyOf).map((key, i) => [key, values[i]]))
        }
      }
      case 'bytes': {
        const Numbers = ARRAYS[name as keyof typeof ARRAYS]
        if (Numbers === undefined) throw new RangeError(`there is no array '${name}'`)
        const arrays = Array.from(readNumbers(from), length => new Numbers(from.raw(length).buffer))
        return index => arrays[index]!
      }
      case 'date': {
        const look = column(count)
        return index => new Date(look(index) as number)
      }
    }
  }

  #keptIn(classes: KeptClasses, name: string): Kept {
    if (!Object.hasOwn(classes, name)) throw new RangeError(`there is no class '${name}'`)
    return classes[name]!
  }

  #looker(column: Column): (index: number) => unknown {
    if ('constant' in column) {
      const { constant } = column
      return constant instanceof Reference ? () => this.resolve(constant) : () => constant
    }
    if ('ids' in column) {
      const { ids } = column
      return index => fromId(ids[index]!, this.#thing)
    }
    const { values } = column
    return index => this.resolve(values[index])
  }
}

const OWN = { configurable: true, enumerable: true, writable: true } as const

/** More items than that no world has: a length that is not one must not be counted to. */
const MOST_ITEMS = 2 ** 28

function startsOf(lengths: ArrayLike<number>): { starts: Float64Array; total: number } {
  const starts = new Float64Array(lengths.length + 1)
  for (let i = 0; i < lengths.length; i++) starts[i + 1] = starts[i]! + lengths[i]!
  const total = starts[lengths.length]!
  if (!(total <= MOST_ITEMS)) throw new RangeError(`there are no lists of ${total} items`)
  return { starts, total }
}

function between(starts: Float64Array, index: number, look: (at: number) => unknown): unknown[] {
  const items: unknown[] = []
  for (let at = starts[index]!; at < starts[index + 1]!; at++) items.push(look(at))
  return items
}
