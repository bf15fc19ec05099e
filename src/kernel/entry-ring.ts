import { widened } from '../lib/lists.ts'
import type { Micros } from './duration.ts'
import type { Entry, EntryFields } from './entry.ts'
import { hash32 } from './random.ts'

/** Values of fields that a place holds. Entries with more fields keep the object. */
const MAX_VALUES = 4

/** Places in a block of values. */
const BLOCK_BITS = 7
const BLOCK = 1 << BLOCK_BITS

/** The shape of an entry that keeps its object of fields. */
const KEPT_OBJECT = -1

type FieldValue = EntryFields[string]

/**
 * The newest entries of a journal: a ring with one column for each part of an entry.
 *
 * The fields of an entry are its shape and their values, so no object exists before a read. An object for each entry would
 * live just long enough that the collector copies it twice.
 */
export class EntryRing {
  readonly shapes = new EntryShapes()
  readonly #limit: number
  #times = new Float64Array(16)
  #causes = new Float64Array(16)
  #kinds = new Int32Array(16)
  #shapeNumbers = new Int32Array(16)
  /** In blocks of `BLOCK` places. A growing list would copy them. */
  readonly #subjects: string[][] = []
  /** `MAX_VALUES` for each place, in blocks as well. If the shape of a place is `KEPT_OBJECT`, its first value is the object. */
  readonly #values: (FieldValue | EntryFields)[][] = []

  /** @param limit number of places */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Writes an entry without its fields to a place, which is at most one after the highest so far. */
  put(place: number, time: Micros, kind: number, subject: string, cause: number): void {
    if (place === this.#times.length) this.#grow()
    this.#times[place] = time
    this.#kinds[place] = kind
    const subjects = this.#subjects[place >> BLOCK_BITS] ?? this.#addSubjects(place >> BLOCK_BITS)
    subjects[place & (BLOCK - 1)] = subject
    this.#causes[place] = cause
    this.#shapeNumbers[place] = NO_FIELDS.number
  }

  /** Writes a value of the fields of an entry. */
  putValue(place: number, index: number, value: FieldValue): void {
    if (index >= MAX_VALUES) return
    this.#write(place, index, value)
  }

  /** Ends the fields of an entry. Their values are written already. */
  endFields(place: number, shape: EntryShape, fields: EntryFields): void {
    // An entry with an empty object of fields differs from one without fields.
    if (shape === NO_FIELDS || shape.names.length > MAX_VALUES) this.keepFields(place, fields)
    else this.#shapeNumbers[place] = shape.number
  }

  /** Keeps the object of fields itself, which may change later. */
  keepFields(place: number, fields: EntryFields): void {
    this.#shapeNumbers[place] = KEPT_OBJECT
    this.#write(place, 0, fields)
  }

  causeAt(place: number): number {
    return this.#causes[place]!
  }

  /** Returns the entry of a place. */
  read(place: number, seq: number, kindNames: readonly string[]): Entry {
    return {
      seq,
      time: this.#times[place]!,
      kind: kindNames[this.#kinds[place]!]!,
      subject: this.#subjects[place >> BLOCK_BITS]![place & (BLOCK - 1)]!,
      cause: Math.max(0, this.#causes[place]!),
      fields: this.#fieldsAt(place),
    }
  }

  #fieldsAt(place: number): EntryFields | undefined {
    const number = this.#shapeNumbers[place]!
    if (number === NO_FIELDS.number) return undefined
    const block = this.#values[place >> BLOCK_BITS]!
    const start = (place & (BLOCK - 1)) * MAX_VALUES
    if (number === KEPT_OBJECT) return block[start] as EntryFields
    const { names } = this.shapes.at(number)
    return Object.fromEntries(names.map((name, i) => [name, block[start + i] as FieldValue]))
  }

  #write(place: number, index: number, value: FieldValue | EntryFields): void {
    const block = this.#values[place >> BLOCK_BITS] ?? this.#addBlock(place >> BLOCK_BITS)
    block[(place & (BLOCK - 1)) * MAX_VALUES + index] = value
  }

  #addSubjects(position: number): string[] {
    const block = new Array<string>(BLOCK).fill('')
    this.#subjects[position] = block
    return block
  }

  #addBlock(position: number): (FieldValue | EntryFields)[] {
    const block = new Array<FieldValue | EntryFields>(BLOCK * MAX_VALUES).fill(null)
    this.#values[position] = block
    return block
  }

  #grow(): void {
    const capacity = Math.min(this.#limit, this.#times.length * 2)
    this.#times = widened(this.#times, capacity)
    this.#causes = widened(this.#causes, capacity)
    this.#kinds = widened(this.#kinds, capacity)
    this.#shapeNumbers = widened(this.#shapeNumbers, capacity)
  }
}

/** The names of the fields of journal entries, in their order. Entries of one kind mostly have one shape. */
export interface EntryShape {
  readonly number: number
  readonly names: readonly string[]
  /** The hash of each name. */
  readonly hashes: readonly number[]
}

/** The shape of an entry without fields. */
export const NO_FIELDS: EntryShape = { number: 0, names: [], hashes: [] }

/** The shapes of the entries of one journal, each once, with their numbers. */
export class EntryShapes {
  readonly #shapes: EntryShape[] = [NO_FIELDS]
  readonly #byNames = new Map<string, EntryShape>([['[]', NO_FIELDS]])

  /** Returns the shape of fields. */
  of(fields: EntryFields): EntryShape {
    const names = Object.keys(fields)
    const key = JSON.stringify(names)
    let shape = this.#byNames.get(key)
    if (shape === undefined) {
      shape = { number: this.#shapes.length, names, hashes: names.map(hashOfName) }
      this.#shapes.push(shape)
      this.#byNames.set(key, shape)
    }
    return shape
  }

  /** Returns the shape of a number. */
  at(number: number): EntryShape {
    return this.#shapes[number]!
  }
}

/** Returns the hash of the name of a field or of a kind. */
export function hashOfName(name: string): number {
  return hash32(name, 0x510e527f) | 0
}
