import type { Archive } from '../../kernel/archive.ts'
import { LayeredMap } from '../../kernel/layered-map.ts'
import type { SimulationContext } from '../context.ts'
import { TablePart } from '../part.ts'
import { BatchRow } from './batch-row.ts'

/** The rows of all batches, with an index by id and the list of active batches. */
export class BatchTable<Parts = unknown, Ports = unknown> extends TablePart<BatchRow, Parts, Ports> {
  readonly #byId: LayeredMap<number>
  readonly #jsonTexts: (string | undefined)[]
  /** Ordinals of the batches whose status is not terminal. */
  #active: readonly number[]

  constructor(context: SimulationContext, parts: Parts, origin: BatchTable<Parts, Ports> | undefined) {
    super(context, parts, BatchRow, origin)
    this.#byId = origin ? origin.#byId.fork() : new LayeredMap()
    this.#jsonTexts = origin ? origin.#jsonTexts.slice() : []
    this.#active = origin ? origin.#active : []
  }

  override archive(archive: Archive): void {
    super.archive(archive)
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

  addRow(row: BatchRow): number {
    const ordinal = this.table.add(row)
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
