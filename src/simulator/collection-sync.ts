/** Keeps a collection of `@msw/data` and an index of the store the same. */
import type { Collection } from '@msw/data'
import type * as z from 'zod'
import { stableJson } from '../lib/json-values.ts'
import type { Index } from '../simulation/store.ts'

export type DataKind = 'tokens' | 'models' | 'voices' | 'hub' | 'aggregator' | 'hardware' | 'schemas'

/** A write of a user through a collection. The index has it already. */
export interface UserWrite {
  kind: DataKind
  key: string
  action: 'create' | 'update' | 'delete'
  /** The record as stored; undefined after a delete. */
  record: object | undefined
}

/** A write that a collection rejects: its key is already in use, or would change. */
export class DataError extends Error {
  override readonly name = 'DataError'
}

/** A collection of any kind: the synchronization is the same for every kind. */
export type AnyCollection = Collection<z.ZodType<Record<string, unknown>, Record<string, unknown>>>
type Row = Record<string, unknown>

/** A user created the row first that this side wanted to create. `#reconcile` then looks again. */
class SupersededError extends Error {}

/** Keeps a collection and an index the same, in both directions. */
export class CollectionSync<R extends object> {
  readonly #kind: DataKind
  readonly #index: Index<R>
  readonly #collection: AnyCollection
  readonly #fields: readonly string[]
  readonly #onUserWrite: (write: UserWrite) => void
  readonly #stopListening: () => void
  #relation: { field: string; to: CollectionSync<object> } | undefined
  /** Receives the keys of new rows, for the rows that are related to them. */
  #onRowAdded: (key: string) => void = () => {}
  /** A version of the row of each key, possibly an old one. Relations need only its identity, which an update keeps. */
  readonly #rows = new Map<string, Row>()
  /** Values that this side creates, and their rows. */
  readonly #syncedValues = new WeakSet<object>()
  /** The records that this side writes into rows now. */
  readonly #updating = new Map<string, R>()
  #deleting = false
  /** Creates in progress: their hooks may have run, and their rows are not in the collection yet. */
  readonly #creating = new Set<Promise<unknown>>()
  #queue: Promise<void> = Promise.resolve()
  #failure: { error: unknown } | undefined

  constructor(kind: DataKind, index: Index<R>, collection: AnyCollection, onUserWrite: (write: UserWrite) => void) {
    this.#kind = kind
    this.#index = index
    this.#collection = collection
    this.#onUserWrite = onUserWrite
    this.#fields = Object.keys((index.options.schema() as unknown as z.ZodObject).shape)

    collection.hooks.earlyOn('create', event => this.#onBeforeCreate(event.data))
    collection.hooks.on('create', event => this.#onCreate(event.data.record))
    collection.hooks.on('update', ({ data }) => this.#onUpdate(data.prevRecord, data.nextRecord, data.path))
    collection.hooks.on('delete', event => this.#onDelete(event.data.deletedRecord))
    // The library's own `clear` walks a list while it shrinks, so it skips the hook of every second record.
    collection.clear = () => {
      collection.deleteMany(query => query.where(() => true))
    }
    const create = collection.create.bind(collection)
    collection.create = async values => {
      const created = create(values)
      this.#creating.add(created)
      try {
        return await created
      } finally {
        this.#creating.delete(created)
      }
    }
    this.#stopListening = index.onWrite(write => {
      if (write.origin !== this) this.#enqueue(() => this.#reconcile(write.key))
    })
  }

  /** Relates a row to the row of the other kind with the same key, under this field. */
  relate<T extends object>(field: string, to: CollectionSync<T>): void {
    this.#relation = { field, to: to as unknown as CollectionSync<object> }
    to.#onRowAdded = key => {
      if (this.#rows.has(key)) this.#enqueue(() => this.#relateExisting(key))
    }
  }

  /** Creates a row for every record of the index. */
  async fill(): Promise<void> {
    for (const record of this.#index.all()) this.#enqueue(() => this.#create(record))
    await this.whenIdle()
  }

  /** Resolves when the collection holds every write of the index so far. Rejects with the first error of a write. */
  async whenIdle(): Promise<void> {
    let awaited: Promise<void>
    do {
      awaited = this.#queue
      await awaited
    } while (awaited !== this.#queue)
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /** Stops copying writes of the index to the collection. */
  dispose(): void {
    this.#stopListening()
  }

  #enqueue(step: () => Promise<void>): void {
    this.#queue = this.#queue.then(step).catch(error => {
      this.#failure ??= { error }
    })
  }

  /** Makes the row of a key equal to the record of the index, which may change several times meanwhile. */
  async #reconcile(key: string): Promise<void> {
    for (;;) {
      const row = await this.#rowOf(key)
      const record = this.#index.get(key)
      if (record === undefined) {
        if (row !== undefined) this.#delete(row)
        return
      }
      if (row === undefined) await this.#create(record)
      else if (isJsonEqual(this.#toRecord(row), record)) return
      else await this.#update(key, row, record)
    }
  }

  /** Finds the row of a key. Waits for creates in progress first, so that no row is created twice. */
  async #rowOf(key: string): Promise<Row | undefined> {
    const find = () => this.#collection.all().find(each => this.#keyOf(each) === key)
    const row = find()
    if (row !== undefined || !this.#rows.has(key)) return row
    await Promise.allSettled(this.#creating)
    return find()
  }

  async #create(record: R): Promise<void> {
    const values = { ...record } as Row
    this.#syncedValues.add(values)
    try {
      await this.#collection.create(values)
    } catch (error) {
      if (!(error instanceof SupersededError)) throw error
    }
  }

  async #update(key: string, row: Row, record: R): Promise<void> {
    this.#updating.set(key, record)
    try {
      await this.#collection.update(row as never, {
        data: draft => {
          for (const field of this.#fields) {
            const value = (record as Row)[field]
            if (value === undefined) delete (draft as Row)[field]
            else if (!isJsonEqual((draft as Row)[field], value)) (draft as Row)[field] = structuredClone(value)
          }
        },
      })
    } catch (error) {
      // A user may delete the row meanwhile. Then nothing is left to update, and `#reconcile` looks again.
      if (this.#collection.all().some(each => this.#keyOf(each) === key)) throw error
    } finally {
      this.#updating.delete(key)
    }
  }

  #delete(row: Row): void {
    this.#deleting = true
    try {
      this.#collection.delete(row as never)
    } finally {
      this.#deleting = false
    }
  }

