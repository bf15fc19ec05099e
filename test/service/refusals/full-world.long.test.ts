/** The refusals of a world that holds as much as it can. */
import { expect, test } from 'vitest'
import { PROVOCATIONS, type Provocation } from './provocations.ts'
import { provoke } from './provoke.ts'

const inFullWorld = Object.entries<Readonly<Record<string, Provocation>>>(PROVOCATIONS).flatMap(([operation, own]) =>
  Object.entries(own)
    .filter(([, { world }]) => world === 'full')
    .map(([status, provocation]) => [operation, Number(status), provocation] as const),
)

test('there are operations that a full world refuses', () => {
  expect(inFullWorld.length).toBeGreaterThanOrEqual(2)
})

test.each(inFullWorld)('%s is refused with %i in a full world', async (operation, status, provocation) => {
  expect(await provoke(operation, provocation)).toEqual([status, expect.stringContaining(provocation.says)])
})
