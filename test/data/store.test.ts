import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { Voice } from '../../src/data/records/account.ts'
import { Index, IndexError, type IndexWrite, Store } from '../../src/simulation/store.ts'
import { forAll } from '../setup/for-all.ts'

const voice = (voice_id: string, name = voice_id): Voice => ({
  user_id: 'user_1',
  voice_id,
  name,
  description: '',
  created_at: 0,
  updated_at: 0,
})
const voices = (records: Voice[] = []) =>
  new Index<Voice>({ kind: 'voice', schema: () => Voice, keyOf: record => record.voice_id }, records)

test('a store finds the records of its fixture', () => {
  const store = new Store(loadFixture('default'))
  expect(store.tokenByValue('sim_default_token')?.name).toBe('default')
  expect(store.tokenByValue('sim_none')).toBeUndefined()
  expect(store.models.get('aurora-labs/aurora-8b-instruct')?.type).toBe('text-generation')
  expect(store.hardware.get('aurora-labs/aurora-8b-instruct')?.hardware[0]?.type).toBe('serverless')
  expect(store.hub.get('acme/chat-8b')?.parameters_b).toBe(8)
  expect(store.schema('embeddings', 'compat-embeddings')?.url).toBe('/v1/compat/embeddings')
  expect(store.schema('embeddings', 'compat-images')).toBeUndefined()
  expect(store.variantsOf('embeddings')).toEqual(['default', 'compat-embeddings', 'ai-sdk'])
})

test('a token is found by its value after writes too', () => {
  const store = new Store(loadFixture('default'))
  const first = store.tokens.all()[0]!
  expect(store.tokenByValue('fresh')).toBeUndefined()
  store.tokens.put({ ...first, token: 'fresh' })
  expect(store.tokenByValue('fresh')?.token_id).toBe(first.token_id)
  expect(store.tokenByValue(first.token)).toBeUndefined()
  store.tokens.delete(first.token_id)
  expect(store.tokenByValue('fresh')).toBeUndefined()
})

test('a token is rejected when another one has its value', () => {
  const { tokens } = new Store(loadFixture('default'))
  const [first, second] = tokens.all()
  expect(() => tokens.put({ ...second!, token: first!.token })).toThrow(
    `Failed to put token '${second!.token_id}': token '${first!.token_id}' has the same token value. Give it another.`,
  )
  expect(tokens.get(second!.token_id)).toBe(second)
})

test('a new record is checked, completed, copied and frozen', () => {
  const index = voices()
  const { description: _, ...given } = voice('a')
  const stored = index.put(given as Voice)
  expect(stored).toEqual(voice('a'))
  expect(Object.isFrozen(stored)).toBe(true)
  expect(Object.isFrozen(given)).toBe(false)
  expect(() => index.put({ ...voice('b'), created_at: 'x' as never })).toThrow(
    new IndexError("Failed to put a voice: $.created_at: expected a number, got 'x'. Fix that value."),
  )
  expect(index.has('b')).toBe(false)
})

test('the list is the same frozen array until a write', () => {
  const index = voices([voice('a'), voice('b')])
  const before = index.all()
  expect(index.all()).toBe(before)
  expect(Object.isFrozen(before)).toBe(true)
  index.put(voice('a', 'renamed'))
  expect(index.all().map(each => each.name)).toEqual(['renamed', 'b'])
  expect(before.map(each => each.name)).toEqual(['a', 'b'])
})

test('listeners receive each write with its origin, but no write of a fork', () => {
  const index = voices([voice('a')])
  const heard: string[] = []
  const off = index.onWrite(({ action, key, origin }: IndexWrite<Voice>) => heard.push(`${action} ${key} ${origin}`))
  index.put(voice('b'), 'me')
  index.put(voice('b', 'again'))
  index.delete('a', 'you')
  index.delete('a', 'you')
  index.fork().put(voice('c'))
  off()
  index.put(voice('d'))
  expect(heard).toEqual(['create b me', 'update b undefined', 'delete a you'])
})

test('forks of forks are independent worlds in any order of writes', () => {
  const key = fc.constantFrom('a', 'b', 'c')
  const step = fc.oneof(
    fc.record({ do: fc.constant('put' as const), on: fc.nat(7), key, name: fc.string({ minLength: 1, maxLength: 3 }) }),
    fc.record({ do: fc.constant('delete' as const), on: fc.nat(7), key }),
    fc.record({ do: fc.constant('fork' as const), on: fc.nat(7) }),
    fc.record({ do: fc.constant('list' as const), on: fc.nat(7) }),
  )
  forAll([fc.array(step, { maxLength: 40 })], steps => {
    const indexes = [voices([voice('a')])]
    const plain = [new Map([['a', voice('a')]])]
    for (const each of steps) {
      const at = each.on % indexes.length
      const index = indexes[at]!
      const model = plain[at]!
      if (each.do === 'put') {
        index.put(voice(each.key, each.name))
        model.set(each.key, voice(each.key, each.name))
      } else if (each.do === 'delete') {
        expect(index.delete(each.key)).toBe(model.delete(each.key))
      } else if (each.do === 'fork' && indexes.length < 8) {
        indexes.push(index.fork())
        plain.push(new Map(model))
      } else {
        index.all()
      }
    }
    for (const [at, index] of indexes.entries()) {
      expect(index.all()).toEqual([...plain[at]!.values()])
      expect(index.size).toBe(plain[at]!.size)
      for (const each of ['a', 'b', 'c']) expect(index.get(each)).toEqual(plain[at]!.get(each))
    }
  })
})

test('a write to a fork of a store does not change the store', () => {
  const store = new Store(loadFixture('default'))
  const models = store.models.all()
  const fork = store.fork()
  expect(fork.models.all()).toBe(models)
  fork.voices.put(voice('own'))
  store.tokens.delete(store.tokens.all()[0]!.token_id)
  expect(store.voices.has('own')).toBe(false)
  expect(fork.tokenByValue('sim_default_token')).toBeDefined()
  expect(store.tokenByValue('sim_default_token')).toBeUndefined()
  expect(new Store(loadFixture('default')).tokenByValue('sim_default_token')).toBeDefined()
})
