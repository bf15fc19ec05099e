/** Values of one field of many things, side by side: most are equal, or small numbers, and take few bytes. */
import type { Reader, Writer } from './bytes.ts'

/** Texts in the order in which they were written, joined. */
export class Texts {
  readonly #texts: string[] = []

  add(text: string): void {
    this.#texts.push(text)
  }

  write(out: Writer): void {
    const lengths: number[] = []
    for (const text of this.#texts) lengths.push(text.length)
    writeNumbers(out, lengths)
    const joined = this.#texts.join('')
    // UTF-8 has no halves of surrogate pairs, and a user's JSON may.
    const isWellFormed = joined.isWellFormed()
    out.u8(isWellFormed ? 1 : 0)
    const bytes = isWellFormed
      ? new TextEncoder().encode(joined)
      : Uint16Array.from({ length: joined.length }, (_, i) => joined.charCodeAt(i))
    out.count(bytes.byteLength)
    out.raw(bytes)
  }
}

/** Reads them again, one after the other. */
export class TextReader {
  readonly #lengths: ArrayLike<number>
  readonly #joined: string
  #next = 0
  #at = 0

  constructor(from: Reader) {
    this.#lengths = readNumbers(from)
    const isWellFormed = from.u8() === 1
    const bytes = from.raw(from.count())
    if (isWellFormed) this.#joined = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    else {
      let joined = ''
      for (const unit of new Uint16Array(bytes.buffer)) joined += String.fromCharCode(unit)
      this.#joined = joined
    }
  }

  next(): string {
    if (this.#next === this.#lengths.length) throw new RangeError('the texts end too early')
    const start = this.#at
    this.#at += this.#lengths[this.#next++]!
    return this.#joined.slice(start, this.#at)
  }
}

/** An object that a value leads to, by its number. */
export class Reference {
  readonly id: number
  constructor(id: number) {
    this.id = id
  }
}

/** Numbers an object, from 1, and remembers to write it; an empty list is 0, for one is as good as another. */
export type See = (object: object) => number

/** In the place of an object's number. */
const UNDEFINED_ID = -1
const NULL_ID = -2

/** What a column was read as: plain values, numbers of objects, or one value for all. */
export type Column =
  | { readonly values: ArrayLike<unknown> }
  | { readonly ids: ArrayLike<number> }
  | { readonly constant: unknown }

const SAME = 0
const NUMBERS = 1
const TEXTS = 2
const FEW_TEXTS = 3
const OBJECTS = 4
const BOOLEANS = 5
const MIXED = 6

/** Whether a column has numbers of objects, plain values, or both: then objects are references. */
type Holds = 'objects' | 'plain' | 'both'

/** The values of a field, as they are found. As long as they are equal only their number is kept. */
export class ColumnBuilder {
  #holds: Holds = 'plain'
  #count = 0
  #first: unknown
  #items: unknown[] | undefined
  /** The value that was added last, and what stands for it. */
  #last: unknown = this
  #lastItem: unknown

  /** Adds to each column its value: the fields of a thing. By the thing, because things lie far apart in memory. */
  static addAll(columns: readonly ColumnBuilder[], values: readonly unknown[], see: See): void {
    for (let k = 0; k < values.length; k++) columns[k]!.add(values[k], see)
  }

