import { expect, test } from 'vitest'
import { nearest } from '../../src/kernel/nearest.ts'

test.each([
  ['deplyoments', ['deployments', 'models'], 'deployments'],
  ['modles', ['deployments', 'models'], 'models'],
  ['Runing', ['running', 'stopped'], 'running'],
  ['H100', ['A100-80GB', 'H100-80GB'], 'H100-80GB'],
  ['L40', ['L4-24GB', 'L40S-48GB'], 'L40S-48GB'],
  ['gpus', ['gpu', 'num_gpus'], 'gpu'],
])('%s means the near one of %j', (word, candidates, meant) => {
  expect(nearest(word, candidates)).toBe(meant)
})

test('what is near nothing means nothing', () => {
  expect(nearest('zebra', ['deployments', 'models'])).toBeUndefined()
  expect(nearest('x', ['ab', 'cd'])).toBeUndefined()
  expect(nearest('', ['deployments'])).toBeUndefined()
  expect(nearest('models', [])).toBeUndefined()
})

test('a beginning that several share means none of them', () => {
  expect(nearest('compat', ['compat-completions', 'compat-embeddings'])).toBeUndefined()
})
