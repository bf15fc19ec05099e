/** Each rule of conduct is broken by a bad client, and kept by a good one that does the same work. */
import { expect, test } from 'vitest'
import { CONDUCT_RULE_NAMES } from '../../../src/simulator/judge/rules/conduct/index.ts'
import { CASES, RIGHTFUL, readOn, readOnceAfter } from './clients.ts'
import { runClients } from './judged.ts'

test.each(CONDUCT_RULE_NAMES)('a bad client breaks %s', { tags: 'slow' }, async name => {
  const { bad, options, words } = CASES[name]
  const sim = await runClients(bad, options)
  const found = sim.judge().findings.filter(({ rule }) => rule === name)
  expect(found).toHaveLength(1)
  expect(found[0]!.words).toMatch(words)
  expect(found[0]!.evidence.length).toBeGreaterThan(0)
})

test.each(CONDUCT_RULE_NAMES)('a good client keeps %s', async name => {
  const { good, options } = CASES[name]
  const sim = await runClients(good, options)
  expect(sim.judge().findings.filter(({ rule }) => rule === name)).toEqual([])
})

test.each(RIGHTFUL)('%s is kept by a client that %s', async (rule, _, client, options) => {
  const sim = await runClients([client], options)
  expect(sim.requests.length).toBeGreaterThan(0)
  expect(sim.judge().findings.filter(finding => finding.rule === rule)).toEqual([])
})

test('a client that has read its deployment only before it ran breaks readsEnd', async () => {
  const sim = await runClients([readOnceAfter(0)])
  const { words } = sim.judge().findings.find(({ rule }) => rule === 'readsEnd')!
  expect(words).toMatch(
    /^The deployment \S+ \(stopped\) ended .+ Its last poll was request \d+ \(getDeployment, 200\), sent 0s/,
  )
})

test('a client that reads its batch three times more after the end breaks readsEnd', async () => {
  const sim = await runClients([readOn(3)])
  const { words } = sim.judge().findings.find(({ rule }) => rule === 'readsEnd')!
  expect(words).toMatch(
    /^Request \d+ \(getBatch, 200\) showed .+ The client polled on: 3 further reads showed the same/,
  )
})