  add(value: unknown, see: See): void {
    // The same again, most often; 0 and -0 look the same here and are not.
    if (value === this.#last && value !== 0) {
      this.#count++
      if (this.#items !== undefined) this.#items.push(this.#lastItem)
      return
    }
    this.#last = value
    if (value === undefined) this.#put(UNDEFINED_ID, 'objects')
    else if (value === null) this.#put(NULL_ID, 'objects')
    else if (typeof value === 'object') this.#put(see(value), 'objects')
    else this.#put(value, 'plain')
  }

  #put(item: unknown, holds: 'objects' | 'plain'): void {
    if (this.#count === 0) {
      this.#holds = holds
      this.#first = item
    } else if (holds !== this.#holds) this.#mix()
    this.#count++
    this.#lastItem = this.#holds === 'both' && holds === 'objects' ? valueOfId(item as number) : item
    if (this.#items !== undefined) this.#items.push(this.#lastItem)
    else if (!Object.is(item, this.#first)) {
      this.#items = new Array(this.#count - 1).fill(this.#first)
      this.#items.push(item)
    }
  }

  #mix(): void {
    if (this.#holds === 'both') return
    const items = this.#items ?? new Array(this.#count).fill(this.#first)
    this.#items = this.#holds === 'objects' ? items.map(id => valueOfId(id as number)) : items
    this.#holds = 'both'
  }

  write(out: Writer, texts: Texts): void {
    if (this.#count === 0) return
    const items = this.#items
    if (items === undefined) {
      out.u8(SAME)
      writeValue(out, texts, this.#holds === 'objects' ? valueOfId(this.#first as number) : this.#first)
    } else if (this.#holds === 'objects') {
      out.u8(OBJECTS)
      writeNumbers(out, items as number[])
    } else if (isAll<number>(items, 'number')) {
      out.u8(NUMBERS)
      writeNumbers(out, items)
    } else if (isAll<string>(items, 'string')) writeTexts(out, texts, items)
    else if (isAll<boolean>(items, 'boolean')) {
      out.u8(BOOLEANS)
      out.raw(Uint8Array.from(items, Number))
    } else {
      out.u8(MIXED)
      for (const item of items) writeValue(out, texts, item)
    }
  }
}

function isAll<T>(items: unknown[], type: string): items is T[] {
  for (const item of items) if (typeof item !== type) return false
  return true
}

/** What an object's number stands for; where it is an object, the reference to it. */
function valueOfId(id: number): unknown {
  return id === UNDEFINED_ID ? undefined : id === NULL_ID ? null : new Reference(id)
}

/** What a number in a column of objects stands for. */
export function fromId(id: number, thing: (id: number) => object): unknown {
  if (id === 0) return []
  return id === UNDEFINED_ID ? undefined : id === NULL_ID ? null : thing(id)
}

export function readColumn(from: Reader, texts: TextReader, length: number): Column {
  if (length === 0) return { values: [] }
  const kind = from.u8()
  switch (kind) {
    case SAME:
      return { constant: readValue(from, texts) }
    case NUMBERS:
      return { values: sized(readNumbers(from), length) }
    case TEXTS:
      return { values: Array.from({ length }, () => texts.next()) }
    case FEW_TEXTS: {
      const few = Array.from({ length: from.count() }, () => texts.next())
      return { values: Array.from(sized(readNumbers(from), length), which => few[which]) }
    }
    case OBJECTS:
      return { ids: sized(readNumbers(from), length) }
    case BOOLEANS:
      return { values: Array.from(from.raw(length), byte => byte === 1) }
    case MIXED:
      return { values: Array.from({ length }, () => readValue(from, texts)) }
    default:
      throw new RangeError(`there is no column of kind ${kind}`)
  }
}

const UNDEFINED = 0
const NULL = 1
const FALSE = 2
const TRUE = 3
const NUMBER = 4
const TEXT = 5
const OBJECT = 6
const BIGINT = 7

/** A value by itself; an object as the reference to it. */
export function writeValue(out: Writer, texts: Texts, value: unknown): void {
  if (value === undefined) out.u8(UNDEFINED)
  else if (value === null) out.u8(NULL)
  else if (typeof value === 'boolean') out.u8(value ? TRUE : FALSE)
  else if (typeof value === 'number') {
    out.u8(NUMBER)
    out.f64(value)
  } else if (typeof value === 'string') {
    out.u8(TEXT)
    texts.add(value)
  } else if (typeof value === 'bigint') {
    out.u8(BIGINT)
    texts.add(String(value))
  } else if (value instanceof Reference) {
    out.u8(OBJECT)
    out.count(value.id)
  } else throw new Error(`Failed to write a snapshot: a ${typeof value} can not be in one.`)
}

export function readValue(from: Reader, texts: TextReader): unknown {
  const tag = from.u8()
  switch (tag) {
    case UNDEFINED:
      return undefined
    case NULL:
      return null
    case FALSE:
      return false
    case TRUE:
      return true
    case NUMBER:
      return from.f64()
    case TEXT:
      return texts.next()
    case OBJECT:
      return new Reference(from.count())
    case BIGINT:
      return BigInt(texts.next())
    default:
      throw new RangeError(`there is no value of kind ${tag}`)
  }
}

function writeTexts(out: Writer, texts: Texts, values: readonly string[]): void {
  if (new Set(values.slice(0, 64)).size > 16) {
    out.u8(TEXTS)
    for (const value of values) texts.add(value)
    return
  }
  const distinct = new Map<string, number>()
  const places: number[] = []
  for (const value of values) {
    const known = distinct.get(value)
    places.push(known ?? distinct.size)
    if (known === undefined) distinct.set(value, distinct.size)
  }
  out.u8(FEW_TEXTS)
  out.count(distinct.size)
  for (const value of distinct.keys()) texts.add(value)
  writeNumbers(out, places)
}

/** By how many bytes the widest of them takes. */
const WIDTHS = [Int8Array, Int16Array, Int32Array, Float64Array] as const

export function writeNumbers(out: Writer, values: readonly number[]): void {
  let least = 0
  let most = 0
  let isWhole = true
  for (const value of values) {
    // 0 and -0 differ, and only one of them is an integer here.
    if ((value | 0) !== value || (value === 0 && 1 / value < 0)) {
      isWhole = false
      break
    }
    if (value < least) least = value
    if (value > most) most = value
  }
  const width = !isWhole ? 3 : least >= -128 && most < 128 ? 0 : least >= -32_768 && most < 32_768 ? 1 : 2
  out.count(values.length)
  out.u8(width)
  out.raw(new WIDTHS[width]!(values))
}

export function readNumbers(from: Reader): ArrayLike<number> & Iterable<number> {
  const length = from.count()
  const width = from.u8()
  const Numbers = WIDTHS[width]
  if (Numbers === undefined) throw new RangeError(`there are no numbers of width ${width}`)
  return new Numbers(from.raw(length * Numbers.BYTES_PER_ELEMENT).buffer)
}

function sized<Values extends ArrayLike<unknown>>(values: Values, length: number): Values {
  if (values.length !== length) throw new RangeError(`a column has ${values.length} values instead of ${length}`)
  return values
}
