/**
 * The reference records as `@msw/data` collections, to arrange and assert with the queries MSW's users know.
 *
 * The index stays what the simulation reads. A user's write to a collection changes the index in the same step, through
 * the collection's hooks; an endpoint's write to the index reaches the collection a little later, since collections
 * write asynchronously: `settled()` waits for it.
 */
import type { Collection } from '@msw/data'
import * as z from 'zod'
import { ApiToken, Voice } from './records/account.ts'
import { AggregatorModel, CatalogModel, HubRepository, ModelHardware, ModelSchema } from './records/catalog.ts'
import type { Index, Store } from './store.ts'

/** A catalog model with what it runs on. */
export type ModelRow = z.infer<typeof ModelRow>
const ModelRow = CatalogModel.extend({ hardware: z.custom<ModelHardware>().optional() })

export type DataKind = 'tokens' | 'models' | 'voices' | 'hub' | 'aggregator' | 'hardware' | 'schemas'

/** A record that a user wrote through a collection; the index holds it already. */
export interface UserWrite {
  kind: DataKind
  key: string
  action: 'create' | 'update' | 'delete'
  /** The record as stored; undefined after a delete. */
  record: object | undefined
}

export interface DataOptions {
  /** Called for each write of a user, in the step that changed the index, so that the write can be recorded. */
  onUserWrite?: (write: UserWrite) => void
}

/** The collections of one world. A record's key cannot change: delete it and create another. */
export interface DataCollections {
  tokens: Collection<typeof ApiToken>
  /** With the relation `hardware` to the entry of the same model_name. */
  models: Collection<typeof ModelRow>
  voices: Collection<typeof Voice>
  hub: Collection<typeof HubRepository>
  aggregator: Collection<typeof AggregatorModel>
  hardware: Collection<typeof ModelHardware>
  schemas: Collection<typeof ModelSchema>
  /** Resolves when the collections hold every write that endpoints made so far. */
  whenIdle(): Promise<void>
  /** Takes the collections off the indexes; they keep what they hold. */
  dispose(): void
}

/** A write that a collection cannot take: a key that is taken, or one that would change. */
export class DataError extends Error {
  override readonly name = 'DataError'
}

/**
 * Collections filled from a store and kept the same as it, both ways.
 *
 * @example
 * const data = await createData(store, { onUserWrite: write => journal(write) })
 * await data.voices.create({ user_id: 'user_1', voice_id: 'voice_1', name: 'Ada', created_at: 0, updated_at: 0 })
 * store.voices.has('voice_1') // true
 */
export async function createData(store: Store, options: DataOptions = {}): Promise<DataCollections> {
  const { Collection } = await import('@msw/data')
  const tokens = new Collection({ schema: ApiToken })
  const models = new Collection({ schema: ModelRow })
  const voices = new Collection({ schema: Voice })
  const hub = new Collection({ schema: HubRepository })
  const aggregator = new Collection({ schema: AggregatorModel })
  const hardware = new Collection({ schema: ModelHardware })
  const schemas = new Collection({ schema: ModelSchema })
  // One way only: with both, the library looks through every model for every model at each create.
  models.defineRelations(({ one }) => ({ hardware: one(hardware) }))

  const onUserWrite = options.onUserWrite ?? (() => {})
  const modelSync = new CollectionSync('models', store.models, toAnyCollection(models), onUserWrite)
  const hardwareSync = new CollectionSync('hardware', store.hardware, toAnyCollection(hardware), onUserWrite)
  modelSync.relate('hardware', hardwareSync)
  // Hardware comes before the models that it is related to.
  const syncs = [
    hardwareSync,
    new CollectionSync('tokens', store.tokens, toAnyCollection(tokens), onUserWrite),
    modelSync,
    new CollectionSync('voices', store.voices, toAnyCollection(voices), onUserWrite),
    new CollectionSync('hub', store.hub, toAnyCollection(hub), onUserWrite),
    new CollectionSync('aggregator', store.aggregator, toAnyCollection(aggregator), onUserWrite),
    new CollectionSync('schemas', store.schemas, toAnyCollection(schemas), onUserWrite),
  ]
  for (const sync of syncs) await sync.fill()
  return {
    tokens,
    models,
    voices,
    hub,
    aggregator,
    hardware,
    schemas,
    async whenIdle() {
      for (const sync of syncs) await sync.whenIdle()
    },
    dispose() {
      for (const sync of syncs) sync.dispose()
    },
  }
}

