import fc from 'fast-check'
import { expect, test } from 'vitest'
import { withItem, withoutItem } from '../../src/lib/lists.ts'
import { forAll } from '../setup/for-all.ts'

const list = fc.uniqueArray(fc.integer(), { maxLength: 9 })

test('a list with an item, and without one, is a new list and the old one is as it was', () => {
  forAll([list, fc.integer(), fc.nat()], (items, item, place) => {
    const before = [...items]
    expect(withItem(items, item)).toEqual([...before, item])
    const removed = items.length === 0 ? item : items[place % items.length]!
    expect(withoutItem(items, removed)).toEqual(before.filter(other => other !== removed))
    if (!items.includes(item)) expect(withoutItem(items, item)).toEqual(before)
    expect(items).toEqual(before)
  })
})
