import type { EntryFields } from './entry.ts'
import { hash32 } from './random.ts'

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
