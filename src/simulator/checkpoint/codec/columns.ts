/** Columns: the values of one field of many objects. Most are equal or small numbers, and take few bytes. */
import { widened } from '../../../lib/lists.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'

/** Array types by the width of their numbers. */
const WIDTHS = [Int8Array, Int16Array, Int32Array, Float64Array] as const

/** Added to a width if all numbers are equal and only one is written. */
const SAME_FLAG = 4

/** A sequence of numbers. While all are equal, it keeps one number and the count. */
export class NumberSequence {
  #count = 0
  #first = 0
  #items: Int32Array | Float64Array | undefined

  push(value: number, times = 1): void {
    const start = this.#count
    this.#count += times
    if (this.#items === undefined) {
      if (start === 0) this.#first = value
      if (Object.is(value, this.#first)) return
      this.#items = (isInt32(this.#first) ? new Int32Array(start) : new Float64Array(start)).fill(this.#first)
    }
    if (this.#items instanceof Int32Array && !isInt32(value)) this.#items = new Float64Array(this.#items)
    if (this.#count > this.#items.length) this.#items = widened(this.#items, Math.max(64, this.#count * 2))
    for (let i = start; i < this.#count; i++) this.#items[i] = value
  }

  get values(): ArrayLike<number> {
    return (this.#items ?? new Float64Array(this.#count).fill(this.#first)).subarray(0, this.#count)
  }

  write(out: ByteWriter): void {
    const isSame = this.#items === undefined
    const items = this.#items?.subarray(0, this.#count) ?? [this.#first].slice(0, this.#count)
    const width = items instanceof Float64Array ? 3 : widthOf(items)
    out.count(this.#count)
    out.u8(isSame ? width + SAME_FLAG : width)
    out.raw(new WIDTHS[width]!(items))
  }
}

/** Returns whether a number fits an Int32Array. -0 does not, because it would become 0. */
function isInt32(value: number): boolean {
  return (value | 0) === value && !Object.is(value, -0)
}

function widthOf(values: ArrayLike<number>): number {
  let min = 0
  let max = 0
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (!isInt32(value)) return 3
    if (value < min) min = value
    if (value > max) max = value
  }
  return min >= -128 && max < 128 ? 0 : min >= -32_768 && max < 32_768 ? 1 : 2
}

/** A sequence of numbers that was read. */
export interface DecodedNumbers {
  readonly length: number
  /** The number, if all are equal. */
  readonly same: number | undefined
  readonly at: (index: number) => number
}

export function readNumbers(reader: ByteReader): DecodedNumbers {
  const length = reader.count()
  const width = reader.u8()
  const isSame = width >= SAME_FLAG
  const Items = WIDTHS[isSame ? width - SAME_FLAG : width]
  if (Items === undefined) throw new RangeError(`there are no numbers of width ${width}`)
  const items = new Items(reader.raw((isSame ? Math.min(length, 1) : length) * Items.BYTES_PER_ELEMENT).buffer)
  if (!isSame) return { length, same: undefined, at: index => items[index]! }
  const same = items[0] ?? 0
  return { length, same, at: () => same }
}

/** A sequence of texts. Up to `MAX_NUMBERED_TEXTS` different texts are written once and numbered. */
class TextSequence {
  readonly #numbers = new NumberSequence()
  readonly #numberOfText = new Map<string, number>()
  #allTexts: string[] | undefined

  push(text: string, times: number): void {
    if (this.#allTexts === undefined) {
      let number = this.#numberOfText.get(text)
      if (number === undefined) {
        number = this.#numberOfText.size
        this.#numberOfText.set(text, number)
      }
      this.#numbers.push(number, times)
      if (number < MAX_NUMBERED_TEXTS) return
      const known = [...this.#numberOfText.keys()]
      this.#allTexts = Array.from(this.#numbers.values, number => known[number]!)
    } else for (let i = 0; i < times; i++) this.#allTexts.push(text)
  }

  write(out: ByteWriter): void {
    const isMany = this.#allTexts !== undefined
    const texts = this.#allTexts ?? [...this.#numberOfText.keys()]
    const lengths = new NumberSequence()
    for (const { length } of texts) lengths.push(length)
    lengths.write(out)
    out.text(texts.join(''))
    out.u8(isMany ? 1 : 0)
    if (!isMany) this.#numbers.write(out)
  }
}

const MAX_NUMBERED_TEXTS = 64

/** Ids of values that are numbers or texts. The value is the next item of the sequence of numbers or texts. */
const NUMBER = 0
const TEXT = 1

/** Constant values by their ids. `EMPTY_LIST` is the id of every empty list. */
const CONSTANTS: readonly unknown[] = [undefined, undefined, undefined, null, false, true]
const EMPTY_LIST = CONSTANTS.length

/** The id of the first object. */
export const FIRST_OBJECT_ID = EMPTY_LIST + 1

/** Numbers objects, from `FIRST_OBJECT_ID`. */
export interface ObjectRegistry {
  register(object: object | bigint, column: Column): number
}

/** A placeholder that differs from every value. */
const NO_VALUE = Symbol('nothing')

/** The values of a field in writing order. A value that equals the previous value costs one comparison. */
export class Column {
  /** The value that was added last. */
  last: unknown = NO_VALUE
  /** Index of the form of its last object, which the next object probably has too. */
  formIndex = -1
  /** Whether each object in it belongs to the object that has it, and no other object refers to it. */
  isOwned = false
  #lastId = NUMBER
  #since = 0
  readonly #ids = new NumberSequence()
  readonly #numbers = new NumberSequence()
  readonly #texts = new TextSequence()

  /** Adds a value that differs from the last. The last value applies to all rows before `place`. */
  put(place: number, value: unknown, registry: ObjectRegistry): void {
    this.#flush(place)
    if (typeof value === 'number') this.#lastId = NUMBER
    else if (typeof value === 'string') this.#lastId = TEXT
    else this.#lastId = this.#idOf(value, registry)
    this.last = value
  }

  write(out: ByteWriter, count: number): void {
    this.#flush(count)
    this.#ids.write(out)
    this.#numbers.write(out)
    this.#texts.write(out)
  }

  #flush(place: number): void {
    const times = place - this.#since
    this.#since = place
    if (times === 0) return
    this.#ids.push(this.#lastId, times)
    if (this.#lastId === NUMBER) this.#numbers.push(this.last as number, times)
    else if (this.#lastId === TEXT) this.#texts.push(this.last as string, times)
  }

  #idOf(value: unknown, registry: ObjectRegistry): number {
    if (value === undefined) return 2
    if (value === null) return 3
    if (typeof value === 'boolean') return value ? 5 : 4
    if (typeof value === 'object') {
      return Array.isArray(value) && value.length === 0 ? EMPTY_LIST : registry.register(value, this)
    }
    if (typeof value === 'bigint') return registry.register(value, this)
    throw new Error(`Failed to write a snapshot: it cannot contain a ${typeof value}.`)
  }
}

/** Returns whether a value equals the last of its column. 0 and -0 differ. */
export function isSameAsLast(value: unknown, last: unknown): boolean {
  return value === last && !(value === 0 && Object.is(value, -0) !== Object.is(last, -0))
}

/** Values by index. */
interface DecodedValues {
  readonly length: number
  /** Whether all values are equal. */
  readonly isSame: boolean
  readonly at: (index: number) => unknown
}

function readTexts(reader: ByteReader): DecodedValues {
  const lengths = readNumbers(reader)
  const joined = reader.text()
  // Equal lengths take a few bytes, whatever their count. Only one text can be empty.
  const { same: each } = lengths
  if (each !== undefined && lengths.length > 1 && (each < 1 || each * lengths.length !== joined.length)) {
    throw new RangeError(`${lengths.length} texts of ${each} characters are not there`)
  }
  let end = 0
  const texts = Array.from({ length: lengths.length }, (_, i) => {
    const start = end
    end += lengths.at(i)
    return joined.slice(start, end)
  })
  if (reader.u8() === 1) return { length: texts.length, isSame: false, at: index => texts[index] }
  const { length, same, at } = readNumbers(reader)
  return { length, isSame: same !== undefined, at: index => texts[at(index)] }
}

/** A column that was read. */
export type DecodedColumn = Omit<DecodedValues, 'length'>

/** @param objectOf returns the object with an id */
export function readColumn(reader: ByteReader, count: number, objectOf: (id: number) => unknown): DecodedColumn {
  const ids = readNumbers(reader)
  const numbers = readNumbers(reader)
  const texts = readTexts(reader)
  if (ids.length !== count) throw new RangeError(`a column has ${ids.length} values instead of ${count}`)
  if (ids.same === NUMBER && numbers.length === count) return { isSame: numbers.same !== undefined, at: numbers.at }
  if (ids.same === TEXT && texts.length === count) return texts
  const getValue = (id: number) => (id >= FIRST_OBJECT_ID ? objectOf(id) : id === EMPTY_LIST ? [] : CONSTANTS[id])
  if (numbers.length + texts.length === 0) {
    // Each empty list is a new array, because its owner may change it.
    return { isSame: ids.same !== undefined && ids.same !== EMPTY_LIST, at: index => getValue(ids.at(index)) }
  }
  if (ids.same !== undefined) throw new RangeError('a column has other values')
  // The index of a number or text is the count of those before it.
  const places = new Int32Array(count)
  const next = [0, 0]
  for (let i = 0; i < count; i++) if (ids.at(i) <= TEXT) places[i] = next[ids.at(i)]!++
  if (next[NUMBER] !== numbers.length || next[TEXT] !== texts.length) throw new RangeError('a column has other values')
  const at = (index: number) => {
    const id = ids.at(index)
    return id > TEXT ? getValue(id) : (id === TEXT ? texts : numbers).at(places[index]!)
  }
  return { isSame: false, at }
}
