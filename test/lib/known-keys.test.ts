import { expect, test } from 'vitest'
import { assertKnownKeys, describeUnknownField } from '../../src/lib/known-keys.ts'

test('assertKnownKeys accepts known keys, in any number', () => {
  assertKnownKeys({}, ['seed'], 'Failed to fork')
  assertKnownKeys({ seed: undefined, clock: 1 }, ['seed', 'clock'], 'Failed to fork')
})

test.each([
  [{ sead: 1 }, ['seed', 'clock'], "Failed to fork: unknown option 'sead'. Did you mean 'seed'?"],
  [{ zebra: 1 }, ['seed', 'clock'], "Failed to fork: unknown option 'zebra'. Options are seed, clock."],
  [{ zebra: 1 }, [], "Failed to fork: unknown option 'zebra'. Remove it."],
  [{ constructor: 1 }, ['seed'], "Failed to fork: unknown option 'constructor'. Options are seed."],
  [null, ['seed'], 'Failed to fork: expected an object of options, got null. Give seed.'],
  ['seed', ['seed'], 'Failed to fork: expected an object of options, got "seed". Give seed.'],
])('assertKnownKeys rejects %j when the keys are %j', (value, known, message) => {
  expect(() => assertKnownKeys(value as object, known, 'Failed to fork')).toThrow(new RangeError(message))
})

test('assertKnownKeys throws the given error class and uses the given noun', () => {
  class OwnError extends RangeError {}
  const check = () => assertKnownKeys({ spede: 1 }, ['speed'], 'Failed to set', { noun: 'field', ErrorType: OwnError })
  expect(check).toThrow(OwnError)
  expect(check).toThrow("Failed to set: unknown field 'spede'. Did you mean 'speed'?")
})

test('describeUnknownField names the nearest field, or says to remove the field', () => {
  expect(describeUnknownField('tims', ['times'])).toBe("unknown field. Did you mean 'times'? Rename or remove it.")
  expect(describeUnknownField('zebra', ['times'])).toBe('unknown field. Remove it.')
})
