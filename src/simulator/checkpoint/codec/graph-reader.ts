/** Reads graphs that `graph-writer.ts` wrote. */
import { ByteReader } from './bytes.ts'
import { type DecodedColumn, type DecodedNumbers, FIRST_OBJECT_ID, readColumn, readNumbers } from './columns.ts'
import {
  type DeclaredFields,
  type FormHeader,
  type SerializableClass,
  type SerializableClasses,
  TYPED_ARRAYS,
} from './graph-forms.ts'

/**
 * Returns the root of a graph.
 *
 * @throws RangeError or SyntaxError for invalid bytes or an unknown class
 */
export function decodeGraph(bytes: Uint8Array, classes: SerializableClasses): unknown {
  return new GraphDecoder(new ByteReader(bytes), classes).root
}

/** Creates an object of a form on its first use. */
type ObjectFactory = (index: number) => unknown

class GraphDecoder {
  readonly root: unknown
  readonly #formOf: DecodedNumbers
  readonly #indexInForm: Int32Array
  readonly #factories: readonly ObjectFactory[]
  readonly #objects: unknown[]
  /** Maximum number of further values. */
  #valuesLeft: number

  constructor(from: ByteReader, classes: SerializableClasses) {
    this.#valuesLeft = VALUES_MIN + from.length * VALUES_PER_BYTE
    const forms = JSON.parse(from.text()) as FormHeader[]
    if (!Array.isArray(forms)) throw new RangeError('the forms are not a list')
    this.#formOf = readNumbers(from)
    const { length } = this.#formOf
    // Each object except the first has a number in a column, which takes at least one byte.
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
        const found = name === '' ? undefined : findClass(classes, name)
        if (found?.declared) return declaredFactory(found.declared, name, keys, columns)
        return fieldsFactory(found?.of.prototype ?? Object.prototype, keys, columns)
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

/** Returns a factory that copies a template with the equal fields, and then sets the fields that differ. */
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

/** Returns a factory of objects with declared fields. Each object gets the shape that its constructor gives. */
function declaredFactory(
  declared: DeclaredFields,
  name: string,
  keys: readonly string[],
  columns: readonly DecodedColumn[],
): ObjectFactory {
  if (keys.length !== declared.names.length || keys.some((key, i) => key !== declared.names[i])) {
    throw new RangeError(`${name} has other fields`)
  }
  const fieldsOf = fieldsFactory(Object.prototype, keys, columns)
  return index => {
    const fields = fieldsOf(index) as object
    const values = Object.values(fields)
    for (let i = 0; i < values.length; i++) declared.assertFits(i, values[i])
    return declared.restore(fields)
  }
}

function templateOf(keys: readonly string[], columns: readonly DecodedColumn[]): Record<string, unknown> {
  const template = {}
  for (const [i, key] of keys.entries()) {
    const { isSame, at } = columns[i]!
    // An assignment to '__proto__' would change the prototype instead of adding a field.
    Object.defineProperty(template, key, { ...DATA_PROPERTY, value: isSame ? at(0) : undefined })
  }
  return template
}

const DATA_PROPERTY = { configurable: true, enumerable: true, writable: true } as const

/** Maximum number of values per byte. Runs of equal values take a few bytes, but real worlds have below one value per byte. */
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
