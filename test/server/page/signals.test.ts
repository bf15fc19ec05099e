/** Signals tell what read them when they change: the state of the page, and what it draws of it. */
import { describe, expect, test } from 'vitest'
import { batch, computed, effect, signal } from '../../../src/server/page/store/signals.ts'

/** Returns a signal of a number with the list of what an effect read of it. */
function followed(): { count: ReturnType<typeof signal<number>>; seen: number[]; stop: () => void } {
  const count = signal(0)
  const seen: number[] = []
  const stop = effect(() => {
    seen.push(count.value)
  })
  return { count, seen, stop }
}

describe('an effect', () => {
  test('runs at once and after each change, until it is stopped', () => {
    const { count, seen, stop } = followed()
    count.value = 1
    count.value = 1
    count.value++
    expect(seen).toEqual([0, 1, 2])
    stop()
    count.value = 3
    expect(seen).toEqual([0, 1, 2])
  })

  test('follows only what it read in its newest run, and not what it peeked at', () => {
    const [isFirst, first, second] = [signal(true), signal('a'), signal('b')]
    const seen: string[] = []
    effect(() => {
      seen.push(isFirst.value ? first.value : second.value + first.peek())
    })
    second.value = 'c'
    isFirst.value = false
    first.value = 'd'
    second.value = 'e'
    expect(seen).toEqual(['a', 'ca', 'ed'])
  })

  test('that changes a signal lets the effects of that one run', () => {
    const { count, seen } = followed()
    const source = signal(1)
    effect(() => {
      count.value = source.value * 10
    })
    source.value = 2
    expect(seen).toEqual([0, 10, 20])
  })

  test('runs once for several changes, also if one of them throws', () => {
    const { count, seen } = followed()
    const other = signal(0)
    const sums: number[] = []
    effect(() => {
      sums.push(count.value + other.value)
    })
    batch(() => {
      count.value = 1
      batch(() => {
        other.value = 2
      })
      expect(sums).toEqual([0])
    })
    expect([seen, sums]).toEqual([
      [0, 1],
      [0, 3],
    ])
    const fail = () => {
      count.value = 5
      throw new Error('no')
    }
    expect(() => batch(fail)).toThrow('no')
    expect(seen.at(-1)).toBe(5)
    count.value = 6
    expect(seen.at(-1)).toBe(6)
  })
})

test('a computed signal changes when its value does', () => {
  const name = signal<string | undefined>(undefined)
  const world = computed(() => name.value ?? 'default')
  const seen: string[] = []
  const other = signal(0)
  const stop = world.subscribe(value => {
    other.value
    seen.push(value)
  })
  name.value = 'default'
  // What a subscriber reads beside the value, it does not follow.
  other.value++
  name.value = 'w1'
  expect(world.peek()).toBe('w1')
  stop()
  name.value = 'w2'
  expect(seen).toEqual(['default', 'w1'])
})
