/** Values of one field of many things, side by side: most are equal, or small numbers, and take few bytes. */
import type { Reader, Writer } from './bytes.ts'

/** Names the objects that values lead to, and finds them again. */
export interface References {
  /** The number of an object that was found before. */
  of(object: object): number
}

/** Texts in the order in which they were written, joined. */
export class Texts {
  readonly #texts: string[] = []

  add(text: string): void {
    this.#texts.push(text)
  }

  write(out: Writer): void {
    writeNumbers(
      out,
      this.#texts.map(({ length }) => length),
    )
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

/** What a column was read as: plain values, or numbers of objects (0 an empty list, -1 undefined, -2 null). */
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

export function writeColumn(out: Writer, texts: Texts, values: readonly unknown[], references: References): void {
  if (values.length === 0) return
  const first = values[0]
  if (!isNested(first) && values.every(value => Object.is(value, first))) {
    out.u8(SAME)
    writeValue(out, texts, first, references)
    return
  }
  switch (typeof first) {
    case 'number':
      if (!values.every(value => typeof value === 'number')) break
      out.u8(NUMBERS)
      writeNumbers(out, values as readonly number[])
      return
    case 'string':
      if (!values.every(value => typeof value === 'string')) break
      writeTexts(out, texts, values as readonly string[])
      return
    case 'boolean':
      if (!values.every(value => typeof value === 'boolean')) break
      out.u8(BOOLEANS)
      out.raw(Uint8Array.from(values, Number))
      return
    case 'undefined':
    case 'object':
      if (!values.every(value => typeof value === 'object' || value === undefined)) break
      out.u8(OBJECTS)
      writeNumbers(
        out,
        values.map(value => idOf(value as object | null | undefined, references)),
      )
      return
  }
  out.u8(MIXED)
  for (const value of values) writeValue(out, texts, value, references)
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

/** Whether a value has an identity, or might as well have: an empty list is as good as another. */
export function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

export function isEmptyList(value: object): boolean {
  return Array.isArray(value) && value.length === 0
}

function idOf(value: object | null | undefined, references: References): number {
  if (value === undefined) return -1
  if (value === null) return -2
  return isEmptyList(value) ? 0 : references.of(value)
}

const UNDEFINED = 0
const NULL = 1
const FALSE = 2
const TRUE = 3
const NUMBER = 4
const TEXT = 5
const OBJECT = 6
const BIGINT = 7

export function writeValue(out: Writer, texts: Texts, value: unknown, references: References): void {
  switch (typeof value) {
    case 'undefined':
      out.u8(UNDEFINED)
      break
    case 'boolean':
      out.u8(value ? TRUE : FALSE)
      break
    case 'number':
      out.u8(NUMBER)
      out.f64(value)
      break
    case 'string':
      out.u8(TEXT)
      texts.add(value)
      break
    case 'bigint':
      out.u8(BIGINT)
      texts.add(String(value))
      break
    case 'object':
      out.u8(value === null ? NULL : OBJECT)
      if (value !== null) out.count(idOf(value, references))
      break
    default:
      throw new Error(`Failed to write a snapshot: a ${typeof value} can not be in one.`)
  }
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
  const sample = new Set(values.slice(0, 64))
  const distinct = sample.size <= 16 ? new Map<string, number>() : undefined
  if (distinct === undefined) {
    out.u8(TEXTS)
    for (const value of values) texts.add(value)
    return
  }
  const places = values.map(value => {
    const known = distinct.get(value)
    if (known !== undefined) return known
    distinct.set(value, distinct.size)
    return distinct.size - 1
  })
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
  out.raw(WIDTHS[width]!.from(values))
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
