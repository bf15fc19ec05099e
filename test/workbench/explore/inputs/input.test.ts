/** Inputs of flows: what their values are, and what is wrong with others. */

import fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { Observation } from '../../../../src/simulator/judge/observation.ts'
import { flow } from '../../../../src/workbench/explore/declare-flow.ts'
import {
  type Input,
  type InputDeclarations,
  integers,
  lists,
  oneOf,
  texts,
} from '../../../../src/workbench/explore/input.ts'
import { createFlowRunner } from '../../../../src/workbench/explore/run/flow-runner.ts'
import { shrink } from '../../../../src/workbench/explore/shrink/shrink.ts'
import { defaultInputs, drawInputs, fixInputs, inputsOfTape } from '../../../../src/workbench/explore/values.ts'
import { forAll } from '../../../setup/for-all.ts'

const DECLARED = {
  lines: integers(1, 500),
  offset: integers(-5, 5),
  model: oneOf('a', { id: 'b' }, null),
  name: texts({ min: 1, max: 12 }),
  sizes: lists(lists(integers(0, 3), { max: 2 }), { min: 1, max: 4 }),
} satisfies InputDeclarations

const drawn = (run: number) => drawInputs(DECLARED, { seed: 'test', run })

test('the simplest values are the least, first and shortest ones', () => {
  expect(defaultInputs(DECLARED)).toEqual({ lines: 1, offset: -5, model: 'a', name: 'a', sizes: [[]] })
  expect(defaultInputs()).toEqual({})
})

test('every drawn value is valid, a value of JSON, the same again, and that of its tape', () => {
  forAll([fc.nat()], run => {
    const { result, tape } = drawn(run) ?? { result: defaultInputs(DECLARED), tape: [] }
    expect(fixInputs(DECLARED, result, '')).toBeDefined()
    expect(defaultInputs(fixInputs(DECLARED, result, ''))).toEqual(result)
    expect(JSON.parse(JSON.stringify(result))).toEqual(result)
    expect(drawn(run)?.result ?? defaultInputs(DECLARED)).toEqual(result)
    expect(inputsOfTape(DECLARED, tape).result).toEqual(result)
  })
})

test('both ends of a range are drawn often, and what is between them too', () => {
  const values = Array.from({ length: 60 }, (_, run) => drawn(run)?.result.lines as number)
  for (const end of [1, 500]) expect(values.filter(value => value === end).length).toBeGreaterThan(8)
  expect(new Set(values).size).toBeGreaterThan(10)
})

test('a lower choice is a simpler value, and choices that no longer exist are left out', () => {
  const tape = [
    { label: 'sizes length', bound: 4, value: 3 },
    { label: 'sizes 0 length', bound: 3, value: 2 },
    { label: 'sizes 0 0', bound: 4, value: 3 },
    { label: 'sizes 3 length', bound: 3, value: 1 },
  ]
  expect(inputsOfTape(DECLARED, tape).result.sizes).toEqual([[3, 0], [], [], [0]])
  const shorter = tape.map(choice => (choice.label === 'sizes length' ? { ...choice, value: 0 } : choice))
  expect(inputsOfTape(DECLARED, shorter).result.sizes).toEqual([[3, 0]])
})

test('a flow gets values of the declared types', () => {
  const inputs = { lines: integers(1, 500), model: oneOf('a', 'b'), names: lists(texts()) }
  flow('typed', { inputs }, ({ inputs }) => {
    expectTypeOf(inputs).toEqualTypeOf<{
      readonly lines: number
      readonly model: 'a' | 'b'
      readonly names: string[]
    }>()
  })
  flow('without inputs', {}, ({ inputs }) => {
    // @ts-expect-error it declares none
    return inputs.lines
  })
})

