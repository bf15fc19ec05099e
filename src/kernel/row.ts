/** Receives every row that is added, written or removed, so that a checker can check it again. */
export interface WriteObserver {
  onWrite(row: Readonly<Row>, ordinal: number): void
  onRemove(row: Readonly<Row>, ordinal: number): void
}

/** The owner of a row: an object that each fork creates. It is compared by identity and never by order. */
export class Generation {
  readonly #brand = true
  /** Undefined if no checker observes the owner. */
  observer: WriteObserver | undefined
  /** Makes the type different from that of an empty object. */
  get isGeneration(): boolean {
    return this.#brand
  }
}

/**
 * An entity of the simulation: a row of a table. Rows are data, and never leave the modules of the simulation.
 *
 * Each field names its kind of storage where it gets its first value: `crashes = this.int32(0)`. Copies, archives and
 * restored rows follow from that line; see `describeRow`. A constructor takes its given fields from one argument, which
 * a row of the class also satisfies: `this.plan = this.reference(initial.plan)`.
 *
 * The four words are the running hash of its events. The journal updates them.
 */
export abstract class Row {
  declare generation: Generation
  declare readonly id: string
  declare h0: number
  declare h1: number
  declare h2: number
  declare h3: number

  constructor(generation: Generation, id: string) {
    this.generation = generation
    this.id = this.reference(id)
    this.h0 = this.int32(0)
    this.h1 = this.int32(0)
    this.h2 = this.int32(0)
    this.h3 = this.int32(0)
  }

  // These methods return their argument. Engines inline them, so the fields keep their slots in the object.

  /** Declares an integer from -2³¹ to 2³¹ - 1: a count, an ordinal, a set of bits. */
  protected int32(initial: number): number {
    return initial
  }

  /** Declares any number: a time, an amount of money, a handle of the agenda. */
  protected number(initial: number): number {
    return initial
  }

  protected boolean(initial: boolean): boolean {
    return initial
  }

  /** Declares a value that copies share: a text, or an object that is replaced and never changed. */
  protected reference<T>(initial: T): T {
    return initial
  }

  /** Declares an object that belongs to one row and changes in place. A copy of the row has a copy of it. */
  protected owned<T extends Owned>(initial: T): T {
    return initial
  }
}

/** A value that changes in place. */
interface Owned {
  copy(): Owned
}

/** How a field is stored. */
export type Storage = 'int32' | 'number' | 'boolean' | 'reference' | 'owned'

export interface RowField {
  readonly name: string
  readonly storage: Storage
}

/** A class of rows. Its constructor accepts a row of the class as the argument with the given fields. */
export type RowClass<R extends Row> = new (generation: Generation, id: string, initial: R) => R

/** The fields of a class of rows, and everything that follows from them. */
export class RowLayout<R extends Row = Row> {
  /** The fields in the order of their declaration, without the owner. */
  readonly fields: readonly RowField[]
  /** The names of the fields, in the same order. */
  readonly names: readonly string[]
  readonly rowClass: RowClass<R>
  readonly #owned: readonly (keyof R)[]

  constructor(rowClass: RowClass<R>, fields: readonly RowField[]) {
    this.rowClass = rowClass
    this.fields = fields
    this.names = fields.map(({ name }) => name)
    this.#owned = fields.filter(({ storage }) => storage === 'owned').map(({ name }) => name as keyof R)
  }

