import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { IndexError, Store } from '../../src/simulation/store.ts'
import { DataError, type UserWrite } from '../../src/simulator/collection-sync.ts'
import { createData } from '../../src/simulator/msw-collections.ts'
import { forAllAsync } from '../setup/for-all.ts'

const NEW_VOICE = {
  user_id: 'user_1',
  voice_id: 'voice_new',
  name: 'Ada',
  description: '',
  created_at: 5,
  updated_at: 5,
}

async function arranged() {
  const store = new Store(loadFixture('default'))
  const writes: UserWrite[] = []
  const data = await createData(store, { onUserWrite: write => writes.push(write) })
  const heard = () => writes.splice(0).map(({ kind, key, action }) => `${action} ${kind} ${key}`)
  return { store, data, heard }
}

/** What a collection holds, without the relation that only it knows of. */
const rows = (collection: { all(): object[] }, related = '') =>
  collection.all().map(row => Object.fromEntries(Object.entries(row).filter(([field]) => field !== related)))

const byKey = (records: readonly object[]) =>
  [...records].sort((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other)))

afterEach(() => vi.restoreAllMocks())

test('collections have the records of the indexes, and their filling is not a write of a user', async () => {
  const { store, data, heard } = await arranged()
  for (const kind of ['tokens', 'models', 'voices', 'hub', 'aggregator', 'hardware', 'schemas'] as const) {
    expect(rows(data[kind], kind === 'models' ? 'hardware' : ''), kind).toEqual(store[kind].all())
  }
  expect(heard()).toEqual([])
})

test('a user’s create, update and delete change the index in the same step', async () => {
  const { store, data, heard } = await arranged()
  await data.voices.create(NEW_VOICE)
  expect(store.voices.get('voice_new')).toEqual(NEW_VOICE)
  expect(Object.isFrozen(store.voices.get('voice_new'))).toBe(true)
  await data.voices.update(q => q.where({ voice_id: 'voice_new' }), {
    data: voice => {
      voice.name = 'Bea'
      voice.updated_at = 9
    },
  })
  expect(store.voices.get('voice_new')).toEqual({ ...NEW_VOICE, name: 'Bea', updated_at: 9 })
  data.voices.delete(q => q.where({ voice_id: 'voice_new' }))
  expect(store.voices.has('voice_new')).toBe(false)
  expect(heard()).toEqual(['create voices voice_new', 'update voices voice_new', 'delete voices voice_new'])
  await data.whenIdle()
  expect(heard()).toEqual([])
})

test('a create is rejected when its key is in use, also for two creates at once', async () => {
  const { store, data, heard } = await arranged()
  const taken = store.voices.all()[0]!
  await expect(data.voices.create({ ...NEW_VOICE, voice_id: taken.voice_id })).rejects.toThrow(
    new DataError(
      `Failed to create voice '${taken.voice_id}': the key is already in use. Update the record, or choose another key.`,
    ),
  )
  const both = await Promise.allSettled([
    data.voices.create(NEW_VOICE),
    data.voices.create({ ...NEW_VOICE, name: 'Eve' }),
  ])
  expect(both.map(each => each.status)).toEqual(['fulfilled', 'rejected'])
  expect(data.voices.findMany(q => q.where({ voice_id: 'voice_new' }))).toHaveLength(1)
  expect(store.voices.get('voice_new')?.name).toBe('Ada')
  expect(heard()).toEqual(['create voices voice_new'])
})

test('a write is rejected when its token value is in use or its key would change', async () => {
  const { store, data, heard } = await arranged()
  const [first, second] = store.tokens.all()
  await expect(data.tokens.create({ ...first!, token_id: 'token_new' })).rejects.toThrow(IndexError)
  await expect(
    data.tokens.update(q => q.where({ token_id: second!.token_id }), {
      data: token => {
        token.token_id = 'token_other'
      },
    }),
  ).rejects.toThrow(
    `Failed to update token '${second!.token_id}': its key cannot change. Delete it and create another.`,
  )
  expect(data.tokens.findMany()).toHaveLength(4)
  expect(store.tokens.get(second!.token_id)).toEqual(second)
  expect(heard()).toEqual([])
})

test('an invalid record changes neither side', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const { store, data, heard } = await arranged()
  await expect(data.voices.create({ ...NEW_VOICE, created_at: 'soon' as never })).rejects.toThrow()
  const id = store.voices.all()[0]!.voice_id
  await expect(
    data.voices.update(q => q.where({ voice_id: id }), {
      data: voice => {
        voice.name = 3 as never
      },
    }),
  ).rejects.toThrow('$.name: expected a string, got 3')
  expect(store.voices.size).toBe(6)
  expect(data.voices.findFirst(q => q.where({ voice_id: id }))).toMatchObject({ ...store.voices.get(id)! })
  expect(heard()).toEqual([])
})

test('deleteMany and clear remove every record from the index', async () => {
  const { store, data, heard } = await arranged()
  data.voices.deleteMany(q => q.where({ description: '' }))
  expect(store.voices.size).toBe(5)
  data.voices.clear()
  expect(store.voices.size).toBe(0)
  expect(data.voices.count()).toBe(0)
  expect(heard()).toHaveLength(6)
})