describe('a mistake is an error with the remedy', () => {
  test.each<[string, () => unknown, string]>([
    ['exchanged bounds', () => integers(3, 1), 'integers(3, 1) is invalid. Give the least and the greatest integer'],
    ['a fraction', () => integers(0, 1.5), 'integers(0, 1.5) is invalid'],
    ['no value', () => oneOf(), 'oneOf is invalid, because it has no value'],
    ['a function', () => oneOf('a', () => 1), 'is not a value of JSON. Give texts, numbers, lists or objects'],
    ['a negative length', () => texts({ min: -1 }), 'texts with min -1 and max 20 is invalid. Give integers from 0'],
    [
      'a list of nothing',
      () => lists('a' as never),
      'lists has no elements. Give an input, as in lists(integers(1, 9))',
    ],
    [
      'a value in place of an input',
      () => flow('batch', { inputs: { lines: 3 as never } }, () => undefined),
      "Failed to declare the flow 'batch': the input lines is 3. Give inputs by name",
    ],
    [
      'a list of inputs',
      () => flow('batch', { inputs: [integers(1, 2)] as never }, () => undefined),
      "Failed to declare the flow 'batch': inputs is [{}]. Give inputs by name",
    ],
  ])('%s', (_, declare, words) => {
    expect(declare).toThrow(words)
  })

  test.each<[Record<string, unknown>, string]>([
    [{ linse: 3 }, "Failed to explore batch: unknown input 'linse'. Did you mean 'lines'?"],
    [{ lines: 501 }, 'Failed to explore batch: the input lines is 501. Give an integer from 1 to 500.'],
    [{ model: 'b' }, 'the input model is "b". Give one of "a", {"id":"b"}, null.'],
    [{ name: '' }, 'the input name is "". Give a text of 1 to 12 characters.'],
    [{ sizes: [] }, 'the input sizes is []. Give a list of 1 to 4 elements.'],
    [{ sizes: [[4]] }, 'a list in which each element is a list in which each element is an integer from 0 to 3.'],
  ])('%j', (values, words) => {
    expect(() => fixInputs(DECLARED, values, 'Failed to explore batch')).toThrow(words)
  })

  test('no inputs are declared', () => {
    expect(() => fixInputs(undefined, { lines: 1 }, 'Failed to explore batch')).toThrow(
      "Failed to explore batch: unknown input 'lines'. Declare it in the options of the flow.",
    )
    const custom: Input = { choose: () => 1, problemOf: () => undefined }
    expect(fixInputs({ custom }, {}, '')).toEqual({ custom })
  })
})

test('the inputs of a run are shrunk to the simplest that break the client', { tags: 'slow' }, async () => {
  const inputs = { lines: integers(1, 500), model: oneOf('a', 'b'), tags: lists(oneOf('x', 'y')) }
  const options = {
    fixtures: 'empty',
    inputs,
    invariants: { short: ({ requests }: Observation) => (requests.length > 1 ? 'two requests' : undefined) },
  } as const
  const { run } = flow('batch', options, async ({ inputs: { lines, model }, fetch, url }) => {
    for (let i = 0; i < (lines > 100 && model === 'b' ? 2 : 1); i++) await fetch(`${url}/deploy/list`)
  })
  const runner = createFlowRunner({ name: 'batch', options, run })
  await runner.run([])
  const seed = Array.from({ length: 100 }, (_, run) => drawInputs(inputs, { seed: 'x', run })).find(
    drawn => drawn?.result.model === 'b' && (drawn.result.lines as number) > 100,
  )
  const found = await runner.run([{ crash: 9 }], { inputs: seed!.result })
  const { signature } = found.broken.find(({ invariant }) => invariant === 'short')!
  const shrunk = (await shrink({ runner, plan: [], inputs: seed!, signature, declaredInputs: inputs }))!
  expect(shrunk).toMatchObject({ plan: [], isMinimal: true, isRepeatable: true })
  expect(shrunk.inputs).toEqual({ lines: 101, model: 'b', tags: [] })
  expect(shrunk.runs).toBeLessThan(20)
  await runner.dispose()
})