  async #relateExisting(key: string): Promise<void> {
    const { field, to } = this.#relation!
    const row = await this.#rowOf(key)
    const counterpart = await to.#rowOf(key)
    if (row === undefined || counterpart === undefined || row[field] !== undefined) return
    await this.#collection.update(row as never, {
      data: draft => {
        ;(draft as Row)[field] = counterpart
      },
    })
  }

  /** Adds the counterpart to a row, as if the user had given it. Runs before the library sets up relations. */
  #onBeforeCreate(data: { record: Row; initialValues?: unknown }): void {
    const values = data.initialValues as Row
    if (this.#syncedValues.has(values)) this.#syncedValues.add(data.record)
    if (this.#relation === undefined || data.record[this.#relation.field] !== undefined) return
    const { field, to } = this.#relation
    const counterpart = to.#rows.get(this.#keyOf(data.record))
    if (counterpart === undefined) return
    data.record[field] = counterpart
    data.initialValues = { ...values, [field]: counterpart }
  }

  #onCreate(row: Row): void {
    const key = this.#keyOf(row)
    if (this.#syncedValues.has(row)) {
      if (this.#rows.has(key)) throw new SupersededError()
    } else {
      if (this.#index.has(key) || this.#rows.has(key)) {
        throw new DataError(
          `Failed to create ${this.#index.options.kind} '${key}': the key is already in use. Update the record, or choose another key.`,
        )
      }
      const record = this.#index.put(this.#toRecord(row), this)
      this.#onUserWrite({ kind: this.#kind, key, action: 'create', record })
    }
    this.#rows.set(key, row)
    this.#onRowAdded(key)
  }

  /**
   * Copies an update of a user to the index. The hook runs once for each changed field, each time with the whole new
   * row.
   */
  #onUpdate(before: Row, after: Row, path: readonly PropertyKey[]): void {
    if (path[0] === this.#relation?.field) return
    const key = this.#keyOf(before)
    const next = this.#toRecord(after)
    const syncedRecord = this.#updating.get(key)
    if (syncedRecord !== undefined && isJsonEqual(next, syncedRecord)) return
    if (this.#keyOf(after) !== key) {
      throw new DataError(
        `Failed to update ${this.#index.options.kind} '${key}': its key cannot change. Delete it and create another.`,
      )
    }
    const stored = this.#index.get(key)
    if (stored === undefined) {
      throw new DataError(
        `Failed to update ${this.#index.options.kind} '${key}': it was deleted meanwhile. Create it again.`,
      )
    }
    if (isJsonEqual(next, stored)) return
    const record = this.#index.put(next, this)
    this.#onUserWrite({ kind: this.#kind, key, action: 'update', record })
  }

  #onDelete(row: Row): void {
    const key = this.#keyOf(row)
    this.#rows.delete(key)
    if (this.#deleting) return
    if (this.#index.delete(key, this)) this.#onUserWrite({ kind: this.#kind, key, action: 'delete', record: undefined })
  }

  #keyOf(row: Row): string {
    return this.#index.options.keyOf(row as R)
  }

  /** Returns the record of a row: its fields without those of relations. */
  #toRecord(row: Row): R {
    const plain: Row = {}
    for (const field of this.#fields) if (row[field] !== undefined) plain[field] = row[field]
    return plain as R
  }
}

/** Returns whether two JSON values are equal. */
function isJsonEqual(left: unknown, right: unknown): boolean {
  return left === right || stableJson(left) === stableJson(right)
}
