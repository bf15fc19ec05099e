import type { Archive } from '../../kernel/archive.ts'
import { LayeredMap } from '../../kernel/layered-map.ts'
import type { Generation } from '../../kernel/row.ts'
import { Table } from '../../kernel/table.ts'
import { BatchRow } from './batch-row.ts'

/** The rows of all batches, with an index by id and the list of active batches. */
export class BatchTable {
  readonly rows: Table<BatchRow>
  readonly #byId: LayeredMap<number>
  readonly #jsonTexts: (string | undefined)[]
  /** Ordinals of the batches whose status is not terminal. */
  #active: readonly number[]

  constructor(generation: Generation, origin?: { readonly table: BatchTable; readonly generation: Generation }) {
    this.rows = origin ? origin.table.rows.fork(origin.generation, generation) : new Table(BatchRow, generation)
    this.#byId = origin ? origin.table.#byId.fork() : new LayeredMap()
    this.#jsonTexts = origin ? origin.table.#jsonTexts.slice() : []
    this.#active = origin ? origin.table.#active : []
  }

  archive(archive: Archive): void {
    this.rows.archive(archive)
    this.#byId.archive(archive)
    this.#active = archive.value(this.#active)
  }

  /** Ordinals of the batches whose status is not terminal. */
  get active(): readonly number[] {
    return this.#active
  }

  ordinalOf(id: string): number | undefined {
    return this.#byId.get(id)
  }

  add(row: BatchRow): number {
    const ordinal = this.rows.add(row)
    this.#byId.set(row.id, ordinal)
    this.#active = [...this.#active, ordinal]
    return ordinal
  }

  /** Removes a batch from the active batches. */
  deactivate(ordinal: number): void {
    this.#active = this.#active.filter(other => other !== ordinal)
  }

  /** Returns the JSON of a batch from a cache, or makes it. */
  jsonOf(ordinal: number, make: () => string): string {
    this.#jsonTexts[ordinal] ??= make()
    return this.#jsonTexts[ordinal]!
  }

  invalidateJson(ordinal: number): void {
    this.#jsonTexts[ordinal] = undefined
  }
}
