/**
 * Things and what they lead to, as bytes and back: the same values, of the same classes, shared where they were shared.
 *
 * Things of one form (a class, or the names of their fields) lie together, field by field: a world of ten thousand
 * deployments has a few dozen forms, and most fields of most things are equal.
 */
import { Reader, Writer } from './bytes.ts'
import {
  type Column,
  isEmptyList,
  isNested,
  Reference,
  type References,
  readColumn,
  readNumbers,
  readValue,
  TextReader,
  Texts,
  writeColumn,
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
  readonly members: object[]
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
export function encodeGraph(root: unknown, classes: KeptClasses): Uint8Array {
  const finder = new Finder(classes)
  finder.find(root)
  const out = new Writer()
  const texts = new Texts()
  const { forms, formOf } = finder
  out.count(forms.length)
  for (const { sort, name, keys, members } of forms) {
    out.u8(SORTS.indexOf(sort))
    texts.add(name)
    out.count(keys.length)
    for (const key of keys) texts.add(key)
    out.count(members.length)
  }
  writeNumbers(out, formOf)
  for (const form of forms) writeForm(out, texts, form, finder)
  writeValue(out, texts, root, finder)
  const body = out.finish()
  const whole = new Writer()
  whole.count(body.length)
  whole.raw(body)
  texts.write(whole)
  return whole.finish()
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

/** Finds everything that a value leads to, and gives each thing a number: from 1, for 0 is the empty list. */
class Finder implements References {
  readonly forms: Form[] = []
  /** The form of each thing, by its number less one. */
  readonly formOf: number[] = []
  readonly #classes: ReadonlyMap<object, string>
  readonly #kept: KeptClasses
  readonly #ids = new Map<object, number>()
  readonly #byName = new Map<string, number>()
  readonly #byPrototype = new Map<object | null, number[]>()

  constructor(classes: KeptClasses) {
    this.#kept = classes
    this.#classes = new Map(Object.entries(classes).map(([name, kept]) => [kept.of.prototype as object, name]))
  }

  of(object: object): number {
    return this.#ids.get(object)!
  }

  partsOf({ name }: Form): ((thing: object) => readonly unknown[]) | undefined {
    return this.#kept[name]?.take
  }

  find(root: unknown): void {
    this.#see(root)
    // Each round may find things of forms that were done before.
    const done: number[] = []
    for (let again = true; again; ) {
      again = false
      for (let i = 0; i < this.forms.length; i++) {
        const form = this.forms[i]!
        const from = done[i] ?? 0
        const to = form.members.length
        if (from === to) continue
        again = true
        done[i] = to
        this.#follow(form, from, to)
      }
    }
  }

  #follow(form: Form, from: number, to: number): void {
    const { sort, keys, members } = form
    switch (sort) {
      case 'fields':
        for (const key of keys) {
          let last: unknown
          for (let i = from; i < to; i++) {
            const value = (members[i] as Record<string, unknown>)[key]
            if (typeof value !== 'object' || value === last) continue
            last = value
            this.#see(value)
          }
        }
        return
      case 'parts': {
        const take = this.partsOf(form)!
        for (let i = from; i < to; i++) for (const part of take(members[i]!)) this.#see(part)
        return
      }
      case 'list':
      case 'set':
        for (let i = from; i < to; i++) for (const item of members[i] as Iterable<unknown>) this.#see(item)
        return
      case 'map':
        for (let i = from; i < to; i++) {
          for (const [key, value] of members[i] as ReadonlyMap<unknown, unknown>) {
            this.#see(key)
            this.#see(value)
          }
        }
    }
  }

  #see(value: unknown): void {
    if (!isNested(value) || isEmptyList(value) || this.#ids.has(value)) return
    const form = this.#formOf(value)
    this.forms[form]!.members.push(value)
    this.#ids.set(value, this.formOf.push(form))
  }

  #formOf(value: object): number {
    if (Array.isArray(value)) return this.#named('list', kindOf(value[0]))
    const prototype: object | null = Object.getPrototypeOf(value)
    if (prototype === Object.prototype || prototype === null) return this.#byFields(value, prototype, '')
    const name = this.#classes.get(prototype)
    if (name !== undefined) {
      return this.#kept[name]!.take ? this.#named('parts', name) : this.#byFields(value, prototype, name)
    }
    if (value instanceof Map) return this.#named('map', kindOf(value.values().next().value))
    if (value instanceof Set) return this.#named('set', kindOf(value.values().next().value))
    if (value instanceof Date) return this.#named('date', '')
    for (const [name, Numbers] of Object.entries(ARRAYS))
      if (value instanceof Numbers) return this.#named('bytes', name)
    throw new Error(
      `Failed to write a snapshot: ${prototype.constructor.name} is no class that one keeps. Name it among those that are kept.`,
    )
  }

  /** Things of one class may have different fields: one that was never written is not there. */
  #byFields(value: object, prototype: object | null, name: string): number {
    const keys = Object.keys(value)
    const known = this.#byPrototype.get(prototype)
    // What comes together is alike, so the form that was found last is tried first.
    const at = known?.findLastIndex(form => isSame(this.forms[form]!.keys, keys)) ?? -1
    if (known !== undefined && at >= 0) {
      const form = known[at]!
      if (at < known.length - 1) known.push(...known.splice(at, 1))
      return form
    }
    const form = this.forms.push({ sort: 'fields', name, keys, members: [] }) - 1
    if (known === undefined) this.#byPrototype.set(prototype, [form])
    else known.push(form)
    return form
  }

  #named(sort: Sort, name: string): number {
    const full = `${sort} ${name}`
    let form = this.#byName.get(full)
    if (form === undefined) {
      form = this.forms.push({ sort, name, keys: [], members: [] }) - 1
      this.#byName.set(full, form)
    }
    return form
  }
}

