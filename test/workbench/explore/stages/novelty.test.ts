import { describe, expect, test } from 'vitest'
import { Novelty } from '../../../../src/workbench/explore/stages/exploration.ts'

const features = (...names: string[]) => new Set(names)

describe('the chance of something new', () => {
  test('is the share of features that one run alone had', () => {
    const novelty = new Novelty()
    expect(novelty.chanceOfNew).toBe(1)
    novelty.add(features('a', 'b'))
    expect(novelty.chanceOfNew).toBe(1)
    novelty.add(features('a'))
    expect(novelty.chanceOfNew).toBe(1 / 2)
    novelty.add(features('b', 'c'))
    novelty.add(features('a', 'b'))
    expect(novelty.chanceOfNew).toBe(1 / 4)
  })

  test('does not count what was known before', () => {
    const novelty = new Novelty(features('a'))
    novelty.add(features('a'))
    novelty.add(features('b'))
    expect(novelty.chanceOfNew).toBe(1 / 2)
    expect(novelty.features).toEqual(features('a', 'b'))
  })

  test('is small only after 100 runs', () => {
    const novelty = new Novelty()
    for (let run = 1; run <= 99; run++) novelty.add(features('a'))
    expect(novelty.isSaturated).toBe(false)
    novelty.add(features('a'))
    expect(novelty.isSaturated).toBe(true)
    novelty.add(features('b'))
    novelty.add(features('c'))
    expect(novelty.isSaturated).toBe(false)
  })
})