test('an endpoint’s writes reach the collection and do not return to the index as writes', async () => {
  const { store, data, heard } = await arranged()
  const [first, second] = store.voices.all()
  store.voices.put(NEW_VOICE)
  store.voices.put({ ...first!, name: 'one' })
  store.voices.put({ ...first!, name: 'two' })
  store.voices.delete(second!.voice_id)
  store.voices.put({ ...NEW_VOICE, voice_id: 'brief' })
  store.voices.delete('brief')
  await data.whenIdle()
  expect(rows(data.voices)).toEqual(store.voices.all())
  expect(data.voices.findFirst(q => q.where({ voice_id: first!.voice_id }))?.name).toBe('two')
  expect(heard()).toEqual([])
})

test('a removed or deeply changed field of an endpoint reaches the collection', async () => {
  const { store, data } = await arranged()
  const { created: _, ...rest } =
    store.models.all().find(({ created }) => created !== undefined) ?? store.models.all()[0]!
  store.models.put({ ...rest, versions: rest.versions.slice(0, 1) })
  const token = store.tokens.all()[2]!
  store.tokens.put({ ...token, allowed_ips: [...token.allowed_ips, '198.51.100.7'] })
  await data.whenIdle()
  expect(rows(data.models, 'hardware')).toEqual(store.models.all())
  expect(data.tokens.findFirst(q => q.where({ token_id: token.token_id }))?.allowed_ips).toHaveLength(2)
})

test('both sides are equal at the end of concurrent writes of users and endpoints', async () => {
  const key = fc.constantFrom('a', 'b')
  const action = fc.constantFrom('create', 'update', 'delete')
  const step = fc.record({ by: fc.constantFrom('user', 'endpoint'), action, key, turns: fc.nat(12) })
  await forAllAsync(
    [fc.array(step, { maxLength: 12 })],
    { numRuns: 5 * Number(process.env.INVARIANT_RUNS ?? 8) },
    async steps => {
      const store = new Store(loadFixture('empty'))
      const data = await createData(store)
      const asked: Promise<unknown>[] = []
      for (const [nth, { by, action, key, turns }] of steps.entries()) {
        const values = { ...NEW_VOICE, voice_id: key, name: `${by} ${nth}` }
        if (by === 'endpoint') {
          if (action === 'delete') store.voices.delete(key)
          else if (action === 'create' || store.voices.has(key)) store.voices.put(values)
        } else if (action === 'create') {
          asked.push(data.voices.create(values))
        } else if (action === 'delete') {
          data.voices.delete(q => q.where({ voice_id: key }))
        } else {
          const describe = (voice: { description: string }) => {
            voice.description = `user ${nth}`
          }
          asked.push(data.voices.update(q => q.where({ voice_id: key }), { data: describe }))
        }
        for (let turn = 0; turn < turns; turn++) await undefined
      }
      await Promise.allSettled(asked)
      await data.whenIdle()
      expect(byKey(rows(data.voices))).toEqual(byKey(store.voices.all()))
    },
  )
})

test('a model is related to its hardware when that is seeded, or created before or after it', async () => {
  const { store, data } = await arranged()
  const name = 'aurora-labs/aurora-8b-instruct'
  const find = (model_name: string) => data.models.findFirst(q => q.where({ model_name }))
  expect(find(name)?.hardware?.hardware[0]?.type).toBe('serverless')

  const model = structuredClone(store.models.get(name)!)
  const hardware = structuredClone(store.hardware.get(name)!)
  await data.hardware.create({ ...hardware, model_name: 'zen/before' })
  await data.models.create({ ...model, model_name: 'zen/before' })
  expect(find('zen/before')?.hardware?.model_name).toBe('zen/before')

  await data.models.create({ ...model, model_name: 'zen/after' })
  await data.hardware.create({ ...hardware, model_name: 'zen/after' })
  store.models.put({ ...model, model_name: 'zen/endpoint' })
  store.hardware.put({ ...hardware, model_name: 'zen/endpoint' })
  await data.whenIdle()
  expect(find('zen/after')?.hardware?.model_name).toBe('zen/after')
  expect(find('zen/endpoint')?.hardware?.model_name).toBe('zen/endpoint')
  expect(store.models.get('zen/after')).toEqual({ ...model, model_name: 'zen/after' })

  await data.models.update(q => q.where({ model_name: 'zen/after' }), {
    data: draft => {
      draft.tags.push('mine')
    },
  })
  expect(store.models.get('zen/after')?.tags.at(-1)).toBe('mine')
  expect(find('zen/after')?.hardware?.model_name).toBe('zen/after')
})

test('a fork’s writes do not reach the collections, and disposed collections do not change', async () => {
  const { store, data } = await arranged()
  store.fork().voices.put(NEW_VOICE)
  await data.whenIdle()
  expect(data.voices.count()).toBe(6)
  data.dispose()
  store.voices.put(NEW_VOICE)
  await data.whenIdle()
  expect(data.voices.count()).toBe(6)
})