function isSame(keys: readonly string[], others: readonly string[]): boolean {
  if (keys.length !== others.length) return false
  for (let i = 0; i < keys.length; i++) if (keys[i] !== others[i]) return false
  return true
}

/** Items of one kind lie better together. */
function kindOf(first: unknown): string {
  return first === undefined ? 'object' : typeof first
}

function writeForm(out: Writer, texts: Texts, form: Form, finder: Finder): void {
  const { sort, keys, members } = form
  const column = (values: readonly unknown[]) => writeColumn(out, texts, values, finder)
  switch (sort) {
    case 'fields':
      for (const key of keys) column(members.map(member => (member as Record<string, unknown>)[key]))
      return
    case 'parts': {
      const taken = members.map(finder.partsOf(form)!)
      out.count(taken[0]!.length)
      for (let i = 0; i < taken[0]!.length; i++) column(taken.map(parts => parts[i]))
      return
    }
    case 'list': {
      const lists = members as (readonly unknown[])[]
      writeNumbers(
        out,
        lists.map(({ length }) => length),
      )
      // A hole in a list reads as undefined, and is written so.
      column(lists.flatMap(list => Array.from(list)))
      return
    }
    case 'set': {
      const sets = members as ReadonlySet<unknown>[]
      writeNumbers(
        out,
        sets.map(({ size }) => size),
      )
      column(sets.flatMap(set => [...set]))
      return
    }
    case 'map': {
      const maps = members as ReadonlyMap<unknown, unknown>[]
      writeNumbers(
        out,
        maps.map(({ size }) => size),
      )
      column(maps.flatMap(map => [...map.keys()]))
      column(maps.flatMap(map => [...map.values()]))
      return
    }
    case 'bytes': {
      const arrays = members as ArrayBufferView[]
      writeNumbers(
        out,
        arrays.map(({ byteLength }) => byteLength),
      )
      for (const array of arrays) out.raw(array)
      return
    }
    case 'date':
      writeNumbers(
        out,
        (members as Date[]).map(date => date.getTime()),
      )
  }
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
    return value instanceof Reference ? this.#thing(value.id) : value
  }

  #thing(id: number): unknown {
    if (id === 0) return []
    if (id === -1) return undefined
    if (id === -2) return null
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
        const times = readNumbers(from)
        return index => new Date(times[index]!)
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
      return () => constant
    }
    if ('ids' in column) {
      const { ids } = column
      return index => this.#thing(ids[index]!)
    }
    const { values } = column
    return index => this.resolve(values[index])
  }
}

const OWN = { configurable: true, enumerable: true, writable: true } as const

function startsOf(lengths: ArrayLike<number>): { starts: Float64Array; total: number } {
  const starts = new Float64Array(lengths.length + 1)
  for (let i = 0; i < lengths.length; i++) starts[i + 1] = starts[i]! + lengths[i]!
  return { starts, total: starts[lengths.length]! }
}

function between(starts: Float64Array, index: number, look: (at: number) => unknown): unknown[] {
  const items: unknown[] = []
  for (let at = starts[index]!; at < starts[index + 1]!; at++) items.push(look(at))
  return items
}
