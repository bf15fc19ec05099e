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
import type { Store } from '../simulation/store.ts'
import { CollectionSync, toAnyCollection, type UserWrite } from './collection-sync.ts'

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
  const tokens = new Collection({ schema: ApiToken })
  const models = new Collection({ schema: ModelRow })
  const voices = new Collection({ schema: Voice })
  const hub = new Collection({ schema: HubRepository })
  const aggregator = new Collection({ schema: AggregatorModel })
  const hardware = new Collection({ schema: ModelHardware })
  const schemas = new Collection({ schema: ModelSchema })
  // One direction only. With both, each create would search all models once for every model.
  models.defineRelations(({ one }) => ({ hardware: one(hardware) }))

  const onUserWrite = options.onUserWrite ?? (() => {})
  const modelSync = new CollectionSync('models', store.models, toAnyCollection(models), onUserWrite)
  const hardwareSync = new CollectionSync('hardware', store.hardware, toAnyCollection(hardware), onUserWrite)
  modelSync.relate('hardware', hardwareSync)
  // Hardware comes first, because models are related to it.
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
