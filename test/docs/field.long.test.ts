/** Each failure of docs/field.md: its lines provoke it, and explore names exactly what the page says. */
import { expect, test } from 'vitest'
import { runClients } from '../simulator/judge/judged.ts'
import { apply, FEW_CLASSES, namedBy, outcomeOf, readFieldCases, scriptOf } from './field.ts'
import { FIELD_CLIENTS, type FieldClient, steadyWorker } from './field-clients.ts'

const CASES = readFieldCases('docs/field.md')
/** Clients that only the runs of all classes show to be uneven, or to differ by a loss alone. */
const SHOWN_BY_ALL: readonly string[] = ['base64 vectors are ignored', 'A delete answers 404']

test('the page and the clients have the same titles', () => {
  expect(CASES.map(({ title }) => title).sort()).toEqual(Object.keys(FIELD_CLIENTS).sort())
  expect(CASES.length).toBeGreaterThanOrEqual(42)
})

test.each(CASES)('$title', async ({ title, code, named }) => {
  const client = FIELD_CLIENTS[title]!
  expect(code.split('\n').length).toBeLessThanOrEqual(2)
  const script = scriptOf(code)
  expect(await outcomeOf(client, code)).not.toBe(await outcomeOf(client, script === code ? '' : script))
  const isThorough = named.length === 0 || SHOWN_BY_ALL.includes(title)
  const found = await namedBy(client, code, isThorough ? undefined : FEW_CLASSES)
  expect([...found].sort()).toEqual([...named].sort())
})

test.each(['A new thing is 404 for a while', 'A poll is abandoned after one bad answer'])(
  '%s: an error with the id breaks nothing',
  async title => {
    const { code } = CASES.find(one => one.title === title)!
    const client: FieldClient = async context => {
      let last = ''
      const fetch: typeof globalThis.fetch = (input, init) => {
        last = String(input)
        return context.fetch(input, init)
      }
      return FIELD_CLIENTS[title]!({ ...context, fetch }).catch(error => {
        throw new Error(`${last}: ${error}`)
      })
    }
    expect([...(await namedBy(client, code, FEW_CLASSES))]).toEqual([])
  },
)

test('judge names workers with tokens of their own that retry on the same ticks', async () => {
  const { code } = CASES.find(({ title }) => title === 'Retries on the same ticks')!
  const sim = await runClients([
    async context => {
      apply(code, context.sim)
      return steadyWorker(context)
    },
    steadyWorker,
  ])
  expect(sim.judge().findings.map(({ rule }) => rule)).toContain('spreadsRetries')
})
