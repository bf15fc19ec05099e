import type { Archive, Archived } from '../kernel/archive.ts'
import type { Row, RowClass } from '../kernel/row.ts'
import { Table } from '../kernel/table.ts'
import type { SimulationContext } from './context.ts'

/** A part of a world. It calls the parts below it, and through its ports what lies above it. */
export abstract class Part<Parts = unknown, Ports = unknown> {
  protected readonly context: SimulationContext
  protected readonly parts: Parts
  protected ports!: Ports

  constructor(context: SimulationContext, parts: Parts) {
    this.context = context
    this.parts = parts
  }

  /** Connects what lies above. The world calls it once. */
  connect(ports: Ports): void {
    this.ports = ports
  }
}

/** A part that keeps its entities as rows of a table. */
export abstract class TablePart<R extends Row, Parts = unknown, Ports = unknown>
  extends Part<Parts, Ports>
  implements Archived
{
  protected readonly table: Table<R>

  constructor(context: SimulationContext, parts: Parts, rowClass: RowClass<R>) {
    super(context, parts)
    this.table = new Table(rowClass, context)
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
