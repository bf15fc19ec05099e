/**
 * Writes an object graph as bytes. It keeps values, classes and shared references.
 *
 * Objects of one form (a class, or the names of their fields) are written together, field by field. A world of ten
 * thousand deployments has a few dozen forms, and most fields of most objects are equal.
 */
import { ByteWriter } from './bytes.ts'
import { Column, FIRST_OBJECT_ID, isSameAsLast, NumberSequence, type ObjectRegistry } from './columns.ts'
import {
  type DeclaredFields,
  type FormHeader,
  type FormKind,
  type SerializableClasses,
  TYPED_ARRAYS,
} from './graph-forms.ts'

type GraphObject = object | bigint

/** Objects of one form. */
interface ObjectForm extends Pick<FormHeader, 'sort' | 'name' | 'keys'> {
  /** Prototype of the objects, for the kinds `fields` and `parts`. */
  readonly prototype: object | null | undefined
  /** The declared fields of their class. */
  readonly declared: DeclaredFields | undefined
  readonly things: GraphObject[]
  /** Ids of the objects. A map for each form is small enough for the cache of a core. */
  readonly ids: Map<GraphObject, number>
  /** How many of the objects are in the columns, and how many values each column has. */
  writtenCount: number
  valueCount: number
  readonly columns: Column[]
  /** Length of each list, set or map in items, or of each array in bytes. */
  readonly lengths: NumberSequence
}

/**
 * Returns a value and everything that it references as bytes.
 *
 * @param hasSharedRows whether two tables can have one row, as tables of a world and of its fork. A table refers to each
 *   of its rows once, and nothing else does.
 * @throws Error for an object of a class that is missing in `classes`, which is a bug of the simulator
 */
export function encodeGraph(root: object, classes: SerializableClasses, hasSharedRows = true): readonly Uint8Array[] {
  const { forms, formOf } = new GraphWalker(classes, root, hasSharedRows)
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

/** Finds everything that a value references, and numbers each object. */
class GraphWalker implements ObjectRegistry {
  readonly forms: ObjectForm[] = []
  /** The form of each object, in the order of their numbers. */
  readonly formOf = new NumberSequence()
  readonly #names: ReadonlyMap<object, string>
  readonly #classes: SerializableClasses
  readonly #hasSharedRows: boolean
  #count = 0

  constructor(classes: SerializableClasses, root: object, hasSharedRows: boolean) {
    this.#classes = classes
    this.#hasSharedRows = hasSharedRows
    this.#names = new Map(Object.entries(classes).map(([name, kept]) => [kept.of.prototype as object, name]))
    this.register(root, new Column())
    // Each round may find more objects of forms that are already written.
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
    let form = this.forms[column.formIndex]
    if (form === undefined || !hasForm(object, form)) {
      column.formIndex = this.#formOf(object)
      form = this.forms[column.formIndex]!
    }
    const id = FIRST_OBJECT_ID + this.#count
    // What only one object refers to needs no look-up.
    if (!column.isOwned && (form.declared === undefined || this.#hasSharedRows)) {
      const known = form.ids.get(object)
      if (known !== undefined) return known
      form.ids.set(object, id)
    }
    this.#count++
    form.things.push(object)
    this.formOf.push(column.formIndex)
    return id
  }

  /** Writes the new objects of a form into its columns: object by object, because objects are far apart in memory. */
  #writeForm(form: ObjectForm): void {
    const { sort, name, things, columns, lengths } = form
    const end = things.length
    const take = this.#classes[name]?.take
    for (; form.writtenCount < end; form.writtenCount++) {
      const thing = things[form.writtenCount]!
      if (sort === 'fields') {
        if (form.declared === undefined) this.#putValues(form, Object.values(thing))
        else this.#putRow(form, form.declared, thing as Readonly<Record<string, unknown>>)
      } else if (sort === 'parts') {
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
        // A hole in a list reads as undefined, and is written as undefined.
        else this.#putItems(form, thing as readonly unknown[])
        lengths.push(form.valueCount - before)
      }
    }
  }

  /** Adds the fields of a row. It takes no list of their values, which would be one more object for each row. */
  #putRow(form: ObjectForm, declared: DeclaredFields, row: Readonly<Record<string, unknown>>): void {
    const { columns, keys } = form
    const place = form.valueCount++
    let k = -1
    for (const name in row) {
      // The owner is the first field of every row, and no state.
      if (k >= 0) {
        // Throws, because the class of the row does not declare the field.
        if (name !== keys[k]) declared.valuesOf(row)
        const value = row[name]
        const column = columns[k]!
        if (!isSameAsLast(value, column.last)) {
          declared.assertFits(k, value)
          column.put(place, value, this)
        }
      }
      k++
    }
  }

  /** Adds a value to each column. */
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
    // An iterator would create an array for each entry.
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
      const declared = this.#classes[name]?.declared
      const keys = declared?.names ?? Object.keys(thing)
      const form = { ...newForm('fields', name, keys.length), keys, prototype, declared }
      for (const [k, column] of form.columns.entries()) column.isOwned = declared?.isOwned(k) ?? false
      return form
    }
    if (thing instanceof Map) return newForm('map', typeof firstOf(thing), 2)
    if (thing instanceof Set) return newForm('set', typeof firstOf(thing), 1)
    if (thing instanceof Date) return newForm('date', '', 1)
    const array = typedArrayName(thing)
    if (array !== undefined) return newForm('bytes', array, 0)
    throw new Error(
      `Failed to write a snapshot: ${prototype!.constructor.name} is not a serializable class. Add it to the classes of the snapshot.`,
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
    declared: undefined,
    things: [],
    ids: new Map(),
    writtenCount: 0,
    valueCount: 0,
    columns,
    lengths: new NumberSequence(),
  }
}

/** Returns whether an object has a form. Objects of one class may differ in fields: a field that was never set is missing. */
function hasForm(thing: GraphObject, { sort, name, keys, prototype, declared }: ObjectForm): boolean {
  switch (sort) {
    case 'fields':
      if (typeof thing !== 'object' || Object.getPrototypeOf(thing) !== prototype) return false
      return declared !== undefined || hasFields(thing, keys)
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

/** Returns whether an object has exactly these fields, in this order. */
function hasFields(thing: object, keys: readonly string[]): boolean {
  let at = 0
  // Inherited properties are not enumerable: members of Object, and accessors and methods of a class.
  for (const key in thing) if (keys[at++] !== key) return false
  return at === keys.length
}

function firstOf(items: ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>): unknown {
  return items.values().next().value
}

function typedArrayName(thing: GraphObject): string | undefined {
  return Object.entries(TYPED_ARRAYS).find(([, Numbers]) => thing instanceof Numbers)?.[0]
}
