/** Worlds beside each other, and clients beside each other in one; `npm run sweep` does the same with 1,000 and 200. */
import { expect, test } from 'vitest'
import { crowd } from '../../../tools/sweep/crowd.ts'
import { COMMANDS, orders } from '../../../tools/sweep/orders.ts'

test('worlds that are asked at once, each in an order of its own, are what each of them is alone', async () => {
  expect(await crowd(12)).toEqual([])
})

test('fifty commands that do not concern each other make one world, whatever their order', async () => {
  expect(COMMANDS).toHaveLength(50)
  expect(await orders(8)).toHaveLength(1)
})
