/**
 * The reference records as `@msw/data` collections. A test prepares and asserts them with the queries of that library.
 *
 * The simulation reads the index only. A user's write to a collection changes the index in the same step, through the
 * hooks of the collection. An endpoint's write to the index reaches the collection later, because collections write
 * asynchronously: `whenIdle()` waits for it.
 */
import type { Collection } from '@msw/data'
import * as z from 'zod'
import { ApiToken, Voice } from '../data/records/account.ts'
import { AggregatorModel, CatalogModel, HubRepository, ModelHardware, ModelSchema } from '../data/records/catalog.ts'
import type { Index, Store } from '../simulation/store.ts'
import { type AnyCollection, CollectionSync, type DataKind, type UserWrite } from './collection-sync.ts'

/** A catalog model with its hardware. */
export type ModelRow = z.infer<typeof ModelRow>
const ModelRow = CatalogModel.extend({ hardware: z.custom<ModelHardware>().optional() })

export interface DataOptions {
  /** Receives each write of a user, in the step that changed the index, so that it can be recorded. */
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
  /** Resolves when the collections hold every write of endpoints so far. */
  whenIdle(): Promise<void>
  /** Detaches the collections from the indexes. They keep their records. */
  dispose(): void
}

/**
 * Creates collections with the records of a store, and keeps both the same.
 *
 * @example
 * const data = await createData(store, { onUserWrite: write => journal(write) })
 * await data.voices.create({ user_id: 'user_1', voice_id: 'voice_1', name: 'Ada', created_at: 0, updated_at: 0 })
 * store.voices.has('voice_1') // true
 */
export async function createData(store: Store, options: DataOptions = {}): Promise<DataCollections> {
  const { Collection } = await import('@msw/data')
  const hardware = new Collection({ schema: ModelHardware })
  const models = new Collection({ schema: ModelRow })
  // One direction only. With both, each create would search all models once for every model.
  models.defineRelations(({ one }) => ({ hardware: one(hardware) }))
  const collections = {
    // Hardware comes first, because models are related to it.
    hardware,
    tokens: new Collection({ schema: ApiToken }),
    models,
    voices: new Collection({ schema: Voice }),
    hub: new Collection({ schema: HubRepository }),
    aggregator: new Collection({ schema: AggregatorModel }),
    schemas: new Collection({ schema: ModelSchema }),
  }
  const { onUserWrite = () => {} } = options
  const syncs = new Map(
    (Object.keys(collections) as DataKind[]).map(kind => {
      // TypeScript cannot express a collection without its record type, since it is a class with hooks.
      const collection = collections[kind] as unknown as AnyCollection
      return [kind, new CollectionSync(kind, store[kind] as unknown as Index<object>, collection, onUserWrite)]
    }),
  )
  syncs.get('models')!.relate('hardware', syncs.get('hardware')!)
  for (const sync of syncs.values()) await sync.fill()
  return {
    ...collections,
    async whenIdle() {
      for (const sync of syncs.values()) await sync.whenIdle()
    },
    dispose() {
      for (const sync of syncs.values()) sync.dispose()
    },
  }
}
