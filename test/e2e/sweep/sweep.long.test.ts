import { expect, test } from 'vitest'
import { verdictOf } from '../../../tools/sweep/verdict.ts'
import { LEANINGS, randomWorld } from '../../../tools/sweep/world.ts'

/** `npm run sweep` plays 500 worlds; here one of each leaning, the next ones with SWEEP_FROM. */
const FROM = Number(process.env.SWEEP_FROM ?? 0)

test.each(LEANINGS.map((leaning, i) => ({ leaning, seed: FROM + i })))(
  'a random world that leans to $leaning (seed $seed) keeps every law, and is the same twice',
  async ({ seed }) => {
    const { problem } = await verdictOf(seed)
    expect(problem).toBeUndefined()
  },
)

test('a random world is a function of its number', () => {
  expect(randomWorld(17)).toEqual(randomWorld(17))
  expect(randomWorld(17)).not.toEqual(randomWorld(29))
})
