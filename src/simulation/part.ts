import type { Archive, Archived } from '../kernel/archive.ts'
import { LayeredMap } from '../kernel/layered-map.ts'
import type { Row, RowClass } from '../kernel/row.ts'
import { Table } from '../kernel/table.ts'
import type { SimulationContext } from './context.ts'

/** Has what all parts of a world share. The fields of a subclass can use it. */
export abstract class ContextHolder {
  protected readonly context: SimulationContext

  constructor(context: SimulationContext) {
    this.context = context
  }
}

/**
 * A part of a world. It calls the parts below it, and through its ports what lies above it. A part that another one has
 * made also calls that one, its owner.
 */
export abstract class Part<Parts = void, Ports = unknown, Owner = void> extends ContextHolder {
  protected readonly parts: Parts
  protected readonly owner: Owner
  protected ports!: Ports

  constructor(context: SimulationContext, parts: Parts, owner: Owner) {
    super(context)
    this.parts = parts
    this.owner = owner
  }

  /** Connects what lies above. The world calls it once. */
  connect(ports: Ports): void {
    this.ports = ports
  }
}

/** A part that keeps its entities as rows of a table. */
export abstract class TablePart<R extends Row, Parts = void, Ports = unknown>
  extends Part<Parts, Ports>
  implements Archived
{
  protected abstract readonly table: Table<R>

  /** Returns an empty table, for the field `table`. */
  protected tableOf(rowClass: RowClass<R>): Table<R> {
    return new Table(rowClass, this.context)
  }

  archive(archive: Archive): void {
    this.table.archive(archive)
  }

  /** The number of rows. */
  get count(): number {
    return this.table.count
  }

  read(ordinal: number): Readonly<R> {
    return this.table.read(ordinal)
  }

  /** Returns a row; undefined if it was removed. */
  find(ordinal: number): Readonly<R> | undefined {
    return this.table.find(ordinal)
  }

  writable(ordinal: number): R {
    return this.table.writable(ordinal)
  }

  entries(): Generator<[number, Readonly<R>]> {
    return this.table.entries()
  }
}

/** A part whose rows are found by their ids. */
export abstract class IndexedPart<R extends Row, Parts = void, Ports = unknown> extends TablePart<R, Parts, Ports> {
  readonly #byId = new LayeredMap<number>()

  override archive(archive: Archive): void {
    super.archive(archive)
    this.#byId.archive(archive)
  }

  /** Returns the ordinal of a row; undefined for an unknown id. */
  ordinalOf(id: string): number | undefined {
    return this.#byId.get(id)
  }

  /** Returns a row; undefined for an unknown id. */
  findById(id: string): Readonly<R> | undefined {
    const ordinal = this.ordinalOf(id)
    return ordinal === undefined ? undefined : this.table.read(ordinal)
  }

  /** Adds a row. Its id leads to it from now on. */
  addRow(row: R): number {
    const ordinal = this.table.add(row)
    this.#byId.set(row.id, ordinal)
    return ordinal
  }

  protected removeRow(ordinal: number): void {
    this.#byId.delete(this.table.read(ordinal).id)
    this.table.remove(ordinal)
  }
}