  /** Returns a copy of a row for another owner. */
  copy(row: Readonly<R>, generation: Generation): R {
    const copy = this.create(row, generation)
    for (const name of this.#owned) copy[name] = (row[name] as Owned).copy() as R[keyof R]
    return copy
  }

  /** Returns a row with the values of fields. A constructor creates it, because spread takes 20 times as long. */
  create(fields: Readonly<R>, generation: Generation): R {
    const RowOfClass = this.rowClass
    const row = Object.assign(new RowOfClass(generation, fields.id, fields), fields)
    row.generation = generation
    return row
  }

  /** Returns a row of an archive. No table owns it, so a table copies it before a write. */
  restore(fields: Readonly<R>): R {
    return this.create(fields, NO_OWNER)
  }

  /** Returns the values of the fields of a row, in their order. Throws if the row has another field. */
  valuesOf(row: Readonly<R>): readonly unknown[] {
    // The owner is the first field of every row. The loop also makes the engine list the fields, and without such a list
    // `Object.values` takes several times as long.
    let index = -1
    for (const name in row) {
      if (index >= 0 && name !== this.names[index]) throw new Error(this.#explainOtherField(name))
      index++
    }
    const values = Object.values(row)
    values.shift()
    return values
  }

  /** Whether a field has an object that belongs to the row. */
  isOwned(index: number): boolean {
    return this.fields[index]!.storage === 'owned'
  }

  /** Throws if a value does not fit the storage of a field. */
  assertFits(index: number, value: unknown): void {
    const { name, storage } = this.fields[index]!
    if (fits(storage, value)) return
    const shown = typeof value !== 'number' ? `a value of type ${typeof value}` : Object.is(value, -0) ? '-0' : value
    throw new RangeError(
      `Failed to store '${name}' of ${this.rowClass.name}: ${shown} does not fit ${storage}. Declare the field by another kind of storage.`,
    )
  }

  /** Throws if a row has a field that its class does not declare, or a value that does not fit its storage. */
  assertStorage(row: Readonly<R>): void {
    const values = this.valuesOf(row)
    for (let i = 0; i < values.length; i++) this.assertFits(i, values[i])
  }

  #explainOtherField(name: string): string {
    return (
      `Failed to read the fields of ${this.rowClass.name}: '${name}' has no kind of storage. ` +
      'Give it its first value by int32(), number(), boolean(), reference() or owned().'
    )
  }
}

/** The owner of restored rows. Tables compare it and never write it. */
const NO_OWNER = new Generation()

/** The field that has the owner of a row. It is not state. */
const OWNER = 'generation' satisfies keyof Row

/** Returns whether a value fits a kind of storage. An Int32Array has no -0. */
function fits(storage: Storage, value: unknown): boolean {
  switch (storage) {
    case 'int32':
      return typeof value === 'number' && Object.is(value | 0, value)
    case 'number':
      return typeof value === 'number'
    case 'boolean':
      return typeof value === 'boolean'
    case 'reference':
      return true
    case 'owned':
      return typeof value === 'object' && value !== null
  }
}

/** Layouts by class. A class never changes. */
const layouts = new WeakMap<object, RowLayout>()

/**
 * Returns the layout of a class of rows: the names of its fields and their kinds of storage, as its constructor declares
 * them.
 *
 * @throws TypeError for a field without a kind of storage, and for a constructor that needs more than the given fields
 */
export function describeRow<R extends Row>(rowClass: RowClass<R>): RowLayout<R> {
  let layout = layouts.get(rowClass) as RowLayout<R> | undefined
  if (layout === undefined) {
    layout = new RowLayout(rowClass, fieldsOf(rowClass as unknown as ProbedClass))
    layouts.set(rowClass, layout as unknown as RowLayout)
  }
  return layout
}

type ProbedClass = new (generation: Generation, id: string, initial: object) => Row

/** Creates one row of a subclass whose declaring methods record the kind of storage of the field that comes next. */
function fieldsOf(rowClass: ProbedClass): RowField[] {
  const storageOf = new Map<number, Storage>()
  let calls = 0
  function record<T>(row: Row, storage: Storage, initial: T): T {
    storageOf.set(Object.keys(row).length, storage)
    calls++
    return initial
  }
  // A subclass has a hidden class of its own, so the wrong types of its fields do not slow down real rows.
  class Probe extends rowClass {
    protected override int32(initial: number): number {
      return record(this, 'int32', initial)
    }
    protected override number(initial: number): number {
      return record(this, 'number', initial)
    }
    protected override boolean(initial: boolean): boolean {
      return record(this, 'boolean', initial)
    }
    protected override reference<T>(initial: T): T {
      return record(this, 'reference', initial)
    }
    protected override owned<T extends Owned>(initial: T): T {
      return record(this, 'owned', initial)
    }
  }
  const fields = Object.keys(createProbe(Probe, rowClass.name)).map((name, index) => ({
    name,
    storage: storageOf.get(index),
  }))
  const declared = fields.filter(({ name }) => name !== OWNER)
  const undeclared = declared.find(({ storage }) => storage === undefined)
  if (undeclared) {
    throw new TypeError(
      `Failed to describe ${rowClass.name}: '${undeclared.name}' has no kind of storage. ` +
        'Give it its first value by int32(), number(), boolean(), reference() or owned().',
    )
  }
  if (calls !== declared.length) {
    throw new TypeError(
      `Failed to describe ${rowClass.name}: it has ${declared.length} fields and ${calls} kinds of storage. Give each field one.`,
    )
  }
  return declared as RowField[]
}

function createProbe(Probe: ProbedClass, className: string): Row {
  try {
    return new Probe(new Generation(), '', {})
  } catch (error) {
    throw new TypeError(
      `Failed to describe ${className}: its constructor throws without its given fields. Read only fields of its last argument.`,
      { cause: error },
    )
  }
}
