import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Choices, draw, interpretEdited } from '../../../../src/workbench/explore/plan/choices.ts'
import { forAll } from '../../../setup/for-all.ts'

/** A tree of choices: each option leads to further choices. */
interface Tree {
  readonly label: string
  readonly options: readonly (Tree | undefined)[]
}

const tree = fc.letrec<{ tree: Tree }>(tie => ({
  tree: fc.record({
    label: fc.constantFrom('a', 'b', 'c'),
    options: fc.array(fc.option(tie('tree'), { nil: undefined, depthSize: 'small' }), { minLength: 1, maxLength: 4 }),
  }),
})).tree

/** Returns the path that was chosen through a tree. */
const walk = (root: Tree) => (choices: Choices) => {
  const path: number[] = []
  let at: Tree | undefined = root
  while (at !== undefined) {
    const indices: number[] = at.options.map((_, index) => index)
    const value: number = choices.pick(at.label, indices)
    path.push(value)
    at = at.options[value]
  }
  return path.join()
}

describe('choices', () => {
  test('are made again from their tape', () => {
    forAll([tree, fc.nat(), fc.nat()], (root, seed, run) => {
      const { result, tape } = draw(walk(root), { seed, run })
      expect(interpretEdited(walk(root), tape)).toEqual({ result, tape })
    })
  })

  test('are equal for equal seed and run, and differ between runs', () => {
    const number = (choices: Choices) =>
      choices.pick(
        'n',
        Array.from({ length: 1000 }, (_, n) => n),
      )
    const drawn = (run: number) => draw(number, { seed: 'x', run }).result
    expect(drawn(7)).toBe(drawn(7))
    expect(new Set(Array.from({ length: 20 }, (_, run) => drawn(run))).size).toBeGreaterThan(15)
  })

  test('of one label do not depend on how often another label is asked', () => {
    const last = (others: number) => (choices: Choices) => {
      for (let i = 0; i < others; i++) choices.pick('other', [0, 1, 2])
      return choices.pick(
        'mine',
        Array.from({ length: 1000 }, (_, n) => n),
      )
    }
    const results = [0, 1, 5].map(others => draw(last(others), { seed: 1, run: 1 }).result)
    expect(new Set(results).size).toBe(1)
  })

  test('fit every edit of a tape', () => {
    const edits = fc.array(
      fc.record({ label: fc.constantFrom('a', 'b', 'c', 'd'), bound: fc.nat(5), value: fc.integer() }),
    )
    forAll([tree, edits], (root, edited) => {
      const { result, tape } = interpretEdited(walk(root), edited)
      expect(interpretEdited(walk(root), tape)).toEqual({ result, tape })
    })
  })

  const letters = (choices: Choices) => choices.pick('letter', ['a', 'b']) + choices.pick('digit', ['1', '2', '3'])

  test('lose only the removed entry when a tape is shortened', () => {
    const { tape } = { tape: [entry('letter', 2, 1), entry('digit', 3, 2)] }
    expect(interpretEdited(letters, tape.slice(1)).result).toBe('a3')
    expect(interpretEdited(letters, tape.slice(0, 1)).result).toBe('b1')
    expect(interpretEdited(letters, [entry('letter', 2, 1), entry('digit', 9, 8)]).result).toBe('b3')
  })

  test('need an option', () => {
    expect(() => draw(choices => choices.pick('n', []), { seed: 1, run: 1 })).toThrow(
      "Failed to choose 'n': it has no options. Ask only if it has one.",
    )
  })
})

function entry(label: string, bound: number, value: number) {
  return { label, bound, value }
}
