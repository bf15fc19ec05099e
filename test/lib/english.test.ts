import { expect, test } from 'vitest'
import { indefiniteArticle, nounPhrase, singular } from '../../src/lib/english.ts'

test.each([
  [
    'a',
    'machine',
    'repository',
    'unit',
    'usage',
    'one',
    'European',
    'GPU',
    'qqDepot',
    'gpu-box',
    'user',
    'utility',
    'UI',
  ],
  [
    'an',
    'endpoint',
    'aggregator',
    'index',
    'object',
    'hour',
    'LLM',
    'SSD',
    'x-api-key',
    'umbrella',
    'instance',
    'ML-box',
  ],
])('%s', (article, ...words) => {
  const expected = words.map(word => `${article} ${word}`)
  expect(words.map(word => `${indefiniteArticle(word)} ${word}`)).toEqual(expected)
})

test.each([
  ['machines', 'machine'],
  ['qq-boxes', 'qq-box'],
  ['instances', 'instance'],
  ['batches', 'batch'],
  ['repositories', 'repository'],
  ['databases', 'database'],
  ['caches', 'cache'],
  ['nodes', 'node'],
  ['status', 'status'],
  ['access', 'access'],
  ['analysis', 'analysis'],
  ['hub', 'hub'],
  ['series2', 'series2'],
])('one of %s is %s', (many, one) => {
  expect(singular(many)).toBe(one)
})

test.each([
  ['machine', 'An ', ' instance', 'A machine instance'],
  ['instance', 'a ', ' instances', 'an instances'],
  ['model_repository', undefined, ' repository', 'model_repository'],
  ['endpoint', 'a ', undefined, 'an endpoint'],
  ['box2', undefined, ' instances', 'box2 instances'],
])('%s behind %s and before %s', (word, article, noun, said) => {
  expect(nounPhrase(word, article, noun)).toBe(said)
})
