import { expect, test } from 'vitest'
import { formatSuggestion, nearestWord } from '../../src/lib/did-you-mean.ts'

test.each([
  ['deplyoments', ['deployments', 'models'], 'deployments'],
  ['modles', ['deployments', 'models'], 'models'],
  ['Runing', ['running', 'stopped'], 'running'],
  ['H100', ['A100-80GB', 'H100-80GB'], 'H100-80GB'],
  ['L40', ['L4-24GB', 'L40S-48GB'], 'L40S-48GB'],
  ['createLLM', ['createLora', 'createLlmDeployment'], 'createLlmDeployment'],
  ['gpus', ['gpu', 'num_gpus'], 'gpu'],
])('%s suggests the nearest of %j', (word, candidates, meant) => {
  expect(nearestWord(word, candidates)).toBe(meant)
})

test('a word without a near candidate has no suggestion', () => {
  expect(nearestWord('zebra', ['deployments', 'models'])).toBeUndefined()
  expect(nearestWord('x', ['ab', 'cd'])).toBeUndefined()
  expect(nearestWord('', ['deployments'])).toBeUndefined()
  expect(nearestWord('models', [])).toBeUndefined()
})

test('a beginning of several candidates has no suggestion', () => {
  expect(nearestWord('compat', ['compat-completions', 'compat-embeddings'])).toBeUndefined()
})

test.each([
  ['up', "Did you mean 'hub.up' or 'zone.up'?"],
  ['crash', "Did you mean 'node.crash'?"],
  ['zebra', 'Names are many.'],
])('%s suggests every candidate of a group that ends with it', (word, advice) => {
  expect(formatSuggestion(word, ['hub.up', 'zone.up', 'node.crash'], 'Names are many.')).toBe(advice)
})
