import type { Archive } from '../kernel/archive.ts'
import type { Row, RowClass } from '../kernel/row.ts'
import { Table } from '../kernel/table.ts'
import type { SimulationContext } from './context.ts'
import type { Part } from './part.ts'

/** A part that keeps its entities as rows of a table. A part that is made from an origin is a fork of it. */
export abstract class TablePart<R extends Row> implements Part {
  protected readonly context: SimulationContext
  protected readonly table: Table<R>

  constructor(context: SimulationContext, rowClass: RowClass<R>, origin: TablePart<R> | undefined) {
    this.context = context
    this.table = origin
      ? origin.table.fork(origin.context.generation, context.generation)
      : new Table(rowClass, context.generation)
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