/** One schema for all kinds: what keeps them the same is the same for each. */
type AnyCollection = Collection<z.ZodType<Record<string, unknown>, Record<string, unknown>>>
type Row = Record<string, unknown>

// The kinds differ in their records' types alone, and TypeScript has no way to say so of a class with hooks.
function toAnyCollection<S extends z.ZodType>(collection: Collection<S>): AnyCollection {
  return collection as unknown as AnyCollection
}

/** A user created the row that this side was about to: `#reconcile` looks again. */
class SupersededError extends Error {}

class CollectionSync<R extends object> {
  readonly #kind: DataKind
  readonly #index: Index<R>
  readonly #collection: AnyCollection
  readonly #fields: readonly string[]
  readonly #onUserWrite: (write: UserWrite) => void
  readonly #stopListening: () => void
  #relation: { field: string; to: CollectionSync<object> } | undefined
  /** Told of rows that come, for the rows that are related to them. */
  #onRowAdded: (key: string) => void = () => {}
  /** Any version of each key's row: relations ask for its identity only, which an update keeps. */
  readonly #rows = new Map<string, Row>()
  /** Values that this side creates, and the rows made of them. */
  readonly #syncedValues = new WeakSet<object>()
  /** What this side is writing into a row just now. */
  readonly #updating = new Map<string, R>()
  #deleting = false
  /** Creates whose hooks may have run and whose rows are not in the collection yet. */
  readonly #creating = new Set<Promise<unknown>>()
  #queue: Promise<void> = Promise.resolve()
  #failure: { error: unknown } | undefined

  constructor(kind: DataKind, index: Index<R>, collection: AnyCollection, onUserWrite: (write: UserWrite) => void) {
    this.#kind = kind
    this.#index = index
    this.#collection = collection
    this.#onUserWrite = onUserWrite
    this.#fields = Object.keys((index.options.schema as unknown as z.ZodObject).shape)

    collection.hooks.earlyOn('create', event => this.#onBeforeCreate(event.data))
    collection.hooks.on('create', event => this.#onCreate(event.data.record))
    collection.hooks.on('update', ({ data }) => this.#onUpdate(data.prevRecord, data.nextRecord, data.path))
    collection.hooks.on('delete', event => this.#onDelete(event.data.deletedRecord))
    // The library's own `clear` walks a list while it shrinks and leaves out every second record's hook.
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

  async fill(): Promise<void> {
    for (const record of this.#index.all()) this.#enqueue(() => this.#create(record))
    await this.whenIdle()
  }

  async whenIdle(): Promise<void> {
    let awaited: Promise<void>
    do {
      awaited = this.#queue
      await awaited
    } while (awaited !== this.#queue)
    if (this.#failure !== undefined) throw this.#failure.error
  }

  dispose(): void {
    this.#stopListening()
  }

  #enqueue(step: () => Promise<void>): void {
    this.#queue = this.#queue.then(step).catch(error => {
      this.#failure ??= { error }
    })
  }

  /** Brings one row to what the index holds, however often that changes meanwhile. */
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

  /** The row of a key; one that a user is creating is waited for, else it would come twice. */
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
      // A user may delete the row meanwhile: then there is nothing to update, and `#reconcile` looks again.
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

  /** Runs before the library sets relations up: gives the row its counterpart as if the user had named it. */
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
          `Failed to create ${this.#index.options.kind} '${key}': that key is taken. Update the record, or give another key.`,
        )
      }
      const record = this.#index.put(this.#toRecord(row), this)
      this.#onUserWrite({ kind: this.#kind, key, action: 'create', record })
    }
    this.#rows.set(key, row)
    this.#onRowAdded(key)
  }

  /** Runs once for each changed field, each time with the whole next row. */
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

  /** The record without what only the collection knows of it. */
  #toRecord(row: Row): R {
    const plain: Row = {}
    for (const field of this.#fields) if (row[field] !== undefined) plain[field] = row[field]
    return plain as R
  }
}

/** Whether two JSON values are the same. */
function isJsonEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const keys = Object.keys(one)
  if (keys.length !== Object.keys(other).length) return false
  return keys.every(key => Object.hasOwn(other, key) && isJsonEqual((one as Row)[key], (other as Row)[key]))
}
