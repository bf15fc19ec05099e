/** Each failure of docs/field.md: its lines provoke it, and explore names the client that has it as the page says. */
import { expect, test } from 'vitest'
import { namedBy, outcomeOf, readFieldCases } from './field.ts'
import { FIELD_CLIENTS } from './field-clients.ts'

const CASES = readFieldCases('docs/field.md')

test('the page and the clients have the same titles', () => {
  expect(CASES.map(({ title }) => title).sort()).toEqual(Object.keys(FIELD_CLIENTS).sort())
  expect(CASES.length).toBeGreaterThanOrEqual(42)
})

test.each(CASES)('$title', async ({ title, code, named }) => {
  const client = FIELD_CLIENTS[title]!
  const lines = code.split('\n')
  expect(lines.length).toBeLessThanOrEqual(2)
  // What is scripted before a fault is not the failure.
  const script = lines.length === 2 && lines[0]!.includes('sim.inference') ? lines[0]! : ''
  expect(await outcomeOf(client, code)).not.toBe(await outcomeOf(client, script))
  if (named.length > 0) expect(await namedBy(client, code)).toEqual(expect.arrayContaining([...named]))
})
